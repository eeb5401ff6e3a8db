"""The verbs on a campaign file that answers an RFP of several parts, on the fake Slurm."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from campaign.cli import queues, results
from campaign.cli.queues import RunLimits, interfering_groups
from campaign.config import rfp as rfps
from campaign.config.definition import open_campaign
from campaign.core.runs import Cell, Status
from campaign.report.compare.offers import Offer, OfferedCell
from tests.support import command_line, fake_slurm, rfp
from tests.support.command_line import CAMPAIGN
from tests.support.fake_slurm import Fake
from tests.support.rfp import ANSWER

PARTS = ("fast", "slow")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        rfp.write(tmp_path, answer=ANSWER.replace("  fat: {{slurm: {{constraint: fat}}}}", "  fat: {{}}"))
        yield fake


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = command_line.drive if words[0] in ("run", "rerun") else command_line.call
    return command(*words, cwd=folder)


def test_one_command_runs_all_parts_and_every_verb_works_on_the_whole_and_on_a_part(
    tmp_path: Path, cluster: Fake
) -> None:
    planned = call(tmp_path, "plan", "c.yaml")
    assert "=== part fast: The fast tier ===" in planned.stdout
    assert "=== part slow ===" in planned.stdout
    assert "mdtest -F" not in planned.stdout, "the command lines are those of a part"
    assert "mdtest -F" in call(tmp_path, "plan", "c.yaml", "--part", "slow").stdout

    process = call(tmp_path, "run", "c.yaml")
    for part in PARTS:
        assert re.search(rf"{part}: +NO +0 of 36 results have a valid value \(36 invalid\)", process.stdout), (
            "those of the fake are"
        )
    assert "\nREHEARSAL: RFP small 3\n  ok    2 parts are there" in process.stdout
    second_process = call(tmp_path, "run", "c.yaml")
    assert "submitted" not in second_process.stdout
    assert "\n  NO    slow is REHEARSAL: " in call(tmp_path, "check", "c.yaml").stdout

    status = json.loads(call(tmp_path, "status", "c.yaml", "--json").stdout)
    states = {run["state"] for runs in status["parts"].values() for run in runs}
    assert (list(status["parts"]), states) == ([*PARTS], {"done"})
    table = json.loads(call(tmp_path, "table", "c.yaml", "--format", "json").stdout)
    assert [len(table["parts"][part]) for part in PARTS] == [36, 36]
    assert [(score["id"], score["why"]) for score in table["scores"]] == [
        ("both", "fast/scratch/single/shared/create is invalid"),
        ("total", "fast/scratch/single/shared/create is invalid"),
    ]
    assert table["scores"][0]["figures"][0]["origin"].endswith("runs/scratch.single.shared.r1/1/stdout line 14")
    rows = list(csv.DictReader(io.StringIO(call(tmp_path, "table", "c.yaml", "--format", "csv").stdout)))
    assert [row["part"] for row in rows] == ["fast"] * 36 + ["slow"] * 36
    stdout = call(tmp_path, "table", "c.yaml").stdout
    assert "both: no value (fast/scratch/single/shared/create is invalid)" in stdout

    reported_process = call(tmp_path, "report", "c.yaml", "-o", "page")
    assert reported_process.stdout.endswith("wrote page/index.html\n")
    page = (tmp_path / "page/index.html").read_text()
    assert page.index('href="fast/index.html"') < page.index('href="slow/index.html"') < page.index("Both tiers")
    assert page.count('<p class="headline">REHEARSAL</p>') == 3, "of the whole, and of each part"
    assert (tmp_path / "page/fast/index.html").is_file()

    rerun = call(tmp_path, "rerun", "c.yaml", "slow/home/single/shared/*")
    assert "slow: home/single/shared/create" in rerun.stdout
    assert "fast: " not in rerun.stdout
    refused = call(tmp_path, "rerun", "c.yaml", "home/single/shared/stat")
    assert refused.returncode == 2
    assert "home/single/shared/stat: allowed: part/target/launch/files/operation; parts: fast, slow" in refused.stderr


def test_a_mandatory_part_without_an_answer_is_reported_and_the_answer_is_not_complete(
    tmp_path: Path, cluster: Fake
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(file.read_text().partition("  slow:")[0].replace("node_classes:\n  fat: {}\n", ""))
    process = call(tmp_path, "run", "c.yaml", "--only", "fast/scratch/single/shared/*")
    assert process.returncode == 1
    assert "mandatory parts of RFP small that are not answered: slow" in process.stderr


NOTIFY = 'cat >told; echo "$CAMPAIGN_NAME $CAMPAIGN_STATUS" >>told'


def test_the_user_is_notified_of_the_status_with_which_the_command_ends(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(file.read_text().partition("  slow:")[0].replace("node_classes:\n  fat: {}\n", ""))
    monkeypatch.setattr(queues, "run", lambda *_: 0)
    assert call(tmp_path, "run", "c.yaml", "--notify", NOTIFY).returncode == 1
    assert (tmp_path / "told").read_text() == "campaign for RFP small: ended with status 1\nsmall 1\n"


def test_the_user_is_notified_of_an_error_before_any_part_starts(tmp_path: Path, cluster: Fake) -> None:
    assert call(tmp_path, "rerun", "c.yaml", "sloow/home/*/*/*", "--notify", NOTIFY).returncode == 2
    text = (tmp_path / "told").read_text()
    assert text.startswith("campaign for RFP small: stopped with status 2: sloow/home") and "\nsmall 2\n" in text


def test_junit_of_all_parts_on_standard_output_is_one_document(tmp_path: Path, cluster: Fake) -> None:
    root = ElementTree.fromstring(call(tmp_path, "check", "c.yaml", "--junit", "-").stdout)
    names = [suite.get("name") for suite in root]
    assert (root.tag, len(names), len({*names})) == ("testsuites", 2, 2), names


OF_THE_OFFER = """
requires:
  - {holds: min(offered) >= 1000, clause: "5"}
  - {holds: create > 0, clause: "6"}
