"""The engines, each as an object with run(ids) -> (milliseconds, logits)."""
import os
import pathlib
import subprocess
import time

import numpy as np

from models import feed

# What each peer calls an instruction set; None: it cannot be capped.
ONEDNN_CAPS = {"avx2": "AVX2", "avx512": "AVX512_CORE_VNNI"}
CT2_CAPS = {"avx2": "AVX2", "avx512": "AVX512"}


def set_environment(cap: str | None) -> None:
    """Before any engine is loaded: they read their environment once."""
    if cap:
        os.environ["ONEDNN_MAX_CPU_ISA"] = ONEDNN_CAPS[cap]
        os.environ["CT2_FORCE_CPU_ISA"] = CT2_CAPS[cap]


class Ours:
    """`tollgate bench encoder --serve`; the time is the forward pass as the engine measures it."""

    capped = True

    def __init__(self, binary: str, folder: pathlib.Path, threads: int, kernels: str | None):
        command = [binary, "bench", "encoder", "--model", str(folder / "hf"), "--threads", str(threads), "--serve"]
        if kernels:
            command += ["--kernels", kernels]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, ids):
        flat = " ".join(map(str, ids.reshape(-1)))
        self.process.stdin.write(f"{ids.shape[0]} {ids.shape[1]} {flat}\n")
        self.process.stdin.flush()
        values = [float(v) for v in self.process.stdout.readline().split()]
        return values[0], np.array(values[1:], np.float32).reshape(ids.shape[0], -1)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Timed:
    """A peer in this process: the clock is around its own call alone, inputs made before."""

    def run(self, ids):
        inputs = self.prepare(ids)
        began = time.perf_counter()
        out = self.call(inputs)
        return (time.perf_counter() - began) * 1e3, self.logits(out)

    def prepare(self, ids):
        return feed(ids)

    def close(self):
        pass


class OnnxRuntime(Timed):
    capped = False  # its kernels ask the processor and nobody else

    def __init__(self, folder: pathlib.Path, threads: int):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "int8.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        self.version = onnxruntime.__version__

    def call(self, inputs):
        return self.session.run(None, inputs)

    def logits(self, out):
        return out[0]


class OpenVino(Timed):
    capped = True  # its oneDNN part; its own generated kernels ask the processor

    def __init__(self, folder: pathlib.Path, threads: int, file: str, hint: str):
        import openvino

        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": hint}
        compiled = openvino.Core().compile_model(str(folder / file), "CPU", settings)
        self.request = compiled.create_infer_request()
        self.version = openvino.__version__

    def call(self, inputs):
        return self.request.infer(inputs)

    def logits(self, out):
        return np.array(next(iter(out.values())))


class CTranslate2(Timed):
    capped = True

    def __init__(self, folder: pathlib.Path, threads: int):
        import ctranslate2
        from safetensors.numpy import load_file

        self.encoder = ctranslate2.Encoder(str(folder / "ct2"), device="cpu", compute_type="int8",
                                           intra_threads=threads)
        self.version = ctranslate2.__version__
        weights = load_file(folder / "hf" / "model.safetensors")
        self.head = [weights[name] for name in ("bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                                "classifier.weight", "classifier.bias")]

    def prepare(self, ids):
        return ids.tolist()

    def call(self, inputs):
        return np.array(self.encoder.forward_batch(inputs).last_hidden_state)

    def logits(self, out):  # outside the clock: this engine has no classifier
        w, b, v, c = self.head
        return np.tanh(out[:, 0] @ w.T + b) @ v.T + c


def peers(folder: pathlib.Path, threads: int, bf16: bool) -> dict[str, Timed]:
    made = {"onnxruntime int8": lambda: OnnxRuntime(folder, threads),
            "openvino int8": lambda: OpenVino(folder, threads, "openvino-int8.xml", "f32"),
            "ctranslate2 int8": lambda: CTranslate2(folder, threads)}
    if bf16:
        made["openvino int8+bf16"] = lambda: OpenVino(folder, threads, "openvino-int8.xml", "bf16")
        made["openvino bf16"] = lambda: OpenVino(folder, threads, "openvino-fp32.xml", "bf16")
    return {name: make() for name, make in made.items()}
