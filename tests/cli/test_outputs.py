"""The outputs that commands are told to write: what is refused, what is printed, what is replaced. For every verb."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.cli import arguments
from campaign.cli.main import main
from campaign.cli.parsing import Option, Verb
from campaign.core import outputs
from campaign.core.errors import InputError
from campaign.core.resources import PACKS
from tests.support import reference
from tests.support.command_line import CAMPAIGN, call

FILE = """
name: offer
rules: ./crossroads-mdtest.yaml
profile: rehearsal
targets: [{name: scratch, directory: /scratch/cli}]
launch:
  node: 4
  peak: {nodes: 2, processes: 8}
  max: {nodes: 4, processes: 32}
"""
FORM = "target,result\nscratch,{{ scratch/peak/shared/stat }}\n"
TABLE = "target,launch,files,operation,value\nscratch,peak,shared,stat,1000\n"
# A command for each output option, by verb and option; OUT is the output.
COMMANDS = {
    ("init", "file"): "init OUT",
    ("terms init", "file"): "terms init OUT",
    ("build", "-o"): "build -o OUT",
    ("plan", "--scripts"): "plan c.yaml --scripts OUT",
    ("table", "-o"): "table c.yaml -o OUT",
    ("report", "-o"): "report c.yaml -o OUT",
    ("fill", "-o"): "fill c.yaml form.csv -o OUT",
    ("check", "--junit"): "check c.yaml --junit OUT",
    ("compare", "-o"): "compare table.csv table.csv -o OUT",
    ("modifications", "-o"): "modifications c.yaml -o OUT",
    ("bundle", "-o"): "bundle c.yaml -o OUT",
    ("head", "--query"): "head c.yaml --query OUT",
    ("verify", "--junit"): "verify offer.zip --junit OUT",
    ("verify", "-o"): "verify offer.zip -o OUT",
    ("sample", "-o"): "sample offer.zip --cells 4 --seed s -o OUT",
    ("accept", "-o"): "accept offer.zip sample.yaml -o OUT",
}
INPUTS = ("c.yaml", "form.csv", "table.csv", "offer.zip", "sample.yaml")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with one file of each kind that commands read."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("c.yaml", FILE), ("form.csv", FORM), ("table.csv", TABLE), ("sample.yaml", "# a sample")):
        (tmp_path / name).write_text(text)
    shutil.copy(PACKS / "crossroads-mdtest.yaml", tmp_path)
    shutil.copy(reference.BUNDLE, tmp_path / "offer.zip")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "index.html").write_text("mine")
    with reference.program_of_bundle():
        yield tmp_path


def options(verb: Verb) -> list[Option]:
    return [option for entry in verb.options for option in ([entry] if isinstance(entry, Option) else entry)]


def content(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_every_output_of_every_verb_is_known_and_may_be_forced() -> None:
    """The word for what an option takes says that it is written."""
    outer_verbs = [verb for verb in arguments.VERBS if verb.name != "sandbox"]
    inner_verbs = {f"{verb.name} {inner.name}": inner for verb in outer_verbs for inner in verb.verbs}
    verbs = {verb.name: verb for verb in outer_verbs} | inner_verbs
    outputs_by_kind = {
        (name, option.names[0])
        for name, verb in verbs.items()
        for option in options(verb)
        if option.writes not in ("", "document")
    }
    outputs_by_metavar = {
        (name, option.names[0])
        for name, verb in verbs.items()
        for option in options(verb)
        if option.terms.get("metavar") in ("OUT", "RESPONSE", "DIR")
    }
    assert outputs_by_kind == outputs_by_metavar | {("init", "file"), ("terms init", "file")}
    assert outputs_by_kind == set(COMMANDS)
    for name, verb in verbs.items():
        forced = any("--force" in option.names for option in options(verb))
        assert forced == any(option.writes not in ("", "document") for option in options(verb)), name


def test_an_object_and_a_file_are_not_both_printed(desk: Path) -> None:
    (desk / "form.csv").write_text("x\n")
    process = call("fill", "c.yaml", "form.csv", "-o", "-", "--json")
    assert process.stderr == "campaign: --output and --json are both standard output; name a file\n"
    assert (process.returncode, process.stdout) == (2, "")


@pytest.mark.parametrize("command", COMMANDS.values())
def test_what_exists_is_not_overwritten(command: str, desk: Path) -> None:
    """A file, or a directory with content; the form's kind is that of its name."""
    (desk / "old.csv").write_text("mine")
    before = content(desk)
    for name in ("old.csv", "full"):
        process = call(*command.replace("OUT", name).split())
        assert process.returncode == 2, process.stdout
        assert process.stderr.startswith(f"campaign: {name}"), process.stderr
        assert process.stdout == ""
    assert content(desk) == before


