"""`campaign sandbox start|stop|status|env`: arguments in, text out."""

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
