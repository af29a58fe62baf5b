"""Bad input: each a named error or a bounded refusal, the process alive, the next request right."""
import json
import socket
import threading
import time

import pytest

import tollgate
from tollgate import event, http_bytes, raw


@pytest.fixture(autouse=True)
def still_right(server):
    yield
    server.alive()


def text_of(changes="", **replaced):
    """An event as text, with raw JSON `changes` put before its end."""
    text = json.dumps(event(**replaced))
    return text[:-1] + changes + "}"


AMOUNTS = ["9000000000000001", "99999999999999999999", "1e3", "1,5", "-1.00", "+1", " 1", "1.234", "007", "", "NaN",
           "85.64999999999999"]
TIMES = ["20000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-02-30T00:00:00Z", "yesterday", "2026-11-30",
         "2026-11-30T08:15:30", "2999-01-01T00:00:00Z"]


@pytest.mark.parametrize("value", AMOUNTS)
def test_amounts_out_of_form_or_range_are_named(server, value):
    answer = server.client().assess(event(amount={"value": value, "currency": "USD"}))
    assert answer.status == 400 and answer.json["field"] == "amount.value", answer


@pytest.mark.parametrize("value", [125.4, 125, None, True, ["1"], {"a": 1}])
def test_amounts_that_are_no_text_are_named(server, value):
    answer = server.client().assess(event(amount={"value": value, "currency": "USD"}))
    assert answer.status == 400 and answer.json["field"].startswith("amount"), answer


@pytest.mark.parametrize("currency", ["XXY", "usd", "", "USDT", "840"])
def test_unknown_currencies_are_named(server, currency):
    answer = server.client().assess(event(amount={"value": "1.00", "currency": currency}))
    assert answer.status == 400 and "currency" in answer.json["detail"], answer


@pytest.mark.parametrize("value", TIMES)
def test_times_out_of_form_or_range_are_named(server, value):
    answer = server.client().assess(event(occurred_at=value))
    assert answer.status == 400 and answer.json["field"] == "occurred_at", answer


def test_a_clock_that_goes_back_is_only_late(server):
    client = server.client()
    account = event()["account_id"]
    assert client.assess(event(account_id=account)).status == 200
    earlier = tollgate.now() - tollgate.datetime.timedelta(minutes=30)
    answer = client.assess(event(account_id=account, occurred_at=tollgate.rfc3339(earlier)))
    assert answer.status == 200 and answer.json["event_time"] in ("late", "fresh"), answer
    long_ago = client.assess(event(account_id=account, occurred_at="2020-01-01T00:00:00Z"))
    assert long_ago.status == 200, long_ago


