"""Keys: scopes, expiry, rotation, revocation and reload while the server runs."""
import datetime
import json
import os
import stat
import time

import tollgate
from tollgate import event


def until(check, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.05)
    return False


def test_every_route_but_healthz_needs_a_key(server):
    nobody = tollgate.Client(server.port)
    assert nobody.get("/healthz").status == 200
    for method, path in (("GET", "/readyz"), ("GET", "/version"), ("GET", "/metrics"), ("POST", "/v1/assessments"),
                         ("POST", "/v1/assessments:batch"), ("POST", "/v1/outcomes"), ("GET", "/v1/accounts/a"),
                         ("GET", "/v1/assessments/a"), ("GET", "/v1/analyses/a")):
        answer = nobody.request(method, path, body="{}" if method == "POST" else None)
        assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer", (path, answer)
    admin = tollgate.Client(server.admin_port)
    for method, path in (("GET", "/admin/policy"), ("POST", "/admin/drain"), ("GET", "/admin/faults")):
        assert admin.request(method, path).status == 401
    wrong = server.client("tg_" + "A" * 43)
    assert wrong.assess(event()).status == 401
    for header in ("Basic abc", "Bearer", "Bearer ", server.key, "Bearer " + server.key + "x"):
        assert nobody.request("GET", "/version", headers={"Authorization": header}).status == 401, header


def test_scopes_are_separate(server):
    assess = server.make_key("bank-a", "assess", "--name", "only-assess")
    read = server.make_key("bank-a", "read", "--name", "only-read")
    assert until(lambda: server.client(read).get("/version").status == 200)
    assert server.client(assess).assess(event()).status == 200
    assert server.client(assess).get("/version").status == 403
    assert server.client(read).assess(event()).status == 403
    refused = server.admin(read).get("/admin/policy")
    assert refused.status == 403 and refused.json["code"] == "forbidden", refused
    assert server.client(server.key).get("/admin/policy").status == 404  # only on the admin listener


def test_a_key_expires_and_a_revoked_one_ends_without_restart(server):
    soon = tollgate.now() + datetime.timedelta(seconds=4)
    key = server.make_key("bank-a", "read", "--name", "short", "--expires", tollgate.rfc3339(soon))
    assert until(lambda: server.client(key).get("/version").status == 200, 3)
    assert until(lambda: server.client(key).get("/version").status == 401)
    lasting = server.make_key("bank-a", "read", "--name", "gone")
    assert until(lambda: server.client(lasting).get("/version").status == 200)
    keys = json.loads((server.data / "keys.json").read_text())["keys"]
    ident = [k["id"] for k in keys if k["name"] == "gone"][0]
    tollgate.run("key", "revoke", "--data", str(server.data), ident)
    assert until(lambda: server.client(lasting).get("/version").status == 401)
    assert server.client().get("/version").status == 200


def test_two_keys_of_a_name_live_at_once_and_the_file_holds_hashes(server):
    first = server.make_key("bank-r", "read", "--name", "gateway")
    second = server.make_key("bank-r", "read", "--name", "gateway")
    third = tollgate.run("key", "create", "--data", str(server.data), "--tenant", "bank-r", "--scopes", "read",
                         "--name", "gateway", check=False)
    assert third.returncode != 0 and "revoke" in third.stderr + third.stdout
    assert until(lambda: server.client(second).get("/version").status == 200)
    assert server.client(first).get("/version").status == 200
    path = server.data / "keys.json"
    text = path.read_text()
    assert first not in text and first[3:] not in text
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
