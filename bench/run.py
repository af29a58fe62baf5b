#!/usr/bin/env python3
"""The product's own figures on this machine, from made-up traffic: `./run bench` calls it.

Usage: TOLLGATE_BIN=build/release/tollgate bench/run.py [--out build/bench]
Rules, the HTTP yardstick, one server at 300 events a second for 100 s and flat out. For a report use
bench/tails.py with real traffic and three runs; docs/benchmarks.md says how.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EVENTS = 60_000


def shown(command: list[str]) -> None:
    print("$ " + " ".join(command), flush=True)
    if subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0:
        sys.exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench")
    options = parser.parse_args()
    binary = os.environ.get("TOLLGATE_BIN", str(ROOT / "build/release/tollgate"))
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as name:
        traffic = pathlib.Path(name) / "traffic.jsonl"
        shown([binary, "simulate", "--events", str(EVENTS), "--seed", "11", "--out", str(traffic)])
        moments = [json.loads(line)["event"]["occurred_at"] for line in traffic.open()]
        middle, end = moments[len(moments) // 2], "2199-01-01T00:00:00Z"
        shown([binary, "bench", "rules", "--quiet", "--json", str(options.out / "rules.json")])
        shown([binary, "bench", "echo", "--input", str(traffic), "--events", str(EVENTS // 2)])
        tails = [sys.executable, str(ROOT / "bench/tails.py"), "--binary", binary, "--input", str(traffic),
                 "--history-until", middle, "--until", end, "--runs", "1"]
        shown([*tails, "--rate", "300", "--out", str(options.out / "tails.json")])
        shown([*tails, "--flat-out", "--out", str(options.out / "flat_out.json")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
