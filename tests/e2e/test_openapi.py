"""docs/openapi.json against the running server: statuses are documented, bodies fit their schemas."""
import json

import jsonschema
import pytest
import tollgate
from tollgate import event

SPEC = json.loads((tollgate.ROOT / "docs/openapi.json").read_text())
OPERATIONS = [(method, path, operation) for path, methods in SPEC["paths"].items()
              for method, operation in methods.items()]


def fits(schema, value):
    jsonschema.Draft202012Validator({**schema, "components": SPEC["components"]}).validate(value)


def check(operation, answer):
    """The status is documented and the body is what the document says for it."""
    documented = operation["responses"].get(str(answer.status))
    assert documented, f"{operation['operationId']}: {answer} is not documented"
    content = documented.get("content", {})
    given = answer.headers["content-type"].split(";")[0]
    assert given in content, (operation["operationId"], given, list(content))
    schema = content[given]["schema"]
    if given == "application/x-ndjson":
        for line in answer.body.splitlines():
            fits({"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Assessment", "Problem")]},
                 json.loads(line))
    elif given.endswith("json"):
        fits(schema, answer.json)
        if answer.status >= 400 and given == "application/problem+json":
            assert answer.json["status"] == answer.status


def samples(server):
    """A good request for each operation that has one: (method, path, body)."""
    sent = event()
    stored = server.client().assess(event()).json["id"]
    files = {"files": tollgate.policy_files()}
    return {
        "assess": sent,
        "assessBatch": json.dumps(event()) + "\n",
        "getAssessment": stored,
        "getAnalysis": "an_1",
        "getAccount": "A-1",
        "postOutcome": {"outcome_id": "oo-" + sent["event_id"], "event_id": sent["event_id"], "label": "legit",
                        "kind": "cleared", "known_at": tollgate.rfc3339(tollgate.now()), "note": "fine"},
        "validatePolicy": files,
        "setLimit": {"amount": {"value": "50.00", "currency": "USD"}, "reason": "test"},
        "setBlock": {"reason": "test", "expires_at": "2030-01-01T00:00:00Z"},
        "setFaults": {"store_delay_us": 0},
    }


def call(server, method, path, operation, body=None, key=None, headers=None):
    port = server.admin_port if operation["x-tollgate-listener"] == "admin" else server.port
    client = tollgate.Client(port, key)
    try:
        return client.request(method.upper(), path, body, headers)
    finally:
        client.close()


# Activation, roll-back and drain change the server for others; the policy and store tests cover them.
ASIDE = {"activatePolicy", "rollbackPolicy", "drain"}


def test_good_requests_answer_as_documented(server):
    given = samples(server)
    for method, path, operation in OPERATIONS:
        name = operation["operationId"]
        if name in ASIDE:
            continue
        ident = given[name] if name in ("getAssessment", "getAnalysis", "getAccount") else "O-1"
        body = None if method in ("get", "delete") else given[name]
        if isinstance(body, dict) and "requestBody" in operation:
            fits(operation["requestBody"]["content"]["application/json"]["schema"], body)
        answer = call(server, method, path.replace("{id}", ident), operation, body, server.key)
        assert answer.status in (200, 202) or name == "getAnalysis", (name, answer)
        check(operation, answer)


def test_admin_changes_answer_as_documented(make_server):
    server = make_server()
    by_name = {operation["operationId"]: (method, path, operation) for method, path, operation in OPERATIONS}
    pack = {"files": tollgate.policy_files(name="next", rule="R003")}
    for name, body, status in (("rollbackPolicy", None, 409), ("activatePolicy", pack, 200),
                               ("rollbackPolicy", None, 200), ("getFaults", None, 404), ("drain", None, 202)):
        method, path, operation = by_name[name]
        answer = call(server, method, path, operation, body, server.key)
        assert answer.status == status, (name, answer)
        check(operation, answer)
    assert server.process.wait(tollgate.PATIENCE) == 0  # the drain ends the process


@pytest.mark.parametrize("method,path,operation", OPERATIONS, ids=[o["operationId"] for _, _, o in OPERATIONS])
def test_refusals_answer_as_documented(server, method, path, operation):
    place = path.replace("{id}", "x")
    if operation["x-tollgate-scope"] is not None:
        for key, status in ((None, 401), ("tg_" + "x" * 43, 401)):
            answer = call(server, method, place, operation, None, key)
            assert answer.status == status, answer
            check(operation, answer)
    other = call(server, "patch", place, operation, None, server.key)
    assert other.status == 405, other
    allowed = {m.upper() for p, m in ((p, m) for m, p, _ in OPERATIONS) if p == path}
    assert set(other.headers["allow"].split(", ")) - {"HEAD"} == allowed
    if "requestBody" in operation and operation["operationId"] != "assessBatch":
        for body, headers in (("{", None), ("42", None), ("[]", None), ('{"no_such_member":1}', None),
                              ("{}" + " " * 10, {"Content-Type": "text/plain"})):
            answer = call(server, method, place, operation, body, server.key, headers)
            assert 400 <= answer.status < 500, (operation["operationId"], body, answer)
            check(operation, answer)


def test_unknown_paths_are_404_problems(server):
    for path in ("/", "/v1", "/v1/assessments/", "/v1/assessments/a/b", "/v2/assessments", "/healthz/"):
        answer = server.client().get(path)
        assert answer.status == 404, (path, answer)
        fits({"$ref": "#/components/schemas/Problem"}, answer.json)
