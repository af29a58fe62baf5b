"""docs/operations.md against the running binary: its settings, its metrics, its log events, its routes' words."""
import re

from tollgate import ROOT, event, run

PAGE = (ROOT / "docs/operations.md").read_text()
SOURCES = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.cc") if not path.stem.endswith("_test"))


def documented(prefix):
    """The first column of the page's tables, names that begin with `prefix`."""
    return re.findall(rf"^\| `({prefix}[\w.]+)` \|", PAGE, re.MULTILINE)


def test_the_settings_table_is_what_print_config_prints():
    page = dict(re.findall(r"^\| `((?:server|store|windows|model|pipeline)\.\w+)` \| `([^`]*)` \|", PAGE, re.MULTILINE))
    binary, section = {}, ""
    for line in run("serve", "--print-config").stdout.splitlines():
        if match := re.match(r"\[(\w+)\]$", line):
            section = match.group(1)
        elif match := re.match(r'(\w+) = ("[^"]*"|\d+)', line):
            binary[f"{section}.{match.group(1)}"] = match.group(2)
    assert binary and page == binary


def test_the_ranges_of_the_settings_are_those_that_are_enforced(tmp_path):
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| `\d+` \| ([\d,]+)\.\.([\d,]+) \|", PAGE, re.MULTILINE)
    assert len(rows) > 20
    for number, (section, name, low, high) in enumerate(rows):
        for value, good in ((int(low.replace(",", "")), True), (int(high.replace(",", "")), True),
                            (int(low.replace(",", "")) - 1, False), (int(high.replace(",", "")) + 1, False)):
            config = tmp_path / f"{number}.toml"
            config.write_text(f"[{section}]\n{name} = {value}\n")
            done = run("serve", "--config", str(config), "--print-config", check=False)
            assert (done.returncode == 0) is good, (section, name, value, done.stderr)
            assert good or f"{section}.{name}" in done.stderr, done.stderr


def test_every_metric_is_on_the_page_and_nothing_else_is(server):
    assert server.client().assess(event()).status == 200
    scraped = set(re.findall(r"^# TYPE (\w+) ", server.client().get("/metrics").body.decode(), re.MULTILINE))
    page = documented("tollgate_")
    assert len(page) == len(set(page))
    assert scraped and scraped - set(page) == set()
    assert {name for name in page if f'"{name}"' not in SOURCES} == set()
    assert set(re.findall(r'"(tollgate_\w+)"', SOURCES)) - set(page) == set()


def test_the_labels_of_the_metrics_are_on_the_page(server):
    assert server.client().assess(event()).status == 200
    page = dict(re.findall(r"^\| `(tollgate_\w+)` \| ([\w, ]*) ?\|", PAGE, re.MULTILINE))
    for name, labels in re.findall(r"^(tollgate_\w+?)(?:_bucket|_sum|_count)?\{(.*)\} ",
                                   server.client().get("/metrics").body.decode(), re.MULTILINE):
        found = set(re.findall(r'(\w+)="', labels)) - {"le"}
        assert found == {label.strip() for label in page[name].split(",") if label.strip()}, name


def test_the_log_events_to_watch_exist():
    listed = re.search(r"want a person: (.*?)\n\n", PAGE, re.DOTALL).group(1)
    names = re.findall(r"`(\w+)`", listed)
    assert names
    for name in names:
        assert re.search(rf'Level::k(Warn|Error)[^;]*"{name}"', SOURCES), name


def test_the_fault_switches_are_on_the_page(server):
    switches = server.admin().get("/admin/faults").json
    named = PAGE[PAGE.index("## Fault switches"):]
    assert switches and all(f"`{name}`" in named for name in switches)


def test_readiness_has_the_parts_that_the_page_explains(server):
    parts = server.client().get("/readyz").json["parts"]
    explained = PAGE[PAGE.index("`parts` of `/readyz`"):PAGE.index("## What `persisted` means")]
    assert parts and all(f"`{name}`" in explained for name in parts)