@pytest.mark.parametrize("command", COMMANDS.values())
def test_what_a_command_reads_is_never_overwritten(command: str, desk: Path) -> None:
    (desk / "linked.zip").symlink_to("c.yaml")
    before = content(desk)
    for name in (*(name for name in INPUTS if name in command.split()), *["linked.zip"] * ("c.yaml" in command)):
        process = call(*command.replace("OUT", name).split(), "--force")
        assert (process.returncode, process.stdout) == (2, "")
        is_new_directory = "bundle" in command and name == "c.yaml"
        reason = (
            "already exists; name a new directory, .zip or .tar.gz"
            if is_new_directory
            else "this command reads it; name another place for its output"
        )
        assert process.stderr == f"campaign: {name}: {reason}\n"
    assert content(desk) == before


@pytest.mark.parametrize("name", ["crossroads-mdtest.yaml", "hard.yaml"])
def test_a_file_that_another_one_names_is_never_overwritten(name: str, desk: Path) -> None:
    """The campaign file names its rule pack; the RFP's journal and logs are read in the same way."""
    os.link(desk / "crossroads-mdtest.yaml", desk / "hard.yaml")
    before = content(desk)
    for words in ("table c.yaml -o", "check c.yaml --junit"):
        process = call(*words.split(), name, "--force")
        assert process.returncode == 2
        assert f"{name}: this command reads it" in process.stderr
    assert content(desk) == before


def test_a_report_is_not_written_into_a_bundle_that_it_verifies(desk: Path) -> None:
    shutil.unpack_archive(desk / "offer.zip", desk / "bag")
    bag = next((desk / "bag").iterdir())
    before = content(bag)
    for place in (bag, bag / "data" / "report"):
        process = call("verify", bag, "-o", place, "--force")
        assert process.returncode == 2
        assert "which this command reads" in process.stderr or "this command reads it" in process.stderr
    assert content(bag) == before


def test_a_table_in_the_directory_of_a_report_survives_if_it_was_handed_in(desk: Path) -> None:
    report = desk / "report"
    assert call("verify", "offer.zip", "-o", "report").stdout.endswith("wrote report/index.html\n")
    before = (report / "table.csv").read_bytes()
    process = call("verify", "offer.zip", "--table", "report/table.csv", "-o", "report", "--force")
    assert "report/table.csv: this command reads it" in process.stderr
    assert (report / "table.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("init OUT", "new.yaml"),
        ("terms init OUT", "new.yaml"),
        ("table c.yaml -o OUT", "new.csv"),
        ("fill c.yaml form.csv -o OUT", "new.csv"),
        ("check c.yaml --junit OUT", "new.xml"),
        ("check c.yaml --json --junit OUT", "new.xml"),
        ("compare table.csv table.csv -o OUT", "new.txt"),
        ("verify offer.zip --junit OUT", "new.xml"),
        ("sample offer.zip --cells 4 --seed s -o OUT", "new.yaml"),
    ],
)
def test_a_file_is_written_named_and_replaced_only_by_force(command: str, name: str, desk: Path) -> None:
    words = command.replace("OUT", name).split()
    process = call(*words)
    assert f"wrote {name}" in (process.stderr if "--json" in words else process.stdout)
    new = (desk / name).read_bytes()
    (desk / name).write_text("mine")
    refused = call(*words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"campaign: {name}: already exists; name another file, or overwrite it with --force\n"
    forced = call(*words, "--force")
    assert forced.stdout == process.stdout
    assert (desk / name).read_bytes() == new
    assert not list(desk.glob("*.new"))


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("init -", "# A campaign"),
        ("terms init -", "# "),
        ("table c.yaml --format csv -o -", "target,launch,"),
        ("fill c.yaml form.csv -o -", "target,result"),
        ("check c.yaml --junit -", "<?xml"),
        ("compare table.csv table.csv --format csv -o -", "target,launch,"),
        ("verify offer.zip --junit -", "<?xml"),
        ("sample offer.zip --cells 4 --seed s -o -", "# campaign sample: "),
    ],
)
def test_a_dash_is_standard_output_and_other_texts_go_to_standard_error(command: str, begins: str, desk: Path) -> None:
    before = content(desk)
    process = call(*command.split())
    assert process.stdout.startswith(begins), process.stdout[:200]
    assert not [line for line in (process.stdout + process.stderr).splitlines() if line.startswith("wrote ")]
    assert content(desk).keys() == before.keys()


