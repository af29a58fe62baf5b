"""Two policy packs change places under load: no decision lost or mixed, a broken pack changes nothing."""
import _drill
import pytest
import tollgate
from _drill import Load

RULES = """ruleset "swap" version 1 currency USD tz "UTC" on_error review
window acct_n_10m count() by account_id over 10m excluding current
{window}
rule {rule} "always" severity low owner "drills"
  {action} if amount >= USD 0.00 {condition}
  reason "always"
"""
# The second pack has another window, so its windows are rebuilt from the log with each swap.
PACKS = {
    "R100": ("challenge", _drill.pack(RULES.format(rule="R100", action="challenge", window="", condition=
                                                   "and acct_n_10m >= 0"), name="even")),
    "R200": ("review", _drill.pack(RULES.format(
        rule="R200", action="review", window="window term_n_1d count() by counterparty.id over 1d excluding current",
        condition="and acct_n_10m + term_n_1d >= 0"), name="odd")),
}


def broken_packs():
    """Kind of fault -> files: none may become active."""
    good = PACKS["R200"][1]
    rules = good["rules/drill.rules"]
    return {
        "unknown name": {**good, "rules/drill.rules": rules.replace("amount >=", "amuont >=")},
        "no rule text": {**good, "rules/drill.rules": "rule"},
        "wrong type": {**good, "rules/drill.rules": rules.replace("USD 0.00", '"0"')},
        "broken toml": {**good, "policy.toml": good["policy.toml"] + "\n[pack"},
        "unknown key": {**good, "policy.toml": good["policy.toml"] + "\ncolour = 1\n"},
        "stray file": {**good, "other/x.txt": "x"},
        "no policy": {"rules/drill.rules": rules},
    }


def test_packs_change_places_under_load(make_server):
    server = make_server(files=PACKS["R100"][1])
    admin = server.admin()
    hashes = {}
    for rule, (_, files) in PACKS.items():
        checked = admin.post("/admin/policy:validate", {"files": files}).json
        assert checked["valid"], checked
        hashes[checked["policy"]] = rule
    assert len(hashes) == 2
    by_rule = {rule: policy for policy, rule in hashes.items()}
    broken = list(broken_packs().items())
    with Load(server, threads=6, deadline_ms=1000) as load:
        load.wait_for(50)
        for swap in range(20):
            rule = ("R200", "R100")[swap % 2]
            answer = admin.post("/admin/policy:activate", {"files": PACKS[rule][1]})
            assert answer.status == 200, answer
            fresh = server.client().assess(tollgate.event()).json  # admitted after the swap
            assert fresh["versions"]["policy"] == by_rule[rule], fresh
            kind, files = broken[swap % len(broken)]
            refused = admin.post("/admin/policy:activate", {"files": files})
            assert refused.status in (400, 422) and refused.json["detail"], (kind, refused)
            assert server.client().get("/version").json["policy"] == by_rule[rule], kind
            load.wait_for(12)
    _drill.assert_answered_in_time(load.sent, 1000)
    seen = {"R100": 0, "R200": 0}
    for one in load.sent:
        body = one.answer.json
        rule = hashes[body["versions"]["policy"]]  # one of the two, and no third
        action, _ = PACKS[rule]
        assert [hit["id"] for hit in body["rules"]["hits"]] == [rule], body
        assert not body["rules"]["unknown"] and not body["rules"]["errors"], body
        assert body["decided_by"] == f"rule:{rule}" and body["decision"] == action, body
        seen[rule] += 1
    assert min(seen.values()) > 20, seen
    _drill.wait_until_written(server)
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)
    assert server.stop() == 0
    written = _drill.records(server)
    assert len(written) == len(load.sent) + 20
    for one in load.sent:
        record = written[one.event["event_id"]]
        assert record["policy"] == one.answer.json["versions"]["policy"]
        assert record["rules"]["hits"] == [hashes[record["policy"]]]
    _drill.assert_chain(server)


def test_windows_are_whole_after_swaps_under_load(make_server):
    """One account's count goes on over swaps that rebuild the windows, though events come all the while."""
    server = make_server(files=PACKS["R100"][1])
    admin, client = server.admin(), server.client()
    sent = 0
    with Load(server, make=lambda: tollgate.event(account_id="busy"), deadline_ms=1000) as load:
        for swap in range(8):
            assert admin.post("/admin/policy:activate", {"files": PACKS[("R200", "R100")[swap % 2]][1]}).status == 200
            assert client.assess(tollgate.event(account_id="steady")).status == 200
            sent += 1
            assert _drill.account_windows(server, "steady")["acct_n_10m"] == str(sent)
            load.wait_for(10)
    _drill.assert_answered_in_time(load.sent, 1000)
    assert _drill.account_windows(server, "busy")["acct_n_10m"] == str(len(load.sent))
    _drill.wait_until_written(server)
    server.kill()
    server.start()
    assert _drill.account_windows(server, "busy")["acct_n_10m"] == str(len(load.sent))
    assert _drill.account_windows(server, "steady")["acct_n_10m"] == str(sent)


def test_a_kill_during_swaps_leaves_one_whole_pack(make_server):
    server = make_server(files=PACKS["R100"][1])
    hashes = {server.admin().post("/admin/policy:validate", {"files": files}).json["policy"]: rule
              for rule, (_, files) in PACKS.items()}
    everything, confirmed = [], "R100"
    for round_number in range(3):
        with Load(server, deadline_ms=1000) as load:
            for swap in range(3 + round_number):
                confirmed = ("R200", "R100")[swap % 2]
                assert server.admin().post("/admin/policy:activate", {"files": PACKS[confirmed][1]}).status == 200
            load.wait_for(20)
            server.kill()
        everything += [one for one in load.sent if one.answer is not None]
        server.start()
        assert hashes[server.client().get("/version").json["policy"]] == confirmed  # what was answered 200 holds
        fresh = server.client().assess(tollgate.event()).json
        assert [hit["id"] for hit in fresh["rules"]["hits"]] == [confirmed]
    _drill.assert_answered_in_time(everything, 1000)
    assert _drill.assert_found(server, everything) > 0


@pytest.mark.parametrize("kind", broken_packs())
def test_a_broken_pack_is_refused_by_the_command_and_the_old_one_stays(make_server, tmp_path, kind):
    server = make_server(files=PACKS["R100"][1])
    before = server.client().get("/version").json["policy"]
    folder = tollgate.write_policy(tmp_path / "broken", broken_packs()[kind])
    done = tollgate.run("policy", "activate", folder, "--server", f"http://127.0.0.1:{server.admin_port}",
                        "--key", server.key, check=False)
    assert done.returncode != 0 and done.stderr, done
    assert server.client().get("/version").json["policy"] == before
    assert server.client().assess(tollgate.event()).json["decided_by"] == "rule:R100"
