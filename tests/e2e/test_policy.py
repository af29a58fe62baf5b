"""Policy packs over the admin routes: validate, activate under load, roll back; a broken pack is refused whole."""
import threading

from tollgate import event, policy_files


def test_a_broken_pack_is_refused_with_its_findings_and_changes_nothing(make_server):
    server = make_server()
    client, admin = server.client(), server.admin()
    before = client.get("/version").json["policy"]
    files = policy_files()
    files["rules/card.rules"] = files["rules/card.rules"].replace("acct_n_10m >= 5", "acct_n_10n >= 5")
    checked = admin.post("/admin/policy:validate", {"files": files})
    assert checked.status == 200 and checked.json["valid"] is False, checked
    finding = next(d for d in checked.json["diagnostics"] if d["level"] == "error")
    assert finding["file"] == "rules/card.rules" and finding["line"] == 4 and "acct_n_10m" in str(finding), finding
    refused = admin.post("/admin/policy:activate", {"files": files})
    assert refused.status == 400 and "acct_n_10n" in refused.json["detail"], refused
    for bad in ({"files": {}}, {"files": {"policy.toml": 1}}, {"other": 1}, [], "x", {"files": {"../x": "y"}},
                {"files": {"rules/a.rules": ""}}, {"files": {"policy.toml": "[[["}}):
        assert admin.post("/admin/policy:activate", bad).status == 400, bad
    assert client.get("/version").json["policy"] == before
    assert client.assess(event(amount={"value": "2000.00", "currency": "USD"})).json["decided_by"] == "rule:R002"


def test_a_pack_is_swapped_under_load_without_a_lost_or_mixed_decision(make_server):
    server = make_server()
    files = {"R002": policy_files(), "R003": policy_files(name="next", rule="R003", action="decline")}
    admin = server.admin()
    hashes = {}
    for rule, pack in files.items():
        checked = admin.post("/admin/policy:validate", {"files": pack}).json
        assert checked["valid"], checked
        hashes[checked["policy"]] = rule
    assert server.client().get("/version").json["policy"] in hashes
    stop = threading.Event()
    problems, seen = [], []

    def load():
        client = server.client()
        while not stop.is_set():
            answer = client.assess(event(amount={"value": "2000.00", "currency": "USD"}), X_Deadline_Ms="1000")
            if answer.status != 200:
                problems.append(answer)
                return
            body = answer.json
            rule = hashes.get(body["versions"]["policy"])
            hits = [hit["id"] for hit in body["rules"]["hits"]]
            seen.append(rule)
            if hits != [rule] or body["decided_by"] != f"rule:{rule}":
                problems.append(body)

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for swap in range(6):
            rule = "R003" if swap % 2 == 0 else "R002"
            if swap == 3:
                answer = admin.request("POST", "/admin/policy:rollback")
            else:
                answer = admin.post("/admin/policy:activate", {"files": files[rule]})
            assert answer.status == 200, answer
            assert hashes[server.client().get("/version").json["policy"]] == rule
            fresh = server.client().assess(event(amount={"value": "2000.00", "currency": "USD"})).json
            assert hashes[fresh["versions"]["policy"]] == rule  # admitted after the swap: decided on it
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not problems, problems[:3]
    assert seen.count("R002") > 0 and seen.count("R003") > 0, (seen.count("R002"), seen.count("R003"))


def test_tenants_have_policies_of_their_own(make_server):
    server = make_server()
    pack = policy_files(name="next", rule="R003", action="decline")
    assert server.admin().post("/admin/policy:activate", {"files": pack}).status == 200
    large = {"amount": {"value": "2000.00", "currency": "USD"}}
    assert server.client().assess(event(**large)).json["decided_by"] == "rule:R003"
    assert server.client(server.other_key).assess(event(**large)).json["decided_by"] == "rule:R002"
    listed = server.admin().get("/admin/policy").json
    assert listed["active"] == server.client().get("/version").json["policy"]
    assert server.stop() == 0
    server.start()
    assert server.client().assess(event(**large)).json["decided_by"] == "rule:R003"
