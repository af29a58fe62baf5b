"""A frozen store thread and a frozen model worker: decisions go on, /readyz says so and recovers."""
import _drill
import tollgate
from _drill import Load


def test_with_the_store_frozen_answers_keep_coming_and_readyz_tells(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    with Load(server) as load:
        load.wait_for(50, lambda one: one.persisted == "os")
        assert _drill.readiness(server)["store"] == "ok"
        server.faults(store_frozen=True)
        load.wait_for(200, lambda one: one.persisted == "memory")
        assert _drill.until(lambda: _drill.readiness(server)["store"].startswith("degraded"), 5)
        frozen = _drill.readiness(server)
        assert frozen["faults"] == "store_frozen=1" and int(frozen["journal"]) >= 200, frozen
        assert server.client().get("/healthz").status == 200
        load.wait_for(50, lambda one: one.persisted == "memory")
        server.faults(store_frozen=False)
        load.wait_for(50, lambda one: one.persisted == "os")
    _drill.assert_answered_in_time(load.sent)
    _drill.wait_until_written(server)
    ready = server.client().get("/readyz")
    assert ready.status == 200 and ready.json["ready"] is True and ready.json["parts"]["faults"] == "none", ready
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)
    server.kill()
    server.start()
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)


def test_windows_go_on_counting_while_the_store_is_frozen(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    client = server.client()
    server.faults(store_frozen=True)
    decisions = [client.assess(tollgate.event(account_id="burst")).json["decision"] for _ in range(8)]
    assert decisions == ["approve"] * 5 + ["decline"] * 3
    assert _drill.account_windows(server, "burst") == {"acct_n_10m": "8"}
    server.faults(store_frozen=False)
    _drill.wait_until_written(server)
    server.kill()
    server.start()
    assert _drill.account_windows(server, "burst") == {"acct_n_10m": "8"}


def test_a_batch_goes_on_while_the_store_is_frozen(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    server.faults(store_frozen=True)
    events = [tollgate.event() for _ in range(300)]
    answer = server.client().post("/v1/assessments:batch", "".join(tollgate.json.dumps(e) + "\n" for e in events))
    answers = [tollgate.json.loads(line) for line in answer.body.splitlines()]
    assert [a["event_id"] for a in answers] == [e["event_id"] for e in events]
    assert {a["persisted"] for a in answers} == {"memory"} and {a["decision"] for a in answers} == {"approve"}
    server.faults(store_frozen=False)
    _drill.wait_until_written(server)
    assert all(_drill.stored_body(server.client(), a["id"]) for a in answers)


def test_with_the_model_worker_frozen_answers_keep_coming_and_readyz_names_it(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    with Load(server) as load:
        server.faults(worker_frozen=True)
        load.wait_for(100)
        assert _drill.readiness(server)["faults"] == "worker_frozen=1"
        server.faults(worker_frozen=False)
        load.wait_for(50)
        assert _drill.readiness(server)["faults"] == "none"
    _drill.assert_answered_in_time(load.sent)  # without a model nothing is at fault
    assert {one.answer.json["source"] for one in load.sent} == {"rules"}


def test_sigterm_with_the_store_frozen_ends_the_process_and_loses_nothing_stored(make_server):
    _drill.assert_sigterm_ends_it(make_server, store_frozen=True)
