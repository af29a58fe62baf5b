"""The encoder behind the API: its vote, its provenance, each of its faults, and models that are refused."""
import json
import pathlib
import shutil
import time

import tollgate

MODEL = str(tollgate.ROOT / "models" / "default")
CLOCK = '\n[time]\nstream_clock = "event"\nmax_ahead = "1d"\n'


def default_files(**more):
    root = tollgate.ROOT / "policies" / "default"
    files = {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}
    files["policy.toml"] += CLOCK
    return {**files, **more}


def traffic(count, seed=3):
    done = tollgate.run("simulate", "--events", str(count), "--seed", str(seed), "--out", "-", "--quiet")
    return [json.loads(line)["event"] for line in done.stdout.splitlines()]


def encoder_server(make_server, **more):
    return make_server(files=default_files(), arguments=["--model", MODEL, "--enable-faults", *more.pop("arguments", [])],
                       **more)


def until(check, seconds=tollgate.PATIENCE):
    end = time.monotonic() + seconds
    while not (got := check()) and time.monotonic() < end:
        time.sleep(0.02)
    return got


def test_the_model_votes_and_the_answer_says_how(make_server):
    server = encoder_server(make_server)
    client = server.client()
    version = client.get("/version").json
    assert len(version["model"]) == 64 and version["kernels"] in ("amx", "avx512", "avx2", "ref"), version
    sources = []
    for event in traffic(200):
        answer = client.assess(event, X_Deadline_Ms="1000").json
        sources.append(answer["source"])
        if answer["source"] != "model":
            continue
        assert 0.0 <= answer["probability"] <= 1.0 and 0.0 <= answer["score"] <= 1.0
        band = "high" if answer["score"] >= 0.7 else "grey" if answer["score"] >= 0.3 else "low"
        assert answer["band"] == band and answer["fallback"] is None
        assert answer["versions"]["model"] == version["model"]
        assert answer["timings_us"]["encoder"] > 0
    assert sources.count("model") >= 190, sources


def test_the_record_names_model_bits_and_tokens(make_server, tmp_path):
    server = encoder_server(make_server)
    assert server.client().assess(traffic(1)[0], X_Deadline_Ms="1000").json["source"] == "model"
    assert server.stop() == 0
    out = tollgate.run("log", "export", "--data", str(server.data), "--tenant", "bank-a").stdout
    record = json.loads(out.splitlines()[0])
    record = record.get("record", record)
    assert record["encoder"]["tokens"] > 5 and record["encoder"]["cut"] == 0
    assert isinstance(record["probability_bits"], int) and len(record["provenance"]["model"]) == 64


def test_a_memo_past_the_models_input_is_cut_and_told(make_server):
    server = encoder_server(make_server)
    event = traffic(1)[0]
    event["memo"] = "1 2 3 4 5 6 7 8 9 " * 100
    assert server.client().assess(event, X_Deadline_Ms="1000").json["source"] == "model"
    assert tollgate.metric(server.client(), "tollgate_encoder_text_cut_total") == 1


def test_each_fault_is_answered_by_the_rules_and_recovered_from(make_server):
    server = encoder_server(make_server)
    client = server.client()
    events = iter(traffic(4000, seed=9))

    def source(cause=False):
        answer = client.assess(next(events), X_Deadline_Ms="1000")
        assert answer.status == 200, answer
        return (answer.json["fallback"] or {}).get("cause") if cause else answer.json["source"]

    for on, off in (({"worker_frozen": True}, {"worker_frozen": False}), ({"scorer_delay_us": 40000}, {"scorer_delay_us": 0}),
                    ({"encoder_crash": True}, {"encoder_crash": False}), ({"encoder_nan": True}, {"encoder_nan": False})):
        assert until(lambda: source() == "model"), on
        server.faults(**on)
        causes = [source(cause=True) for _ in range(12)]
        assert set(causes) <= {"timeout", "unavailable", None} and causes[-1] is not None, (on, causes)
        assert until(lambda: "degraded" in readiness(client)["model"]), on
        server.faults(**off)
        assert until(lambda: source() == "model"), on
        assert until(lambda: readiness(client)["model"] == "ready"), on


def readiness(client):
    return client.get("/readyz").json["parts"]


def test_a_pack_without_a_template_is_decided_by_rules_and_nothing_is_at_fault(make_server):
    server = make_server(arguments=["--model", MODEL])
    answer = server.client().assess(tollgate.event()).json
    assert answer["source"] == "rules" and answer["fallback"] is None and answer["probability"] is None


def refused(tmp_path, change):
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    change(folder)
    done = tollgate.run("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--model", str(folder),
                        check=False)
    assert done.returncode != 0, done.stdout
    shutil.rmtree(folder)
    return done.stderr


