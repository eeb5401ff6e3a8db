"""A campaign whose launch conditions are searched for, on a real Slurm: killed, cancelled, and gone on with."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.support.cases import Case, new_target

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

FILE = """name: {name}
rules: crossroads-mdtest
profile: rehearsal
items_total: 64
targets:
  - {{name: scratch, directory: {target}}}
launch: {{node: search, peak: search, max: all}}
search: {{per: all, margin: 30%, least: 3, most: 3, nodes: 2, processes_per_node: 2{more}}}
declined:
  - {{cells: "scratch/*/{declined}/*", reason: no time}}
slurm: {{time: 5m}}
"""


def make(tmp_path: Path, sandbox: Sandbox, name: str, declined: str, further_text: str = "") -> Case:
    target = new_target(sandbox, name)
    file = tmp_path / f"{name}.yaml"
    file.write_text(FILE.format(name=name, target=target, declined=declined, more=further_text))
    return Case(file, target, sandbox)


def test_a_campaign_that_searches_ends_by_itself_however_often_it_is_killed(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make(tmp_path, sandbox, "sought", "[uo]n*")
    chance = random.Random(4)
    for number in range(3):
        driver = case.start("run")
        time.sleep(chance.uniform(1, 5))
        driver.kill()
        driver.communicate()
        if number == 1:
            case.call("cancel")
    case.call("run", timeout=500)
    rows = [row for row in case.table() if row["files"] == "shared"]
    assert {row["status"] for row in rows} == {"measured"}
    plan = json.loads(case.call("plan", "--json"))
    assert [search["cells"] for search in plan["searches"]] == ["scratch/node/shared/*", "scratch/peak/shared/*"]
    for search in plan["searches"]:
        assert search["decision"]["complete"] and search["decision"]["confirmed"]
        assert search["waits_for"] == 0
    assert plan["partition"]["usable"] == 4

    # The searches' runs are stored, shown as such, and report no cell.
    states = case.states()
    searched = {run for run, state in states.items() if state["phase"]}
    assert len(searched) == sum(search["runs"] for search in plan["searches"])
    assert all(states[run]["state"] in ("done", "failed") for run in searched)
    log = (case.results / "run.log").read_text()
    # None is measured again after a kill, unless it has no valid result, which the log says.
    measured = Counter(record["run"] for record in case.completions() if record["outcome"] == "done")
    for run in (run for run in searched if measured[run] > 1):
        match = re.search(rf"{re.escape(run)}(/\d+ is measured again|: failed): ", log)
        assert match, f"{run} was measured {measured[run]} times"
    assert not searched & {row["run"] for row in rows}
    assert all((case.results / "runs" / run).is_dir() for run in searched)
    marked = {line.split()[0] for line in case.call("status").splitlines() if " (search) " in line}
    assert marked == searched
    chosen_fields = {search["cells"].split("/")[1]: search["decision"]["geometry"] for search in plan["searches"]}
    for row in rows:
        if row["launch"] in chosen_fields:
            assert [row["nodes"], row["processes"]] == chosen_fields[row["launch"]]
            assert row["notes"][0].startswith("tuned: ")
    assert {(row["nodes"], row["processes"]) for row in rows if row["launch"] == "max"} == {(4, 16)}

    # All is there: nothing is measured again, and the report shows each search.
    before = sorted(case.results.glob("runs/*/*"))
    case.call("run")
    assert sorted(case.results.glob("runs/*/*")) == before
    assert case.call("report", "--pdf").endswith("report/index.pdf\n")
    assert len(list((case.results / "report").glob("search-*.svg"))) == 2
    assert len(json.loads((case.results / "report" / "searches.json").read_text())) == 2


def test_a_budget_ends_a_search_with_the_best_answer_so_far_which_is_marked(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make(tmp_path, sandbox, "budget", "onefile", ", budget: 0.000001")
    case.call("run", "--only", "scratch/node/*/create", timeout=800, status=None)
    node = json.loads(case.call("plan", "--json"))["searches"][0]
    assert node["decision"]["geometry"] is not None
    assert not node["decision"]["complete"] and not node["decision"]["confirmed"]
    assert "the budget was used up before confirmation runs" in node["decision"]["reason"]
    create = next(row for row in case.table(status=None) if (row["launch"], row["operation"]) == ("node", "create"))
    assert create["status"] == "invalid"
    assert "SEL-02" in {finding["rule"] for finding in create["findings"]}
