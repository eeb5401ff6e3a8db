"""The verbs of `campaign sandbox`: a Slurm cluster of virtual nodes on this machine."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict

from campaign.core.errors import OK
from campaign.slurm.sandbox.cluster import Sandbox
from campaign.slurm.sandbox.layout import Shape
from campaign.slurm.sandbox.query import SandboxStatus
from campaign.slurm.sandbox.storage import Storage

NOT_RUNNING = 1


def start(args: argparse.Namespace) -> int:
    shape = Shape(args.nodes, args.cpus, args.accounting, args.partition, args.epilog, Storage.parse(args.storage))
    print(_started(Sandbox.start(args.dir, shape, args.owner), args.dir))
    return OK


def stop(args: argparse.Namespace) -> int:
    sandbox = Sandbox.at(args.dir)
    was_there = sandbox.stop()
    print(
        f"sandbox in {sandbox.layout.top} stopped"
        if was_there
        else f"no sandbox in {sandbox.layout.top}: nothing to stop"
    )
    return OK


def show_status(args: argparse.Namespace) -> int:
    status = Sandbox.at(args.dir).status()
    as_json = {**asdict(status), "dead": list(status.dead)}
    print(json.dumps(as_json, indent=1) if args.json else _as_text(status))
    return OK if status.state == "up" else NOT_RUNNING


def print_environment(args: argparse.Namespace) -> int:
    for name, value in Sandbox.at(args.dir).environment().items():
        print(f"export {name}={shlex.quote(value)}")
    return OK


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


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "start": start,
    "stop": stop,
    "status": show_status,
    "env": print_environment,
}
