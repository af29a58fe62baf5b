#!/usr/bin/env python3
"""Fails on a commit message that is not `area: what changes` (72 characters at most) with a body that says why.

Usage: check_commits.py ROOT RANGE   such as HEAD~5..HEAD; merges are skipped
       check_commits.py - < MESSAGE  one message, as a commit-msg hook would pass it
"""
import re
import subprocess
import sys

SUBJECT = re.compile(r"^[a-z0-9_.,/+-]+(?:(?: and|,) [a-z0-9_.,/+-]+)*: \S")
MAX_SUBJECT = 72
MACHINE = re.compile(r"(?<![\w.\-}/])(?:/wo" + r"rk/|/ro" + r"ot/|/tmp/" + r"b-)")


def faults_of(message: str) -> list[str]:
    lines = message.rstrip("\n").split("\n")
    subject = lines[0]
    found = []
    if not SUBJECT.match(subject):
        found.append("the subject is not `area: what changes`")
    if len(subject) > MAX_SUBJECT:
        found.append(f"the subject has {len(subject)} characters, {MAX_SUBJECT} are allowed")
    if subject.endswith("."):
        found.append("the subject ends with a full stop")
    if len(lines) > 1 and lines[1]:
        found.append("the second line is not empty")
    if not any(line.strip() for line in lines[1:]):
        found.append("there is no body that says why")
    match = MACHINE.search(message)
    if match:
        found.append(f"it names a folder of one machine: {match.group()}")
    return found


def commits(root: str, commit_range: str) -> list[tuple[str, str]]:
    log = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", root, "log", "--no-merges", "--format=%h%x00%B%x01", commit_range],
        capture_output=True, text=True, check=True,
    ).stdout
    entries = [entry.lstrip("\n") for entry in log.split("\x01")]
    return [tuple(entry.split("\0", 1)) for entry in entries if entry]


def main() -> int:
    if sys.argv[1:] == ["-"]:
        messages = [("message", sys.stdin.read())]
    elif len(sys.argv) == 3:
        try:
            messages = commits(sys.argv[1], sys.argv[2])
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"commits: cannot read {sys.argv[2]}: {getattr(problem, 'stderr', problem)}")
            return 2
    else:
        print("usage: check_commits.py ROOT RANGE | -")
        return 2
    count = 0
    for name, message in messages:
        for fault in faults_of(message):
            print(f"{name} {message.splitlines()[0][:80] if message else ''}: {fault}")
            count += 1
    print(f"commits: {len(messages)} messages, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
