"""A full disk: answers in time, a bounded journal, then the policy's on_store_lost; what was kept is written later."""
import threading

import _drill
import pytest
import tollgate
from _drill import Load

CAPACITY = 80
SETTINGS = f"[store]\njournal_capacity = {CAPACITY}\n"


class Watch:
    """Asks /metrics for the journal's length again and again while the `with` lasts; `highest` is the most seen."""

    def __init__(self, server):
        self._server, self._stop, self.highest = server, threading.Event(), 0
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        client = self._server.client()
        while not self._stop.wait(0.02):
            self.highest = max(self.highest, tollgate.metric(client, "tollgate_store_queue_depth"))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


@pytest.mark.parametrize("on_store_lost", ("decide", "decline"))
def test_past_the_journals_bound_the_policy_decides_and_what_was_kept_is_written(make_server, on_store_lost):
    server = make_server(files=_drill.pack(on_store_lost=on_store_lost), arguments=["--enable-faults"],
                         config=SETTINGS)

    def lost():
        return tollgate.metric(server.client(), "tollgate_store_lost_total", tenant="bank-a")

    with Load(server) as load, Watch(server) as watch:
        load.wait_for(50, lambda one: one.persisted == "os")
        server.faults(store_full=True)
        load.wait_for(CAPACITY + 100, lambda one: one.persisted == "memory")
        ready = _drill.readiness(server)
        assert ready["store"].startswith("degraded") and "No space left" in ready["store"], ready
        assert lost() > 0 and tollgate.metric(server.client(), "tollgate_store_refused_total") > 0
        server.faults(store_full=False)
        load.wait_for(50, lambda one: one.persisted == "os")
    _drill.assert_answered_in_time(load.sent)
    _drill.wait_until_written(server)
    assert CAPACITY / 2 < watch.highest <= CAPACITY, watch.highest
    memory = [one for one in load.sent if one.persisted == "memory"]
    assert tollgate.metric(server.client(), "tollgate_persisted_total", persisted="memory",
                           tenant="bank-a") == len(memory)

    def check_stored():
        """What is stored: all `os`; of `memory` all but those that the journal could not take."""
        client, missing, unpatched = server.client(), [], 0
        for one in load.sent:
            stored = _drill.stored_body(client, one.id)
            if stored is None:
                assert one.persisted == "memory", one
                missing.append(one)
            elif stored != one.answer.body:  # the journal took the decision, not the word `memory` after it
                assert stored == one.answer.body.replace(b'"persisted":"memory"', b'"persisted":"os"'), one
                unpatched += 1
        assert missing and len(missing) + unpatched == lost_then, (len(missing), unpatched, lost_then)
        return missing

    lost_then = lost()
    missing = check_stored()
    default = "decline" if on_store_lost == "decline" else "approve"
    for one in load.sent:
        expected = default if one in missing else "approve"
        assert one.answer.json["decision"] == expected, one
    server.kill()
    server.start()
    assert check_stored() == missing
    client = server.client()
    for one in missing:  # the gateway may send them again: decided once, and stored now
        again = client.assess(one.event)
        assert again.status == 200 and again.json["decision"] == "approve", again
        assert "idempotency-replayed" not in again.headers
        assert client.assess(one.event).body == again.body
    assert server.stop() == 0
    _drill.assert_chain(server)
    assert set(_drill.records(server)) == {one.event["event_id"] for one in load.sent}


def test_an_event_that_the_journal_could_not_keep_counts_once_when_it_is_sent_again(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"], config="[store]\njournal_capacity = 4\n")
    client = server.client()
    server.faults(store_full=True)
    assert _drill.until(lambda: client.assess(tollgate.event()).status == 200 and
                        tollgate.metric(client, "tollgate_store_lost_total") >= 4)
    event = tollgate.event(account_id="lost")
    assert client.assess(event).json["persisted"] == "memory"
    server.faults(store_full=False)
    _drill.wait_until_written(server)
    again = client.assess(event)
    assert "idempotency-replayed" not in again.headers, "the journal kept it: the drill did not fill it"
    assert _drill.account_windows(server, "lost") == {"acct_n_10m": "1"}
    server.kill()
    server.start()
    assert _drill.account_windows(server, "lost") == {"acct_n_10m": "1"}


def test_sigterm_on_a_full_disk_ends_the_process(make_server):
    _drill.assert_sigterm_ends_it(make_server, store_full=True)
