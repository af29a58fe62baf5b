"""A BERT encoder in torch that trains fast on a CPU and saves an ordinary Hugging Face folder.

The same arithmetic as transformers' BertForSequenceClassification with one label; only the first row of the last
layer is computed, because only it is read.
"""
import json
import pathlib

import numpy as np
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int, inner: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, hidden, first_only: bool):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if first_only:
            q, x = q[:, :, :1], x[:, :1]
        scores = (q * (d // self.heads) ** -0.5) @ k.transpose(-1, -2)
        if hidden is not None:
            scores = scores.masked_fill(hidden[:, None, None, :], float("-inf"))
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, -1, d)
        x = self.norm1(x + self.out(mixed))
        return self.norm2(x + self.down(F.gelu(self.up(x), approximate="tanh")))


class Encoder(nn.Module):
    def __init__(self, vocabulary: int, positions: int, layers: int, width: int, heads: int):
        super().__init__()
        self.shape = dict(vocabulary=vocabulary, positions=positions, layers=layers, width=width, heads=heads)
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.ModuleList([Block(width, heads, 4 * width) for _ in range(layers)])
        self.pooler = nn.Linear(width, width)
        self.classifier = nn.Linear(width, 1)
        nn.init.normal_(self.words.weight, std=0.1)
        nn.init.normal_(self.places.weight, std=0.1)

    def forward(self, ids, hidden=None, drop: float = 0.0):
        x = self.words(ids)
        if self.training and drop > 0:  # whole words, never [CLS]: no field may carry all of it
            keep = torch.rand(ids.shape) >= drop
            keep[:, 0] = True
            x = x * keep[..., None]
        x = self.norm(x + self.places.weight[: ids.shape[1]])
        for i, block in enumerate(self.blocks):
            x = block(x, hidden, first_only=i + 1 == len(self.blocks))
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))[:, 0]


def hugging_face_tensors(model: Encoder) -> dict[str, torch.Tensor]:
    width = model.shape["width"]
    out = {
        "bert.embeddings.word_embeddings.weight": model.words.weight,
        "bert.embeddings.position_embeddings.weight": model.places.weight,
        "bert.embeddings.token_type_embeddings.weight": torch.zeros(1, width),
        "bert.pooler.dense.weight": model.pooler.weight,
        "bert.pooler.dense.bias": model.pooler.bias,
        "classifier.weight": model.classifier.weight,
        "classifier.bias": model.classifier.bias,
    }

    def norm(name, module):
        out[f"bert.{name}.LayerNorm.weight"] = module.weight
        out[f"bert.{name}.LayerNorm.bias"] = module.bias

    def linear(name, weight, bias):
        out[f"bert.{name}.weight"] = weight
        out[f"bert.{name}.bias"] = bias

    norm("embeddings", model.norm)
    for i, block in enumerate(model.blocks):
        at = f"encoder.layer.{i}"
        for j, part in enumerate(("query", "key", "value")):
            rows = slice(j * width, (j + 1) * width)
            linear(f"{at}.attention.self.{part}", block.qkv.weight[rows], block.qkv.bias[rows])
        linear(f"{at}.attention.output.dense", block.out.weight, block.out.bias)
        norm(f"{at}.attention.output", block.norm1)
        linear(f"{at}.intermediate.dense", block.up.weight, block.up.bias)
        linear(f"{at}.output.dense", block.down.weight, block.down.bias)
        norm(f"{at}.output", block.norm2)
    return {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in out.items()}


def save(model: Encoder, vocabulary: list[str], buckets: dict[str, list[float]], folder: pathlib.Path) -> None:
    """Writes config.json, model.safetensors (F16), vocab.txt, tokenizer_config.json and buckets.json."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = model.shape
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "hidden_act": "gelu_new",
        "hidden_size": shape["width"],
        "intermediate_size": 4 * shape["width"],
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": shape["positions"],
        "num_attention_heads": shape["heads"],
        "num_hidden_layers": shape["layers"],
        "id2label": {"0": "fraud"},
        "label2id": {"fraud": 0},
        "pad_token_id": 0,
        "type_vocab_size": 1,
        "vocab_size": shape["vocabulary"],
        "torch_dtype": "float16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": shape["positions"]})
        + "\n"
    )
    (folder / "buckets.json").write_text(json.dumps({"version": 1, "fields": buckets}) + "\n")
    safetensors.torch.save_file(
        hugging_face_tensors(model), folder / "model.safetensors", metadata={"format": "pt"}
    )


def round_to_f16(model: Encoder) -> None:
    """What is measured is what is saved."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(torch.float16).to(torch.float32))


@torch.inference_mode()
def logits(model: Encoder, ids: np.ndarray, batch: int = 2048) -> np.ndarray:
    """Of rows padded with 0."""
    model.eval()
    order = np.argsort((ids != 0).sum(1), kind="stable")
    out = np.zeros(len(ids), np.float32)
    for i in range(0, len(ids), batch):
        pick = order[i : i + batch]
        longest = max(1, int((ids[pick] != 0).sum(1).max()))
        part = torch.from_numpy(np.ascontiguousarray(ids[pick, :longest])).long()
        mask = part == 0
        out[pick] = model(part, mask if bool(mask.any()) else None).numpy()
    return out
