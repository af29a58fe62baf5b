"""README.md's five minutes, as printed: its commands in a shell, one after another, against a server on free ports."""
import json
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
import tollgate
from tollgate import BINARY, PATIENCE, ROOT

README = (ROOT / "README.md").read_text()
TOUR = README[README.index("## Five minutes"):README.index("## Documents")]
PRINTED = "127.0.0.1:8080"


def commands():
    return re.findall(r"^```sh\n(.*?)^```$", TOUR, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(tmp_path):
    """A folder in which the printed paths hold."""
    (tmp_path / "build/release").mkdir(parents=True)
    (tmp_path / "build/release/tollgate").symlink_to(pathlib.Path(BINARY).resolve())
    (tmp_path / "models").symlink_to(tollgate.ROOT / "models")
    return tmp_path


def shell(place, script, **more):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=place, capture_output=True, text=True,
                          timeout=120, **more)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tour is curl's")
def test_the_tour_works_as_printed(place):
    serve, key, assess, rest, *_ = commands()
    assert "serve" in serve and "key create" in key and "/v1/assessments" in assess and "/v1/outcomes" in rest
    server = subprocess.Popen(["bash", "-c", "exec " + serve.replace(PRINTED, "127.0.0.1:0")], cwd=place,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = re.search(r"http://(127\.0\.0\.1:\d+) ", server.stdout.readline()).group(1)
        known = f'until curl -sf http://{address}/version -H "Authorization: Bearer $KEY" >/dev/null; do :; done\n'
        send = assess[assess.index("curl"):]
        script = key + known + assess + "echo\n" + send.replace("curl -s", "curl -si") + "echo\n" + rest
        done = shell(place, script.replace(PRINTED, address))
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
        server.stdout.close()
    assert done.returncode == 0, done
    first, *_ = done.stdout.splitlines()
    answer = json.loads(first)
    assert answer["decision"] in ("approve", "challenge", "review", "decline") and answer["event_id"] == "tx-81"
    again = done.stdout[len(first):]
    assert "HTTP/1.1 200" in again and "Idempotency-Replayed: true" in again and first in again, done.stdout
    for part in ('"account_id":"A-17"', '"status":"applied"', '{"status":"ok"}', "tollgate_assessments_total",
                 '"kind":"assessment"', '"kind":"outcome"'):
        assert part in again, (part, done.stdout)
    assert "problem" not in again


def test_the_traffic_is_decided_as_printed(place):
    simulate = commands()[4]
    assert "simulate" in simulate and "replay" in simulate
    done = shell(place, simulate)
    assert done.returncode == 0 and "10,000 events" in done.stdout and " 0 unanswered" in done.stdout, done


def test_every_page_that_is_linked_exists():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert "docs/operations.md" in links
    assert [link for link in links if not (ROOT / link).exists()] == []
    pages = {path.name for path in (ROOT / "docs").glob("*") if path.is_file()}
    assert pages - {link.removeprefix("docs/") for link in links} == set()
