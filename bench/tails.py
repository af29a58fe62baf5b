#!/usr/bin/env python3
"""Tail latency by the protocol: N runs of the same traffic, each from a fresh copy of one data folder.

Usage: bench/tails.py --binary build/release/tollgate --input handbook.csv.zst --history-until 2018-08-08 \\
           --until 2018-08-18 --rate 300 --runs 3 --out bench/results/tails.json
       bench/tails.py ... --flat-out --runs 1       events a second instead of latencies

History before --history-until is imported once. Every run copies that folder, starts a server on a free
loopback port, replays --history-until .. --until at --rate and stops the server. `tollgate replay` measures
from the scheduled send time, with a stall meter in a process of its own beside it. Printed and written:
every run, and of each percentile the median over the runs, raw and corrected for stalls of the machine.
"""
import argparse
import json
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TENANT = "bench"
PERCENTILES = ("p50", "p90", "p99", "p999", "max")


def policy_copy(source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The pack on the traffic's own clock: old events are not late then."""
    copy = folder / "policy"
    shutil.copytree(source, copy)
    text = (copy / "policy.toml").read_text(encoding="utf-8")
    if "stream_clock" not in text:
        text += '\n[time]\nstream_clock = "event"\nmax_ahead = "1d"\n'
        (copy / "policy.toml").write_text(text, encoding="utf-8")
    return copy


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:2])}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def start_server(options: argparse.Namespace, data: pathlib.Path, policy: pathlib.Path,
                 log: pathlib.Path) -> tuple[subprocess.Popen, str]:
    process = subprocess.Popen(
        [options.binary, "serve", "--data", str(data), "--listen", "127.0.0.1:0", "--policy", str(policy),
         "--log", str(log), *(["--model", options.model] if options.model else [])], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.startswith("listening on "):
            return process, line.split()[2]
    sys.exit(f"the server said no port; its log: {log}")


def one_run(options: argparse.Namespace, base: pathlib.Path, policy: pathlib.Path, work: pathlib.Path,
            number: int) -> dict:
    data = work / f"run{number}"
    shutil.copytree(base, data)
    key = run([options.binary, "key", "create", "--data", str(data), "--tenant", TENANT,
               "--scopes", "assess,read,admin"]).split()[-1]
    process, url = start_server(options, data, policy, work / f"server{number}.log")
    figures = work / f"run{number}.json"
    command = [options.binary, "replay", "--input", options.input, "--from", options.history_until, "--until",
               options.until, "--server", url, "--key", key, "--connections", str(options.connections),
               "--json", str(figures), "--quiet"]
    command += ["--flat-out"] if options.flat_out else ["--rate", str(options.rate)]
    try:
        time.sleep(options.settle)  # the import's compactions and start-up are not the traffic's
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    print(f"== run {number}\n{done.stdout}{done.stderr}", flush=True)
    if done.returncode not in (0, 1) or not figures.exists():
        sys.exit(f"replay: exit status {done.returncode}\n{done.stderr[-2000:]}")
    shutil.rmtree(data)
    return json.loads(figures.read_text())


def medians(runs: list[dict]) -> dict:
    out: dict = {"unanswered": sum(run["unanswered"] for run in runs),
                 "late": statistics.median(run["late"] for run in runs)}
    for name in ("latency_ms", "latency_corrected_ms"):
        if all(name in run for run in runs):
            out[name] = {p: statistics.median(run[name][p] for run in runs)
                         for p in PERCENTILES if p in runs[0][name]}
    return out


def cpu_model() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/tollgate")
    parser.add_argument("--input", required=True)
    parser.add_argument("--policy", default="policies/default", help="pack folder (default: policies/default)")
    parser.add_argument("--model", help="encoder model folder of the server (default: rules alone)")
    parser.add_argument("--history-until", default="2018-08-08")
    parser.add_argument("--until", default="2018-08-18")
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--flat-out", action="store_true")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--settle", type=float, default=5.0, help="seconds between start-up and traffic")
    parser.add_argument("--work", help="folder to work in (default: a temporary one)")
    parser.add_argument("--out", help="write all figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tollgate-tails-", dir=options.work) as name:
        work = pathlib.Path(name)
        policy = policy_copy(pathlib.Path(options.policy), work)
        base = work / "base"
        print(run([options.binary, "import", "--input", options.input, "--data", str(base), "--tenant", TENANT,
                   "--policy", str(policy), "--until", options.history_until, "--quiet"]), flush=True)
        runs = [one_run(options, base, policy, work, i + 1) for i in range(options.runs)]
    result = {"cpu": cpu_model(), "build": run([options.binary, "version"]).strip(), "rate": options.rate,
              "flat_out": options.flat_out, "connections": options.connections, "policy": options.policy,
              "from": options.history_until, "until": options.until, "median": medians(runs), "runs": runs}
    print("median of the runs: " + json.dumps(result["median"]))
    if options.out:
        pathlib.Path(options.out).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["median"]["unanswered"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
