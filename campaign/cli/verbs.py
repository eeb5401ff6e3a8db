"""The verbs that need no campaign. As in the other modules with verbs, `FUNCTIONS` has them by name."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from campaign.cli import completion
from campaign.cli.arguments import check_verb, parser
from campaign.cli.output import columns, show, write
from campaign.cli.parsing import find_verb_parser
from campaign.config import init, rfp
from campaign.config.rules import facts, packs, text
from campaign.core import outputs, resources
from campaign.core.columns import record
from campaign.core.errors import INCOMPLETE, OK, InputError, typed_path
from campaign.core.strict_yaml import has_key
from campaign.pipeline import building, places
from campaign.report import grid, samples


def write_campaign_file(arguments: argparse.Namespace) -> int:
    remark = f": replace the texts in <angle brackets>, then run 'campaign plan {typed_path(arguments.file)}'"
    write(init.text_for(arguments.file, arguments.rules, places.site()), arguments.file, arguments, remark)
    return OK


def build(arguments: argparse.Namespace) -> int:
    if arguments.output and not (arguments.output / "build.json").exists():  # an earlier build is renewed
        outputs.check_directory(arguments.output, arguments.force)
    out = building.build(arguments.mpicc, arguments.output)
    show(f"built {out}")
    if out != resources.binaries():
        show(f"to use this build: export CAMPAIGN_BENCHMARK={shlex.quote(str(out))}")
    return OK


def show_rules(arguments: argparse.Namespace) -> int:
    if arguments.test:
        pack, *logs = arguments.test
        return OK if samples.show_samples(packs.load(pack), [Path(log) for log in logs], print) else INCOMPLETE
    if (arguments.clauses and not arguments.id) or (arguments.json and not (arguments.clauses or arguments.facts)):
        raise InputError("rules: --clauses needs the ID of a rule pack, and --json needs --clauses or --facts")
    if arguments.facts:
        entries = [record(facts.COLUMNS, fact) for fact in facts.CATALOGUE]
        text_of_facts = grid.plain_grid(facts.COLUMNS, facts.CATALOGUE, columns())
        show(json.dumps(entries, indent=1) if arguments.json else text_of_facts)
    elif arguments.clauses:
        from campaign.report import clauses  # with all that judges

        pack = packs.load(arguments.id)
        show(clauses.coverage_json(pack) if arguments.json else clauses.coverage_text(pack, columns()))
    elif arguments.other:
        from campaign.report import amendments

        show(amendments.comparison(arguments.id, arguments.other))
    elif arguments.id and has_key(Path(arguments.id), "parts"):
        from campaign.report import form_check

        loaded_rfp, rule_packs = rfp.load_with_packs(Path(arguments.id))
        show(rfp.text(loaded_rfp, rule_packs))
        if loaded_rfp.forms:
            show(f"\n{form_check.forms_text(loaded_rfp, rule_packs, columns())}")
    elif arguments.id:
        pack = packs.load(arguments.id)
        show(text.text(pack, columns(), packs.load(pack.bases[0]) if pack.bases else None))
    else:
        show(text.listing(packs.available()))
    return OK


def print_completion(arguments: argparse.Namespace) -> int:
    sys.stdout.write(completion.script(arguments.shell))
    return OK


def show_help(arguments: argparse.Namespace) -> int:
    top = parser()
    if arguments.verb is not None:
        check_verb(arguments.verb)
        top = find_verb_parser(top, arguments.verb)
    top.print_help()
    return OK


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "init": write_campaign_file,
    "build": build,
    "rules": show_rules,
    "completion": print_completion,
    "help": show_help,
}
