from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from campaign.config import definition, init, resolution
from campaign.config.rules import packs, text
from campaign.core import resources
from campaign.core.errors import InputError
from campaign.core.runs import Input
from campaign.core.strict_yaml import Document


def problems(text: str) -> list[str]:
    document = Document(text.encode(), "c.yaml")
    definition._refuse_secrets(document)
    try:
        document.finish()
    except InputError as error:
        return [problem.partition(", which looks like a secret: ")[0] for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "place",
    [
        "slurm: {{modules: ['{}']}}",
        "slurm: {{directives: ['--wckey={}']}}",
        "slurm: {{account: '{}'}}",
        "slurm: {{environment: {{PROXY: '{}'}}}}",
        "launcher: {{prefix: [wrap, '{}']}}",
        "benchmark: {{extra_arguments: ['{}']}}",
        "targets: [{{server_counters: 'curl {}'}}]",
        "explanations: [{{text: 'see {}'}}]",
        "system: {{site: '{}'}}",
        "variables: {{server: '{}'}}",
    ],
)
def test_a_url_with_a_login_is_refused_wherever_it_is_and_not_repeated(place: str) -> None:
    (problem,) = problems(place.format("https://me:abc@site/x"))
    assert "://...@site/x" in problem and "abc" not in problem
    assert problems(place.format("https://site/x")) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("slurm: {environment: {HF_TOKEN: abc}}", "HF_TOKEN"),
        ("slurm: {environment: {MY_PASS: abc}}", "MY_PASS"),
        ("launcher: {prefix: [env, CLIENT_CERT_DATA=abc, ./wrap.sh]}", "CLIENT_CERT_DATA"),
        ("source: {build: {command: 'API_BEARER=abc make'}}", "API_BEARER"),
        ("slurm: {directives: ['--export=HOME=/x,API_KEY=abc']}", "API_KEY"),
        ("launcher: {prefix: [env, HF_TOKEN=abc, ./wrap.sh]}", "HF_TOKEN"),
        ("launcher: {prefix: [./wrap.sh, --password, abc]}", "--password"),
        ("launcher: {prefix: [apptainer, exec, --env, 'A=b,MY_SECRET=abc']}", "MY_SECRET"),
        ("launcher: {options: [-x, AWS_SECRET_ACCESS_KEY=abc]}", "AWS_SECRET_ACCESS_KEY"),
        ("benchmark: {extra_arguments: ['--access-key=abc']}", "--access-key"),
        ("benchmark: {program_arguments: {ior: ['--access-key=abc']}}", "--access-key"),
        ("targets: [{server_counters: 'PASSWORD=abc count.sh'}]", "PASSWORD"),
        ('targets: [{server_counters: "count.sh --token abc"}]', "--token"),
        ("source: {build: {command: 'GIT_TOKEN=abc make'}}", "GIT_TOKEN"),
        ("source: {builds: {ior: {flags: '-DPASSWORD=abc'}}}", "-DPASSWORD"),
    ],
)
def test_a_secret_that_a_command_is_given_is_refused_by_its_name(text: str, name: str) -> None:
    (problem,) = problems(text)
    assert problem.endswith(f"found {name}")


@pytest.mark.parametrize(
    "text",
    [
        "slurm: {directives: [--wckey=storage, --mail-user=me@site.org], account: tokens, environment: {LC_ALL: C}}",
        "slurm: {environment: {COMPASS: north, PASSENGERS: '4', UCX_BYPASS: y, SSL_CERT_FILE: /etc/ssl/cert.pem}}",
        "targets: [{server_counters: 'curl --cert client.pem https://site/x'}]",
        "benchmark: {extra_arguments: ['--pass=3']}",
        "launcher: {prefix: [env, OMP_PLACES=cores, /opt/tokens/wrap.sh, --bind=/secrets]}",
        "explanations: [{text: 'the password=prompt of the site was switched off'}]",
        "explanations: [{text: 'answered by https://forum.site?from=me@site.org'}]",
        "source: {pristine: 'ior.git@4.0.0'}",
    ],
)
def test_ordinary_words_pass(text: str) -> None:
    assert problems(text) == []


def test_the_words_are_those_of_the_benchmark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = resources.BENCHMARK / "common" / "secret.def"
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / words.name).write_text(words.read_text() + "PART(WATCHWORD)\nMAYBE(NOTHING)\n")
    monkeypatch.setattr(definition, "BENCHMARK", tmp_path)
    definition._secret_pattern.cache_clear()
    try:
        (first, second) = problems("slurm: {environment: {MY_WATCHWORD: a, HF_TOKEN: a, NOTHING: a}}")
    finally:
        definition._secret_pattern.cache_clear()
    assert first.endswith("found MY_WATCHWORD")
    assert second.endswith("found HF_TOKEN")


def test_what_was_measured_elsewhere_is_read_as_it_is() -> None:
    with resolution.use_names(resolution.Names(replayed=True)):
        assert problems("slurm: {environment: {HF_TOKEN: abc, PROXY: 'http://me:abc@site'}}") == []


