"""What holds for every applet alike: its manual has its options, and the description of the JSON lines their fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules.output_format import BUILT_IN
from campaign.results.parsers.output import read
from tests.support.bench_binary import ROOT, launch
from tests.support.bench_faults import option_names, undocumented_fields

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(900)]

# Of each: how many options it has at least, and a command line that writes every kind of JSON line.
APPLETS = {
    "checkpoint": (8, ("-m", "1m", "-r")),
    "mbw_mr": (16, ("-c", "-m", 8, "-i", 5, "-x", 1, "-z")),
    "mdtest": (45, ("-n", 4, "-d", "d", "-U", "--latency")),
    "mpiio": (17, ("-b", "64K", "-c", "1M", "-s", "20M", "--read", "--verify", "--fsync")),
    "nfstest": (3, ("n3", "uK", "m256", "M1024", "b256", "K2", "d1", "c1", "v1", "R2")),
}


@pytest.mark.parametrize("applet", APPLETS)
def test_every_option_stands_in_the_manual(tmp_path: Path, applet: str) -> None:
    manual = (ROOT / "docs" / f"{applet}.md").read_text(encoding="utf-8")
    names = option_names(launch(tmp_path, applet, "-h").out)
    assert len(names) >= APPLETS[applet][0]
    assert [name for name in names if f"`{name}" not in manual] == []


@pytest.mark.parametrize("applet", APPLETS)
def test_every_field_of_the_json_lines_is_documented(tmp_path: Path, applet: str) -> None:
    reply = launch(tmp_path, applet, *APPLETS[applet][1], ranks=2)
    assert (reply.status, undocumented_fields(reply)) == (0, set())


@pytest.mark.parametrize(
    "command",
    [
        "ior -t 1k -b 4k -e -g -i 2 -O summaryFormat=JSON",
        "ior -t 1k -b 4k -e -g -i 2 -O summaryFormat=CSV",
        "ior -t 1k -b 4k -w -r -v -W -R",
        "ior -t 1k -b 4k -z --randomPrefill=1k -O interIODelay=1,memoryPerTask=1m,stoneWallingWearOutIterations=3",
        "mdtest -n 3 -d d -u -t -P",
        "mbw_mr -m 8:64 -i 5 --one-clock",
        "mpiio -b 100 -c 300 -s 200 --read --verify",  # of one chunk: three processes are given nothing
        "mbw_mr -m 8:64 -i 5 -V",
        "mbw_mr -m 8:64 -i 5 --sweep-pairs",
        "mbw_mr -m 8:64 -i 5 -c -z50,99 -b multiple -u 1",
        "mbw_mr -m 8:64 -i 5 -R 0 -z",
        "nfstest n3 uK m256 M1024 b256 K2 d1 c1 v1 R2",
        "nfstest n3 uM m1 M4 d0 c1",
        "nfstest n3 ub m100 M300 d0 c1 v1",
        "find -d .",
        "checkpoint -m 1,1k,3m -p 1:2 -i 2 -r",
    ],
)
def test_what_is_printed_is_read_without_a_doubt(tmp_path: Path, command: str) -> None:
    reply = launch(tmp_path, *command.split(), ranks=4)
    (tmp_path / "stdout").write_text(reply.out)
    records, seen = read(command.split()[0], tmp_path, tmp_path)
    assert (reply.status, seen.errors, seen.unparsed, seen.complete) == (0, (), (), True)
    assert records
    if command.split()[0] in {*BUILT_IN} - {"ior", "mdtest"}:  # every result is a line of its own
        assert {record.operation for record in records} == {line["record"] for line in reply.lines_of("record")}
