"""kill -9 under load, three times: nothing answered `os` is lost, each event counts once, windows as undisturbed."""
import threading
from decimal import Decimal

import _drill
import pytest
import tollgate
from _drill import Sent

# Rules and kept numbers read windows of the account only: its events come in order over one connection, so their
# values do not depend on how the connections interleave. Rows are kept by terminal, too; they hold no such order. The
# event clock reads no hour of sending, and commits are logged in order, so a kill loses a tail that is sent again.
RULES = """ruleset "crash" version 1 currency USD tz "UTC" on_error review
window acct_n_1h   count()     by account_id      over 1h excluding current
window acct_sum_1d sum(amount) by account_id      over 1d including current
window acct_avg_1d avg(amount) by account_id      over 1d excluding current
window term_sum_1d sum(amount) by counterparty.id over 1d excluding current
keep jump = amount / acct_avg_1d
window acct_jump   max(jump)   by account_id      over 1d excluding current
rule R001 "burst" severity high owner "drills"
  decline if acct_n_1h >= 12
  reason "12 events in an hour"
rule R002 "much" severity medium owner "drills"
  review if acct_sum_1d > USD 900.00
  reason "much in a day"
rule R003 "jump" severity low owner "drills"
  challenge if acct_jump > 2.5
  reason "a jump before"
rule R004 "terminal" shadow until 2099-01-01
  review if term_sum_1d > USD 5000.00
"""
SETTINGS = "[pipeline]\nsnapshot_every_s = 1\n"
DEADLINE_MS = 1000


def streams(count, each, accounts=4):
    """Per connection its events in order: accounts that take turns, terminals that all share."""
    start = tollgate.datetime.datetime(2026, 11, 2, 8, tzinfo=tollgate.datetime.timezone.utc)
    out = []
    for stream in range(count):
        events = []
        for number in range(each):
            at = start + tollgate.datetime.timedelta(seconds=40 * number, milliseconds=stream)
            cents = (number * 7919 + stream * 104729) % 9000 + 100
            events.append(tollgate.event(
                event_id=f"c-{stream}-{number}", occurred_at=tollgate.rfc3339(at),
                account_id=f"A-{stream}-{number % accounts}",
                amount={"value": f"{cents // 100}.{cents % 100:02}", "currency": "USD"},
                counterparty={"id": f"T-{number * stream % 5}", "kind": "terminal"}))
        out.append(events)
    return out


class Sender:
    """Sends the streams, one connection each, and calls `at` once `count` answers have come."""

    def __init__(self, plan, concurrent=False):
        self.plan = plan
        self.concurrent = concurrent  # one event over several connections: a repeat may be noted before the first
        self.answers = {}  # event id -> the answer given last
        self.first_bodies = {}  # event id -> the answer that was marked `os`
        self.repeats = 0
        self._lock = threading.Lock()

    def send(self, server, count=None, at=None):
        come = [0]

        def note(one):
            """Under the lock; whether this was the answer that is waited for."""
            event_id = one.event["event_id"]
            kept = self.first_bodies.get(event_id)
            if kept is not None:  # acknowledged before: the same bytes, and said to be a repeat
                assert one.answer.body == kept, (one, kept)
                assert self.concurrent or one.answer.headers.get("idempotency-replayed") == "true", one
                self.repeats += 1
            before = self.answers.get(event_id)
            if before is not None:  # whatever became of it, the decision is the same
                assert one.answer.json["decision"] == before.json["decision"], (one, before)
            self.answers[event_id] = one.answer
            if one.persisted == "os":
                self.first_bodies.setdefault(event_id, one.answer.body)
            come[0] += 1
            return come[0] == count

        faults = []

        def run(events):
            client = server.client()
            for event in events:
                one = _drill.send(client, event, DEADLINE_MS)
                if one.answer is None:
                    return
                try:
                    assert one.answer.status == 200, one
                    with self._lock:
                        reached = note(one)
                except Exception as fault:  # told by the test's thread
                    faults.append(fault)
                    return
                if reached and at is not None:
                    at()
            client.close()

        threads = [threading.Thread(target=run, args=(self.open_part(events),)) for events in self.plan]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]

    def open_part(self, events):
        """What a client sends again: from three before the first not acknowledged as `os` to the end."""
        first = next((i for i, event in enumerate(events) if event["event_id"] not in self.first_bodies), len(events))
        return events[max(0, first - 3):]


def run_undisturbed(make_server, plan):
    server = make_server(files=_drill.pack(RULES, decide_ms=DEADLINE_MS, cold_key_ms=900, clock="event"))
    Sender(plan).send(server)
    assert server.stop() == 0
    return server


def run_with_kills(make_server, plan, moments):
    server = make_server(files=_drill.pack(RULES, decide_ms=DEADLINE_MS, cold_key_ms=900, clock="event"),
                         config=SETTINGS)
    sender = Sender(plan)
    for moment in moments:
        sender.send(server, moment, server.kill)
        server.process.wait(tollgate.PATIENCE)
        assert len(sender.answers) < sum(map(len, plan)), "the kill came after the load"
        server.start()
        acknowledged = list(sender.first_bodies.items())
        client = server.client()
        for _, body in acknowledged[:50] + acknowledged[-150:]:
            assert _drill.stored_body(client, tollgate.json.loads(body)["id"]) == body
    sender.send(server)
    return server, sender