# --- input files

A, B = "a" * 64, "b" * 64
PACK = """id: solve
version: 1
title: A solver
document: D
caption: C
applet: solver
arguments: "{box} {flags}"
launch: [{id: node, title: One node, clause: "1", nodes: 1}]
files: [{id: all, title: T, clause: "1"}]
operations: [{id: time, title: Time, record: time, unit: s}]
results: {format: text, records: [{name: time, unit: s, pattern: "time (?P<value>.*)"}]}
selection: {operation: time, best: lowest, clause: "1"}
inputs: [INPUTS]
"""
FILE = """name: solves
rules: ./solve.yaml
profile: full
targets: [{name: scratch, directory: /scratch/user}]
launch: {node: 2}
benchmark: {executable: ./solver}
"""
OPEN = f'{{id: box, sha256: {A}, clause: "2"}}'


def pack_errors(folder: Path, inputs: str) -> str:
    """What is wrong with a pack that has these inputs; "" for nothing."""
    (folder / "solve.yaml").write_text(PACK.replace("INPUTS", inputs))
    try:
        packs.load(folder / "solve.yaml")
    except InputError as error:
        return str(error)
    return ""


def inputs_of(folder: Path, of_pack: str, further_text: str = "") -> tuple[Input, ...]:
    assert pack_errors(folder, of_pack) == ""
    (folder / "c.yaml").write_text(FILE + further_text)
    return definition.load(folder / "c.yaml")[0].inputs


def test_an_input_of_a_pack_lies_beside_it_and_has_its_hash(tmp_path: Path) -> None:
    pack_input = f'{{id: box, path: in/box, sha256: {A}, clause: "2"}}'
    assert inputs_of(tmp_path, pack_input) == (Input("box", str(tmp_path / "in/box"), A, "2", "the rule pack"),)


def test_a_campaign_file_says_where_an_input_of_the_pack_is_and_has_others(tmp_path: Path) -> None:
    further_text = (
        f"inputs: [{{id: more, path: /m, sha256: {B}}}, {{id: box, path: sub/../box}}, {{id: free, path: free}}]\n"
    )
    assert inputs_of(tmp_path, OPEN, further_text) == (
        Input("box", str(tmp_path / "box"), A, "2", "the rule pack"),
        Input("more", "/m", B, "", "the campaign file"),
        Input("free", str(tmp_path / "free")),
    )


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ('{id: box, path: box.in, clause: "2"}', "inputs[0].sha256: required key missing; allowed: the SHA-256"),
        (f"{OPEN}, {OPEN}", "inputs[1].id: found box a second time"),
        (f'{OPEN}, {{id: nodes, clause: "2"}}', "inputs[1].id: found nodes, which is also the name of a placeholder"),
        (f'{OPEN}, {{id: x, path: "a{{b", sha256: {A}, clause: "2"}}', "inputs[1].path: found"),
        ('{id: other, clause: "2"}', "arguments: found {box}; allowed:"),
    ],
)
def test_a_pack_with_wrong_inputs_is_refused(inputs: str, problem: str, tmp_path: Path) -> None:
    assert problem in pack_errors(tmp_path, inputs)


@pytest.mark.parametrize(
    ("inputs_text", "problem"),
    [
        ("", "inputs: input box of rule pack solve is missing (clause 2); add {id: box, path: PATH}"),
        (f"inputs: [{{id: box, path: b, sha256: {B}}}]\n", f"inputs[0].sha256: found {B}, but clause 2 fixes {A}"),
        ("inputs: [{id: box, path: b}, {id: box, path: c}]\n", "inputs[1].id: found box a second time"),
    ],
)
def test_a_campaign_file_with_wrong_inputs_is_refused(inputs_text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        inputs_of(tmp_path, OPEN, inputs_text)
    assert problem in str(caught.value)


def test_a_new_campaign_file_asks_for_the_inputs_whose_places_are_open(tmp_path: Path) -> None:
    assert pack_errors(tmp_path, OPEN) == ""
    assert "inputs:\n  - {id: box, path: <path of box>}\n" in init.text(str(tmp_path / "solve.yaml"))


def test_a_pack_is_shown_with_its_inputs(tmp_path: Path) -> None:
    assert pack_errors(tmp_path, OPEN) == ""
    pack_text = text.text(packs.load(tmp_path / "solve.yaml"))
    assert f"Input files (INP-01)\n  box        of the campaign file [2]\n             SHA-256 {A}\n" in pack_text


def test_the_inputs_of_this_projects_packs_have_the_hashes_that_they_say() -> None:
    for path in packs.directories()[0].glob("*.yaml"):
        for pack_input in packs.load(path).inputs:
            assert (
                not pack_input.path
                or hashlib.sha256((path.parent / pack_input.path).read_bytes()).hexdigest() == pack_input.sha256
            )