def test_models_that_do_not_fit_are_refused_with_the_reason(tmp_path):
    def config(**more):
        def change(folder):
            path = folder / "config.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
        return change

    assert "vocabulary has" in refused(tmp_path, lambda f: (f / "vocab.txt").write_text(
        (f / "vocab.txt").read_text() + "".join(f"extra{i}\n" for i in range(9))))
    assert "hidden_size" in refused(tmp_path, config(hidden_size=65))
    assert "has shape" in refused(tmp_path, config(hidden_size=128, num_attention_heads=2, intermediate_size=512))
    assert "model_type" in refused(tmp_path, config(model_type="gpt2"))
    assert "never makes" in refused(tmp_path, lambda f: (f / "buckets.json").write_text(
        '{"version":1,"fields":{"unheard":[1.0]}}'))
    assert "calibration.json" in refused(tmp_path, lambda f: (f / "calibration.json").write_text("{}"))

    def cut(folder):
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-100])
    assert "safetensors" in refused(tmp_path, cut)
    kernels = tollgate.run("serve", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--model", MODEL,
                           "--kernels", "sse9", check=False)
    assert kernels.returncode == 2 and "this machine runs" in kernels.stderr


def test_memory_is_refused_before_the_weights_are_read(tmp_path):
    config = tmp_path / "tollgate.toml"
    config.write_text("[model]\nmemory_mb = 1\n")
    done = tollgate.run("serve", "--config", str(config), "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0",
                        "--model", MODEL, check=False)
    assert done.returncode != 0 and "are allowed" in done.stderr, done.stderr


def test_every_table_gives_the_same_bytes(tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("kind1 amt7 rmed3 dcards0 for the boat\nkind2 amt20\n\nunheard words 123 \u6c47\u6b3e\n")
    for precision in ("fp32", "int8"):
        by_table = {tollgate.run("model", "score", MODEL, "--input", str(texts), "--kernels", table, "--precision",
                                 precision).stdout
                    for table, state, *_ in (line.split() for line in tollgate.run("kernels", "--quick").stdout.splitlines())
                    if state != "declined"}
        assert len(by_table) == 1, by_table


def test_activate_fits_on_labelled_traffic_and_refuses_by_the_packs_limits(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    held_out = tmp_path / "held_out.jsonl"
    tollgate.run("simulate", "--events", "20000", "--seed", "77", "--out", str(held_out), "--quiet")
    before = (folder / "calibration.json").read_text()
    strict = tollgate.write_policy(tmp_path / "strict", default_files(
        **{"policy.toml": default_files()["policy.toml"] + "\n[model]\nmin_ap = 0.99\n"}))
    done = tollgate.run("model", "activate", str(folder), "--policy", strict, "--input", str(held_out), "--quiet",
                        check=False)
    assert done.returncode == 2 and "min_ap" in done.stderr
    assert (folder / "calibration.json").read_text() == before
    loose = tollgate.write_policy(tmp_path / "loose", default_files(
        **{"policy.toml": default_files()["policy.toml"] + "\n[model]\nmax_ece = 0.05\n"}))
    done = tollgate.run("model", "activate", str(folder), "--policy", loose, "--input", str(held_out), "--quiet")
    assert "activated" in done.stdout
    assert json.loads((folder / "calibration.json").read_text())["rows"] == 20000


def test_the_selftest_passes_or_says_what_did_not(tmp_path):
    out = tmp_path / "selftest.json"
    done = tollgate.run("selftest", "fallback", "--model", MODEL, "--fault", "crash", "--seconds", "6", "--rate", "100",
                        "--json", str(out), "--quiet", check=False)
    drill = json.loads(out.read_text())["drills"][0]
    assert drill["unanswered"] == 0 and drill["fault_events"] > 0 and drill["by_cause"].get("unavailable", 0) > 0
    assert (done.returncode == 0) == drill["passed"]


def test_features_export_gives_the_text_the_server_scores(make_server, tmp_path):
    source = tmp_path / "traffic.jsonl"
    tollgate.run("simulate", "--events", "300", "--seed", "5", "--out", str(source), "--quiet")
    table = tollgate.run("features", "export", "--policy", str(tollgate.ROOT / "policies" / "default"), "--input",
                         str(source), "--model", MODEL, "--out", "-", "--quiet").stdout.splitlines()
    assert table[0].split("\t") == ["event_id", "occurred_at", "account_id", "label", "text"]
    texts = [line.split("\t")[4] for line in table[1:]]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts) + "\n")
    scored = [line.split("\t") for line in tollgate.run("model", "score", MODEL, "--input", str(path)).stdout.splitlines()]
    calibration = json.loads((pathlib.Path(MODEL) / "calibration.json").read_text())
    server = encoder_server(make_server)
    client = server.client()
    compared = 0
    for line, (logit, _, _) in zip(source.read_text().splitlines(), scored, strict=True):
        answer = client.assess(json.loads(line)["event"], X_Deadline_Ms="1000").json
        if answer["source"] == "model":
            expected = 1 / (1 + 2.718281828459045 ** -(calibration["slope"] * float(logit) + calibration["bias"]))
            assert abs(answer["probability"] - expected) < 1e-6, (answer["event_id"], answer["probability"], expected)
            compared += 1
    assert compared >= 280
