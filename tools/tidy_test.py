#!/usr/bin/env python3
"""Holds every file of the repository against the style's countable rules; reports each fault as file:line.

Usage: tidy_test.py ROOT [--build BUILD_FOLDER]
With a build folder it also checks that every .cc is compiled by some target. The tables: tidy_rules.py.
"""
import argparse
import json
import pathlib
import re
import sys

import repo_files
import tidy_rules as rules

CXX = {".h", ".cc", ".inl", ".inc"}
SCRIPTS = {".py", ".sh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+[<"]([^>"]+)[>"]')


class Tidy:
    """Collects faults and reports of one repository."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.faults: list[str] = []
        self.reports: list[str] = []
        self.users: dict[tuple[str, str], set[str]] = {}  # (library, room) -> files, tests apart

    def fault(self, path: pathlib.Path, line: int, text: str) -> None:
        self.faults.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def check_file(self, path: pathlib.Path) -> None:
        inside = path.relative_to(self.root)
        size = path.stat().st_size
        if size > rules.MAX_BYTES and inside.parts[0] != "models":
            self.fault(path, 1, f"{size} bytes; {rules.MAX_BYTES} are allowed outside models/")
            return
        if path.suffix not in CXX | SCRIPTS and inside.name != "CMakeLists.txt" and path.suffix != ".cmake":
            return
        text = path.read_text(errors="replace")
        lines = text.splitlines()
        if len(lines) > rules.HARD_LINES:
            self.fault(path, len(lines), f"{len(lines)} lines; {rules.HARD_LINES} are allowed")
        elif len(lines) > rules.SOFT_LINES:
            self.reports.append(f"{inside}: {len(lines)} lines, aim at {rules.SOFT_LINES}")
        self.check_purpose(path, lines)
        notes = repo_files.code_only(text, keep_comments=True).splitlines() if path.suffix in CXX else lines
        for number, line in enumerate(notes, 1):
            if rules.NOTE.search(line):
                self.fault(path, number, "a note needs its issue's number, as in NOTE(#12)")
        if path.suffix in CXX:
            self.check_cxx(path, text)
        elif inside.name == "CMakeLists.txt" or path.suffix == ".cmake":
            for number, line in enumerate(lines, 1):
                if rules.FAST_MATH.search(line.split("#")[0]):
                    self.fault(path, number, "no fast-math: equal inputs give equal bytes")

    def check_purpose(self, path: pathlib.Path, lines: list[str]) -> None:
        """The first line (after #!) says in one sentence what the file is for."""
        start = 1 if lines and lines[0].startswith("#!") else 0
        first = lines[start] if len(lines) > start else ""
        prefix = {".py": ('"""', "#"), ".sh": ("#",), ".cmake": ("#",), ".txt": ("#",)}.get(path.suffix, ("//",))
        words = first.lstrip("/#\"' ").split()
        if not first.startswith(prefix) or len(words) < 3:
            self.fault(path, start + 1, "the first line must say in a sentence what the file is for")

    def check_cxx(self, path: pathlib.Path, text: str) -> None:
        inside = path.relative_to(self.root)
        code = repo_files.code_only(text).splitlines()
        if path.suffix == ".h" and "#pragma once" not in text:
            self.fault(path, 1, "no #pragma once")
        comments = repo_files.code_only(text, keep_comments=True).splitlines()
        for number, line in enumerate(comments, 1):
            long = len(line) > rules.MAX_COLUMNS and ("//" in line or "/*" in line)
            if long and "NOLINT" not in line and "http" not in line:
                self.fault(path, number, f"{len(line)} columns; {rules.MAX_COLUMNS} are allowed")
        in_src = inside.parts[0] == "src"
        place = "/".join(inside.parts[1:]) if in_src else ""
        test = not in_src or path.stem.endswith(("_test", "_bench", "_fuzz")) or "testing" in inside.parts
        for number, line in enumerate(code, 1):
            self.check_line(path, number, line, place, test)
            match = INCLUDE.match(line)
            if match and in_src:
                self.check_include(path, number, match.group(1), place, test)

    def check_line(self, path: pathlib.Path, number: int, line: str, place: str, test: bool) -> None:
        if path.suffix == ".h" and rules.USING_NAMESPACE.search(line):
            self.fault(path, number, "no `using namespace` in a header")
        if rules.INTRINSIC_USE.search(line) and not place.startswith(rules.ISA_FOLDERS):
            self.fault(path, number, "intrinsics live under kernels/<isa>/ only")
        if rules.SLEEP.search(line) and path.stem.endswith("_test"):
            self.fault(path, number, "a test does not sleep: inject the clock or wait on a condition")
        if test:
            return
        if rules.STANDARD_OUTPUT.search(line) and not place.startswith(rules.OUTPUT_ALLOWED):
            self.fault(path, number, "standard output belongs to apps and base/log: use log_event")
        if rules.ENVIRONMENT.search(line) and not place.startswith(rules.ENVIRONMENT_ALLOWED):
            self.fault(path, number, "the environment is read in apps only")
        if rules.THROW.search(line) and not place.startswith(rules.THROW_ALLOWED):
            self.fault(path, number, "our code does not throw: return Result<T> or Status")

    def check_include(self, path: pathlib.Path, number: int, header: str, place: str, test: bool) -> None:
        if rules.INTRINSIC_HEADER.match(header) and not place.startswith(rules.ISA_FOLDERS):
            self.fault(path, number, f"<{header}> belongs under kernels/<isa>/")
        if header.startswith(rules.TEST_LIBRARIES) and not test:
            self.fault(path, number, f"<{header}> is for tests and benchmarks")
        for library, places in rules.LIBRARIES.items():
            if not header.startswith(library):
                continue
            if not place.startswith(tuple(places)):
                self.fault(path, number, f"<{header}> may be included in {', '.join(places)} only")
            if not test:
                self.users.setdefault((library, place.split("/")[0]), set()).add(place)

    def check_single_files(self) -> None:
        for (library, room), most in rules.SINGLE_FILE.items():
            files = self.users.get((library, room), set())
            if len(files) > most:
                self.faults.append(f"src/{room}: {library} in {len(files)} files, {most} is allowed: {sorted(files)}")

    def check_targets(self, build: pathlib.Path, files: list[pathlib.Path]) -> None:
        """Every .cc is in the build's list of compile commands, or it is dead."""
        commands = build / "compile_commands.json"
        if not commands.exists():
            self.faults.append(f"{commands}: missing; configure the build first")
            return
        compiled = set()
        for entry in json.loads(commands.read_text()):
            compiled.add((pathlib.Path(entry["directory"]) / entry["file"]).resolve())
        for path in files:
            top = path.relative_to(self.root).parts[0]
            if path.suffix == ".cc" and top in ("src", "tests") and path.resolve() not in compiled:
                self.fault(path, 1, "in no target: it is never compiled")


def main() -> int:
    parser = argparse.ArgumentParser(description="countable style rules")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    arguments = parser.parse_args()
    tidy = Tidy(arguments.root.resolve())
    files = repo_files.tracked_files(tidy.root, untracked=True)
    for path in files:
        tidy.check_file(path)
    tidy.check_single_files()
    if arguments.build:
        tidy.check_targets(arguments.build.resolve(), files)
    for line in tidy.reports:
        print(f"report: {line}")
    for line in tidy.faults:
        print(line)
    print(f"tidy: {len(files)} files, {len(tidy.reports)} reports, {len(tidy.faults)} faults")
    return 1 if tidy.faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
