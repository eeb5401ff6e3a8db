"""What several releases of Slurm answered in situations that sites are in: recorded here, replayed in unit tests.

`python3 -m tests.support.recorded FOLDER`, as root on a machine with slurmctld and slurmd, records each situation in a
file of FOLDER. It starts a cluster of its own for each, without munge, and ends it. Where campaign asks something else
than before, the answers have to be recorded again with each release.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

from campaign.config.slurm_keys import Slurm
from campaign.core import users
from campaign.slurm import commands, partitions, sbatch

DATA = Path(__file__).parents[1] / "data" / "slurm"
RELEASES = ("22.05", "24.11", "26.05")
SMALL = "CPUs=4 CoresPerSocket=4 RealMemory=2000 Feature=cpu,milan"
LARGE = "CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=4000 Feature=cpu,genoa"
THREADS = "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=4000"
GPUS = "CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=4000 Feature=gpu Gres=gpu:{}"
SYSTEM = "CPUs=8 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=2000 CoreSpecCount=1 MemSpecLimit=300"
CLOUD = "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=4000 State=CLOUD"
SUSPENDS = ("SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=600")
TEXT = 'bad "disk" | é\nn9 64 JobState=FAILED\n\n7|FAILED|+'
SCRIPT = "#!/bin/bash\n#SBATCH --nodes={}\n#SBATCH --time=5\n{}sleep 60\n"


@dataclass(frozen=True)
class Situation:
    """`nodes`: what each has. `preparation`: commands before Slurm is asked. `partition`: further options of it.
    `settings`: further lines of slurm.conf.
    """

    nodes: tuple[str, ...]
    preparation: tuple[tuple[str, ...], ...] = ()
    choice: str = ""
    partition: str = ""
    settings: tuple[str, ...] = ()
    is_accounted: bool = False  # by slurmdbd

    @property
    def running(self) -> list[str]:
        """The nodes that are not powered down."""
        return [f"n{number}" for number, line in enumerate(self.nodes, 1) if "State=CLOUD" not in line]


def _submitted(name: str, *options: str) -> tuple[str, ...]:
    return ("sbatch", f"--chdir=/tmp/{name}", f"--job-name={name}", "--output=/dev/null", *options, "--wrap=sleep 60")


SITUATIONS: Mapping[str, Situation] = {
    "alike": Situation((SMALL,) * 3, (_submitted("job-1"),)),
    "mixed": Situation((SMALL, SMALL, LARGE, LARGE), choice="genoa"),
    "smt": Situation((THREADS,) * 2),
    "gpu": Situation((SMALL, GPUS.format(2), GPUS.format(1)), choice="gpu"),
    "drained": Situation(
        (SMALL,) * 4,
        (
            ("scontrol", "update", "nodename=n2", "state=drain", "reason=health check"),
            ("scontrol", "update", "nodename=n3", "state=down", "reason=no power"),
        ),
    ),
    "refused": Situation((SMALL,) * 2),
    "system": Situation((SYSTEM, SMALL)),
    "cloud": Situation((SMALL, CLOUD, CLOUD, CLOUD), settings=SUSPENDS),
    "limited": Situation(
        (SMALL,) * 3,
        partition="MaxNodes=2 MaxMemPerNode=1500 DefMemPerNode=200 OverSubscribe=FORCE:2",
        settings=("SelectTypeParameters=CR_Core_Memory",),
    ),
    "few-cpus": Situation((SMALL,) * 2, partition="MaxCPUsPerNode=3"),
    "accounted": Situation(
        (SMALL,) * 3,
        (
            ("sacctmgr", "-i", "add", "account", "bench"),
            ("sacctmgr", "-i", "add", "user", "root", "account=bench"),
            ("sacctmgr", "-i", "modify", "user", "root", "set", "defaultaccount=bench"),
            ("sacctmgr", "-i", "modify", "qos", "normal", "set", "MaxTRESPerJob=cpu=11,mem=4G", "GrpTRES=node=5"),
            ("sacctmgr", "-i", "modify", "account", "bench", "set", "GrpTRES=mem=5000"),
        ),
        settings=("SelectTypeParameters=CR_Core_Memory", "AccountingStorageEnforce=associations,limits,qos"),
        is_accounted=True,
    ),
    "texts": Situation(
        (SMALL, LARGE),
        (
            _submitted("job-1", "--constraint=milan", f"--comment={TEXT}"),
            ("scontrol", "update", "jobid=1", f"jobname={TEXT}"),
            ("scontrol", "update", "nodename=n2", "state=drain", f"reason={TEXT}"),
        ),
    ),
}


def readings(name: str) -> dict[str, Any]:
    """What campaign reads in a situation."""
    answer = partitions.ask(Slurm(constraint=SITUATIONS[name].choice))
    partition = answer.partition
    read: dict[str, Any] = {
        "reachable": commands.reachable(),
        "nodes": (partition.nodes, partition.usable, partition.cores_per_node, partition.memory_mib),
        "kinds": [str(kind) for kind in partition.kinds],
        "all": [str(kind) for kind in partitions.ask(Slurm()).partition.kinds],
        "limits": (partition.job_nodes, answer.memory_limit, answer.terms.sharing),
        "node_limits": [(limit.nodes, str(limit)) for limit in partition.limits],
        "powered_down": partition.powered_down,
        "unusable": [(node.node, node.why, node.reason, node.by) for node in partition.unusable],
        "architecture": partitions.architecture("p"),
        "active": [(job.id, job.word, job.name) for job in commands.my_jobs()],
        "found": {token: job.id for token, job in commands.queue({"job-1": "1", "job-2": None}).items()},
        "forgotten": commands.fields_of_job("99", "job-99"),
        "accounting": commands.accounting({"job-1": "1"}, 1.7e9),
    }
    fields = commands.fields_of_job("1", "job-1")
    read["job"] = [fields.get(key) for key in ("JobState", "JobName", "Partition", "NodeList", "NumNodes")]
    if name == "few-cpus":
        read["refused"] = [sbatch.refusal(SCRIPT.format(2, options)) for options in ("#SBATCH --exclusive\n", "")]
    if name == "refused":
        read["refused"] = [sbatch.refusal(SCRIPT.format(*arguments)) for arguments in REFUSED]
        try:
            partitions.ask(Slurm("nope"))
        except partitions.NotInSlurm as error:
            read["partition"] = str(error)
    return read


REFUSED = (
    (3, ""),
    (1, "#SBATCH --partition=nope\n"),
    (1, "#SBATCH --constraint=nope\n"),
    (1, "#SBATCH --gres=nope:1\n"),
)


def _key(arguments: Sequence[str]) -> list[str]:
    """A command without what differs from time to time."""
    user = re.compile(rf"\b(name|user)={re.escape(users.user_name(os.getuid()))}$")
    words = [user.sub(r"\1=USER", word.replace(commands.MARK, "@MARK@")) for word in arguments]
    return ["PATH" if word.startswith("/") else word for word in words]


def replayed(release: str, name: str) -> dict[str, Any]:
    """What campaign reads of a recorded situation."""
    calls = json.loads((DATA / release / f"{name}.json").read_text(encoding="utf-8"))

    def call(arguments: Sequence[str], *_: Any) -> commands.Reply:
        if _key(arguments)[:2] == ["sbatch", "--test-only"]:
            return next(tested)
        (answer,) = (call for call in calls if call["arguments"] == _key(arguments))
        return commands.Reply(answer["status"], answer["out"].replace("@MARK@", commands.MARK), answer["err"])

    replies = [call for call in calls if "--test-only" in call["arguments"]]
    tested = (commands.Reply(reply["status"], reply["out"], reply["err"]) for reply in replies)
    with mock.patch.object(commands, "call", call):
        return readings(name)


def record(name: str, folder: Path) -> None:
    calls = []

    def call(arguments: Sequence[str], *options: Any) -> commands.Reply:
        reply = real(arguments, *options)
        out = reply.out.replace(commands.MARK, "@MARK@")
        if (key := _key(arguments)) not in [call["arguments"] for call in calls] or "--test-only" in key:
            calls.append({"arguments": key, "status": reply.status, "out": out, "err": reply.err})
        return reply

    real = commands.call
    with _cluster(SITUATIONS[name]), mock.patch.object(commands, "call", call):
        for token, value in readings(name).items():
            print(f"{name}: {token}: {value}")
    folder.mkdir(parents=True, exist_ok=True)
    text = re.sub(rf"\b{socket.gethostname()}\b", "host", json.dumps(calls, ensure_ascii=False, indent=1))
    text = re.sub(r"OS=Linux .*? (?=RealMemory)", "OS=Linux ", text)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


@contextmanager
def _cluster(situation: Situation) -> Iterator[None]:
    """A cluster of these nodes for the commands of this process."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as place:
        top, host, running = Path(place), socket.gethostname(), situation.running
        names = [f"n{number}" for number, _ in enumerate(situation.nodes, 1)]
        for folder in ("state", *(f"spool/{name}" for name in names)):
            (top / folder).mkdir(parents=True)
        settings = [
            "ClusterName=site", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={_port()}", "SlurmUser=root",
            "AuthType=auth/none", "CredType=cred/none", f"StateSaveLocation={top}/state",
            f"SlurmdSpoolDir={top}/spool/%n", f"SlurmctldPidFile={top}/c.pid", f"SlurmdPidFile={top}/%n.pid",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SelectType=select/cons_tres",
            "SlurmdParameters=config_overrides", "ReturnToService=2", "GresTypes=gpu", "MpiDefault=none",
        ]  # fmt: skip
        settings += situation.settings
        if situation.is_accounted:
            settings += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1"]
            settings.append(f"AccountingStoragePort={_dbd_port(top)}")
        for name, properties in zip(names, situation.nodes, strict=True):
            settings.append(f"NodeName={name} NodeAddr=127.0.0.1 NodeHostname={host} Port={_port()} {properties}")
        settings.append(f"PartitionName=p Nodes=ALL Default=YES MaxTime=1-00:00:00 State=UP {situation.partition}")
        (top / "slurm.conf").write_text("\n".join(settings) + "\n")
        devices = ("/dev/null", "/dev/zero")
        gpus = {
            name: int(match[1])
            for name, properties in zip(names, situation.nodes, strict=True)
            if (match := _GPUS.search(properties))
        }
        (top / "gres.conf").write_text(
            "".join(f"NodeName={name} Name=gpu File={','.join(devices[:count])}\n" for name, count in gpus.items())
        )
        os.environ["SLURM_CONF"] = str(top / "slurm.conf")
        log = (top / "log").open("w")
        daemons = []
        try:
            if situation.is_accounted:
                daemons += _accounting(top, log)
            daemons.append(subprocess.Popen(["slurmctld", "-D"], stdout=log, stderr=log))
            _wait_until(lambda: commands.reachable() is None, top)
            daemons += [subprocess.Popen(["slurmd", "-D", "-N", name], stdout=log, stderr=log) for name in running]
            _wait_until(lambda: _states().count("idle") == len(running), top)
            for command in situation.preparation:
                for word in command:
                    if word.startswith("--chdir="):
                        Path(word.removeprefix("--chdir=")).mkdir(exist_ok=True)
                subprocess.run(command, check=True, timeout=60)
                time.sleep(3)
            yield
        finally:
            for daemon in reversed(daemons):
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(30)
            log.close()


