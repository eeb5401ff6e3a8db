"""What `--json` and `--format json` print has the schema of docs/schema/outputs."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from campaign.cli.main import main
from campaign.evidence import provenance
from campaign.results.source.facts import Build
from tests.support import outputs, reference
from tests.support.bundled import Vendor

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = DOCS / "schema" / "outputs"


def problems(name: str, text: str) -> list[str]:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return [
        f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(json.loads(text))
    ]


@pytest.mark.parametrize("name", outputs.OUTPUTS)
def test_a_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plan", ("plan", "FILE", "--json")),
        ("status", ("status", "FILE", "--json")),
        ("table", ("table", "FILE", "--format", "json")),
        ("check", ("check", "FILE", "--json")),
        ("head", ("head", "FILE", "--json")),
        ("verify", ("verify", "plain", "--json")),
        ("verify", ("verify", "bag", "--json")),
        ("run", ("run", "FILE", "--json")),
        ("run", ("run", "FILE", "--json", "--detach")),
        ("report", ("report", "FILE", "--json", "-o", "page")),
        ("fill", ("fill", "FILE", "form.csv", "--json", "-o", "filled.csv")),
        ("bundle", ("bundle", "FILE", "--json", "-o", "new.zip")),
        ("compare", ("compare", "bag", "plain", "--format", "json")),
    ],
)
def test_an_output_of_a_campaign_has_its_schema(
    name: str, words: tuple[str, ...], vendor: Vendor, tmp_path: Path
) -> None:
    named_paths = {"FILE": vendor.file, "plain": vendor.root / "plain", "bag": vendor.root / "bag"}
    named_paths |= {out: tmp_path / out for out in ("page", "form.csv", "filled.csv", "new.zip")}
    (tmp_path / "form.csv").write_text("create,{{ scratch/node/unique/create }}\n")
    assert problems(name, vendor.call(*(named_paths.get(word, word) for word in words)).stdout) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("clauses", ["rules", "crossroads-mdtest", "--clauses", "--json"]),
        ("sandbox-status", ["sandbox", "status", "--json", "--dir", "/nonexistent"]),
    ],
)
def test_an_output_without_a_campaign_has_its_schema(
    name: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(words)
    assert problems(name, capsys.readouterr().out) == []


@pytest.mark.parametrize("words", [[], ["--all-of", "SRC-01", "--by", "A. Buyer"]])
def test_decisions_have_their_schema(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "terms.yaml").write_text(f"rules: crossroads-mdtest\nsigners: {reference.SIGNERS}\n")
    with reference.program_of_bundle():
        main(["terms", "accept", str(reference.BUNDLE), str(tmp_path / "terms.yaml"), "--json", *words])
    text = capsys.readouterr().out
    assert problems("terms-accept", text) == []
    document = json.loads(text)
    assert [decision["rule"] for decision in document["decisions"]] == ["SRC-01", "SRC-05"]
    assert document["accepted"] == [decision["id"] for decision in document["decisions"] if decision["rule"] in words]


def test_a_sample_has_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with reference.program_of_bundle():
        main(
            [
                "sample",
                str(reference.BUNDLE),
                "--cells",
                "4",
                "--seed",
                "a",
                "-o",
                str(tmp_path / "sample.yaml"),
                "--json",
            ]
        )
    captured = capsys.readouterr()
    assert problems("sample", captured.out) == []
    assert json.loads(captured.out)["cells"] and "SAMPLE DRAWN" in captured.err


def test_a_rebuilt_benchmark_has_its_schema() -> None:
    first_build = Build("ab" * 32, compiler="gcc 12", flags="-O2", mpi="Open MPI 4.1.4")
    rebuilt = (provenance.Rebuilt(first_build, first_build, ()),)
    assert problems("rebuild", json.dumps(provenance.rebuilt_json(rebuilt))) == []


def test_the_queries_of_the_documentation_are_answered(vendor: Vendor) -> None:
    """Those of the page and of the notebook, by the database of a campaign."""
    (database,) = vendor.root.glob("results/*/campaign.db")
    notebook = json.loads((DOCS / "examples" / "search-plot.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"]]
    code = "\n".join([(DOCS / "data.md").read_text(encoding="utf-8"), *cells])
    queries = re.findall(r'read_sql\(\s*"""(.*?)"""', code, re.DOTALL)
    assert len(queries) == 3
    with closing(sqlite3.connect(database)) as connection:
        descriptions = [
            connection.execute(query, ["", "", "", ""][: query.count("?")]).description for query in queries
        ]
    columns = [name for name, *_ in descriptions[0]]
    assert columns == ["run", "attempt", "job_id", "operation", "value", "unit", "file", "line"]


def test_every_schema_is_on_the_page() -> None:
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(schema/outputs/(\S+)\.json\)", page)) == set(outputs.OUTPUTS)


def test_a_key_that_is_missing_or_of_another_type_is_found() -> None:
    assert problems("head", '{"campaign": "x", "events": "1", "head": ""}') == [
        "$.events: '1' is not of type 'integer'",
        "$: 'nonce' is a required property",
    ]
