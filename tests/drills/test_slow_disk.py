"""A slow disk: answers in time as `memory`, counted, written when it is fast again; `os` means stored even then."""
import threading

import _drill
import tollgate
from _drill import Load


def test_a_slow_disk_delays_no_answer_and_all_are_read_back_when_it_is_over(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    with Load(server) as load:
        load.wait_for(50, lambda one: one.persisted == "os")
        server.faults(store_delay_us=100_000)
        load.wait_for(300, lambda one: one.persisted == "memory")
        assert "store_delay_us=100000" in _drill.readiness(server)["faults"]
        server.faults(store_delay_us=0)
        load.wait_for(50, lambda one: one.persisted == "os")
    _drill.assert_answered_in_time(load.sent)
    kinds = [one.persisted for one in load.sent]
    for label, kind in (("memory", "memory"), ("log", "os")):
        counted = tollgate.metric(server.client(), "tollgate_persisted_total", persisted=label, tenant="bank-a")
        assert counted == kinds.count(kind), (label, counted, kinds.count(kind))
    assert tollgate.metric(server.client(), "tollgate_store_lost_total") == 0
    _drill.wait_until_written(server)
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)
    server.kill()  # what was in the journal is in the log by now
    server.start()
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)


def test_kill_9_while_the_disk_is_slow_loses_at_most_what_was_said_to_be_in_memory(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    with Load(server) as load:
        load.wait_for(50, lambda one: one.persisted == "os")
        server.faults(store_delay_us=400_000)
        load.wait_for(100, lambda one: one.persisted == "memory")
        server.kill()
    answered = [one for one in load.sent if one.answer is not None]
    _drill.assert_answered_in_time(answered)
    server.start()
    assert _drill.assert_found(server, answered) >= 50
    client, lost = server.client(), 0
    for one in load.sent:  # the gateway sends again what it holds no `os` for
        if one.persisted != "os":
            again = client.assess(one.event)
            assert again.status == 200 and again.json["decision"] == "approve", again
            lost += "idempotency-replayed" not in again.headers
            assert _drill.until(lambda: _drill.stored_body(client, again.json["id"])) == again.body
    assert lost > 0, "the kill hit nothing: the delay held no commit back"
    assert server.stop() == 0
    assert len(_drill.records(server)) == len(load.sent)


def test_repeats_of_an_answer_that_waits_in_the_journal_get_its_bytes(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    server.faults(store_delay_us=1_000_000)
    event = tollgate.event(account_id="repeated")
    first = server.client().assess(event)
    assert first.json["persisted"] == "memory", first
    answers, threads = [], []
    for _ in range(8):
        threads.append(threading.Thread(target=lambda: answers.append(server.client().assess(event))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert [answer.body for answer in answers] == [first.body] * 8
    assert all(answer.headers.get("idempotency-replayed") == "true" for answer in answers)
    changed = server.client().assess({**event, "channel": "pos"})
    assert changed.status == 409, changed
    server.faults(store_delay_us=0)
    _drill.wait_until_written(server)
    assert _drill.stored_body(server.client(), first.json["id"]) == first.body
    assert _drill.account_windows(server, "repeated") == {"acct_n_10m": "1"}
