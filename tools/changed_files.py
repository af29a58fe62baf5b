#!/usr/bin/env python3
"""Prints the C++ files that changed, latest change first: against the merge base, or in the last commits.

Usage: changed_files.py ROOT [--commits N]
The base is the merge base with the branch's upstream or origin/main; where that is HEAD itself (a fresh
clone) it is N commits back. Files not committed yet come first. Deleted files are left out.
"""
import argparse
import pathlib
import subprocess
import sys


def git(root: pathlib.Path, *arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def base_of(root: pathlib.Path, commits: int) -> str:
    """A revision before the change, or nothing when the whole history is the change."""
    head = git(root, "rev-parse", "HEAD").strip()
    for branch in ("@{upstream}", "origin/main", "origin/master"):
        base = git(root, "merge-base", "HEAD", branch).strip()
        if base and base != head:
            return base
    return git(root, "rev-parse", "--verify", "--quiet", f"HEAD~{commits}").strip()


def changed(root: pathlib.Path, commits: int) -> list[str]:
    names = []
    for line in git(root, "status", "--porcelain", "-uall").splitlines():
        names.append(line[3:].split(" -> ")[-1].strip('"'))
    base = base_of(root, commits)
    names += git(root, "log", "--format=", "--name-only", f"{base}..HEAD" if base else "HEAD").splitlines()
    latest_first = list(dict.fromkeys(name for name in names if name))
    return [n for n in latest_first if n.endswith((".cc", ".h")) and (root / n).is_file()]


def main() -> int:
    parser = argparse.ArgumentParser(description="changed C++ files")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--base", action="store_true", help="print the base revision only")
    options = parser.parse_args()
    if options.base:
        print(base_of(options.root, options.commits))
        return 0
    for name in changed(options.root, options.commits):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
