"""docs/windows.md against the running binary: every cell of its example, the stored events it shows, its commands."""
import datetime
import json
import re
import subprocess

import pytest
from tollgate import BINARY, ROOT, event, now, rfc3339, run

PAGE = (ROOT / "docs/windows.md").read_text()
OUTCOME = {"outcome_id": "o-1", "event_id": "e2", "label": "fraud", "kind": "chargeback"}


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL).group(1)


def pack():
    """The page's pack, with time to confirm every write."""
    return {"policy.toml": block("toml") + "\n[timeouts]\nstore_confirm_ms = 1000\ndecide_ms = 1000\n",
            "rules/example.rules": block("rules")}


def example():
    """The rows of the example's table, by column."""
    lines = [line for line in PAGE.splitlines() if re.match(r"\| (event|e\d) \|", line)]
    names, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert len(rows) == 9
    return [dict(zip(names, row, strict=True)) for row in rows]


def assess(client, row):
    answer = client.assess({
        "event_id": row["event"], "event_type": "payment", "occurred_at": row["occurred_at"], "account_id": "A-1",
        "amount": {"value": row["amount"], "currency": "USD"}, "counterparty": {"id": "T-1"},
        "channel": row["channel"]})
    assert answer.status == 200 and answer.json["event_time"] == row["event_time"], answer
    assert answer.json["persisted"] == "os", answer


@pytest.fixture
def played(make_server):
    """A stopped server that has decided the page's example."""
    server = make_server(files=pack())
    client = server.client()
    rows = example()
    for row in rows[:7]:
        assess(client, row)
    known_at = re.search(r"known at (\S+Z)", PAGE).group(1)
    assert client.post("/v1/outcomes", {**OUTCOME, "known_at": known_at}).status == 200
    for row in rows[7:]:
        assess(client, row)
    assert server.stop() == 0
    return server


def test_every_cell_of_the_example_is_what_the_event_was_decided_with(played):
    records = [json.loads(line) for line in
               run("log", "export", "--data", str(played.data), "--tenant", "bank-a").stdout.splitlines()]
    decided = {record["event"]["event_id"]: record for record in records if record["kind"] == "assessment"}
    for row in example():
        record = decided[row["event"]]
        assert record["admission"] == row["event_time"], row
        for name, value in {**record["windows"], **record["kept"]}.items():
            assert row[name] == ("–" if value is None else value), (row["event"], name)
        assert set(record["windows"]) | set(record["kept"]) < set(row)


def test_the_stored_events_are_those_shown(played):
    shown = re.search(r"^\$ tollgate windows show .* --key (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = run("windows", "show", "--data", str(played.data), "--tenant", "bank-a", "--key", shown.group(1))
    assert done.stdout == shown.group(2)


def test_the_hash_is_of_the_events_whatever_their_order_and_outlives_a_restart(make_server):
    def digest(server):
        return run("windows", "hash", "--data", str(server.data), "--tenant", "bank-a").stdout

    moments = [now() - datetime.timedelta(minutes=20 - number) for number in range(3)]
    made = []
    for order in ((0, 1, 2), (2, 0, 1), (0, 1)):
        server = make_server()
        client = server.client()
        for number in order:
            answer = client.assess(event(event_id=f"h{number}", account_id="A-1", occurred_at=rfc3339(moments[number])))
            assert answer.status == 200, answer
        assert server.stop() == 0
        made.append(server)
    assert digest(made[0]) == digest(made[1]) != digest(made[2])
    before = digest(made[0])
    made[0].start().alive()  # this stores one more event, of an account of its own
    assert made[0].stop() == 0
    after = run("windows", "show", "--data", str(made[0].data), "--tenant", "bank-a", "--key", "account_id=A-1")
    assert digest(made[0]) != before and after.stdout.endswith("3 events of account_id=A-1\n"), after


def test_the_account_shows_its_windows_as_of_the_clock(played):
    played.start()
    windows = played.client().get("/v1/accounts/A-1").json["windows"]
    last = example()[-1]
    assert int(windows["n_10m"]) == int(last["n_10m"]) + 1  # e9 itself
    assert int(windows["n_10m_in"]) == int(windows["n_10m"])  # as the page says: there is no current event


def test_the_proof_prints_what_the_page_shows():
    command, shown = re.search(r"^\$ tollgate (windows verify .*?--quiet)\n(.*?)^```$", PAGE,
                               re.MULTILINE | re.DOTALL).groups()
    done = subprocess.run([BINARY, *command.replace("\\\n", " ").split()], cwd=ROOT, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done
    assert re.sub(r"in [\d.]+ s", "in 0.0 s", done.stdout) == shown


def test_a_key_past_its_bound_is_unknown_and_never_smaller(make_server):
    server = make_server(config="[windows]\nmax_events_per_key = 16\n", files=pack())
    client = server.client()
    for number in range(20):
        assess(client, {"event": f"m{number}", "occurred_at": f"2026-11-01T10:00:{number:02}Z", "amount": "1.00",
                        "channel": "pos", "event_time": "fresh"})
    assert server.stop() == 0
    records = run("log", "export", "--data", str(server.data), "--tenant", "bank-a").stdout.splitlines()
    counts = [json.loads(line)["windows"]["n_10m"] for line in records if '"assessment"' in line]
    assert counts == [str(n) for n in range(17)] + [None] * 3
