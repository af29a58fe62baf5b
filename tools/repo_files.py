#!/usr/bin/env python3
"""Shared by the checkers: which files the repository holds, and C++ text without comments and strings."""
import pathlib
import re
import subprocess

# Never ours: build trees, environments, caches.
SKIPPED_FOLDERS = {".git", "build", ".venv", ".cache", "__pycache__", ".pytest_cache"}


def tracked_files(root: pathlib.Path, untracked: bool = False) -> list[pathlib.Path]:
    """Files git tracks (and, on request, those it does not ignore); a plain walk where there is no git."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached"]
    if untracked:
        command += ["--others", "--exclude-standard"]
    listing = None
    if (root / ".git").exists():
        try:
            listing = subprocess.run(command, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            listing = None
    if listing is None:
        return sorted(
            p for p in root.rglob("*")
            if p.is_file() and not SKIPPED_FOLDERS.intersection(p.relative_to(root).parts)
        )
    names = {name.decode() for name in listing.split(b"\0") if name}
    return sorted(root / name for name in names if (root / name).is_file())


# Raw strings, strings, characters (not the digit separator of 1'000), both kinds of comment.
_TOKEN = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*|/\*.*?\*/",
    re.S,
)


def code_only(text: str, keep_comments: bool = False) -> str:
    """The text with literals and comments blanked out; every line keeps its length. Includes are kept."""

    def blank(match: re.Match) -> str:
        if keep_comments and match.group().startswith("/"):
            return match.group()
        line_start = text.rfind("\n", 0, match.start()) + 1
        if match.group().startswith('"') and text[line_start:match.start()].lstrip().startswith("#include"):
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return _TOKEN.sub(blank, text)
