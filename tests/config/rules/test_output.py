"""`results` of a pack: what is refused when it is loaded, which is before anything is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules import output_check, packs, programs, readers
from campaign.config.rules.output_format import BUILT_IN, RESULTS
from campaign.config.rules.pack import RulePack
from campaign.core import resources, schema
from campaign.core.errors import InputError
from campaign.core.schema import Values
from campaign.core.strict_yaml import Document

HEAD = (resources.PACKS / "stream.yaml").read_text().partition("results:")[0].replace("id: stream\n", "id: mine\n")
TAIL = "\nselection: {operation: triad, best: highest, clause: practice}\n"
NAME = 'name: "{kernel}", unit: MB/s, pattern: '
KERNELS = NAME + r"'(?P<kernel>[A-Z][a-z]+): +(?P<value>[0-9.]+) .*'"


def load_pack(tmp_path: Path, results: str, head: str = HEAD) -> RulePack:
    path = tmp_path / "mine.yaml"
    path.write_text(head + results + TAIL)
    return packs.load(path)


def load_error(tmp_path: Path, results: str, head: str = HEAD) -> str:
    with pytest.raises(InputError) as error:
        load_pack(tmp_path, results, head)
    return str(error.value)


def text(record: str, further_text: str = "") -> str:
    return f"results:\n  format: text\n{further_text}  records:\n    - {{{record}}}\n"


def test_a_pack_without_results_names_a_program_whose_output_is_known(tmp_path: Path) -> None:
    assert (
        "applet: found stream; allowed: checkpoint, find, ior, mbw_mr, mdtest, mpiio, nfstest; or add `results`"
        in load_error(tmp_path, "")
    )


def test_the_built_in_programs_are_those_that_are_described() -> None:
    assert readers.names() == ["ior", "mdtest"]
    assert {path.stem for path in programs.OUTPUTS.iterdir()} == set(BUILT_IN)


@pytest.mark.parametrize("applet", BUILT_IN)
def test_the_description_of_an_applets_output_is_as_it_is_demanded_of_a_packs(applet: str) -> None:
    document = Document.open(programs.OUTPUTS / f"{applet}.yaml")
    output_check.check_output(Values({"results": schema.read(RESULTS, document)}, (), document), None, [])
    document.finish()


def test_a_program_with_a_parser_of_its_own_keeps_it(tmp_path: Path) -> None:
    head = HEAD.replace("applet: stream", "applet: ior")
    assert "ior is built in: its output is known" in load_error(tmp_path, text(KERNELS), head)


def test_the_values_of_a_record_are_kept(tmp_path: Path) -> None:
    pack = load_pack(tmp_path, text(f"{KERNELS}, factor: 1/1000, within: 0.5%"))
    (program,) = pack.programs
    assert program.results is not None
    (record,) = program.results.records
    assert (record.name, record.factor, record.within, record.take) == ("{kernel}", 0.001, 0.005, "only")
    assert pack.outputs[""] is program.results


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("name: copy, unit: MB/s", "pattern: required key missing; format text needs it"),
        (r"name: copy, unit: MB/s, pattern: 'Copy: +([0-9.]+)'", "no group `value`"),
        (r"name: copy, unit: MB/s, pattern: '(?P<value>a)(?=b)'", "invalid perl operator: (?=; allowed: RE2 syntax"),
        (KERNELS.replace("{kernel}", "{size}"), "found {size}; allowed: kernel, value"),
        (f'{KERNELS}, each: jobs', "found `each` with text; allowed: only with json"),
        (f'{KERNELS}, until: end', "found `until` without `after`"),
        (f'{KERNELS}, take: mean', "found mean; add `results.end` or `matches`"),
        (f'{KERNELS}, plausible: 2 * size', "found size; allowed: kernel, value"),
        (f'{KERNELS}, plausible: import os', "formula"),
        (f"{KERNELS}, of: copy", "found copy; allowed: none (records with take"),
        (f"{KERNELS}, of: copy, take: mean", "found `of` together with take: mean"),
        (f'{KERNELS}, factor: 0', "found 0; allowed: a number above 0"),
        (f'{KERNELS}, factor: 1e-9x', "allowed: a number such as 0.001, 1e-6"),
        (f'{KERNELS}, units: {{MB/s: 1}}', "found `units`"),
        (f'{KERNELS}, plausible: "value == copy_{{size}}"', "found {size}; allowed: kernel, value"),
        (f'{KERNELS}, plausible: value = 2', "not a valid formula"),
        (f'{KERNELS}, matches: section', "found section without `after`"),
        (f'{KERNELS}, matches: repeats', "found repeats; allowed: a number, same, section"),
        (f"{KERNELS}, unless: '('", "not a regular expression"),
        (f"{KERNELS}, columns: '('", "not a regular expression"),
        (r"name: cpy, unit: MB/s, pattern: 'Copy: +(?P<value>[0-9.]+)'", "found copy; allowed: cpy"),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_read_is_refused(tmp_path: Path, record: str, problem: str) -> None:
    assert problem in load_error(tmp_path, text(record))


def test_a_formula_may_name_another_record_that_has_a_name_of_its_own(tmp_path: Path) -> None:
    half = "name: half-rate, unit: MB/s, pattern: 'Half: +(?P<value>[0-9.]+)', plausible: NAME / 2"
    pack_text = text(KERNELS) + f"    - {{{half}}}\n    - {{{KERNELS.replace('{kernel}', 'rate-{kernel}')}}}\n"
    assert load_pack(tmp_path, pack_text.replace("NAME", "rate_copy")).programs
    assert "found copy; allowed: value" in load_error(tmp_path, pack_text.replace("NAME", "copy"))


@pytest.mark.parametrize(
    ("further_text", "problem"),
    [
        (r"  facts: {size: 'Array size = [0-9]+'}" + "\n", "found 0 groups; allowed: exactly one"),
        ("  end: 'a**'\n", "not a regular expression: bad repetition operator: **"),
        ("  harmless: ['^a']\n", "remove ^ and $"),
    ],
)
def test_a_pattern_of_the_whole_output_that_is_wrong_is_refused(
    tmp_path: Path, further_text: str, problem: str
) -> None:
    assert problem in load_error(tmp_path, text(KERNELS, further_text))


def test_a_path_that_is_wrong_is_refused(tmp_path: Path) -> None:
    results = 'results:\n  format: json\n  records:\n    - {name: triad, value: "jobs[", unit: MB/s}\n'
    assert "allowed: a path such as jobs[0].read.bw" in load_error(tmp_path, results)


def test_records_need_a_format_and_a_format_needs_records(tmp_path: Path) -> None:
    assert "results.format: required key missing" in load_error(tmp_path, "results:\n  end: done\n")
    assert "no records; give at least one" in load_error(tmp_path, "results:\n  format: text\n")


def test_a_program_that_no_operation_measures_or_the_job_alone_needs_no_records(tmp_path: Path) -> None:
    timed = "results:\n  format: text\n  wall: true\n"
    assert "found triad; allowed: wall" in load_error(tmp_path, timed)
    assert "no records; give at least one" in load_error(tmp_path, timed.replace("text", "json"))


def test_a_factor_may_be_written_with_an_exponent(tmp_path: Path) -> None:
    factors = text(f"{KERNELS}, factor: 1e-9")
    form = load_pack(tmp_path, factors).programs[0].results
    assert form and form.records[0].factor == 1e-9


def test_every_key_of_results_has_a_meaning() -> None:
    assert all(field.says for field in RESULTS.fields.values())
