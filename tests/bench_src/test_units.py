"""The pure C parts of the benchmark, called directly and compared with Python's own idea of the same thing.

The C unit tests (`make -C bench-src check`) hold the chosen cases; here are properties of arbitrary input.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import re
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.bench_binary import SOURCES, make
from tests.support.examples import examples

PLAIN, BINARY, MIXED = range(3)
INT64 = (-(2**63), 2**63 - 1)
SUFFIXES = "kmgtpe"
COMMON = ["units", "stats", "sha256", "permute", "buf", "emit", "die", "refusal", "raw"]
PURE = [*(f"common/{name}.c" for name in COMMON), "mdtest/tree.c"]


class Stats(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int64), *((name, ctypes.c_double) for name in ("max", "min", "mean", "square_sum"))]


class Permute(ctypes.Structure):
    _fields_ = [
        ("n", ctypes.c_uint64),
        ("mask", ctypes.c_uint64),
        ("shift", ctypes.c_int),
        ("add", ctypes.c_uint64 * 3),
        ("multiply", ctypes.c_uint64 * 3),
    ]


class Sha256(ctypes.Structure):
    _fields_ = [("state", ctypes.c_uint32 * 8), ("total", ctypes.c_uint64), ("block", ctypes.c_ubyte * 64)]


class Tree(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("branch", "depth", "dirs", "first_dir", "items_per_dir", "test_dirs", "items")
    ]


HIST_BUCKETS = 32 * 60


def compile_library(library: Path, *options: str) -> ctypes.CDLL:
    sources = [str(SOURCES / name) for name in PURE]
    flags = ["-shared", "-fPIC", "-O1", "-std=c11", "-D_GNU_SOURCE", "-I", str(SOURCES), *options]
    subprocess.run(["mpicc", *flags, "-o", library, *sources, "-lm"], check=True, timeout=800)
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compile_library(tmp_path_factory.mktemp("library") / "pure.so")
    loaded.stats_stddev.restype = ctypes.c_double
    loaded.stats_hist_quantile.restype = ctypes.c_uint64
    loaded.permute_at.restype = ctypes.c_uint64
    loaded.buf_check.restype = ctypes.c_int64
    return loaded


def parse(c: ctypes.CDLL, text: str, suffix: int) -> int | str | None:
    """The number, None for no number, or "range"."""
    value = ctypes.c_int64()
    status = c.units_parse_int(text.encode(), suffix, ctypes.byref(value))
    if status == 0:
        return value.value
    return {-errno.EINVAL: None, -errno.ERANGE: "range"}[status]


def expected_number(text: str, suffix: int) -> int | str | None:
    match = re.fullmatch(r"([+-]?[0-9]+)([A-Za-z]?)", text, re.ASCII)
    if match is None or (match[2] and (suffix == PLAIN or match[2].lower() not in SUFFIXES)):
        return None
    base = 1000 if suffix == MIXED and match[2].islower() else 1024
    value = int(match[1]) * (base ** (SUFFIXES.index(match[2].lower()) + 1) if match[2] else 1)
    return value if INT64[0] <= value <= INT64[1] else "range"


number_like = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,22}[kmgtpeKMGTPE]?", fullmatch=True),
    st.text(st.sampled_from("0123456789+-kKmgtpex. e"), max_size=8),
    st.text(max_size=5).filter(lambda text: "\0" not in text),
)


def test_numbers_with_suffixes_mean_what_python_says(c: ctypes.CDLL) -> None:
    @settings(max_examples=examples(200))
    @given(number_like, st.sampled_from([PLAIN, BINARY, MIXED]))
    def holds(text: str, suffix: int) -> None:
        assert parse(c, text, suffix) == expected_number(text, suffix)

    holds()


def test_digits_are_those_of_str(c: ctypes.CDLL) -> None:
    @given(st.integers(0, 2**64 - 1))
    def holds(value: int) -> None:
        out = ctypes.create_string_buffer(b"x" * 21)
        length = c.units_digits(out, ctypes.c_uint64(value))
        assert out.raw[: length + 1] == f"{value}x".encode()

    holds()


def test_bytes_are_formatted_within_a_unit_and_read_back(c: ctypes.CDLL) -> None:
    @given(st.integers(0, 2**63))
    def holds(value: int) -> None:
        out = ctypes.create_string_buffer(32)
        c.units_format_bytes(out, 32, ctypes.c_double(value))
        match = re.fullmatch(r"([0-9]+\.[0-9]) (B|[KMGTPE]iB)", out.value.decode())
        assert match is not None
        unit = 1024 ** "BKMGTPE".index(match[2][0])
        assert float(match[1]) <= 1024
        assert float(match[1]) * unit == pytest.approx(value, abs=0.051 * unit)

    holds()


def test_means_and_deviations_are_those_of_the_statistics_module(c: ctypes.CDLL) -> None:
    @given(st.lists(st.floats(0, 1e9), min_size=2, max_size=30))
    def holds(values: list[float]) -> None:
        stats = Stats()
        for value in values:
            c.stats_add(ctypes.byref(stats), ctypes.c_double(value))
        assert (stats.n, stats.max, stats.min) == (len(values), max(values), min(values))
        assert stats.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-9)
        deviation = c.stats_stddev(ctypes.byref(stats))
        assert deviation == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-3)

    holds()


def test_quantiles_are_at_most_a_32nd_too_high(c: ctypes.CDLL) -> None:
    @given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 10_000), min_size=1, max_size=50), st.floats(0, 1))
    def holds(values: list[int], share: float) -> None:
        hist = (ctypes.c_int64 * HIST_BUCKETS)()
        for value in values:
            c.stats_hist_add(hist, ctypes.c_uint64(value))
        assert sum(hist) == len(values)
        quantile = c.stats_hist_quantile(hist, ctypes.c_double(share))
        exact = next(v for i, v in enumerate(sorted(values), 1) if i >= share * len(values))
        assert exact <= quantile <= exact + exact // 32

    holds()


@pytest.mark.parametrize("options", [[], ["-DSHA256_PLAIN"]], ids=["as built", "without the processor's instructions"])
def test_sha256_is_hashlibs_however_the_data_is_cut(options: list[str], tmp_path: Path) -> None:
    c = compile_library(tmp_path / "sha256.so", *options)

    @given(st.lists(st.binary(max_size=200), max_size=8))
    def holds(pieces: list[bytes]) -> None:
        sha, digest = Sha256(), ctypes.create_string_buffer(32)
        c.sha256_start(ctypes.byref(sha))
        for piece in pieces:
            c.sha256_add(ctypes.byref(sha), piece, ctypes.c_size_t(len(piece)))
        c.sha256_finish(ctypes.byref(sha), digest)
        assert digest.raw == hashlib.sha256(b"".join(pieces)).digest()

    holds()


def test_a_random_order_visits_every_place_once(c: ctypes.CDLL) -> None:
    @settings(max_examples=examples(60))
    @given(st.integers(1, 3000), st.integers(0, 2**64 - 1))
    def holds(n: int, seed: int) -> None:
        permute = Permute()
        c.permute_init(ctypes.byref(permute), ctypes.c_uint64(n), ctypes.c_uint64(seed))
        visited = [c.permute_at(ctypes.byref(permute), ctypes.c_uint64(place)) for place in range(n)]
        assert sorted(visited) == list(range(n))

    holds()


def test_a_tree_holds_what_was_asked_for_or_says_what_would_fit(c: ctypes.CDLL) -> None:
    def plan(branch: int, depth: int, leaf_only: bool, items: int) -> tuple[Tree, str]:
        tree, message = Tree(), ctypes.create_string_buffer(4096 + 512)  # struct refusal
        numbers = [ctypes.c_int64(branch), ctypes.c_int64(depth), ctypes.c_bool(leaf_only), ctypes.c_int64(items)]
        status = c.mdtest_tree_plan(ctypes.byref(tree), *numbers, ctypes.c_int64(0), message)
        assert (status == 0) == (message.value == b"")
        return tree, message.value.decode()

    @given(st.integers(1, 6), st.integers(0, 5), st.booleans(), st.integers(1, 10**12))
    def holds(branch: int, depth: int, leaf_only: bool, items: int) -> None:
        dirs = sum(branch**level for level in range(depth + 1))
        with_items = branch**depth if leaf_only else dirs
        tree, message = plan(branch, depth, leaf_only, items)
        assert (tree.dirs, tree.first_dir) == (dirs, dirs - with_items)
        assert (message == "") == (items % with_items == 0)
        if message:
            suggested = [int(number) for number in re.findall(r"use -n (\d+)(?: or -n (\d+))?", message)[0] if number]
            assert all(plan(branch, depth, leaf_only, number)[1] == "" for number in suggested)
            assert max(suggested) > items
        else:
            assert tree.items == items

    holds()


def test_the_owner_of_a_phases_names_is_as_many_shifts_away_as_phases_went_by(c: ctypes.CDLL) -> None:
    shifts = (0, 1, 2, 2, 3)  # create, stat, read, rename, remove

    @given(st.integers(0, 4), st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1))
    def holds(phase: int, offset: int, ranks: int) -> None:
        assert c.mdtest_shift(phase, ctypes.c_int64(offset), ranks) == shifts[phase] * offset % ranks

    holds()


def test_a_changed_byte_of_the_data_pattern_is_always_found(c: ctypes.CDLL) -> None:
    @given(st.integers(1, 300), st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.data())
    def holds(size: int, seed: int, words: int, data: st.DataObject) -> None:
        content, expected, actual = (ctypes.c_ubyte * size)(), ctypes.c_ubyte(), ctypes.c_ubyte()
        where = (ctypes.c_size_t(size), ctypes.c_uint64(seed), ctypes.c_uint64(8 * words))
        c.buf_fill(content, *where)
        assert c.buf_check(content, *where, ctypes.byref(expected), ctypes.byref(actual)) == -1
        place = data.draw(st.integers(0, size - 1))
        good = content[place]
        content[place] ^= data.draw(st.integers(1, 255))
        assert c.buf_check(content, *where, ctypes.byref(expected), ctypes.byref(actual)) == place
        assert (expected.value, actual.value) == (good, content[place])

    holds()


def written_line(c: ctypes.CDLL, path: Path, fill: Callable[[], object]) -> str:
    assert c.emit_open(str(path).encode()) == 0
    c.emit_line(b"probe")
    fill()
    c.emit_line_end()
    assert c.emit_close() == 0
    return path.read_bytes().decode("utf-8")  # strictly: what is written is UTF-8


def test_any_text_becomes_a_json_string_that_reads_back(c: ctypes.CDLL, tmp_path: Path) -> None:
    def reference(value: bytes) -> str:
        """One U+FFFD for each byte that belongs to no character."""
        text = value.decode("utf-8", "surrogateescape")
        return re.sub(r"[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)

    pieces = st.sampled_from(
        [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b'"', b"\\", b"\n"]
    )
    texts = st.text(max_size=10).map(lambda text: text.encode("utf-8", "replace"))

    @settings(max_examples=examples(300))
    @given(st.lists(st.one_of(texts, pieces, st.binary(max_size=4)), max_size=6).map(b"".join))
    def holds(raw: bytes) -> None:
        value = raw.replace(b"\0", b"")
        line = written_line(c, tmp_path / "line", lambda: c.emit_string(value, value))
        assert line.count("\n") == 1
        assert json.loads(line) == {"type": "probe", reference(value): reference(value)}

    holds()


def test_numbers_that_json_does_not_have_become_null(c: ctypes.CDLL, tmp_path: Path) -> None:
    def fill() -> None:
        for name, value in ((b"inf", float("inf")), (b"nan", float("nan")), (b"one", 1.0)):
            c.emit_rate(name, ctypes.c_double(value))

    line = written_line(c, tmp_path / "line", fill)
    assert line == '{"type": "probe", "inf": null, "nan": null, "one": 1.000}\n'


@pytest.mark.mpi
def test_no_sanitizer_finds_anything_in_the_c_unit_tests() -> None:
    assert "test/mdtest/test_tree" in make("check", "SAN=1")
