#!/usr/bin/env python3
"""Runs every libFuzzer binary of a build for a bounded time, two at a time, and reports each in a line.

Usage: run_fuzz.py FOLDER_OF_BINARIES CORPUS_FOLDER WORK_FOLDER [--seconds N] [--jobs N] [--only NAME]
New inputs go to WORK_FOLDER/<target>/, crashes to WORK_FOLDER/crashes/; the committed corpus is read only.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

MAX_TARGETS = 24  # the stage's time is bounded: targets * seconds / jobs


def run_target(binary: pathlib.Path, options: argparse.Namespace) -> tuple[str, bool, str]:
    grown = options.work / binary.name
    crashes = options.work / "crashes"
    grown.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(parents=True, exist_ok=True)
    command = [
        str(binary), f"-max_total_time={options.seconds}", "-timeout=10", "-rss_limit_mb=2560",
        "-max_len=65536", "-print_final_stats=1", f"-artifact_prefix={crashes}/{binary.name}-", str(grown),
    ]
    seeds = options.corpus / binary.name
    if seeds.is_dir():
        command.append(str(seeds))
    log = options.work / f"{binary.name}.log"
    with log.open("wb") as out:
        try:
            # libFuzzer stops by itself; reading a large corpus first may take longer than its clock.
            status = subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                timeout=options.seconds * 3 + 120, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"},
            ).returncode
        except subprocess.TimeoutExpired:
            return binary.name, False, f"did not stop by itself; log {log}"
    text = log.read_text(errors="replace")
    runs = re.search(r"number_of_executed_units:\s+(\d+)", text)
    count = int(runs.group(1)) if runs else 0
    if status != 0:
        artifact = re.search(r"Test unit written to (\S+)", text)
        summary = re.search(r"^SUMMARY: .*$", text, re.M)
        where = f"; input {artifact.group(1)}" if artifact else ""
        return binary.name, False, f"{summary.group() if summary else f'status {status}'}{where}; log {log}"
    if count == 0:
        return binary.name, False, f"executed nothing; log {log}"
    return binary.name, True, f"{count} runs, no crash"


def main() -> int:
    parser = argparse.ArgumentParser(description="bounded fuzzing of every target")
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.work = options.work.resolve()
    targets = sorted(p for p in options.binaries.glob("*") if p.is_file() and os.access(p, os.X_OK))
    targets = [p for p in targets if options.only in p.name]
    if not targets:
        print(f"fuzz: no target in {options.binaries}")
        return 1
    if len(targets) > MAX_TARGETS:
        print(f"fuzz: {len(targets)} targets, {MAX_TARGETS} are allowed in one run: raise MAX_TARGETS knowingly")
        return 1
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, good, text in pool.map(lambda target: run_target(target, options), targets):
            print(f"{'ok  ' if good else 'FAIL'} {name}: {text}", flush=True)
            failed += not good
    print(f"fuzz: {len(targets)} targets, {options.seconds} s each, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
