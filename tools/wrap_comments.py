#!/usr/bin/env python3
"""Brings // comments to 100 columns, which clang-format leaves alone (ReflowComments is off for tables).

Usage: wrap_comments.py FILE...   rewrites in place, prints the files it changed
A comment line that is too long gives its overflow to the next line of the same comment; a trailing
comment that is too long moves to its own line above. Lines that fit are never touched.
"""
import pathlib
import re
import sys

COLUMNS = 100
COMMENT = re.compile(r"^(?P<lead>[ \t]*// ?)(?P<text>.*)$")
# Where code ends and a trailing comment begins; the code part holds no quote, to be sure of it.
TRAILING = re.compile(r"^(?P<indent>[ \t]*)(?P<code>[^\s/\"'][^\"]*?)\s+//\s*(?P<text>.*)$")
# A line that starts a list item, a table row or an example keeps its own beginning.
OWN_LINE = re.compile(r"^(?:\s|[-*|]|\d+[.)]|\w+:\s|$)")


def split_at(text: str, width: int) -> tuple[str, str]:
    """The words that fit `width` columns and the rest; a word longer than the line stays whole."""
    cut = text.rfind(" ", 0, width + 1)
    if cut <= 0:
        cut = text.find(" ", width)
        if cut < 0:
            return text, ""
    return text[:cut].rstrip(), text[cut:].strip()


def wrap(lines: list[str]) -> list[str]:
    out: list[str] = []
    queue = list(lines)
    while queue:
        line = queue.pop(0)
        if len(line) <= COLUMNS or "NOLINT" in line or "http" in line:
            out.append(line)
            continue
        comment = COMMENT.match(line)
        if comment is None:
            trailing = TRAILING.match(line)
            if trailing is None:
                out.append(line)
            else:
                queue[0:0] = [
                    f"{trailing['indent']}// {trailing['text']}",
                    f"{trailing['indent']}{trailing['code']}",
                ]
            continue
        lead, text = comment["lead"], comment["text"]
        hanging = lead + " " * (len(text) - len(text.lstrip()))
        body = text.lstrip()
        head, rest = split_at(body, COLUMNS - len(hanging))
        out.append(hanging + head)
        if not rest:
            continue
        following = COMMENT.match(queue[0]) if queue else None
        if following and following["lead"] == lead and not OWN_LINE.match(following["text"]) and hanging == lead:
            queue[0] = f"{lead}{rest} {following['text']}"
        else:
            queue.insert(0, hanging + rest)
    return out


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: wrap_comments.py FILE...")
        return 2
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        text = path.read_text()
        wrapped = "\n".join(wrap(text.splitlines())) + "\n"
        if wrapped != text and text:
            path.write_text(wrapped)
            print(f"wrapped {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
