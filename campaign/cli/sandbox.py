"""The verbs of `campaign sandbox`: a Slurm cluster of virtual nodes on this machine."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict

from campaign.core import resources
from campaign.core.errors import OK, InputError
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from campaign.sandbox.storage import Storage

NOT_RUNNING = 1


def start(args: argparse.Namespace) -> int:
    shape = Shape(args.nodes, args.cpus, args.accounting, args.partition, args.epilog, Storage.parse(args.storage))
    print(_start_message(Sandbox.start(args.dir, shape, args.owner), args.dir))
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
    as_text = resources.render_template("sandbox/status.txt.j2", status=status).rstrip("\n")
    print(json.dumps(as_json, indent=1) if args.json else as_text)
    return OK if status.state == "up" else NOT_RUNNING


def print_environment(args: argparse.Namespace) -> int:
    sandbox = Sandbox.at(args.dir)
    if sandbox.layout.load() is None:  # anybody may put a slurm.conf into a shared directory
        start_command = f"campaign sandbox start{_option(args.dir)}"
        raise InputError(f"no sandbox in {sandbox.layout.top}; start one with '{start_command}'")
    for name, value in sandbox.environment().items():
        print(f"export {name}={shlex.quote(value)}")
    return OK


def _start_message(sandbox: Sandbox, directory: str | None) -> str:
    option = _option(directory)
    status = sandbox.status()
    return (
        f'sandbox in {sandbox.layout.top} is {status.state}: {status.shape}\nuse it:   eval "$(campaign sandbox '
        f'env{option})"\nstop it:  campaign sandbox stop{option}'
    )


def _option(directory: str | None) -> str:
    return f" --dir {shlex.quote(directory)}" if directory else ""


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "sandbox start": start,
    "sandbox stop": stop,
    "sandbox status": show_status,
    "sandbox env": print_environment,
}
