"""Every command that a page, a screen or a message prints is one that the program takes, and works."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from campaign.cli.arguments import VERBS, parser
from tests.support import printed_commands
from tests.support.printed_commands import PAGES, SCREENS, SOURCES, complete, inline, words_of

NOT_EXECUTED = {  # words, each with the reason
    "build": "compiles the benchmark",
    "rebuild": "compiles the benchmark",
    "sandbox": "starts or ends a cluster",
    "--sandbox": "starts a cluster",
    "--probe": "starts the benchmark on each node",
    "--pdf": "needs a browser",
    "--timestamp": "needs a time-stamp authority",
    "--sacct": "needs the accounting of a cluster",
    "--rfp": "needs an answer to an RFP of several parts",
    "--part": "needs an answer to an RFP of several parts",
    "rfp.yaml": "needs an RFP of several parts",
}
PRINTED = {command for path in (*PAGES, *SCREENS) for command in complete(path)}
INLINE = {command for path in (*PAGES, *SOURCES) for command in inline(path)}


def problem(words: list[str], capsys: pytest.CaptureFixture[str], takes: argparse.ArgumentParser | None = None) -> str:
    """Why the program does not take these words, "" if it does."""
    try:
        (takes or parser()).parse_args(words)
    except SystemExit as error:
        message = capsys.readouterr().err
        return "" if error.code == 0 else message or "refused"
    return ""


@pytest.mark.parametrize("path", [*PAGES, *SCREENS], ids=lambda path: path.name)
def test_every_printed_command_is_taken(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {command: problem(words_of(command), capsys) for command in complete(path)}
    assert {command: reason for command, reason in refused.items() if reason} == {}


@pytest.mark.parametrize("command", sorted(INLINE))
def test_every_command_in_a_sentence_is_taken_or_its_options_exist(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of(command)
    if problem(words, capsys):
        assert problem(words, capsys, printed_commands.mentions()) == ""


def test_a_mention_with_an_unknown_option_or_verb_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown option --tabel" in problem(["verify", "--tabel"], capsys, printed_commands.mentions())
    assert "invalid choice: 'tabel'" in problem(["tabel"], capsys, printed_commands.mentions())


def test_every_verb_has_an_example_that_is_executed() -> None:
    verbs = [inner for verb in VERBS for inner in (verb, *verb.verbs)]
    examples = {verb.name: verb.example.removeprefix("campaign ") for verb in verbs}
    assert {name: example for name, example in examples.items() if name not in example.split()} == {}
    assert set(examples.values()) - INLINE == set()


def test_commands_are_found_on_pages_screens_and_in_messages() -> None:
    assert len([command for path in PAGES for command in complete(path)]) > 50
    assert [command for path in SCREENS for command in complete(path)]
    assert {"rerun FILE CELL", "check FILE --waiver N", "fill FILE FORM -o RESPONSE", "terms init"} <= INLINE
    assert "terms init terms.yaml --rules PLACE" in INLINE  # of the program's messages
    assert "report PLACE" in INLINE  # of a template


@pytest.fixture(scope="module")
def measured_campaign(tmp_path_factory: pytest.TempPathFactory) -> printed_commands.MeasuredCampaign:
    return printed_commands.measure_campaign(tmp_path_factory.mktemp("printed"))


@pytest.mark.programs
@pytest.mark.timeout(900)
def test_every_printed_command_works(
    measured_campaign: printed_commands.MeasuredCampaign, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its status says what it found: the usage is right, and nothing that it needs is missing. A mere mention of a verb
    is not executed.
    """
    commands = [words_of(command) for command in sorted(PRINTED | INLINE)]
    executed = [words for words in commands if not (NOT_EXECUTED.keys() & set(words) or problem(words, capsys))]
    failed = {}
    for words in dict.fromkeys(map(measured_campaign.words, executed)):
        ended_process = measured_campaign.execute(words)
        if ended_process.returncode not in (0, 1, 4, 5):
            failed[words] = (ended_process.returncode, ended_process.stderr)
    assert failed == {}


def test_every_reason_not_to_execute_a_command_is_one_of_a_printed_command() -> None:
    words = {word for command in PRINTED | INLINE for word in words_of(command)}
    assert NOT_EXECUTED.keys() - words == set()


@pytest.mark.parametrize("words", ["terms init --rules ID out.yaml", "terms init out.yaml --rules ID", "rules -h ID"])
def test_an_optional_file_may_stand_behind_an_option(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert problem(words.split(), capsys) == ""
    if words.startswith("terms"):
        assert parser().parse_args(words.split()).file == Path("out.yaml")


def test_a_command_with_a_word_too_many_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["terms", "init", "out.yaml", "--rules", "ID", "other.yaml"]
    assert "unexpected arguments: other.yaml" in problem(words, capsys)