clauses:
  - {id: "1", requires: a fast tier}
  - {id: "2", requires: a score}
  - {id: "5", requires: a large system}
  - {id: "6", requires: a rate}
"""


def test_what_is_offered_is_judged_by_the_plan_and_the_matrix_has_the_clauses_of_the_rfp(
    tmp_path: Path, cluster: Fake
) -> None:
    figures = 'figures:\n  offered: "*/*/*/*/offered.nodes"\n'
    offered = ANSWER.replace("{{slurm: {{constraint: fat}}}}", "{{}}") + "proposed: {{nodes: NODES}}\n"
    for nodes, status in (("1000", 0), ("999", 1)):
        rfp.write(tmp_path, rfp.RFP.replace("figures:\n", figures) + OF_THE_OFFER, offered.replace("NODES", nodes))
        process = call(tmp_path, "plan", "c.yaml")
        violation = "RES-03 clause 5 requires min(offered) >= 1000; found min(offered) 999"
        assert (process.returncode, violation in process.stdout) == (status, bool(status)), process.stderr
        findings = json.loads(call(tmp_path, "plan", "c.yaml", "--json").stdout)["rfp_findings"]
        assert [finding["values"]["clause"] for finding in findings] == ["5"] * status
    text = call(tmp_path, "table", "c.yaml", "--clauses", "--format", "csv").stdout
    rows = [row for row in csv.DictReader(io.StringIO(text)) if not row["part"]]
    states = {row["clause"]: row["state"] for row in rows}
    assert (list(states), states["5"], states["6"]) == (["1", "2", "5", "6"], "violated", "open")


def test_a_file_without_a_suffix_is_one_for_each_part(tmp_path: Path, cluster: Fake) -> None:
    process = call(tmp_path, "table", "c.yaml", "-o", "t")
    assert "wrote t-fast\n" in process.stdout and "wrote t-slow\n" in process.stdout, process.stderr


@pytest.mark.parametrize(
    ("command", "name"), [("table c.yaml -o", "t.txt"), ("check c.yaml --junit", "t.xml"), ("table c.yaml -o", "t")]
)
def test_only_the_files_that_are_written_are_asked_for(tmp_path: Path, cluster: Fake, command: str, name: str) -> None:
    (tmp_path / name).write_text("mine")
    stem, suffix = Path(name).stem, Path(name).suffix
    process = call(tmp_path, *command.split(), name)
    for part in PARTS:
        assert f"wrote {stem}-{part}{suffix}\n" in process.stdout, process.stderr
    refused = call(tmp_path, *command.split(), name)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"campaign: {stem}-fast{suffix}: already exists")
    assert (tmp_path / name).read_text() == "mine"


def test_one_file_of_all_parts_is_not_overwritten(tmp_path: Path, cluster: Fake) -> None:
    (tmp_path / "t.csv").write_text("mine")
    refused = call(tmp_path, "table", "c.yaml", "-o", "t.csv")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("campaign: t.csv: already exists")


@pytest.mark.parametrize("name", ["scripts", "scripts.d"])
def test_a_directory_of_all_parts_has_one_of_each_and_is_asked_for(tmp_path: Path, cluster: Fake, name: str) -> None:
    first = call(tmp_path, "plan", "c.yaml", "--scripts", name)
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == [*PARTS], first.stderr
    second_process = call(tmp_path, "plan", "c.yaml", "--scripts", name)
    assert (second_process.returncode, second_process.stderr.startswith(f"campaign: {name}: is not empty")) == (2, True)


def test_ctrl_c_reaches_all_parts_and_the_same_command_continues(tmp_path: Path, cluster: Fake) -> None:
    running = subprocess.Popen(
        [CAMPAIGN, "run", "c.yaml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    journal = tmp_path / "results/offer/slow/journal.jsonl"
    fake_slurm.wait_until(lambda: journal.exists() and "submitted" in journal.read_text(), "a job is submitted")
    os.kill(running.pid, signal.SIGINT)
    text, _ = running.communicate(timeout=800)
    assert running.returncode == 130, text
    assert "campaign: interrupted" in text
    assert "'campaign run c.yaml --part " in text
    process = call(tmp_path, "run", "c.yaml")
    assert process.stdout.count(":   NO    0 of 36 results have a valid value (36 invalid).") == 2


def test_a_module_in_the_current_directory_is_not_executed(tmp_path: Path, cluster: Fake) -> None:
    """Others may write in a directory in which a campaign is run."""
    (tmp_path / "argparse.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    process = call(tmp_path, "run", "c.yaml", "--only", "fast/scratch/single/shared/*")
    assert not (tmp_path / "executed").exists()
    assert "fast: " in process.stdout
    assert "Traceback" not in process.stdout


def test_parts_that_share_storage_or_a_partition_run_one_after_another(tmp_path: Path) -> None:
    def groups_of(answer: str) -> list[list[str]]:
        file = rfp.write(tmp_path, answer=answer)
        return list(interfering_groups({part: open_campaign(file, part) for part in PARTS}, PARTS))

    assert groups_of(ANSWER) == [["fast", "slow"]], "one partition"
    own_partition = ANSWER.replace("constraint: fat", "partition: fat")
    assert groups_of(own_partition) == [["fast"], ["slow"]]
    assert groups_of(own_partition.replace("targets: [home]", "targets: [scratch]")) == [["fast", "slow"]], "one target"
    assert groups_of(
        own_partition.replace("name: home", "name: home, storage: lustre").replace(
            "name: scratch", "name: scratch, storage: lustre"
        )
    ) == [["fast", "slow"]]


def test_what_is_meant_for_a_part_has_to_name_it(tmp_path: Path, cluster: Fake) -> None:
    refused = call(tmp_path, "status", "c.yaml", "--part", "slwo")
    assert refused.returncode == 2
    assert "--part slwo: did you mean slow?" in refused.stderr


def test_node_hours_are_those_of_all_parts(tmp_path: Path, cluster: Fake) -> None:
    process = call(tmp_path, "run", "c.yaml", "--max-node-hours", "0.001")
    assert process.returncode == 1
    for part in PARTS:
        assert f"{part}: 0.001 of 0.001 node-hours are left for it" in process.stdout
        assert re.search(rf"{part}: .*not submitted: \d+ jobs", process.stdout)
    assert cluster.jobs() == []


def test_a_part_gets_what_the_others_leave_of_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other_definitions = [open_campaign(rfp.write(tmp_path), part) for part in PARTS]
    monkeypatch.setattr(queues, "active_jobs", lambda _: ["7", "8"])
    monkeypatch.setattr(queues, "used_node_h", lambda _: 0.75)
    assert RunLimits(10, None).remaining_options("later", other_definitions, 2) == ["--max-jobs", "3"]
    assert RunLimits(10, 2.0).remaining_options("later", other_definitions, 1) == [
        "--max-jobs",
        "6",
        "--max-node-hours",
        "0.5",
    ]
    assert RunLimits(4, None).remaining_options("later", other_definitions, 1) is None
    assert RunLimits(10, 1.5).remaining_options("later", other_definitions, 1) is None
    assert (
        "later: not run: --max-node-hours is 1.5, which the other parts have used or reserved"
        in capsys.readouterr().err
    )


def test_a_figure_that_the_pack_does_not_have_is_reported_before_anything_runs(tmp_path: Path) -> None:
    rfp.write(tmp_path, rfp=rfp.RFP.replace("shared/stat", "shared/sta"))
    process = call(tmp_path, "rules", "rfp.yaml")
    assert process.returncode == 2
    assert "figures.stat: crossroads-mdtest has no sta; did you mean stat?" in process.stderr


FORMS = """
forms:
  - file: form.csv
    tables:
      - result: "{row_groups}/single/shared/{columns}"
        row_groups: {Fast: fast/scratch, Slow: slow/home, Later: later/scratch}
        rows: {Rates: x}
        columns: {Create: create, Stat: stat}
