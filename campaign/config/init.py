"""Writes a commented campaign file for a rule pack, to be completed by the user."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from campaign.config import values
from campaign.config.rules import packs
from campaign.config.rules.entries import LaunchCondition
from campaign.config.rules.output_format import BUILT_IN
from campaign.config.rules.pack import RulePack
from campaign.config.system import CONTACT, SYSTEM
from campaign.core import resources, units
from campaign.core.errors import InputError

DIRECTORY = "/path/to/scratch"  # if none better is known; `plan` reports it

_TEXT = """\
# A campaign: the benchmark {applet} by the run rules {id}, version {version}
# ({title}).
#
# Replace the texts in <angle brackets>, check the other values, then:
#   campaign plan FILE   checks this file against the cluster and shows the runs; submits nothing
#   campaign run FILE    submits the missing runs, follows them and prints the tables; run it again to go on
# The run rules with their clauses: campaign rules {id}
# All keys are described in docs/campaign-file.md; many editors check them by the schema that this line names:
# yaml-language-server: $schema={schema}

# Results are kept in results/<name> beside this file.
name: {name}

rules: {rules}

{profile}profile: rehearsal
{variables}
# List each storage tier and protocol that applications can use as a separate target. The benchmark creates its own
# directory in each target's directory and removes nothing else. $NAME is the value of an environment variable.
targets:
  - name: scratch
    directory: {directory}
    description: <tier, file system and protocol>
  # - name: burst
  #   directory: /burst/$USER
  #   description: <tier, file system and protocol>

# MPI processes and nodes of each launch condition, the same number on every node. A plain number where the number of
# nodes is fixed, otherwise {{nodes: 4, processes: 64}} or {{nodes: 4, processes_per_node: 16}}. `search` tunes the
# count automatically (docs/search.md).
launch:
{launch}
# Independent repetitions of each run; {selection}
# Six or more give a confidence interval; {{least: 6, most: 20, width: 5%}} repeats until it is narrower than ±5%.
repetitions: 1

{slurm}#   account: my-account
#   qos: normal
#   constraint: cpu
#   time: 1h                     # limit of one run
#   mpi: pmix                    # srun --mpi=list shows what there is
#   modules: [openmpi]
#   directives: [--licenses=scratch]
#   allocation: geometry         # runs per job: run (one), geometry (all of one geometry), one (all of a target)

{executable}
#   extra_arguments: []          # allowed: {allowed}
{inputs}
# Cells that will not be measured, with the reason for the report.
# declined:
#   - cells: "scratch/{last}/*/*"
#     reason: <why>
{answers}
# The proposed system, for the report. Replace each text in angle brackets.
system:
{system}
# The proposed system as facts, which are compared with the measured system (ENV-05).
# proposed: {{nodes: 512, processor: EPYC 9654, cores: 192, memory: 768G, network: InfiniBand 400 Gb/sec,
#            devices: 4, device_memory: 80G, file_system: Lustre, mpi: Open MPI 4.1, operating_system: Rocky Linux 9}}

contact:
{contact}"""


@dataclass(frozen=True, slots=True)
class Site:
    """What is known of this cluster, for values that fit it."""

    partition: str = ""  # the default one
    cores: int = 16  # of a node
    directory: str = DIRECTORY
    nodes: int = 16


UNKNOWN = Site()


def text(rules_id: str, site: Site = UNKNOWN, name: str = "my-campaign") -> str:
    """A campaign file for a rule pack (an id, or a path to one). Raises InputError where the pack cannot be read."""
    pack = packs.load(rules_id)
    is_path = "/" in rules_id or rules_id.endswith(".yaml")
    return _TEXT.format(
        name=name,
        id=pack.id,
        schema=(resources.SCHEMAS / "campaign-file.json").as_uri(),
        version=pack.version,
        title=pack.title,
        applet=pack.applets,
        executable=_executable(pack),
        rules=json.dumps(str(Path(rules_id).absolute())) if is_path else pack.id,
        profile=_profile(pack),
        variables=_variables(pack),
        launch="".join(_launch(condition, site) for condition in pack.launch),
        selection=_selection(pack),
        allowed=", ".join(flag.flag for flag in pack.allowed) or "none",
        last=pack.launch[-1].id,
        answers=_answers(pack),
        inputs=_inputs(pack),
        directory=site.directory,
        slurm=f"slurm:\n  partition: {site.partition}\n" if site.partition else "# slurm:\n#   partition: compute\n",
        system="".join(f"  {key}: {asked}\n" for key, asked in SYSTEM.items()),
        contact="".join(f"  {key}: {asked}\n" for key, asked in CONTACT.items()),
    )


def _selection(pack: RulePack) -> str:
    last = " (with the last values of its sweeps)" if "{" in pack.selection.operation else ""
    return f"the table reports the one with the {pack.selection.best} {pack.selection.operation}{last}."


def write(path: Path, rules_id: str, site: Site = UNKNOWN) -> None:
    """Write `text` to a new file, whose name becomes the campaign's if possible. Raises InputError if the file exists
    or cannot be written.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-_")[:40]
    content = text(rules_id, site, *([name] if name else []))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise InputError(f"{path}: already exists; name another file or remove it") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"cannot be written: {why}; name another file"
        if not path.parent.is_dir():
            problem = f"directory {path.parent} does not exist; create it or name another file"
        raise InputError(f"{path}: {problem}") from error


