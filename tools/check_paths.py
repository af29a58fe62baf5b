#!/usr/bin/env python3
"""Fails when a tracked file names a folder of somebody's machine or a package registry's host.

Usage: check_paths.py ROOT. Such names work on one machine only, or tell where a thing was made.
"""
import pathlib
import re
import sys

import repo_files

# Written in pieces so that this file does not name them itself.
FOLDERS = ["/wo" + "rk/", "/ro" + "ot/", "/tmp/" + "b-", "/home/" + "user/"]
HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "deb.debian" + ".org"]
PATTERN = re.compile(
    r"(?<![\w.\-}/])(?:" + "|".join(map(re.escape, FOLDERS)) + ")|" + "|".join(map(re.escape, HOSTS))
)


def faults(root: pathlib.Path) -> tuple[int, list[str]]:
    found = []
    looked_at = 0
    for path in repo_files.tracked_files(root):
        data = path.read_bytes()
        if b"\0" in data[:4096]:
            continue
        looked_at += 1
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            match = PATTERN.search(line)
            if match:
                found.append(f"{path.relative_to(root)}:{number}: names {match.group()}")
    return looked_at, found


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: check_paths.py ROOT")
        return 2
    looked_at, found = faults(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    print(f"paths: {looked_at} text files, {len(found)} faults")
    return 1 if found or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
