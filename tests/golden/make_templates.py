#!/usr/bin/env python3
"""Makes tests/golden/templates/cases.json: templates, values, and what Jinja prints, as transformers sets it up.

Usage: make_templates.py [FILE]      needs jinja2
The cases are the files cases_*.txt beside this script: blocks parted by a line "====", each a template, a line
"----" and a JSON object of values. An error's case holds the message that the template raised, or "" for others.
"""
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """{% generation %}…{% endgeneration %}: the body as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body).set_lineno(line)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def render(env, template: str, values: dict) -> dict:
    try:
        return {"output": env.from_string(template).render(**values)}
    except jinja2.exceptions.TemplateError as fault:
        raised = type(fault) is jinja2.exceptions.TemplateError
        return {"error": str(fault) if raised else ""}
    except (TypeError, ValueError, ZeroDivisionError, AttributeError, KeyError, OverflowError):
        return {"error": ""}


def main() -> None:
    here = pathlib.Path(__file__).parent
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "templates" / "cases.json"
    env = environment()
    cases = []
    for file in sorted((here / "templates").glob("cases_*.txt")):
        for block in file.read_text().split("\n====\n"):
            template, _, values = block.partition("\n----\n")
            values = json.loads(values or "{}")
            cases.append({"template": template, "values": values, **render(env, template, values)})
    out.write_text(json.dumps(cases, ensure_ascii=False, indent=0) + "\n")
    errors = [c for c in cases if "error" in c]
    print(f"{len(cases)} cases, {len(errors)} of them errors")
    for case in errors:
        print(repr(case["template"][:70]), "->", case["error"])


if __name__ == "__main__":
    main()