def _dbd_port(top: Path) -> int:
    """Written where slurmdbd reads it."""
    port = _port()
    configuration = top / "slurmdbd.conf"
    configuration.touch(mode=0o600)
    configuration.write_text(
        f"AuthType=auth/none\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={port}\nSlurmUser=root\n"
        f"PidFile={top}/dbd.pid\nStorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\n"
        "StorageLoc=slurm\n"
    )
    return port


def _accounting(top: Path, log: TextIO) -> list[subprocess.Popen[bytes]]:
    """A database and slurmdbd."""
    options = ["--no-defaults", "--user=root", f"--datadir={top}/database"]
    subprocess.run(["mariadb-install-db", *options], stdout=log, stderr=log, check=True, timeout=300)
    os.environ["MYSQL_UNIX_PORT"] = f"{top}/socket"
    database = ["mariadbd", *options, f"--socket={top}/socket", "--skip-networking", "--skip-grant-tables"]
    daemons = [subprocess.Popen(database, stdout=log, stderr=log)]
    _wait_until((top / "socket").exists, top)
    (top / "database" / "slurm").mkdir()  # as campaign's sandbox makes it
    daemons.append(subprocess.Popen(["slurmdbd", "-D"], stdout=log, stderr=log))
    _wait_until(lambda: subprocess.run(["sacctmgr", "-n", "show", "cluster"], capture_output=True).returncode == 0, top)
    return daemons


_GPUS = re.compile(r"Gres=gpu:(\d)")


def _states() -> list[str]:
    return subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True, timeout=60).stdout.split()


def _port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        return port


def _wait_until(condition: Any, top: Path) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, (top / "log").read_text()
        time.sleep(0.2)


if __name__ == "__main__":
    for situation in sys.argv[2:] or SITUATIONS:
        record(situation, Path(sys.argv[1]))
