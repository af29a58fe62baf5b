#!/usr/bin/env python3
"""Writes a C++ file that holds the folders under policies/ as byte arrays, for the embedded packs."""
import pathlib
import sys


def literal(data: bytes) -> str:
    lines = []
    for start in range(0, len(data), 24):
        lines.append("    " + ",".join(str(b) for b in data[start:start + 24]) + ",")
    return "\n".join(lines)


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    out = ["// The policy packs of policies/, as bytes. Made by tools/embed_packs.py.",
           '#include "apps/embedded_files.h"', "namespace tollgate::apps {", "namespace {"]
    rows = []
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.suffix != ".test")
    for number, path in enumerate(files):
        data = path.read_bytes()
        relative = path.relative_to(root)
        out.append(f"const unsigned char kFile{number}[] = {{\n{literal(data)}\n    0}};")
        inside = pathlib.PurePosixPath(*relative.parts[1:])
        rows.append(f'    {{"{relative.parts[0]}", "{inside}", kFile{number}, {len(data)}}},')
    out += ["const EmbeddedFile kFiles[] = {", *rows, "};", "}  // namespace",
            "std::span<const EmbeddedFile> embedded_files() { return kFiles; }", "}  // namespace tollgate::apps", ""]
    text = "\n".join(out)
    target = pathlib.Path(sys.argv[2])
    if not target.exists() or target.read_text() != text:
        target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
