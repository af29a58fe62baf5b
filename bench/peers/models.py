"""One random BERT classifier as each engine wants it: Hugging Face folder, ONNX int8, OpenVINO int8 and fp32, CTranslate2."""
import json
import pathlib
import sys
import warnings

import numpy as np

SHAPES = {
    "bert-base": dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
    "minilm": dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
}
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def feed(ids: np.ndarray) -> dict[str, np.ndarray]:
    return {"input_ids": ids.astype(np.int64), "attention_mask": np.ones(ids.shape, np.int64),
            "token_type_ids": np.zeros(ids.shape, np.int64)}


def make_hf(folder: pathlib.Path, shape: dict) -> None:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(num_labels=2, attn_implementation="eager", **shape)).eval()
    model.save_pretrained(folder / "hf")
    ids = torch.randint(1000, 30000, (1, 128))
    ones, zeros = torch.ones_like(ids), torch.zeros_like(ids)
    torch.onnx.export(model, (ids, ones, zeros), str(folder / "fp32.onnx"), input_names=INPUTS,
                      output_names=["logits"], dynamic_axes={name: {0: "b", 1: "s"} for name in INPUTS},
                      opset_version=17, dynamo=False)


def make_onnxruntime(folder: pathlib.Path, shape: dict) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    fused = optimizer.optimize_model(str(folder / "fp32.onnx"), model_type="bert",
                                     num_heads=shape["num_attention_heads"], hidden_size=shape["hidden_size"],
                                     opt_level=1)
    fused.save_model_to_file(str(folder / "fused.onnx"))
    quantize_dynamic(str(folder / "fused.onnx"), str(folder / "int8.onnx"), weight_type=QuantType.QInt8,
                     per_channel=True, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


def make_openvino(folder: pathlib.Path) -> None:
    import nncf
    import openvino

    model = openvino.convert_model(str(folder / "fp32.onnx"))
    openvino.save_model(model, str(folder / "openvino-fp32.xml"), compress_to_fp16=False)
    random = np.random.default_rng(0)
    data = [feed(random.integers(1000, 30000, (1, 128))) for _ in range(32)]
    small = nncf.quantize(model, nncf.Dataset(data), model_type=nncf.ModelType.TRANSFORMER,
                          preset=nncf.QuantizationPreset.MIXED, subset_size=32)
    openvino.save_model(small, str(folder / "openvino-int8.xml"))


def make_ctranslate2(folder: pathlib.Path) -> None:
    from transformers import BertConfig

    if not hasattr(BertConfig, "position_embedding_type"):
        BertConfig.position_embedding_type = "absolute"  # the converter still asks for it
    from ctranslate2.converters import TransformersConverter

    TransformersConverter(str(folder / "hf")).convert(str(folder / "ct2"), quantization="int8", force=True)


def build(work: pathlib.Path, name: str) -> pathlib.Path:
    """Makes what is missing; a step that is done is marked, so that a broken-off one is done again."""
    warnings.filterwarnings("ignore")
    folder = work / name
    folder.mkdir(parents=True, exist_ok=True)
    shape = SHAPES[name]
    steps = {"hf": lambda: make_hf(folder, shape), "onnxruntime": lambda: make_onnxruntime(folder, shape),
             "openvino": lambda: make_openvino(folder), "ctranslate2": lambda: make_ctranslate2(folder)}
    done = folder / "done.json"
    finished = json.loads(done.read_text()) if done.exists() else []
    for step, make in steps.items():
        if step in finished:
            continue
        print(f"{name}: making the model for {step}", file=sys.stderr, flush=True)
        make()
        finished.append(step)
        done.write_text(json.dumps(finished))
    return folder


def reference(folder: pathlib.Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Logits of transformers in fp32."""
    import torch
    from transformers import BertForSequenceClassification

    model = BertForSequenceClassification.from_pretrained(folder / "hf").eval()
    with torch.no_grad():
        return [model(input_ids=torch.from_numpy(ids.astype(np.int64))).logits.numpy() for ids in inputs]
