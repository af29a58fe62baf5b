"""Fixtures: one server for the tests that leave it as it was, and a maker of servers for those that break it."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import tollgate  # noqa: E402


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = tollgate.Server(tmp_path_factory.mktemp("shared"), arguments=["--enable-faults"]).start()
    yield running
    assert running.stop() == 0, running.log.read_text()[-2000:]


@pytest.fixture
def make_server(tmp_path):
    made = []

    def make(**options):
        folder = tmp_path / f"server-{len(made)}"
        folder.mkdir()
        made.append(tollgate.Server(folder, **options))
        return made[-1].start()

    yield make
    for running in made:
        running.stop()
