"""How `make bench` reads what a simulator has counted of the benchmark."""

from __future__ import annotations

from pathlib import Path

from tests.bench.instructions import Part, read

COUNTED = """\
events: Ir Dr sysCount
ob=/build/loop
fn=measure
0x1000 0 10 2
0x103f 0 10
0x1040 0 10
cob=/lib/libc.so.6
cfn=stat
calls=10 0x20 5
0x1040 0 500 40 10
cfn=malloc
calls=3 0x1100 0
0x1040 0 900 90 0
cfn=malloc
calls=5 0x1100 0
0x1040 0 0 0 0
cob=/lib/libmpi.so
cfn=MPI_Barrier
calls=0 0x1100 0
0x1040 0 900 90 7
ob=/lib/libc.so.6
fn=stat
0x1000 5 20 0 10
ob=/lib/libmpi.so
fn=MPI_Barrier
0x1000 5 7777 7777 7777
"""


def test_what_the_program_and_the_c_library_did_counts_by_itself(tmp_path: Path) -> None:
    (tmp_path / "counted").write_text(COUNTED)
    part = Part()
    read(tmp_path / "counted", {"loop"}, True, part)
    assert part.events == {"Ir": 50, "Dr": 2, "sysCount": 10, "calls": 10, "allocations": 3}
    assert part.code == {("loop", 0x40): 20, ("loop", 0x41): 10, ("libc.so.6", 0x40): 20}


def test_the_program_alone(tmp_path: Path) -> None:
    (tmp_path / "counted").write_text(COUNTED)
    part = Part()
    read(tmp_path / "counted", {"loop"}, False, part)
    assert (part.events["Ir"], part.events["sysCount"], part.events["calls"]) == (30, 0, 10)


def test_a_module_that_the_program_loads_counts_with_it(tmp_path: Path) -> None:
    (tmp_path / "counted").write_text(COUNTED.replace("libmpi.so", "module.so"))
    part = Part()
    read(tmp_path / "counted", {"loop", "module.so"}, False, part)
    assert (part.events["Ir"], part.events["sysCount"], part.events["calls"]) == (7807, 7777, 10)
