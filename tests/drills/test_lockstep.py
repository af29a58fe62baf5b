"""Lockstep replay: the same traffic gives the same log and windows, another seed another log."""
import pytest
import tollgate

EVENTS = 3000


@pytest.fixture(scope="module")
def traffic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traffic")

    def write(seed, name):
        path = folder / name
        tollgate.run("simulate", "--events", str(EVENTS), "--seed", str(seed), "--days", "3", "--customers", "300",
                     "--fraud-share", "0.05", "--out", str(path), "--quiet")
        return path

    return {"one": write(1, "one.jsonl"), "again": write(1, "again.jsonl.zst"), "other": write(2, "other.jsonl")}


def replay(path, folder, *more):
    """The log's hash, its number of records, and the windows' hash."""
    report = folder.with_suffix(".json")
    tollgate.run("replay", "--lockstep", "--input", str(path), "--data", str(folder), "--json", str(report), "--quiet",
                 *more)
    figures = tollgate.json.loads(report.read_text())
    assert figures["events"] == EVENTS and figures["unanswered"] == 0, figures
    log = tollgate.run("log", "hash", "--data", str(folder)).stdout.strip()
    assert log.split()[0] == figures["log_hash"], (log, figures["log_hash"])
    lines = tollgate.run("log", "export", "--data", str(folder)).stdout.splitlines()
    kinds = [tollgate.json.loads(line)["kind"] for line in lines]
    assert kinds.count("assessment") == EVENTS, {kind: kinds.count(kind) for kind in set(kinds)}
    tollgate.run("log", "verify", "--data", str(folder))
    return log, lines, tollgate.run("windows", "hash", "--data", str(folder)).stdout.strip()


def test_two_runs_of_one_traffic_write_equal_logs_and_another_seed_does_not(traffic, tmp_path):
    first, again = replay(traffic["one"], tmp_path / "a"), replay(traffic["again"], tmp_path / "b")
    assert first == again
    other = replay(traffic["other"], tmp_path / "c")
    assert other[0] != first[0] and other[2] != first[2]


def test_feedback_is_part_of_the_log_and_equal_run_after_run(traffic, tmp_path):
    """Outcomes at a fixed virtual delay: two runs are equal, and differ from one without outcomes."""
    first = replay(traffic["one"], tmp_path / "a", "--feedback-delay", "3600")
    again = replay(traffic["one"], tmp_path / "b", "--feedback-delay", "3600")
    assert first == again
    assert any('"kind":"outcome"' in line for line in first[1])
    assert replay(traffic["one"], tmp_path / "c", "--no-outcomes")[0] != first[0]