def assert_equal_folders(disturbed, calm, plan):
    got, expected = _drill.records(disturbed), _drill.records(calm)
    sent = {event["event_id"] for events in plan for event in events}
    assert set(got) == sent and set(expected) == sent
    for event_id, record in expected.items():
        other = got[event_id]
        for values in (record["windows"], other["windows"]):
            values.pop("term_sum_1d")
        for member in ("windows", "kept", "decision", "decided_by", "cold_keys", "overflow_keys", "event"):
            assert other[member] == record[member], (event_id, member, other[member], record[member])
    assert _drill.folder_hash(disturbed, "windows") == _drill.folder_hash(calm, "windows")
    _drill.assert_chain(disturbed)


def test_three_kills_lose_nothing_acknowledged_and_leave_the_windows_of_an_undisturbed_run(make_server):
    plan = streams(6, 500)
    server, sender = run_with_kills(make_server, plan, (150, 1400, 900))
    assert sender.repeats >= 9  # acknowledged ones were sent again, too
    everything = [Sent(None, answer, 0) for answer in sender.answers.values()]
    assert len(everything) == 3000
    assert _drill.assert_found(server, everything) > 2000
    for stream in range(6):
        for account in range(4):
            windows = _drill.account_windows(server, f"A-{stream}-{account}")
            events = [e for e in plan[stream] if e["account_id"] == f"A-{stream}-{account}"]
            amount, currency = windows["acct_sum_1d"].split()
            assert currency == "USD"
            assert Decimal(amount) == sum(Decimal(e["amount"]["value"]) for e in events), (stream, account)  # each once
    # Once as the kill leaves it, once as an orderly end does.
    server.kill()
    killed = _drill.folder_hash(server, "windows")
    server.start()
    assert server.client().get("/readyz").status == 200
    assert server.stop() == 0
    calm = run_undisturbed(make_server, plan)
    assert killed == _drill.folder_hash(calm, "windows")
    assert_equal_folders(server, calm, plan)


def test_one_connection_with_kills_gives_the_log_of_an_undisturbed_run_byte_for_byte(make_server):
    plan = streams(1, 900)
    server, _ = run_with_kills(make_server, plan, (40, 500, 200))
    assert server.stop() == 0
    calm = run_undisturbed(make_server, plan)
    assert_equal_folders(server, calm, plan)
    assert _drill.folder_hash(server, "log") == _drill.folder_hash(calm, "log")


@pytest.mark.parametrize("ending", ("recovery", "orderly end"))
def test_kills_during_recovery_and_during_an_orderly_end_change_nothing(make_server, ending):
    """The snapshot is written at an orderly end and read at the start: both are cut off at growing moments."""
    plan = streams(2, 400, accounts=150)
    server = make_server(files=_drill.pack(RULES, decide_ms=DEADLINE_MS, cold_key_ms=900, clock="event"),
                         config=SETTINGS)
    sender = Sender([events[:250] for events in plan])
    sender.send(server)
    for milliseconds in (0, 1, 2, 4, 8, 16, 32):
        if ending == "recovery":
            server.kill()
            server.process = tollgate.subprocess.Popen(
                [tollgate.BINARY, "serve", "--config", str(server.config), "--data", str(server.data), "--listen",
                 "127.0.0.1:0", "--policy", server.policy],
                stdout=tollgate.subprocess.PIPE, stderr=tollgate.subprocess.DEVNULL, text=True)
        else:
            server.process.terminate()
        try:
            server.process.wait(milliseconds / 1000)
        except tollgate.subprocess.TimeoutExpired:
            server.kill()
        server.process.stdout.close()
        server.start()
        assert server.client().get("/readyz").status == 200  # signals are taken from here on
    sender.plan = plan
    sender.send(server)
    everything = [Sent(None, answer, 0) for answer in sender.answers.values()]
    assert len(everything) == 800 and _drill.assert_found(server, everything) > 600
    assert server.stop() == 0
    assert_equal_folders(server, run_undisturbed(make_server, plan), plan)


@pytest.mark.parametrize("moment", (1, 60))
def test_a_kill_among_concurrent_repeats_of_one_event_decides_it_once(make_server, moment):
    server = make_server(files=_drill.pack())
    events = [tollgate.event(account_id="one") for _ in range(3)]
    sender = Sender([events * 20] * 4, concurrent=True)
    sender.open_part = lambda part: part
    sender.send(server, moment, server.kill)
    server.process.wait(tollgate.PATIENCE)
    server.start()
    sender.send(server)
    assert _drill.account_windows(server, "one") == {"acct_n_10m": "3"}
    server.kill()
    assert sorted(_drill.records(server)) == sorted(event["event_id"] for event in events)
    server.start()
    assert _drill.account_windows(server, "one") == {"acct_n_10m": "3"}


def test_sigterm_as_soon_as_the_address_is_printed_is_an_orderly_end(make_server):
    server = make_server(files=_drill.pack())
    for _ in range(10):
        assert server.stop() == 0
        server.start()
