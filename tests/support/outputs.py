"""JSON Schemas of what `--json` and `--format json` print: the keys that a program may rely on, and what they mean.

A key may be added to an output, so that every record allows others; none is taken away or changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from campaign.core.columns import Column
from campaign.results.cells import COLUMNS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "number", "description": "seconds since 1970"}
DIGEST: Schema = {"type": "string", "pattern": "^([0-9a-f]{64})?$"}


def many(fields: Schema) -> Schema:
    return {"type": "array", "items": fields}


def named(fields: Schema) -> Schema:
    """A mapping whose names are not known beforehand."""
    return {"type": "object", "additionalProperties": fields}


def null_or(fields: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, fields]}


def means(fields: Schema, meaning: str) -> Schema:
    return {**fields, "description": meaning}


def record(keys: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**keys, **(optional or {})}, "required": list(keys)}


CELL = {"target": TEXT, "launch": TEXT, "files": TEXT, "operation": TEXT}
FINDING = {
    "rule": means(TEXT, "id of the rule (docs/rules.md)"),
    "severity": {"enum": ["E", "W", "I"], "description": "violation, explanation required, note"},
    "subject": means(TEXT, "a cell, a glob over cells, an attempt, or campaign"),
    "message": means(TEXT, "what is wrong"),
    "expected": TEXT,
    "actual": means(TEXT, "what was found"),
    "checked": means(FLAG, "false: the rule could not be checked, which does not count as passed"),
    "explained": means(TEXT, "the vendor's explanation"),
    "waived": means(TEXT, "the waiver, if one is valid"),
    "at_full": means(null_or({"enum": ["E", "W", "I"]}), "severity at full size, if this is a rehearsal's"),
    "operation": TEXT,
    "phase": TEXT,
    "cells": means(many(TEXT), "the cells that it is about"),
}
RULES = record({"id": TEXT, "version": COUNT, "sha256": DIGEST, "profile": TEXT, "variables": named({})})


def of_columns(columns: Sequence[Column[Any]], kinds: Mapping[str, Schema]) -> Schema:
    """The record of columns, with their meanings. `kinds`: of those whose values are of one kind."""
    schemas = {column.name: kinds.get(column.name, {}) for column in columns}
    schemas |= {column.name: means(schemas[column.name], column.meaning) for column in columns if column.meaning}
    optional = {column.name for column in columns if column.is_optional}
    return record(
        {name: fields for name, fields in schemas.items() if name not in optional},
        {name: of for name, of in schemas.items() if name in optional},
    )


STATISTICS = of_columns(
    next(column.columns for column in COLUMNS if column.name == "statistics"),
    {
        "n": COUNT,
        "median": null_or(NUMBER),
        "low": null_or(NUMBER),
        "high": null_or(NUMBER),
        "cv": null_or(NUMBER),
        "selection": null_or(NUMBER),
        "drift_p": null_or(NUMBER),
        "outliers": many({}),
        "values": many(NUMBER),
        "jobs": COUNT,
        "started": many(NUMBER),
    },
)
ROW = of_columns(
    COLUMNS,
    {
        **CELL,
        "value": null_or(NUMBER),
        "unit": TEXT,
        "best": {"enum": ["highest", "lowest"]},
        "status": TEXT,
        "processes": null_or(COUNT),
        "nodes": null_or(COUNT),
        "processes_per_node": null_or(COUNT),
        "files_total": null_or(COUNT),
        "run": null_or(TEXT),
        "attempt": null_or(COUNT),
        "attempts": COUNT,
        "job_id": null_or(TEXT),
        "source": null_or(record({"file": TEXT, "line": COUNT})),
        "parts": many({}),
        "true_value": null_or(NUMBER),
        "of_fastest": null_or(FLAG),
        "files_true": null_or(COUNT),
        "statistics": STATISTICS,
        "campaign": null_or(TEXT),
        "rules": null_or(RULES),
        "notes": many(TEXT),
        "findings": many(record(FINDING)),
    },
)
PARTITION = record(
    {
        "name": TEXT,
        "nodes": COUNT,
        "usable": COUNT,
        "cores_per_node": COUNT,
        "time_limit_s": means(null_or(COUNT), "null: unlimited"),
        "unusable": many({}),
        "default": FLAG,
    }
)
RULED = record({**FINDING, "clause": TEXT, "title": TEXT, "why": TEXT, "remedy": TEXT})
PLANNED_RUN = record(
    {
        "run": TEXT,
        "target": TEXT,
        "launch": TEXT,
        "files": TEXT,
        "repetition": COUNT,
        "phase": means(TEXT, 'phase of its search; "" if cells report the run'),
        "nodes": COUNT,
        "processes": COUNT,
        "processes_per_node": COUNT,
        "launcher": many(TEXT),
        "argv": means(many(TEXT), "the benchmark's command line"),
        "notes": many(TEXT),
    }
)
STATE = record(
    {
        "run": TEXT,
        "phase": TEXT,
        "state": TEXT,
        "active": means(FLAG, "whether it waits or runs"),
        "attempt": null_or(COUNT),
        "attempts": COUNT,
        "job_id": null_or(TEXT),
        "reason": means(TEXT, "why it waits, or how it ended"),
        "started": null_or(TIME),
        "ended": null_or(TIME),
    }
)
DECISION = record(
    {
        "headline": TEXT,
        "questions": many(record({"name": TEXT, "answer": TEXT, "reason": TEXT})),
        "may": means(TEXT, "what may be concluded"),
        "may_not": TEXT,
        "steps": means(many(record({"who": TEXT, "what": TEXT})), "who can do what next"),
    }
)
CONCLUSION = record(
    {
        "outcome": TEXT,
        "consistent": FLAG,
        "evidence": TEXT,
        "kept": means(TEXT, "whether the rules were kept"),
        "undecided": many(record({**FINDING, "text": TEXT})),
        "results": means(named(COUNT), "number of results of each status"),
        "decision": DECISION,
        "exit_status": COUNT,
    }
)
VERIFIED = record(
    {
        "format": {"const": 1},
        "bundle": TEXT,
        "verdict_sentence": TEXT,
        "conclusion": CONCLUSION,
        "valid": means(FLAG, "true only with exit status 0"),
        "intact": means(FLAG, "unaltered, and its tables follow from its logs"),
        "files": COUNT,
        "bytes": COUNT,
        "made_by": TEXT,
        "signed_by": null_or(record({"identity": TEXT, "key": TEXT})),
        "journal": record({"events": COUNT, "head": TEXT, "nonce": TEXT}),
        "findings": means(many(record(FINDING)), "about the bundle"),
        "campaign_findings": means(many(record(FINDING)), "about the campaign as a whole"),
        "verdict": null_or(record({"campaign": TEXT, "verdict": TEXT, "headline": TEXT, "cells": named(COUNT)})),
    },
    {
        "table": record(
            {
                "file": TEXT,
                "differences": many(record({"place": TEXT, "expected": TEXT, "found": TEXT})),
                "scope": means(TEXT, "what of the file was compared, and what not"),
            }
        )
    },
)
SIDE = record({"value": null_or(NUMBER), "status": TEXT, "n": COUNT, "median": null_or(NUMBER)})
COMPARED_CELL = record(
    {
        **CELL,
        "unit": TEXT,
        "best": TEXT,
        "first": SIDE,
        "this": SIDE,
        "reported_ratio": null_or(NUMBER),
        "ratio": means(null_or(NUMBER), "above 1 is better, also where lower values are"),
        "low": null_or(NUMBER),
        "high": null_or(NUMBER),
        "p": null_or(NUMBER),
        "adjusted_p": means(null_or(NUMBER), "for the number of cells"),
        "verdict": TEXT,
        "reason": TEXT,
        "fails": FLAG,
    }
)
COMPARED = record(
    {
        "format": {"const": 1},
        "acceptance": {},
        "passed": FLAG,
        "decision": DECISION,
        "offers": many(
            record(
                {
                    "offer": TEXT,
                    "source": TEXT,
                    "campaign": TEXT,
                    "rules": TEXT,
                    "version": COUNT,
                    "profile": TEXT,
                    "remarks": many(TEXT),
                    "summary": {},
                    "cells": many(COMPARED_CELL),
                }
            )
        ),
    }
)

OUTPUTS: dict[str, tuple[str, Schema]] = {
    "plan": (
        "campaign plan --json",
        record(
            {
                "format": {"const": 1},
                "campaign": TEXT,
                "rules": record({"id": TEXT, "version": COUNT}),
                "profile": TEXT,
                "results": TEXT,
                "journal": DIGEST,
                "partition": null_or(PARTITION),
                "searches": many({}),
                "runs": many(PLANNED_RUN),
                "findings": means(many(RULED), "what the rules say before anything has run"),
                "cells": many(TEXT),
            }
        ),
    ),
    "status": ("campaign status --json", many(STATE)),
    "table": ("campaign table --format json", many(ROW)),
    "check": (
        "campaign check --json",
        many(RULED),
    ),
    "head": ("campaign head --json", record({"campaign": TEXT, "events": COUNT, "head": DIGEST, "nonce": TEXT})),
    "verify": ("campaign verify --json", VERIFIED),
    "compare": ("campaign compare --format json, campaign accept --format json", COMPARED),
    "rebuild": (
        "campaign rebuild --json",
        record({"format": {"const": 1}, "identical": FLAG, "builds": many(record({"identical": FLAG}))}),
    ),
    "clauses": (
        "campaign rules ID --clauses --json",
        many(record({"clause": TEXT, "requires": TEXT, "how": TEXT, "by": many(TEXT)})),
    ),
    "sandbox-status": (
        "campaign sandbox status --json",
        record(
            {
                "directory": TEXT,
                "state": {"enum": ["up", "degraded", "stopped"]},
                "shape": {},
                "daemons": many(record({"name": TEXT, "pid": COUNT, "alive": FLAG, "node": TEXT, "log": TEXT})),
                "nodes": many(record({"name": TEXT, "state": TEXT, "slurmd_pid": COUNT})),
                "jobs": many(record({"id": TEXT, "name": TEXT, "state": TEXT, "nodes": COUNT, "reason": TEXT})),
                "dead": means(many(TEXT), "names of the daemons that do not run"),
            }
        ),
    ),
}


def documents() -> dict[str, Schema]:
    """The JSON Schema of each output, by its name."""
    return {
        name: {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Output of {title}", **schema}
        for name, (title, schema) in OUTPUTS.items()
    }
