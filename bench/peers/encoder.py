#!/usr/bin/env python3
"""Times our encoder beside ONNX Runtime int8, OpenVINO int8 and bf16, and CTranslate2 int8.

    bench/peers/encoder --threads 2 --json result.json
    bench/peers/encoder --cap avx2          every contender held to AVX2 (ours: --kernels avx2)

All engines get the same random BERT classifier and the same ids; their logits are compared with transformers in fp32
before anything is timed. Then they run in turn, in a new order each round, with a pause between them in which the
threads of the one before stop spinning. Ratios are of medians of one run; machines differ, so compare nothing else.
"""
import argparse
import json
import pathlib
import platform
import subprocess
import sys
import time

import numpy as np

import contenders
import models

CASES = [("bert-base", 1, 32), ("bert-base", 1, 64), ("bert-base", 1, 128), ("bert-base", 1, 256),
         ("bert-base", 8, 64), ("minilm", 1, 64)]
# Random weights make logits of about 0.3; int8 moves them by some hundredths. An engine that computes something else is
# far outside.
AGREE = 0.9


def check(engines: dict, folder: pathlib.Path) -> dict[str, dict]:
    random = np.random.default_rng(7)
    inputs = [random.integers(1000, 30000, (1, length)) for length in (8, 17, 32, 64, 100, 128) for _ in range(3)]
    want = np.concatenate(models.reference(folder, inputs))
    out = {}
    for name, engine in engines.items():
        got = np.concatenate([engine.run(ids)[1] for ids in inputs])
        out[name] = dict(max_error=float(np.abs(got - want).max()),
                         correlation=float(np.corrcoef(got.reshape(-1), want.reshape(-1))[0, 1]))
        if out[name]["correlation"] < AGREE:
            sys.exit(f"{name} computes another model: correlation with transformers {out[name]['correlation']:.3f}")
    return out


def measure(engines: dict, batch: int, tokens: int, seconds: float, pause: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng(batch * 1000 + tokens)
    ids = random.integers(1000, 30000, (batch, tokens))
    for engine in engines.values():
        for _ in range(3):
            engine.run(ids)
    times = {name: [] for name in engines}
    names = list(engines)
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times[names[0]]) < 20:
        random.shuffle(names)
        for name in names:
            time.sleep(pause)
            times[name].append(engines[name].run(ids)[0])
    return {name: np.array(values) for name, values in times.items()}


def row_of(case, times, engines, ours_kernels, cap) -> dict:
    model, batch, tokens = case
    medians = {name: float(np.median(values)) for name, values in times.items()}
    rivals = {name: value for name, value in medians.items()
              if name != "ours" and (not cap or engines[name].capped)}
    fastest = min(rivals, key=rivals.get)
    return dict(model=model, shape=f"{batch}x{tokens}", kernels=ours_kernels, ours_ms=medians["ours"],
                ours_p99_ms=float(np.quantile(times["ours"], 0.99)), fastest_peer=fastest,
                fastest_peer_ms=rivals[fastest], ratio=rivals[fastest] / medians["ours"],
                runs=len(times["ours"]), all_ms=medians,
                all_p99_ms={name: float(np.quantile(values, 0.99)) for name, values in times.items()})


def kernels_of(binary: str, wanted: str | None) -> str:
    if wanted:
        return wanted
    listed = subprocess.run([binary, "kernels", "--quick"], check=True, capture_output=True, text=True).stdout
    return next(line.split()[0] for line in listed.splitlines() if " taken" in line)


def cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/tollgate")
    parser.add_argument("--work", required=True, help="folder for the models")
    parser.add_argument("--threads", type=int, default=2, help="of each engine")
    parser.add_argument("--cap", choices=["avx2", "avx512"], help="hold every contender to this instruction set")
    parser.add_argument("--kernels", help="our kernel table (default: the best, or --cap's)")
    parser.add_argument("--shapes", help="only these, say 1x128,8x64")
    parser.add_argument("--seconds", type=float, default=45, help="for each shape")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between two engines: their threads spin on for a while")
    parser.add_argument("--json", help="file for the result")
    options = parser.parse_args()
    contenders.set_environment(options.cap)
    kernels = kernels_of(options.binary, options.kernels or options.cap)
    rows, agreement, versions = [], {}, {}
    cases = [c for c in CASES if not options.shapes or f"{c[1]}x{c[2]}" in options.shapes.split(",")]
    for model in dict.fromkeys(case[0] for case in cases):
        folder = models.build(pathlib.Path(options.work), model)
        engines = {"ours": contenders.Ours(options.binary, folder, options.threads, kernels)}
        engines |= contenders.peers(folder, options.threads, bf16=not options.cap)
        versions |= {name: engine.version for name, engine in engines.items() if hasattr(engine, "version")}
        agreement[model] = check(engines, folder)
        for name, seen in agreement[model].items():
            print(f"{model:10s} {name:20s} logits: max error {seen['max_error']:.4f}, correlation "
                  f"{seen['correlation']:.4f}{'' if engines[name].capped or not options.cap else '  (uncapped)'}")
        for case in (c for c in cases if c[0] == model):
            times = measure(engines, case[1], case[2], options.seconds, options.pause)
            row = row_of(case, times, engines, kernels, options.cap)
            rows.append(row)
            peers = "  ".join(f"{name} {ms:.2f}" for name, ms in row["all_ms"].items() if name != "ours")
            print(f"{model:10s} {row['shape']:6s} ours ({kernels}) {row['ours_ms']:.2f} ms (p99 "
                  f"{row['ours_p99_ms']:.2f})  ratio {row['ratio']:.2f} to {row['fastest_peer']}   [{peers}]",
                  flush=True)
        for engine in engines.values():
            engine.close()
    result = dict(rows=rows, agreement=agreement, versions=versions, threads=options.threads, cap=options.cap,
                  kernels=kernels, cpu=cpu_name(),
                  build=subprocess.run([options.binary, "version"], capture_output=True, text=True).stdout.strip())
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
