"""Helpers of the drills: packs, a paced load over kept-alive connections, checks of what was answered."""
import http.client
import json
import re
import threading
import time

import tollgate

LATENESS = 0.5  # seconds that a busy machine may hold up the client itself

POLICY = """[pack]
name = "{name}"
currency = "USD"
time_zone = "UTC"

[timeouts]
decide_ms = {decide_ms}
cold_key_ms = {cold_key_ms}

[store]
on_store_lost = "{on_store_lost}"

[time]
stream_clock = "{clock}"
"""
RULES = """ruleset "drill" version 1 currency USD tz "UTC" on_error review
window acct_n_10m count() by account_id over 10m excluding current
rule R001 "burst" severity high owner "drills"
  decline if acct_n_10m >= 5
  reason "5 events in 10 minutes"
"""


def pack(rules=RULES, name="drill", decide_ms=500, cold_key_ms=2, on_store_lost="decide", clock="wall"):
    policy = POLICY.format(name=name, decide_ms=decide_ms, cold_key_ms=cold_key_ms, on_store_lost=on_store_lost,
                           clock=clock)
    return {"policy.toml": policy, "rules/drill.rules": rules}


def until(check, seconds=tollgate.PATIENCE):
    """Waits for a state that the server tells only when asked; what `check` gave at last."""
    end = time.monotonic() + seconds
    while not (got := check()) and time.monotonic() < end:
        time.sleep(0.02)
    return got


class Sent:
    """One request: its event, its answer (None: the connection broke), the seconds it took."""

    def __init__(self, event, answer, seconds):
        self.event, self.answer, self.seconds = event, answer, seconds

    @property
    def persisted(self):
        return None if self.answer is None else self.answer.json["persisted"]

    @property
    def id(self):
        return self.answer.json["id"]

    def __repr__(self):
        return f"<{self.event['event_id']} {self.seconds:.3f} s {self.answer}>"


def send(client, event, deadline_ms):
    begin = time.monotonic()
    try:
        answer = client.assess(event, X_Deadline_Ms=str(deadline_ms))
    except (OSError, http.client.HTTPException):
        answer = None
    return Sent(event, answer, time.monotonic() - begin)


class Load:
    """Assessments over several kept-alive connections while the `with` lasts; `sent` is complete after it."""

    def __init__(self, server, threads=4, make=tollgate.event, deadline_ms=500, pace=0.005):
        self.sent = []
        self._server, self._make, self._deadline_ms, self._pace = server, make, deadline_ms, pace
        self._stop = threading.Event()
        self._more = threading.Condition()
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def _run(self):
        client = self._server.client()
        while not self._stop.wait(self._pace):
            done = send(client, self._make(), self._deadline_ms)
            with self._more:
                self.sent.append(done)
                self._more.notify_all()
            if done.answer is None:
                break
        client.close()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, count, which=lambda sent: True):
        """Until `count` more of the answers that `which` picks have come."""
        with self._more:
            begin = len(self.sent)
            come = self._more.wait_for(lambda: sum(map(which, self.sent[begin:])) >= count, tollgate.PATIENCE)
            assert come, f"{count} awaited, of {len(self.sent) - begin} sent: {self.sent[begin:][-3:]}"


def assert_answered_in_time(sent, deadline_ms=500):
    """Every request got a decision by its deadline: by the server's count, and but for lateness by ours."""
    assert sent
    for one in sent:
        assert one.answer is not None and one.answer.status == 200, one
        total = float(re.search(r"total;dur=([0-9.]+)", one.answer.headers["server-timing"]).group(1))
        assert total <= deadline_ms and one.seconds <= deadline_ms / 1000 + LATENESS, (total, one)
        assert one.answer.json["fallback"] is None, one


def stored_body(client, identifier):
    """The bytes of the stored answer, None when the id is unknown."""
    read = client.get(f"/v1/assessments/{identifier}")
    if read.status == 404:
        return None
    assert read.status == 200, read
    begin = read.body.index(b'"answer":') + len(b'"answer":')
    return read.body[begin:read.body.index(b',"record":', begin)]


def assert_found(server, sent, kinds=("os",)):
    """Every answer that was so persisted is read back with equal bytes; how many there were."""
    client, count = server.client(), 0
    for one in sent:
        if one.persisted in kinds:
            assert stored_body(client, one.id) == one.answer.body, one
            count += 1
    return count


def readiness(server):
    return server.client().get("/readyz").json["parts"]


def wait_until_written(server):
    """Until the journal is empty and the store works."""
    assert until(lambda: readiness(server)["journal"] == "0" and readiness(server)["store"] == "ok"), readiness(server)


def account_windows(server, account):
    return server.client().get(f"/v1/accounts/{account}").json["windows"]


def records(server, tenant="bank-a"):
    """The tenant's assessment records by event id; an event decided twice fails."""
    out = {}
    for line in tollgate.run("log", "export", "--data", str(server.data), "--tenant", tenant).stdout.splitlines():
        record = json.loads(line)
        if record["kind"] == "assessment":
            ident = record["event"]["event_id"]
            assert ident not in out, f"{ident} is in the log twice"
            out[ident] = record
    return out


def folder_hash(server, what):
    """`tollgate windows hash` or `log hash` of the stopped server's folder."""
    done = tollgate.run(what, "hash", "--data", str(server.data), "--tenant", "bank-a", *(
        ("--policy", server.policy) if what == "windows" else ()))
    return done.stdout.strip()


def assert_chain(server):
    tollgate.run("log", "verify", "--data", str(server.data), "--tenant", "bank-a")


def assert_sigterm_ends_it(make_server, **fault):
    """With a store that takes nothing the process still ends, and what was answered `os` before is there."""
    server = make_server(files=pack(), arguments=["--enable-faults"], config="[server]\ndrain_timeout_ms = 1000\n")
    before = server.client().assess(tollgate.event())
    assert before.json["persisted"] == "os", before
    server.faults(**fault)
    assert server.client().assess(tollgate.event()).json["persisted"] == "memory"
    try:
        server.stop()  # patience covers the drain's second and the store's five
    finally:
        server.start()
    assert stored_body(server.client(), before.json["id"]) == before.body
