"""What the jobs found, folded over jobs and nodes."""

from __future__ import annotations

from dataclasses import replace

from campaign.report import contents
from campaign.report.contents import Section
from campaign.results.case import Case
from campaign.results.environment.facts import Environment, Evidence, FileSystemSpace, Node, Value
from tests.support import builders

NODES = tuple(Node(f"n{number}", f"n{number}") for number in range(1, 7))


def environment(**facts: tuple[Value, ...] | str) -> Environment:
    """Of a job on six nodes, which all say the same where a fact is a text."""
    values = {
        name.replace("_", ".", 1): ((Value("0-5", value),) if isinstance(value, str) else value)
        for name, value in facts.items()
    }
    return Environment(recorded=True, directory="/scratch", nodes=NODES, facts=values, software={"srun": "slurm 23.11"})


def case_of_job(job: str, environment: Environment) -> Case:
    run = builders.run()
    return Case(
        builders.campaign(),
        builders.pack(),
        run,
        builders.attempt(run, job=job),
        (),
        {"": builders.observation(run)},
        Evidence(environment),
    )


def part(sections: tuple[Section, ...], title: str) -> dict[str, list[tuple[str, str]]]:
    """A section's lines by fact: (value, where)."""
    (section,) = [section for section in sections if section.title == title]
    lines: dict[str, list[tuple[str, str]]] = {}
    for fact, value, where in section.rows:
        lines.setdefault(fact, []).append((value, where))
    return lines


def test_nothing_is_reported_where_nothing_is_on_record() -> None:
    assert contents.environment_sections([]) == ()
    assert contents.environment_sections([case_of_job("one", Environment())]) == ()


def test_the_loaded_modules_of_the_jobs_are_shown() -> None:
    loaded = replace(environment(), variables={"LOADEDMODULES": "gcc/12:openmpi/4.1"})
    sections = contents.environment_sections([case_of_job("one", loaded), case_of_job("two", environment())])
    assert part(sections, "Program and libraries")["modules"] == [("gcc/12, openmpi/4.1", "")]


def test_a_target_that_exists_only_in_jobs_has_one_section() -> None:
    cases = [
        case_of_job(job, replace(environment(mount_type="xfs"), directory=f"/local/{job}")) for job in ("one", "two")
    ]
    cases = [replace(case, run=replace(case.run, directory="job:/local/$SLURM_JOB_ID")) for case in cases]
    titles = [section.title for section in contents.environment_sections(cases)]
    assert [title for title in titles if title.startswith("File system")] == ["File system of job:/local/$SLURM_JOB_ID"]


def test_what_all_nodes_of_all_jobs_say_stands_once() -> None:
    sections = contents.environment_sections(
        [case_of_job(job, environment(kernel_release="6.1")) for job in ("one", "two")]
    )
    assert part(sections, "Nodes") == {"kernel.release": [("6.1", "")]}
    assert sections[0].about == "As recorded by 2 jobs on 6 nodes before each job's first run."


def test_what_differs_stands_with_the_nodes_that_said_it_the_most_common_first() -> None:
    values = (Value("0", "6.2"), Value("1-5", "6.1"))
    sections = contents.environment_sections([case_of_job("one", environment(kernel_release=values))])
    assert part(sections, "Nodes")["kernel.release"] == [
        ("6.1", "5 of 6: n2, n3, n4, n5 and 1 more"),
        ("6.2", "1 of 6: n1"),
    ]


def test_what_changed_between_jobs_is_a_difference() -> None:
    jobs = [
        case_of_job("one", environment(kernel_release="6.1")),
        case_of_job("two", environment(kernel_release="6.2")),
    ]
    assert [value for value, _ in part(contents.environment_sections(jobs), "Nodes")["kernel.release"]] == [
        "6.1",
        "6.2",
    ]


def test_facts_stand_where_they_belong() -> None:
    sections = contents.environment_sections(
        [case_of_job("one", environment(fs_type="lustre", executable_sha256="ab", env_LANG="C", os="Debian"))]
    )
    assert part(sections, "File system of /scratch") == {"fs.type": [("lustre", "")]}
    assert part(sections, "Program and libraries") == {"executable.sha256": [("ab", "")], "srun": [("slurm 23.11", "")]}
    assert part(sections, "Variables of the processes") == {"env.LANG": [("C", "")]}
    assert part(sections, "Nodes") == {"os": [("Debian", "")]}


def test_each_file_system_has_its_size_and_what_was_free() -> None:
    space = FileSystemSpace(10.0, 4096, 10**9, 5 * 10**8, 5 * 10**8, 1000, 900)
    first = replace(environment(fs_type="xfs"), space=space)
    (section,) = [
        section
        for section in contents.environment_sections([case_of_job("one", first)])
        if section.title.startswith("File system")
    ]
    assert section.about == "4096 GB, 2048 GB free; 900 of 1000 inodes free."
    later_environment = replace(first, space=replace(space, time=20.0, free=10**8))
    (section,) = [
        section
        for section in contents.environment_sections([case_of_job("one", first), case_of_job("two", later_environment)])
        if "File system" in section.title
    ]
    assert "2048 GB free before the first job, 409.6 GB before the last" in section.about


def test_what_could_not_be_found_out_is_reported() -> None:
    sections = contents.environment_sections(
        [case_of_job("one", replace(environment(os="Debian"), problems=("lfs: not there",)))]
    )
    assert sections[-1].rows == (("lfs: not there",),)
