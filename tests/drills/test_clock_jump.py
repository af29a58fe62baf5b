"""The wall clock jumps an hour forth and back: no answer lost, windows exact, deadlines as before."""
import itertools

import _drill
import pytest
import tollgate
from _drill import Load

HOUR_US = 3_600_000_000
HOUR = tollgate.datetime.timedelta(hours=1)
MINUTE = tollgate.datetime.timedelta(minutes=1)


def test_jumps_of_an_hour_lose_no_answer_and_move_no_deadline(make_server):
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    steps = itertools.count()

    def an_hour_ago():  # behind the clock wherever it jumps to: late, never too late or ahead
        return tollgate.event(occurred_at=tollgate.rfc3339(tollgate.now() - HOUR - MINUTE))

    def steady():
        """An event of one account at its true time; they lie seconds apart, whatever the clock says."""
        at = begin + tollgate.datetime.timedelta(seconds=next(steps))
        return server.client().assess(tollgate.event(account_id="steady", occurred_at=tollgate.rfc3339(at)))

    begin = tollgate.now() - 2 * MINUTE
    decisions = []
    with Load(server, make=an_hour_ago) as load:
        load.wait_for(50)
        for jump in (HOUR_US, 0, -HOUR_US, 0, HOUR_US, -HOUR_US, HOUR_US, 0):
            server.faults(clock_jump_us=jump)
            load.wait_for(60)
            answer = steady()
            if jump < 0:  # the clock is an hour behind the truth: refused by name, and not recorded
                assert answer.status == 400 and answer.json["field"] == "occurred_at", answer
                assert "ahead of the clock" in answer.json["detail"], answer
            else:
                assert answer.status == 200, answer
                assert answer.json["event_time"] == "late" or jump == 0, answer
                decisions.append(answer.json["decision"])
    assert decisions == ["approve"] * 5 + ["decline"]  # five within ten minutes, then the burst rule
    _drill.assert_answered_in_time(load.sent)
    for one in load.sent:
        deadline = one.answer.json["deadline"]
        assert 0 <= deadline["left_ms"] <= deadline["budget_ms"] == 500, one
        assert one.answer.json["decision"] == "approve" and one.answer.json["event_time"] in ("fresh", "late"), one
    _drill.wait_until_written(server)
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)
    assert _drill.account_windows(server, "steady") == {"acct_n_10m": "6"}
    server.kill()
    killed = _drill.folder_hash(server, "windows")
    server.start()
    assert _drill.account_windows(server, "steady") == {"acct_n_10m": "6"}
    assert _drill.assert_found(server, load.sent, ("os", "memory")) == len(load.sent)
    assert server.stop() == 0  # writes the windows that memory held
    assert _drill.folder_hash(server, "windows") == killed
    _drill.assert_chain(server)
    assert len(_drill.records(server)) == len(load.sent) + 6


@pytest.mark.parametrize("jump_us", (HOUR_US, -HOUR_US))
def test_events_by_the_jumped_clock_are_decided_and_count_in_their_own_hour(make_server, jump_us):
    """The gateway's clock jumps with ours, and back: each hour's burst is seen in that hour only."""
    server = make_server(files=_drill.pack(), arguments=["--enable-faults"])
    client = server.client()

    def burst(shift):
        at = tollgate.now() + tollgate.datetime.timedelta(microseconds=shift)
        return [client.assess(tollgate.event(account_id="burst", occurred_at=tollgate.rfc3339(at))).json["decision"]
                for _ in range(3)]

    assert burst(0) == ["approve"] * 3
    server.faults(clock_jump_us=jump_us)
    assert burst(jump_us) == ["approve"] * 3  # the three of the other hour are not within ten minutes
    assert burst(jump_us) == ["approve", "approve", "decline"]
    server.faults(clock_jump_us=0)
    assert burst(0) == ["approve", "approve", "decline"]
    _drill.wait_until_written(server)
    server.kill()
    server.start()
    assert _drill.account_windows(server, "burst") == {"acct_n_10m": "6"}


def test_under_the_event_clock_a_jump_of_the_wall_clock_changes_nothing(make_server):
    def run(jumps):
        server = make_server(files=_drill.pack(clock="event"), arguments=["--enable-faults"])
        client = server.client()
        start = tollgate.datetime.datetime(2026, 11, 2, 8, tzinfo=tollgate.datetime.timezone.utc)
        for number in range(200):
            if jumps and number % 20 == 0:
                server.faults(clock_jump_us=(number // 20 % 3 - 1) * HOUR_US)
            at = start + tollgate.datetime.timedelta(seconds=45 * number)
            answer = client.assess(tollgate.event(event_id=f"e-{number}", account_id=f"A-{number % 3}",
                                                  occurred_at=tollgate.rfc3339(at)), X_Deadline_Ms="1000")
            assert answer.status == 200, answer
        assert server.stop() == 0
        return server

    calm, jumped = run(False), run(True)
    assert _drill.folder_hash(jumped, "log") == _drill.folder_hash(calm, "log")
    assert _drill.folder_hash(jumped, "windows") == _drill.folder_hash(calm, "windows")