@pytest.mark.parametrize("words", ["init --rules crossroads-mdtest -", "terms init --rules crossroads-mdtest -"])
def test_a_dash_may_follow_an_option(words: str, desk: Path) -> None:
    process = call(*words.split())
    assert (process.returncode, process.stdout[:2]) == (0, "# "), process.stderr


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("terms init -", "campaign verify BUNDLE --terms terms.yaml"),
        ("sample offer.zip --cells 4 --seed s -o -", "campaign run sample.yaml"),
    ],
)
def test_a_command_that_uses_what_was_printed_names_a_file(words: str, command: str, desk: Path) -> None:
    process = call(*words.split())
    output = " ".join((process.stdout + process.stderr).replace("\n#", "\n").split())
    assert command in output
    assert not re.search(r"campaign (run|verify .*--terms|accept \S+) -\s", output)


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("report c.yaml -o -", "directory"),
        ("plan c.yaml --scripts -", "directory"),
        ("verify offer.zip -o -", "directory"),
        ("build -o -", "directory"),
        ("bundle c.yaml -o -", "bundle"),
    ],
)
def test_a_directory_is_not_printed(command: str, word: str, force: list[str], desk: Path) -> None:
    before = content(desk)
    process = call(*command.split(), *force)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == f"campaign: -: a {word} cannot be printed; name one\n"
    assert content(desk).keys() == before.keys()
    assert not (desk / "-").exists()


def stderr_of_shell(command: str) -> str:
    """Run a shell command, in which `campaign` is the program; gives its standard error."""
    process = subprocess.run(
        ["sh", "-c", command.replace("campaign", str(CAMPAIGN))], stderr=subprocess.PIPE, text=True, timeout=800
    )
    return process.stderr


@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "linked"])
@pytest.mark.parametrize(
    ("command", "begins"),
    [("table c.yaml --format csv -o OUT", "target,launch,"), ("check c.yaml --junit OUT", "<?xml")],
)
def test_a_path_of_standard_output_is_printed_where_standard_output_is(
    command: str, begins: str, output: str, desk: Path
) -> None:
    (desk / "linked").symlink_to("/dev/stdout")
    text = stderr_of_shell(f"{{ echo before; campaign {command.replace('OUT', output)}; echo after; }} > log")
    before, *lines, after = (desk / "log").read_text().splitlines()
    assert (before, lines[0][: len(begins)], after) == ("before", begins, "after"), text
    assert not [line for line in (*lines, *text.splitlines()) if line.startswith("wrote ")]


def test_a_table_printed_into_the_file_that_it_names_has_the_format_of_its_name(desk: Path) -> None:
    stderr_of_shell("campaign table c.yaml -o t.csv > t.csv")
    assert (desk / "t.csv").read_text().startswith("target,launch,")


@pytest.mark.parametrize(("output", "stream"), [("/dev/stderr", 2), ("/dev/fd/2", 2), ("/dev/fd/3", 3)])
def test_what_another_stream_has_got_is_kept(output: str, stream: int, desk: Path) -> None:
    words = f"campaign table c.yaml --format csv -o {output}"
    stderr_of_shell(f"{{ echo before >&{stream}; {words}; echo after >&{stream}; }} {stream}> log > printed")
    before, *lines, after = (desk / "log").read_text().splitlines()
    assert (before, lines[0][:14], after) == ("before", "target,launch,", "after")
    assert (desk / "printed").read_text() == f"wrote {output}\n"


def test_a_report_goes_on_in_its_own_directory_and_asks_before_it_fills_another(desk: Path) -> None:
    for _ in range(2):
        assert call("report", "c.yaml").stdout == f"wrote {desk}/results/offer/report/index.html\n"
    refused = call("report", "c.yaml", "-o", "full")
    remedy = "name another directory, or overwrite its files with --force"
    assert refused.stderr == f"campaign: full: is not empty; {remedy}\n"
    assert (desk / "full" / "index.html").read_text() == "mine"
    assert call("report", "c.yaml", "-o", "full", "--force").stdout == "wrote full/index.html\n"


def test_a_build_is_renewed_without_force_and_other_directories_are_not(desk: Path) -> None:
    (desk / "full" / "mdtest").write_text("mine")
    refused = call("build", "-o", "full")
    assert (refused.returncode, refused.stderr.startswith("campaign: full: is not empty")) == (2, True)
    assert (desk / "full" / "mdtest").read_text() == "mine"


def test_decimal_commas_are_for_csv(desk: Path) -> None:
    process = call("table", "c.yaml", "--decimal", ",", "-o", "t.csv")
    assert (process.returncode, (desk / "t.csv").read_text()[:14]) == (1, "target;launch;")
    refused = call("table", "c.yaml", "--decimal", ",")
    assert refused.stderr == "campaign: --decimal ,: is for CSV, and the format is simple; add --format csv\n"


