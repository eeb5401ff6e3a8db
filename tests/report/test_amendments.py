"""What an amendment of a pack or an RFP changed, in words, and which results still count."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.core.errors import InputError
from campaign.report import amendments
from tests.config.rules.test_extends import BASE

RFP = """id: offer
version: {version}
title: An RFP
parts: [{{id: disks, pack: ./{pack}/base.yaml}}]
figures: {{rate: disks/*/one/shared/write}}
scores: [{{id: score, title: Score, of: [{{formula: rate, weight: {version}}}]}}]
"""


def amendment_lines(folder: Path, *changes: tuple[str, str]) -> list[str]:
    new_text = BASE.replace("version: 3", "version: 4")
    for old, new in changes:
        assert old in new_text
        new_text = new_text.replace(old, new)
    for name, text in (("old", BASE), ("new", new_text)):
        (folder / name).mkdir()
        (folder / name / "base.yaml").write_text(text)
    return amendments.comparison(f"{folder}/old/base.yaml", f"{folder}/new/base.yaml").splitlines()


@pytest.mark.parametrize(
    ("old", "new", "change", "results"),
    [
        ("title: A base", "title: Another", "title: A base, now Another", ["count as they are: */*/*/*"]),
        ('title: One node, clause: "1"', 'title: One node, clause: "7"', "launch/one/clause: 1, now 7",
         ["count as they are: */*/*/*"]),
        ("nodes: 2, processes: 8", "nodes: 2, processes: 9", "launch/two/processes: 8, now 9",
         ["to be measured again: */two/*/*", "count as they are: */one/*/*"]),
        ("minimum: 10s", "minimum: 20s", "checks/RUN-07/minimum: 10s, now 20s", ["to be re-evaluated: */*/*/*"]),
        ("full: 1m", "full: 2m", "variables/transfer/full: 1m, now 2m", ["to be measured again: */*/*/*"]),
        ('  RUN-01: "3"\n', "", "checks/RUN-01: 3, now none", ["to be re-evaluated: */*/*/*"]),
        ("unit: MiB/s}\n", "unit: MiB/s}\n  - {id: read, title: Read, record: read, unit: MiB/s}\n",
         "operations/read: none, now {'id': 'read', 'title': 'Read', 'record': 'read', 'unit':...",
         ["count as they are: */*/*/*"]),
    ],
)  # fmt: skip
def test_each_key_that_differs_is_named_and_the_results_that_it_concerns(
    tmp_path: Path, old: str, new: str, change: str, results: list[str]
) -> None:
    lines = amendment_lines(tmp_path, (old, new))
    assert lines == [
        "base 3 and base 4: 2 changes", "  version: 3, now 4", f"  {change}", "Results of base 3:",
        *(f"  {line}" for line in results),
    ]  # fmt: skip


def test_versions_of_an_rfp_are_compared_with_the_packs_of_their_parts(tmp_path: Path) -> None:
    amendment_lines(tmp_path, ("nodes: 2, processes: 8", "nodes: 2, processes: 9"))
    for version, pack in ((1, "old"), (2, "new")):
        (tmp_path / f"rfp-{version}.yaml").write_text(RFP.format(version=version, pack=pack))
    text = amendments.comparison(f"{tmp_path}/rfp-1.yaml", f"{tmp_path}/rfp-2.yaml")
    assert "offer 1 and offer 2: 3 changes\n  version: 1, now 2\n  parts/disks/pack: ./old/base.yaml, now" in text
    assert "part disks: base 3 and base 4: 2 changes" in text
    with pytest.raises(InputError):
        amendments.comparison(f"{tmp_path}/rfp-1.yaml", f"{tmp_path}/old/base.yaml")


def test_of_a_list_without_names_the_entries_that_differ_are_shown(tmp_path: Path) -> None:
    amendment_lines(tmp_path)
    conditions = "requires: [{{holds: rate > 1, clause: '1'}}, {{of: [rate > 2, score > {limit}], clause: '2'}}]\n"
    for version, limit in ((1, 3), (2, 4)):
        text = RFP.format(version=1, pack="old") + conditions.format(limit=limit)
        (tmp_path / f"rfp-{version}.yaml").write_text(text)
    text = amendments.comparison(f"{tmp_path}/rfp-1.yaml", f"{tmp_path}/rfp-2.yaml")
    assert (
        "offer 1 and offer 1: 1 change\n"
        "  requires: [{'of': ['rate > 2', 'score > 3'], 'clause': '2'}], "
        "now [{'of': ['rate > 2', 'score > 4'], 'clause': '2'}]\n"
    ) in text