BODIES = {
    "a number": "42", "a text": '"x"', "an array": "[]", "null": "null", "an empty object": "{}", "nothing": "",
    "cut off": '{"event_id":"a"', "two documents": "{} {}", "trailing comma": '{"event_id":"a",}',
    "NaN": text_of(',"attributes":{"visits":NaN}'), "Infinity": text_of(',"attributes":{"visits":Infinity}'),
    "1e999": text_of(',"attributes":{"visits":1e999}'), "big integer": text_of(',"attributes":{"visits":1e300}'),
    "duplicate key": text_of(',"channel":"pos"'), "duplicate after escapes": text_of(',"ch\\u0061nnel":"pos"'),
    "lone surrogate": text_of(',"memo":"\\ud800"'), "lone low surrogate": text_of(',"memo":"\\udc00x"'),
    "unknown member": text_of(',"colour":"red"'), "unknown attribute": text_of(',"attributes":{"colour":"red"}'),
    "deep arrays": "[" * 10_000 + "]" * 10_000, "deep in an attribute": text_of(
        ',"attributes":{"home_country":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "id too long": json.dumps(event(event_id="x" * 129)), "empty id": json.dumps(event(event_id="")),
    "id with a control": json.dumps(event(event_id="a\nb")), "bad type": json.dumps(event(event_type="gift")),
    "memo too long": json.dumps(event(memo="m" * 4097)), "id as number": json.dumps(event(event_id=5)),
}


@pytest.mark.parametrize("name", BODIES)
def test_bad_bodies_are_refused_by_name(server, name):
    answer = server.client().assess(BODIES[name])
    assert answer.status == 400, answer
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert problem["status"] == 400 and problem["code"] and problem["detail"] and problem["title"], problem


@pytest.mark.parametrize("name", ["event_id", "event_type", "occurred_at", "account_id", "amount"])
def test_missing_required_members_are_named(server, name):
    sent = event()
    del sent[name]
    answer = server.client().assess(sent)
    assert answer.status == 400 and answer.json["field"] == name, answer


@pytest.mark.parametrize("broken", [b"\xc3\x28", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"])
def test_invalid_utf8_is_refused_and_not_echoed(server, broken):
    for body in (json.dumps(event()).encode()[:-1] + b',"' + broken + b'":1}',
                 json.dumps(event()).encode()[:-1] + b',"memo":"' + broken + b'"}', broken):
        answer = server.client().assess(body)
        assert answer.status == 400, answer
        answer.body.decode("utf-8")
        assert answer.json["code"] == "bad_input"


def test_content_types(server):
    client = server.client()
    for given, status in (("text/plain", 415), ("application/xml", 415), ("application/json; charset=utf-8", 200)):
        assert client.assess(event(), Content_Type=given).status == status
    assert client.assess(event()).status == 200  # a missing one is taken as JSON
    assert client.assess(event(), Content_Encoding="gzip").status == 415


def test_a_long_line_of_ten_megabytes_is_refused_by_name(server):
    good = json.dumps(event())
    body = ('{"memo":"' + "x" * 10_000_000 + '"}\n' + good + "\n").encode()
    answer = server.client().post("/v1/assessments:batch", body)
    first, second = answer.body.splitlines()
    assert json.loads(first)["code"] == "line_too_large" and json.loads(first)["line"] == 1
    assert json.loads(second)["decision"] == "approve"


def test_a_body_over_a_megabyte_is_refused(server):
    answer = raw(server.port, http_bytes(server.key, headers=["Content-Length: 1048577"]))
    assert answer.startswith(b"HTTP/1.1 413"), answer
    chunked = http_bytes(server.key, headers=["Transfer-Encoding: chunked"])
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    assert b" 413 " in raw(server.port, chunked + piece * 17)[:20]


def test_a_truncated_body_is_refused(server):
    answer = raw(server.port, http_bytes(server.key, b'{"event_id"', headers=["Content-Length: 100"]), finish=True)
    assert answer.startswith(b"HTTP/1.1 400"), answer


FRAMINGS = [["Content-Length: 0", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked, gzip"],
            ["Content-Length: 5", "Content-Length: 6"], ["Content-Length: +5"], ["Content-Length: 5, 6"]]


@pytest.mark.parametrize("headers", FRAMINGS)
def test_two_framings_close_the_connection_and_run_nothing(server, headers):
    smuggled = event()
    answer = raw(server.port, http_bytes(server.key, headers=headers) + http_bytes(server.key, json.dumps(smuggled)))
    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 501"), answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert "idempotency-replayed" not in server.client().assess(smuggled).headers


def test_honest_pipelining_is_answered_in_order(server):
    events = [event() for _ in range(10)]
    requests = [http_bytes(server.key, json.dumps(e)) for e in events]
    requests.append(http_bytes(server.key, line="GET /healthz", headers=["Connection: close"]))
    answer = raw(server.port, b"".join(requests))
    places = [answer.index(e["event_id"].encode()) for e in events]
    assert places == sorted(places) and answer.count(b"HTTP/1.1 200") == 11


@pytest.mark.parametrize("value", ["0", "1001", "-1", "1.5", "soon", "1e2", "99999999999999999999"])
def test_deadlines_out_of_range_name_the_range(server, value):
    answer = server.client().assess(event(), X_Deadline_Ms=value)
    assert answer.status == 400 and "1..1000" in answer.json["detail"], answer
    assert answer.json["field"] == "X-Deadline-Ms"


def test_slow_clients_by_the_hundred_do_not_hold_up_others(make_server):
    server = make_server(config="[server]\nheader_timeout_ms = 1000\nbody_timeout_ms = 1000\nmax_connections = 300\n")
    slow = []
    for i in range(600):
        try:
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            sock.sendall(b"POST /v1/assessments HTTP/1.1\r\nHost: a\r\nX-Slow" if i % 2 else b"P")
            slow.append(sock)
        except OSError:
            pass  # turned away: the bound at work
    stop = threading.Event()

    def drip():
        while not stop.wait(0.2):
            for sock in slow:
                try:
                    sock.sendall(b"a")
                except OSError:
                    pass

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        deadline = time.monotonic() + 10
        worked = 0
        while worked < 20 and time.monotonic() < deadline:
            try:
                if server.client().assess(event()).status == 200:
                    worked += 1
                    continue
            except OSError:
                pass
            time.sleep(0.1)
        assert worked == 20
    finally:
        stop.set()
        dripping.join()
        for sock in slow:
            sock.close()
    server.alive()