"""


def test_a_form_of_the_rfp_is_filled_from_all_parts_and_read_by_part(tmp_path: Path, cluster: Fake) -> None:
    rfp.write(
        tmp_path, rfp=rfp.RFP + FORMS, answer=ANSWER.replace("  fat: {{slurm: {{constraint: fat}}}}", "  fat: {{}}")
    )
    (tmp_path / "form.csv").write_text(",,Create,Stat\nFast,Rates,,\nSlow,Rates,,\nLater,Rates,,\n")
    process = call(tmp_path, "fill", "c.yaml", "form.csv", "-o", "response.csv")
    assert process.returncode == 1, "nothing has run"
    assert "wrote response.csv: 0 of 6 cells filled" in process.stdout
    _, _, unanswered = process.stdout.partition("left empty (no answer in the campaign file)")
    assert "D4 later/scratch/single/shared/stat" in unanswered
    (tmp_path / "response.csv").write_text(",,Create,Stat\nFast,Rates,8000,400\nSlow,Rates,1000,4000\nLater,Rates,,\n")
    check = call(tmp_path, "check", "response.csv", "--mapping", "rfp.yaml")
    assert check.stdout.count("=== part") == 3 and check.returncode == 1
    assert "PHY-05" in check.stdout.partition("=== part slow ===")[0].partition("Not checked")[0]
    part_check = call(tmp_path, "check", "response.csv", "--mapping", "rfp.yaml", "--part", "slow")
    assert "=== part slow ===" in part_check.stdout and "=== part fast ===" not in part_check.stdout
    compared = call(tmp_path, "compare", "response.csv", "response.csv", "--mapping", "rfp.yaml", "--part", "fast")
    assert "scratch/single/shared/create" in compared.stdout and compared.returncode == 1
    json_check = call(tmp_path, "check", "response.csv", "--mapping", "rfp.yaml", "--json")
    assert "name it with --part" in json_check.stderr
    unknown = call(tmp_path, "check", "other.xlsx", "--mapping", "rfp.yaml")
    assert "rfp.yaml: no form other.xlsx, or no part at all; its forms and parts are form.csv, fast" in unknown.stderr


def test_an_offer_that_leaves_out_a_part_of_the_first_is_not_as_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rfp.write(tmp_path)
    own_rfp = rfps.load(tmp_path / "rfp.yaml")
    cell = Cell("scratch", "single", "shared", "create")
    entry = OfferedCell(cell, Status.MEASURED, 110.0, "ops/s", values=(110.0,), processes=1, nodes=1)
    offer = Offer("a.zip", "a", None, None, None, None, {cell: entry})
    offers = {"whole": {"fast": offer, "slow": offer}, "less": {"fast": offer}}
    monkeypatch.setattr(
        results, "_load_offers", lambda options: [(own_rfp, offers[path.name]) for path in options.campaigns]
    )

    def compare_offers(*names: str) -> int:
        terms = {
            "tolerance": None,
            "at_least": "0.95",
            "reported": True,
            "map": [],
            "day": None,
            "format": None,
            "output": None,
            "decimal": ".",
            "unequal": False,
        }
        return results.compare(Namespace(campaigns=[Path(name) for name in names], force=False, **terms))

    assert compare_offers("whole", "whole") == 0
    assert compare_offers("less", "whole") == 0
    assert compare_offers("whole", "less") == 1
    assert "note: less does not answer slow, later" in capsys.readouterr().err
