"""3,000 slow clients: others are answered quickly, connections and memory are bounded, slow ones are cut off."""
import http.client
import pathlib
import resource
import statistics
import subprocess
import sys
import threading
import time

import _drill
import pytest
import tollgate

SLOW = 3000
QUICK = 0.5  # seconds; not a benchmark: nine in ten on a busy machine
BYTES_EACH = 16 << 10  # a connection may hold: buffers, parser, socket
BYTES_MORE = 32 << 20  # for what the normal load itself needs


@pytest.fixture
def files():
    """Raises the limit of open files (servers inherit it); how many slow clients it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = SLOW if hard == resource.RLIM_INFINITY else min(SLOW, hard - 300)
    if allowed < 300:
        pytest.skip(f"the hard limit of open files is {hard}")
    yield allowed
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """The slow clients, in a process of their own, so that they do not slow the normal client beside them."""

    def __init__(self, server, count, seconds):
        script = pathlib.Path(__file__).with_name("_slow_clients.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(server.port), server.key, str(count), str(seconds)],
            stdout=subprocess.PIPE, text=True)

    def wait_ready(self):
        line = self.process.stdout.readline()
        assert line == "ready\n", line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def ends(self):
        """Of each kind how many ended how, once all have ended or their time is over."""
        out, _ = self.process.communicate(timeout=60)
        return tollgate.json.loads(out)


def resident(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))) << 10


class Normal:
    """One well-behaved client that sends again on a new connection when it was cut while idle; seconds of each."""

    def __init__(self, server):
        self.server, self.seconds, self.reconnects = server, [], 0
        self.most_connections, self.most_memory = 0, 0
        self.client = server.client()

    def ask(self, call):
        """An answer, over as many connections as that takes."""
        end = time.monotonic() + tollgate.PATIENCE
        while time.monotonic() < end:
            try:
                answer = call(self.client)
                if answer.status != 503:
                    return answer
            except (OSError, http.client.HTTPException):
                pass
            self.client.close()
            self.client = self.server.client()
            self.reconnects += 1
            time.sleep(0.01)
        raise AssertionError("no answer")

    def work_until(self, done, at_least=100):
        while len(self.seconds) < at_least or not done():
            event, begin = tollgate.event(), time.monotonic()
            answer = self.ask(lambda client: client.assess(event))
            self.seconds.append(time.monotonic() - begin)
            assert answer.status == 200 and answer.json["decision"] == "approve", answer
            if len(self.seconds) % 20 == 0:
                self.look()
            time.sleep(0.01)

    def look(self):
        lines = self.ask(lambda client: client.get("/metrics")).body.decode().splitlines()
        open_now = next(float(line.split()[1]) for line in lines if line.startswith("tollgate_http_connections "))
        self.most_connections = max(self.most_connections, open_now)
        self.most_memory = max(self.most_memory, resident(self.server))


def run(server, count, seconds):
    """The normal client's experience while the crowd comes, stays and is cut off; how the slow ones ended."""
    before = resident(server)
    with Crowd(server, count, seconds) as crowd:
        normal = Normal(server)
        ready = threading.Thread(target=crowd.wait_ready)
        ready.start()
        ended = [None]
        normal.work_until(lambda: not ready.is_alive())
        ready.join()
        waiter = threading.Thread(target=lambda: ended.__setitem__(0, crowd.ends()))
        waiter.start()
        normal.work_until(lambda: not waiter.is_alive())
        waiter.join()
    took = sorted(normal.seconds)
    assert statistics.quantiles(took, n=10)[-1] < QUICK, (statistics.quantiles(took, n=10), took[-5:])
    assert took[-1] < 5, took[-5:]
    assert normal.most_memory - before < count * BYTES_EACH + BYTES_MORE, (before, normal.most_memory)
    return normal, ended[0]


def test_below_the_bound_of_connections_slow_ones_are_cut_at_their_time_limit(make_server, files):
    server = make_server(files=_drill.pack(), config=(
        "[server]\nheader_timeout_ms = 3000\nbody_timeout_ms = 3000\nidle_timeout_ms = 3000\nwrite_timeout_ms = 3000\n"))
    normal, ends = run(server, files, 25)
    assert normal.most_connections > files * 0.6, normal.most_connections  # a slow machine opens them late
    for kind, expected in (("header", "408"), ("body", "408"), ("silent", "closed")):
        counts = ends[kind]
        assert counts.get("open", 0) == 0 and counts.get("503", 0) == 0, ends
        assert counts.get(expected, 0) >= 0.98 * sum(counts.values()), ends
    assert ends["deaf"].get("open", 0) == 0, ends
    assert normal.reconnects == 0, normal.reconnects  # nobody cuts one that behaves
    assert tollgate.metric(server.client(), "tollgate_http_timeouts_total") >= files * 0.9
    assert _drill.until(lambda: tollgate.metric(server.client(), "tollgate_http_connections") < 20, 10)
    server.alive()


def test_past_the_bound_of_connections_slow_ones_make_room(make_server, files):
    bound = files // 4
    server = make_server(files=_drill.pack(), config=(
        f"[server]\nmax_connections = {bound}\nheader_timeout_ms = 4000\nbody_timeout_ms = 4000\n"
        "idle_timeout_ms = 4000\nwrite_timeout_ms = 4000\n"))
    normal, ends = run(server, files, 25)
    assert bound / 2 < normal.most_connections <= bound + 1, normal.most_connections
    assert all(counts.get("open", 0) == 0 for counts in ends.values()), ends
    client = server.client()
    cut = tollgate.metric(client, "tollgate_http_connections_evicted_total")
    turned_away = tollgate.metric(client, "tollgate_http_connections_refused_total")
    assert cut > 0 and cut + turned_away > files / 2, (cut, turned_away)
    assert _drill.until(lambda: tollgate.metric(server.client(), "tollgate_http_connections") < 20, 10)
    server.alive()
