"""Shared by the checkers' self-tests: a throw-away tree of sample files, and running a checker on it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent


class SampleTree(unittest.TestCase):
    """A test with a temporary folder `self.root`; files are written by path and text."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_tool(self, tool: str, *arguments: str, stdin: str = "") -> tuple[int, str]:
        command = [str(TOOLS / tool), *map(str, arguments)]
        if tool.endswith(".py"):
            command.insert(0, sys.executable)
        done = subprocess.run(command, capture_output=True, text=True, input=stdin, timeout=120)
        return done.returncode, done.stdout + done.stderr
