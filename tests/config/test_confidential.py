from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import opened, resolution
from campaign.core import resources
from campaign.core.errors import InputError
from campaign.core.strict_yaml import Document


def problems(text: str) -> list[str]:
    document = Document(text.encode(), "c.yaml")
    opened._refuse_secrets(document)
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
    monkeypatch.setattr(opened, "BENCHMARK", tmp_path)
    opened._secret.cache_clear()
    try:
        (first, second) = problems("slurm: {environment: {MY_WATCHWORD: a, HF_TOKEN: a, NOTHING: a}}")
    finally:
        opened._secret.cache_clear()
    assert first.endswith("found MY_WATCHWORD")
    assert second.endswith("found HF_TOKEN")


def test_what_was_measured_elsewhere_is_read_as_it_is() -> None:
    with resolution.using(resolution.Names(replayed=True)):
        assert problems("slurm: {environment: {HF_TOKEN: abc, PROXY: 'http://me:abc@site'}}") == []
