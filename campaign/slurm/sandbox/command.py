"""The command line `campaign sandbox start|stop|status|env`: arguments in, text out."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
from typing import TYPE_CHECKING

from campaign.core.errors import OK

if TYPE_CHECKING:
    from campaign.slurm.sandbox.cluster import Sandbox
    from campaign.slurm.sandbox.query import SandboxStatus

NOT_RUNNING = 1
STORAGE = (
    "with a network file system, each node a client of its own: gluster[,bricks=N][,disk][,slow=MS], its bricks in "
    "memory or on DIR's disk, the last one slowed down by MS milliseconds per operation; needs root"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the four verbs and their options to the parser of `campaign sandbox`."""
    verbs = parser.add_subparsers(dest="verb", metavar="start|stop|status|env", required=True)
    texts = {
        "start": "start a cluster, or the dead parts of one that runs, and wait until its nodes are idle",
        "stop": "end its jobs and daemons, and remove its directory",
        "status": "show daemons, nodes and jobs; exit status 0 when all is up, 1 when not",
        "env": 'print what the shell needs to use it: eval "$(campaign sandbox env)"',
    }
    for verb, text in texts.items():
        sub = verbs.add_parser(verb, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument(
            "--dir",
            metavar="DIR",
            help="its directory (default: /tmp/campaign-sandbox-UID)",
        )
    start = verbs.choices["start"]
    start.add_argument("--nodes", type=int, default=4, metavar="N", help="number of nodes (default: 4)")
    start.add_argument("--cpus", type=int, default=8, metavar="N", help="CPUs of each node (default: 8)")
    start.add_argument("--accounting", action="store_true", help="with slurmdbd and MariaDB, so that sacct works")
    start.add_argument("--partition", default="sandbox", metavar="NAME", help="the partition's name (default: sandbox)")
    epilog = "program that Slurm runs on each node after each job, as sites do for health checks"
    start.add_argument("--epilog", default="/bin/true", metavar="FILE", help=epilog)
    owner = "process that needs the cluster: when it has ended, so does the cluster (default: until it is stopped)"
    start.add_argument("--owner", type=int, metavar="PID", help=owner)
    start.add_argument("--storage", metavar="KIND", default="", help=STORAGE)
    verbs.choices["status"].add_argument("--json", action="store_true", help="print a JSON object")


def main(args: argparse.Namespace) -> int:
    """Do what the parsed arguments say; returns the exit status. Raises CampaignError."""
    from campaign.slurm.sandbox.cluster import Sandbox
    from campaign.slurm.sandbox.layout import Shape
    from campaign.slurm.sandbox.storage import Storage

    if args.verb == "start":
        shape = Shape(args.nodes, args.cpus, args.accounting, args.partition, args.epilog, Storage.parse(args.storage))
        print(_started(Sandbox.start(args.dir, shape, args.owner), args.dir))
        return OK
    sandbox = Sandbox.at(args.dir)
    if args.verb == "stop":
        was_there = sandbox.stop()
        print(
            f"sandbox in {sandbox.layout.top} stopped"
            if was_there
            else f"no sandbox in {sandbox.layout.top}: nothing to stop"
        )
        return OK
    if args.verb == "env":
        for name, value in sandbox.environment().items():
            print(f"export {name}={shlex.quote(value)}")
        return OK
    status = sandbox.status()
    as_json = {**dataclasses.asdict(status), "dead": list(status.dead)}
    print(json.dumps(as_json, indent=1) if args.json else _as_text(status))
    return OK if status.state == "up" else NOT_RUNNING


def _started(sandbox: Sandbox, directory: str | None) -> str:
    option = f" --dir {shlex.quote(directory)}" if directory else ""
    status = sandbox.status()
    return (
        f'sandbox in {sandbox.layout.top} is {status.state}: {status.shape}\nuse it:   eval "$(campaign sandbox '
        f'env{option})"\nstop it:  campaign sandbox stop{option}'
    )


def _as_text(status: SandboxStatus) -> str:
    if status.shape is None:
        return f"no sandbox in {status.directory}"
    lines: list[str] = [f"sandbox in {status.directory} is {status.state}: {status.shape}"]
    if status.dead:
        lines.append(f"dead: {', '.join(status.dead)}; 'campaign sandbox start' restarts them")
    for daemon in status.daemons:
        life = "alive" if daemon.alive else "dead" if daemon.pid else "never started"
        lines.append(f"  {daemon.name:<14} {life:<13} pid {daemon.pid:<8} {daemon.log}")
    lines += [f"  {node.name:<14} {node.state}" for node in status.nodes]
    lines += [f"  job {job.id:<10} {job.name} {job.state} {job.nodes} nodes {job.reason}" for job in status.jobs]
    return "\n".join(lines)
