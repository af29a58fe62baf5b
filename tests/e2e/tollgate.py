"""Helpers of the end-to-end tests: a running `tollgate serve`, its keys, a client, raw sockets, a test policy."""
import datetime
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TOLLGATE_BIN", str(ROOT / "build/release/tollgate"))
PATIENCE = 20  # seconds for anything that must come; a hang fails a test

POLICY = """[pack]
name = "{name}"
currency = "USD"
time_zone = "UTC"

[attributes.home_country]
type = "string"

[attributes.visits]
type = "integer"

[timeouts]
decide_ms = {decide_ms}
"""
RULES = """ruleset "e2e" version 1 currency USD tz "UTC" on_error review
window acct_n_10m count() by account_id over 10m excluding current
rule R001 "burst" severity high owner "e2e"
  decline if acct_n_10m >= 5
  reason "5 events in 10 minutes"
rule {rule} "large" severity low owner "e2e"
  {action} if amount > USD {amount}
  reason "large amount"
"""


def policy_files(name="e2e", rule="R002", action="review", amount="1000.00", decide_ms=200):
    """The files of a small pack; `rule` tells one version's answers from another's."""
    return {
        "policy.toml": POLICY.format(name=name, decide_ms=decide_ms),
        "rules/card.rules": RULES.format(rule=rule, action=action, amount=amount),
    }


def write_policy(folder, files):
    for path, text in files.items():
        target = pathlib.Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return str(folder)


def rfc3339(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def now():
    return datetime.datetime.now(datetime.timezone.utc)


_numbers = itertools.count(1)


def event(**changes):
    """A valid payment; `changes` replace members, None removes one."""
    number = next(_numbers)
    out = {
        "event_id": f"tx-{os.getpid()}-{number}",
        "event_type": "payment",
        "occurred_at": rfc3339(now()),
        "account_id": f"A-{number}",
        "amount": {"value": "12.50", "currency": "USD"},
        "counterparty": {"id": "T-9", "kind": "terminal", "category": "5411", "country": "KR"},
        "channel": "ecom",
        "device": {"id": "d1", "ip_country": "KR"},
    }
    for name, value in changes.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = value
    return out


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class Client:
    """One kept-alive connection with one key."""

    def __init__(self, port, key=None):
        self.port = port
        self.key = key
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def request(self, method, path, body=None, headers=None):
        if isinstance(body, (dict, list, int)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        sent = dict(headers or {})
        if self.key:
            sent.setdefault("Authorization", f"Bearer {self.key}")
        self.connection.request(method, path, body=body, headers=sent)
        response = self.connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body, **headers):
        return self.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def assess(self, body, **headers):
        return self.post("/v1/assessments", body, **headers)

    def close(self):
        self.connection.close()


def run(*arguments, check=True):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise AssertionError(f"tollgate {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Server:
    """A `tollgate serve` on free ports over a data folder; keys of two tenants."""

    def __init__(self, folder, files=None, arguments=(), config=""):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.data.mkdir(parents=True, exist_ok=True)
        self.policy = write_policy(self.folder / "policy", files or policy_files())
        self.arguments = list(arguments)
        self.config = self.folder / "tollgate.toml"
        self.config.write_text(config)
        self.log = self.folder / "server.log"
        self.process = None
        self.key = self.make_key("bank-a", "assess,read,admin")
        self.other_key = self.make_key("bank-b", "assess,read,admin")

    def make_key(self, tenant, scopes, *more):
        done = run("key", "create", "--data", str(self.data), "--tenant", tenant, "--scopes", scopes, *more)
        return done.stdout.strip().splitlines()[-1]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "serve", "--config", str(self.config), "--data", str(self.data), "--listen", "127.0.0.1:0",
                 "--admin-listen", "127.0.0.1:0", "--policy", self.policy, *self.arguments],
                stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"listening on http://127\.0\.0\.1:(\d+) \(admin http://127\.0\.0\.1:(\d+)\)", line)
        assert match, f"no address printed: {line!r}\n{self.log.read_text()[-2000:]}"
        self.port, self.admin_port = int(match.group(1)), int(match.group(2))
        return self

    def client(self, key=None):
        return Client(self.port, self.key if key is None else key)

    def admin(self, key=None):
        return Client(self.admin_port, self.key if key is None else key)

    def faults(self, **switches):
        answer = self.admin().request("POST", "/admin/faults", switches)
        assert answer.status == 200, answer
        return answer.json

    def alive(self):
        """The process lives and answers a right request rightly."""
        assert self.process.poll() is None, f"the server ended: {self.log.read_text()[-2000:]}"
        answer = self.client().assess(event())
        assert answer.status == 200 and answer.json["decision"] == "approve", answer

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; the exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        self.process.stdout.close()
        return self.process.returncode


def raw(port, data, finish=False, patience=PATIENCE):
    """Sends bytes as they are; everything that comes back until the server closes or falls silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as sock:
        sock.sendall(data)
        if finish:
            sock.shutdown(socket.SHUT_WR)
        out = b""
        try:
            while True:
                piece = sock.recv(65536)
                if not piece:
                    return out
                out += piece
        except (TimeoutError, ConnectionResetError):
            return out


def http_bytes(key, body=b"", line="POST /v1/assessments", headers=()):
    if isinstance(body, str):
        body = body.encode()
    lines = [f"{line} HTTP/1.1", "Host: t", f"Authorization: Bearer {key}", *headers]
    if not any(header.lower().startswith(("content-length", "transfer-encoding")) for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def metric(client, name, **labels):
    """The sum of a metric's series that have these labels."""
    total = 0.0
    for line in client.get("/metrics").body.decode().splitlines():
        match = re.match(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", line)
        if match and match.group(1) == name:
            has = dict(re.findall(r'(\w+)="([^"]*)"', match.group(2) or ""))
            if all(has.get(label) == value for label, value in labels.items()):
                total += float(match.group(3))
    return total
