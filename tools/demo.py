#!/usr/bin/env python3
"""Shows Tollgate at work on this machine: a server on a temporary folder, made-up traffic, the decisions.

Usage: demo.py --binary build/release/tollgate [--events N] [--rate N] [--seed N]
Needs nothing but the binary and Python. The server listens on loopback, port 0, and is stopped by its
own process id at the end; the temporary folder is removed.
"""
import argparse
import collections
import contextlib
import http.client
import json
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
TENANT = "demo"
LISTENING = re.compile(r"listening on (http://\S+?)(?: \(admin (http://[^\s)]+)\))?$")
START_SECONDS = 30
STOP_SECONDS = 20


# The command lines, in one place.
def serve_command(options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    return [options.binary, "serve", "--data", str(folder / "data"), "--listen", "127.0.0.1:0",
            "--policy", str(replay_policy(folder)), "--model", str(ROOT / "models" / "default"),
            "--enable-faults", "--log", str(folder / "server.log")]


def replay_policy(folder: pathlib.Path) -> pathlib.Path:
    """The default pack on the traffic's own clock: a month of made-up events passes in a minute."""
    copy = folder / "policy"
    shutil.copytree(ROOT / "policies" / "default", copy)
    with (copy / "policy.toml").open("a", encoding="utf-8") as out:
        out.write('\n[time]\nstream_clock = "event"\nmax_ahead = "1d"\n')
    return copy


def key_command(options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    return [
        options.binary, "key", "create", "--data", str(folder / "data"),
        "--tenant", TENANT, "--scopes", "assess,read,admin",
    ]


def simulate_command(options: argparse.Namespace, traffic: pathlib.Path) -> list[str]:
    return [
        options.binary, "simulate", "--events", str(options.events), "--seed", str(options.seed),
        "--out", str(traffic),
    ]


def replay_command(options: argparse.Namespace, traffic: pathlib.Path, url: str, key: str) -> list[str]:
    return [
        options.binary, "replay", "--input", str(traffic), "--server", url, "--key", key,
        "--rate", str(options.rate),
    ]


def say(text: str) -> None:
    print(f"\n-- {text}", flush=True)


def shown(command: list[str], secret: str = "") -> str:
    return "   $ " + " ".join("KEY" if secret and part == secret else part for part in command)


def run(command: list[str], secret: str = "") -> str:
    print(shown(command, secret), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    if done.returncode != 0:
        sys.exit(f"demo: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """The server process; `url` is where it listens."""

    def __init__(self, command: list[str], log: pathlib.Path):
        print(shown(command), flush=True)
        self.log = log
        self.log_file = log.open("w")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log_file, stdin=subprocess.DEVNULL, text=True
        )
        self.lines: queue.Queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.url = self._wait_for_port()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def _wait_for_port(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                line = self.lines.get(timeout=0.5)
            except queue.Empty:
                continue
            match = LISTENING.search(line or "")
            if match:
                print(f"   {line}", flush=True)
                self.admin = match.group(2)
                return match.group(1)
            if line is None:
                break
        self.stop()
        sys.exit(f"demo: the server said no port in {START_SECONDS} s:\n{self.log.read_text()[-2000:]}")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        self.log_file.close()
        return self.process.returncode


def call(url: str, key: str, method: str, path: str, body: dict | None = None) -> tuple[int, bytes]:
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    headers = {"Authorization": f"Bearer {key}"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    with contextlib.closing(connection):
        answer = connection.getresponse()
        return answer.status, answer.read()


def show_one(url: str, key: str, event: dict) -> None:
    """Assesses one event of our own, and reads the stored decision back."""
    print(f"   POST /v1/assessments\n   {json.dumps(event)}")
    status, answer = call(url, key, "POST", "/v1/assessments", event)
    if status != 200:
        sys.exit(f"demo: POST /v1/assessments answered {status}: {answer.decode(errors='replace')}")
    decision = json.loads(answer)
    print("   -> " + json.dumps({k: decision.get(k) for k in ("id", "decision", "decided_by", "source", "probability",
                                                             "score", "band", "persisted")}))
    status, again = call(url, key, "POST", "/v1/assessments", event)
    print(f"   the same event again: {status}, {'the same bytes' if again == answer else 'OTHER BYTES'}")
    status, stored = call(url, key, "GET", f"/v1/assessments/{decision['id']}")
    print(f"   GET /v1/assessments/{decision['id']}: {status}, {len(stored)} bytes")
    if again != answer or status != 200:
        sys.exit("demo: the decision was not kept as answered")


def show_frozen(server: "Server", key: str, event: dict) -> None:
    """Freezes the encoder, assesses, thaws it, and waits until it decides again."""
    call(server.admin, key, "POST", "/admin/faults", {"worker_frozen": True})
    for number in range(3):
        status, answer = call(server.url, key, "POST", "/v1/assessments", {**event, "event_id": f"demo-frozen-{number}"})
        decision = json.loads(answer)
        print("   -> " + json.dumps({k: decision.get(k) for k in ("decision", "decided_by", "source", "fallback")}))
        if status != 200 or decision["source"] != "rules":
            sys.exit("demo: the rules did not take over")
        time.sleep(0.1)
    call(server.admin, key, "POST", "/admin/faults", {"worker_frozen": False})
    began = time.monotonic()
    for number in range(500):
        _, answer = call(server.url, key, "POST", "/v1/assessments", {**event, "event_id": f"demo-thawed-{number}"})
        if json.loads(answer)["source"] == "model":
            print(f"   thawed: the model decides again after {1000 * (time.monotonic() - began):.0f} ms")
            return
    sys.exit("demo: the model did not come back")


def traffic_summary(traffic: pathlib.Path) -> dict:
    """The last event of the file, after printing what the file holds."""
    scenarios: collections.Counter = collections.Counter()
    labelled = 0
    last: dict = {}
    with traffic.open() as lines:
        for line in lines:
            entry = json.loads(line)
            scenarios[entry.get("scenario") or "none"] += 1
            labelled += entry.get("outcome") is not None
            last = entry.get("event") or last
    total = sum(scenarios.values())
    print(f"   {total} events, {labelled} with a known outcome; scenarios:")
    for name, count in scenarios.most_common(8):
        print(f"     {name:<28} {count}")
    if not last:
        sys.exit("demo: the simulated traffic holds no event")
    return last


def main() -> int:
    parser = argparse.ArgumentParser(description="a tour of the running product")
    parser.add_argument("--binary", default="build/release/tollgate")
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--rate", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tollgate-demo-") as name:
        folder = pathlib.Path(name)
        (folder / "data").mkdir()
        traffic = folder / "traffic.jsonl"
        say("a key for the tenant 'demo'; it is shown once and stored hashed")
        lines = run(key_command(options, folder)).split()
        key = lines[-1] if lines else sys.exit("demo: `key create` printed no key")
        print(f"   {key[:6]}... ({len(key)} characters)")
        say("a server with the default policy and the default encoder")
        server = Server(serve_command(options, folder), folder / "server.log")
        try:
            say("made-up traffic: cards, transfers and credit applications, some of them fraud")
            run(simulate_command(options, traffic))
            event = traffic_summary(traffic)
            say(f"the traffic goes through the server, {options.rate} events a second")
            print(run(replay_command(options, traffic, server.url, key), secret=key))
            say("the model freezes: the rules answer, and name why")
            show_frozen(server, key, {**event, "event_id": "demo-frozen"})
            say("one event by hand")
            show_one(server.url, key, {**event, "event_id": "demo-by-hand-1"})
        finally:
            status = server.stop()
        say(f"the server was stopped (exit status {status})")
        return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