def _executable(pack: RulePack) -> str:
    lacking = [program.id for program in pack.programs if program.applet not in BUILT_IN]
    if pack.phases[0].id:
        lines = "".join(f"\n    {name}: <path of {name}>" for name in lacking)
        alternatives = "\n".join(
            f"#   programs: {{{program.id}: <path>}}   # in place of the built-in {program.applet}"
            for program in pack.programs
            if program.applet in BUILT_IN
        )
        return f"benchmark:\n  programs:{lines}" if lacking else f"# benchmark:\n{alternatives}"
    if not lacking:
        return f"# benchmark:\n#   executable: builtin          # or the path of the RFP's own {pack.applets}"
    return f"benchmark:\n  executable: <path of {pack.applets}>"


def _profile(pack: RulePack) -> str:
    lines = "# rehearsal: small trial run, all output marked not compliant. full: the RFP's size"
    if pack.items_total:
        full, rehearsal = pack.items_total["full"], pack.items_total["rehearsal"]
        lines += f",\n# {units.format_count(full)} {pack.items_unit} in place of {rehearsal}"
    return f"{lines}.\n"


def _variables(pack: RulePack) -> str:
    if not pack.variables:
        return ""
    width = max(len(f"{variable.id}: {variable.rehearsal}") for variable in pack.variables)
    lines = "\n# Values of the command line (shown: those of a rehearsal). "
    lines += "At full size only those marked free may be changed.\n# variables:\n"
    for variable in pack.variables:
        given = f"{variable.id}: {variable.rehearsal}"
        why = f"{variable.why}; " if variable.why else ""
        free = "free, " if variable.free else ""
        lines += f"#   {given:{width}}  # {why}full size: {free}{variable.full}\n"
    return lines


def _inputs(pack: RulePack) -> str:
    """The input files whose place the pack leaves open."""
    lines = [f"  - {{id: {each.id}, path: <path of {each.id}>}}\n" for each in pack.inputs if not each.path]
    heading = "\n# Files that the benchmark reads. They are hashed on the nodes before each run.\ninputs:\n"
    return heading + "".join(lines) if lines else ""


def _answers(pack: RulePack) -> str:
    """The questions of the RFP that the vendor answers in words."""
    asked = [clause for clause in pack.clauses if clause.answered]
    if not asked:
        return ""
    lines = "\n# Clauses that are answered in words, for the compliance matrix (campaign table FILE --clauses).\n"
    return f"{lines}# answers:\n" + "".join(
        f"#   {json.dumps(each.id)}: <answer>   # {each.answered}\n" for each in asked
    )


def _launch(condition: LaunchCondition, site: Site) -> str:
    """A launch condition: what the RFP asks for, as a comment, and a value that fits it and the cluster."""
    each = 1 << max(0, site.cores.bit_length() - 1)  # a power of two divides most numbers of files
    if condition.series:
        there = site.nodes if condition.series == "nodes" else site.cores
        value, comment = str(values.share_of(values.POWER, there)), f"   # the largest of {condition.needs}"
    elif condition.each_node:
        value = f"{{processes_per_node: {condition.processes_per_node or each}}}"
        comment = f"   # fixed: {condition.needs}"
    elif condition.share or condition.processes_per_node is not None:
        nodes, per_node = condition.share or condition.nodes, condition.processes_per_node
        value = f"{{nodes: {nodes or max(2, condition.minimum_nodes)}, processes_per_node: {per_node or each}}}"
        comment = f"   # fixed: {condition.needs}"
    elif condition.whole_system:
        value, comment = "all", "   # all cores of the partition; or {nodes: N, processes: P}; or projected"
    elif condition.nodes is not None and condition.processes is not None:
        value, comment = str(condition.processes), f"   # fixed: {condition.needs}"
    elif condition.nodes is not None:
        value, comment = (
            str(each * condition.nodes),
            f"   # processes on {condition.needs}; or search, to tune it automatically",
        )
    else:
        value, comment = f"{{nodes: {max(2, condition.minimum_nodes)}, processes_per_node: {each}}}", "   # or search"
    return f"  # Clause {condition.clause}: {condition.text or condition.title}\n  {condition.id}: {value}{comment}\n"