@pytest.mark.parametrize("name", ["t.xlsx", "t.json", "t.html", "t.md", "t"])
def test_the_remedy_for_decimal_commas_in_a_file_names_a_csv_file(name: str, desk: Path) -> None:
    refused = call("table", "c.yaml", "--decimal", ",", "-o", name)
    assert (refused.returncode, refused.stderr.endswith("; name a .csv file\n")) == (2, True), refused.stderr


def test_the_remedy_for_decimal_commas_removes_the_format_of_another_file(desk: Path) -> None:
    refused = call("table", "c.yaml", "--decimal", ",", "-o", "t.txt", "--format", "github")
    assert refused.stderr.endswith("; name a .csv file without --format github\n")


def test_a_comparison_has_decimal_commas_too(desk: Path) -> None:
    words = ("compare", "c.yaml", "c.yaml", "--decimal", ",")
    assert call(*words, "--format", "csv").stdout.startswith("target;launch;")
    assert "--decimal ,: is for CSV, and the format is json" in call(*words, "--format", "json").stderr


def test_a_workbook_needs_a_file(desk: Path) -> None:
    process = call("table", "c.yaml", "--format", "xlsx", "-o", "-")
    assert process.stderr == "campaign: --format xlsx needs -o OUT, since a workbook cannot be printed\n"


def test_the_program_itself_refuses_and_prints_as_its_verbs_do_in_the_tests(desk: Path) -> None:
    words = ["table", "c.yaml", "-o", "crossroads-mdtest.yaml", "--force"]
    refused = subprocess.run([CAMPAIGN, *words], capture_output=True, text=True, timeout=800)
    assert (refused.returncode, "this command reads it" in refused.stderr) == (2, True)
    process = subprocess.run([CAMPAIGN, "check", "c.yaml", "--junit", "-"], capture_output=True, text=True, timeout=800)
    assert process.stdout.startswith("<?xml")
    assert process.stdout.endswith("</testsuites>\n")


def test_other_rules_are_compared_without_overwriting_an_output(desk: Path) -> None:
    table = json.loads(call("table", "c.yaml", "--format", "json").stdout)
    other_rows = [{**row, "rules": {**row["rules"], "id": "another"}} for row in table if row["rules"]]
    (desk / "a.json").write_text(json.dumps(table))
    (desk / "b.json").write_text(json.dumps(other_rows))
    words = ("compare", "a.json", "b.json")
    refused = call(*words)
    assert (refused.returncode, "or compare them with --unequal" in refused.stderr) == (2, True), refused.stderr
    for option in ("--unequal", "--force"):
        assert call(*words, option).returncode in (0, 1)
    (desk / "old.txt").write_text("mine")
    assert "old.txt: already exists" in call(*words, "--unequal", "-o", "old.txt").stderr


def test_what_one_command_has_read_the_next_one_may_replace(desk: Path) -> None:
    assert main(["table", "c.yaml", "-o", "t.csv"]) == 1
    assert main(["compare", "t.csv", "table.csv", "-o", "c.txt", "--force"]) in (0, 1)
    assert main(["table", "c.yaml", "-o", "t.csv", "--force"]) == 1


@pytest.fixture
def nothing_read() -> None:
    outputs.begin((), force=False)


@pytest.mark.usefixtures("nothing_read")
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    outputs.write(path, "whole", force=False)

    def raise_interrupt(self: Path, other: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", raise_interrupt)
    with pytest.raises(KeyboardInterrupt):
        outputs.write(path, "half", force=True)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"table.csv": "whole"}


@pytest.mark.usefixtures("nothing_read")
def test_what_a_link_leads_to_is_written_by_force_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    outputs.write(tmp_path / "link.csv", "new", force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


@pytest.mark.usefixtures("nothing_read")
def test_a_dangling_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="already exists"):
        outputs.write(tmp_path / "c.yaml", "text", force=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.yaml"]


@pytest.mark.usefixtures("nothing_read")
def test_a_pipe_is_written_as_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    outputs.write(tmp_path / "pipe", "text", force=False)
    assert os.read(reading, 100) == b"text"
    os.close(reading)


@pytest.mark.usefixtures("nothing_read")
def test_a_file_in_memory_below_dev_is_one_like_any_other() -> None:
    path = Path("/dev/shm") / f"campaign-test-{os.getpid()}.csv"
    try:
        outputs.write(path, "mine", force=False)
        with pytest.raises(InputError, match="already exists"):
            outputs.write(path, "other", force=False)
        assert path.read_text() == "mine"
    finally:
        path.unlink(missing_ok=True)
