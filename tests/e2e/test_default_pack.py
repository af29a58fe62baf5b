"""The default pack against its written cases: all pass, every rule fires and does not, every threshold is pinned."""
import concurrent.futures
import os
import re

import pytest
from tollgate import ROOT, run, write_policy

PACK = ROOT / "policies/default"
CASES = sorted((ROOT / "tests/policies/default").glob("*.test"))
RULE = re.compile(r"^rule (\w+) ", re.MULTILINE)
# What moves a threshold by the least there is: `>= 5` and `> 5` differ at 5 only.
NEXT = {">=": ">", ">": ">=", "<=": "<", "<": "<=", "=": "<>", "<>": "="}
COMPARISON = re.compile(r"(?<=\s)(>=|<=|<>|>|<|=)(?=\s)")


def pack_files():
    return {str(path.relative_to(PACK)): path.read_text() for path in PACK.rglob("*") if path.is_file()}


def rule_ids():
    return [rule for name, text in pack_files().items() if name.startswith("rules/") for rule in RULE.findall(text)]


def expected(word):
    """The rules that some case expects to do `word`."""
    return {match for path in CASES for match in re.findall(rf"^  {word} (\w+)", path.read_text(), re.MULTILINE)}


def strings_apart(text):
    """The text with what stands in quotes blanked, places kept."""
    return re.sub(r'"[^"]*"', lambda match: "_" * len(match.group()), text)


def fails(folder, files):
    """True when a case fails on the pack; false when all pass. A pack that does not load is no answer."""
    policy = write_policy(folder, files)
    done = run("rules", "test", *map(str, CASES), "--policy", policy, check=False)
    assert re.search(r"^\d+ files, \d+ cases, \d+ failures$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    return done.returncode != 0


def mutants(change):
    """(what was changed, the pack's files with it), by `change(rules text)` giving (start, end, new text)."""
    for name, text in pack_files().items():
        if name.startswith("rules/"):
            for start, end, new in change(text):
                line = text.count("\n", 0, start) + 1
                yield f"{name}:{line}: {text[start:end]} -> {new}", name, text[:start] + new + text[end:]


def survivors(tmp_path, change):
    files = pack_files()
    made = list(mutants(change))
    assert made

    def survives(numbered):
        number, (what, name, text) = numbered
        return None if fails(tmp_path / str(number), {**files, name: text}) else what

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [what for what in pool.map(survives, enumerate(made)) if what]


def test_every_case_passes():
    assert CASES
    done = run("rules", "test", *map(str, CASES), "--policy", str(PACK), check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_is_seen_firing_and_not_firing():
    rules = rule_ids()
    assert len(rules) == len(set(rules)) > 0
    assert set(rules) - expected("fires") == set()
    assert set(rules) - expected("not") == set()


def test_every_rule_is_seen_unknown():
    # A008 asks whether a value is missing, of applications only: both are always known.
    assert set(rule_ids()) - expected("unknown") == {"A008"}


def test_a_failing_case_is_told(tmp_path):
    files = pack_files()
    files["rules/card.rules"] = files["rules/card.rules"].replace("acct_n_5m >= 8", "acct_n_5m >= 9")
    assert fails(tmp_path, files)


@pytest.mark.parametrize("what", ["comparisons", "spans", "current"])
def test_no_threshold_or_window_can_change_unnoticed(tmp_path, what):
    def comparisons(text):
        plain = strings_apart(text)
        for rule in re.finditer(r"^rule .*?(?=^rule |\Z)", plain, re.MULTILINE | re.DOTALL):
            for match in COMPARISON.finditer(plain, rule.start(), rule.end()):
                if "event_type = " not in plain[match.start() - 11:match.end() + 1]:
                    yield match.start(), match.end(), NEXT[match.group()]

    def spans(text):
        for match in re.finditer(r"(?<=over )(\d+)([mhd])\b", text):
            seconds = int(match.group(1)) * {"m": 60, "h": 3600, "d": 86400}[match.group(2)]
            yield match.start(), match.end(), f"{seconds + 1}s"

    def current(text):
        # The event being decided has no label yet, and its kept numbers come after the windows: with it or without
        # it such a window is the same.
        for match in re.finditer(r"\b(in|ex)cluding(?= current(?! where label))", text):
            if "max(tr_jump)" not in text[text.rindex("\n", 0, match.start()):match.start()]:
                yield match.start(), match.end(), "excluding" if match.group(1) == "in" else "including"

    changes = {"comparisons": comparisons, "spans": spans, "current": current}
    left = survivors(tmp_path, changes[what])
    assert not left, "no case notices:\n" + "\n".join(left)


def test_the_page_says_what_explain_says():
    rows = dict(re.findall(r"^\| ([A-Z]\d{3}) \| (.*) \|$", (ROOT / "docs/default_pack.md").read_text(), re.MULTILINE))
    assert set(rows) == set(rule_ids())
    for rule, row in rows.items():
        text, sentence, _ = run("rules", "explain", rule, "--policy", str(PACK)).stdout.split("\n\n")
        title, severity = re.search(r'"([^"]*)" severity (\w+)', text).groups()
        assert row == " | ".join((title, severity, sentence.replace("|", "\\|"))), rule
