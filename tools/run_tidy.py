#!/usr/bin/env python3
"""Runs clang-tidy on changed files within a time budget; says which files it did not reach.

Usage: run_tidy.py BUILD_FOLDER --seconds N --jobs N < NAMES
Reads file names, most important first. A header is checked through the .cc files that include it.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time


def tidy(binary: str, build: pathlib.Path, name: str, deadline: float) -> tuple[str, str, str]:
    """(name, verdict, output); verdict is ok, fault or late."""
    left = deadline - time.monotonic()
    if left <= 1:
        return name, "late", ""
    # The compile commands are g++'s; a warning option that clang lacks is no fault of the file.
    command = [binary, "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return name, "late", ""
    return name, "ok" if done.returncode == 0 else "fault", done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="clang-tidy within a time budget")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--binary", default="clang-tidy-14")
    options = parser.parse_args()
    commands = json.loads((options.build / "compile_commands.json").read_text())
    compiled = {(pathlib.Path(c["directory"]) / c["file"]).resolve() for c in commands}
    names = [n for n in sys.stdin.read().split("\n") if n.endswith(".cc")]
    files = [n for n in names if pathlib.Path(n).resolve() in compiled]
    deadline = time.monotonic() + options.seconds
    late: list[str] = []
    verdicts = {"ok": 0, "fault": 0, "late": 0}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, verdict, output in pool.map(lambda n: tidy(options.binary, options.build, n, deadline), files):
            verdicts[verdict] += 1
            if verdict == "fault":
                print(f"fault: {name}\n{output}", end="", flush=True)
            elif verdict == "late":
                late.append(name)
    if late:
        print(f"not reached: {' '.join(late[:20])}{' ...' if len(late) > 20 else ''}")
    print(
        f"clang-tidy: {len(files)} changed files, {verdicts['ok']} clean, {verdicts['fault']} with faults, "
        f"{verdicts['late']} not reached in {options.seconds} s"
    )
    return 1 if verdicts["fault"] else 0


if __name__ == "__main__":
    sys.exit(main())
