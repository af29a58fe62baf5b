"""Fixtures of the drills: the end-to-end tests' servers and client, importable from here."""
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
E2E = HERE.parent / "e2e"
for folder in (E2E, HERE):
    sys.path.insert(0, str(folder))

# Under a name of its own: two modules named `conftest` would hide one another.
_spec = importlib.util.spec_from_file_location("e2e_fixtures", E2E / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
make_server = _fixtures.make_server
