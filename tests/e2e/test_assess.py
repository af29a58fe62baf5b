"""The happy path: assessments, idempotency, tenants, outcomes, reads, batches."""
import concurrent.futures
import json

import tollgate
from tollgate import event


def test_an_assessment_is_decided_and_can_be_read_back(server):
    client = server.client()
    sent = event(amount={"value": "2500.00", "currency": "USD"}, attributes={"home_country": "KR"})
    answer = client.assess(sent, X_Deadline_Ms="500")
    assert answer.status == 200, answer
    body = answer.json
    assert body["event_id"] == sent["event_id"]
    assert body["decision"] == "review" and body["decided_by"] == "rule:R002"
    assert [hit["id"] for hit in body["rules"]["hits"]] == ["R002"]
    assert body["source"] == "rules" and body["fallback"] is None
    assert body["probability"] is None and body["score"] is None and body["band"] is None
    assert body["persisted"] == "os"
    assert body["deadline"]["budget_ms"] == 500
    assert "total;dur=" in answer.headers["server-timing"]
    read = client.get(f"/v1/assessments/{body['id']}")
    assert read.status == 200 and read.json["answer"] == body, read
    assert client.get("/v1/assessments/as_nothing").status == 404


def test_a_repeat_is_answered_byte_for_byte_and_another_event_of_the_id_is_409(server):
    client = server.client()
    sent = event()
    first = client.assess(sent)
    assert first.status == 200 and "idempotency-replayed" not in first.headers
    reordered = json.dumps(dict(reversed(list(sent.items()))), indent=3)
    again = client.assess(reordered)
    assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    other = client.assess({**sent, "amount": {"value": "12.51", "currency": "USD"}})
    assert other.status == 409 and other.json["code"] == "conflict", other
    assert client.assess(sent).body == first.body


def test_tenants_with_equal_ids_see_nothing_of_each_other(server):
    a, b = server.client(), server.client(server.other_key)
    sent = event(account_id="SAME")
    first = a.assess(sent)
    second = b.assess({**sent, "amount": {"value": "99.00", "currency": "USD"}})
    assert first.status == 200 and second.status == 200, second
    assert "idempotency-replayed" not in second.headers
    assert b.get(f"/v1/assessments/{first.json['id']}").status == 404
    for _ in range(5):
        assert a.assess(event(account_id="SAME")).status == 200
    assert a.assess(event(account_id="SAME")).json["decision"] == "decline"
    assert b.assess(event(account_id="SAME")).json["decision"] == "approve"
    admin = server.admin()
    assert admin.request("PUT", "/admin/accounts/SAME/block", {"reason": "test"}).status == 200
    assert a.get("/v1/accounts/SAME").json["block"] is not None
    assert b.get("/v1/accounts/SAME").json["block"] is None
    assert admin.request("DELETE", "/admin/accounts/SAME/block").status == 200


def test_limits_and_blocks_take_effect_at_once_and_say_which(server):
    client, admin = server.client(), server.admin()
    account, at = event()["account_id"], event()["occurred_at"]
    set_limit = admin.request("PUT", f"/admin/accounts/{account}/limit",
                              {"amount": {"value": "10.00", "currency": "USD"}, "reason": "test"})
    assert set_limit.status == 200, set_limit
    over = client.assess(event(account_id=account)).json
    assert over["decision"] == "challenge" and over["decided_by"] == "limit", over
    assert over["limit"]["amount"] == "10.00"
    assert over["limit"]["sequence"] == set_limit.json["sequence"]
    assert admin.request("DELETE", f"/admin/accounts/{account}/limit").status == 200
    assert client.assess(event(account_id=account)).json["decision"] == "approve"
    assert admin.request("PUT", f"/admin/accounts/{account}/block", {"reason": "stolen"}).status == 200
    blocked = client.assess(event(account_id=account)).json
    assert blocked["decision"] == "decline" and blocked["decided_by"] == "block"
    for bad in ({}, {"amount": {"value": "x", "currency": "USD"}}, {"amount": {"value": "1", "currency": "EUR"}},
                {"amount": {"value": "1.00", "currency": "USD"}, "colour": 1}, [], 42):
        refused = admin.request("PUT", f"/admin/accounts/{account}/limit", bad)
        assert refused.status == 400 and refused.json["detail"], refused


def test_outcomes_are_taken_known_or_not(server):
    client = server.client()
    sent = event()
    assert client.assess(sent).status == 200
    outcome = {"outcome_id": "o-" + sent["event_id"], "event_id": sent["event_id"], "label": "fraud",
               "kind": "chargeback", "known_at": tollgate.rfc3339(tollgate.now())}
    first = client.post("/v1/outcomes", outcome)
    assert first.status == 200, first
    assert client.post("/v1/outcomes", outcome).status == 200  # the same again
    parked = client.post("/v1/outcomes", {**outcome, "outcome_id": "o2-" + sent["event_id"],
                                          "event_id": "never-seen-" + sent["event_id"]})
    assert parked.status == 200 and parked.json["status"] != first.json["status"], parked
    for bad in ({**outcome, "label": "maybe"}, {**outcome, "known_at": "yesterday"},
                {k: v for k, v in outcome.items() if k != "event_id"}):
        assert client.post("/v1/outcomes", bad).status == 400


def test_a_batch_answers_line_by_line_in_order(server):
    client = server.client()
    events = [event() for _ in range(200)]
    lines = [json.dumps(e) for e in events]
    lines[10] = '{"event_id":'
    lines[20] = '{"event_id":"' + "x" * 300_000 + '"}'
    lines[30] = ""
    answer = client.post("/v1/assessments:batch", "\n".join(lines) + "\n", Content_Type="application/x-ndjson")
    assert answer.status == 200 and answer.headers["content-type"] == "application/x-ndjson"
    answers = [json.loads(line) for line in answer.body.splitlines()]
    assert len(answers) == 199
    expected = [i for i in range(200) if i != 30]
    for number, got in zip(expected, answers):
        if number == 10:
            assert got["status"] == 400 and got["line"] == 11, got
        elif number == 20:
            assert got["status"] == 413 and got["code"] == "line_too_large" and got["line"] == 21, got
        else:
            assert got["event_id"] == events[number]["event_id"]
    repeated = client.post("/v1/assessments:batch", lines[0] + "\n")
    assert json.loads(repeated.body) == answers[0]


def test_five_of_64_at_once_on_one_account_pass(server):
    account, at = event()["account_id"], event()["occurred_at"]

    def one(_):
        client = server.client()
        try:
            sent = event(account_id=account, occurred_at=at)  # one moment: arrival decides
            return client.assess(sent, X_Deadline_Ms="1000").json["decision"]
        finally:
            client.close()

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        decisions = list(pool.map(one, range(64)))
    assert decisions.count("approve") == 5 and decisions.count("decline") == 59, decisions


def test_amounts_and_zero_and_minor_units(server):
    client = server.client()
    for value, currency in (("0", "USD"), ("0.00", "USD"), ("125.4", "USD"), ("100", "JPY"), ("1.234", "KWD")):
        answer = client.assess(event(amount={"value": value, "currency": currency}))
        assert answer.status == 200, answer
