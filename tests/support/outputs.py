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


def array_of(fields: Schema) -> Schema:
    return {"type": "array", "items": fields}


def mapping_of(fields: Schema) -> Schema:
    """A mapping whose names are not known beforehand."""
    return {"type": "object", "additionalProperties": fields}


def null_or(fields: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, fields]}


def with_meaning(fields: Schema, meaning: str) -> Schema:
    return {**fields, "description": meaning}


def record(keys: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**keys, **(optional or {})}, "required": list(keys)}


CELL = {"target": TEXT, "launch": TEXT, "files": TEXT, "operation": TEXT}
FINDING = {
    "rule": with_meaning(TEXT, "id of the rule (docs/rules.md)"),
    "severity": {"enum": ["E", "W", "I"], "description": "violation, explanation required, note"},
    "subject": with_meaning(TEXT, "a cell, a glob over cells, an attempt, or campaign"),
    "message": with_meaning(TEXT, "what is wrong"),
    "expected": TEXT,
    "actual": with_meaning(TEXT, "what was found"),
    "checked": with_meaning(FLAG, "false: the rule could not be checked, which does not count as passed"),
    "explained": with_meaning(TEXT, "the vendor's explanation"),
    "waived": with_meaning(TEXT, "the waiver, if one is valid"),
    "at_full": with_meaning(null_or({"enum": ["E", "W", "I"]}), "severity at full size, if this is a rehearsal's"),
    "operation": TEXT,
    "phase": TEXT,
    "cells": with_meaning(array_of(TEXT), "the cells that it is about"),
}
RULES = record({"id": TEXT, "version": COUNT, "sha256": DIGEST, "profile": TEXT, "variables": mapping_of({})})


def columns_record(columns: Sequence[Column[Any]], kinds: Mapping[str, Schema]) -> Schema:
    """The record of columns, with their meanings. `kinds`: of those whose values are of one kind."""
    schemas = {column.name: kinds.get(column.name, {}) for column in columns}
    schemas |= {column.name: with_meaning(schemas[column.name], column.meaning) for column in columns if column.meaning}
    optional = {column.name for column in columns if column.is_optional}
    return record(
        {name: fields for name, fields in schemas.items() if name not in optional},
        {name: schema for name, schema in schemas.items() if name in optional},
    )


STATISTICS = columns_record(
    next(column.columns for column in COLUMNS if column.name == "statistics"),
    {
        "n": COUNT,
        "median": null_or(NUMBER),
        "low": null_or(NUMBER),
        "high": null_or(NUMBER),
        "cv": null_or(NUMBER),
        "selection": null_or(NUMBER),
        "drift_p": null_or(NUMBER),
        "outliers": array_of({}),
        "values": array_of(NUMBER),
        "jobs": COUNT,
        "started": array_of(NUMBER),
    },
)
ROW = columns_record(
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
        "parts": array_of({}),
        "true_value": null_or(NUMBER),
        "of_fastest": null_or(FLAG),
        "files_true": null_or(COUNT),
        "statistics": STATISTICS,
        "campaign": null_or(TEXT),
        "rules": null_or(RULES),
        "notes": array_of(TEXT),
        "findings": array_of(record(FINDING)),
    },
)
PARTITION = record(
    {
        "name": TEXT,
        "nodes": COUNT,
        "usable": COUNT,
        "cores_per_node": with_meaning(COUNT, "that a job of whole nodes gets"),
        "limits": with_meaning(array_of({}), "on the nodes of one job, the tightest first"),
        "time_limit_s": with_meaning(null_or(COUNT), "null: unlimited"),
        "unusable": array_of({}),
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
        "phase": with_meaning(TEXT, 'phase of its search; "" if cells report the run'),
        "nodes": COUNT,
        "processes": COUNT,
        "processes_per_node": COUNT,
        "launcher": array_of(TEXT),
        "argv": with_meaning(array_of(TEXT), "the benchmark's command line"),
        "notes": array_of(TEXT),
    }
)
STATE = record(
    {
        "run": TEXT,
        "phase": TEXT,
        "state": TEXT,
        "active": with_meaning(FLAG, "whether it waits or runs"),
        "attempt": null_or(COUNT),
        "attempts": COUNT,
        "job_id": null_or(TEXT),
        "reason": with_meaning(TEXT, "why it waits, or how it ended"),
        "started": null_or(TIME),
        "ended": null_or(TIME),
    }
)
DECISION = record(
    {
        "headline": TEXT,
        "questions": array_of(
            record(
                {
                    "name": TEXT,
                    "answer": TEXT,
                    "reason": with_meaning(TEXT, "the answer as sentences"),
                    "mark": with_meaning(TEXT, "ok, open or NO"),
                }
            )
        ),
        "may": with_meaning(TEXT, "what may be concluded"),
        "may_not": with_meaning(TEXT, "what may not be concluded"),
        "steps": with_meaning(array_of(record({"who": TEXT, "what": TEXT})), "who can do what next"),
        "details": with_meaning(TEXT, "the command that lists what is to be done"),
    }
)
OPEN_DECISION = record(
    {
        "id": with_meaning(TEXT, "as `campaign terms accept --decision` takes it"),
        "facts": with_meaning(DIGEST, "SHA-256 of everything that was found"),
        "rule": TEXT,
        "part": with_meaning(TEXT, "of an RFP"),
        "found": array_of(TEXT),
        "explanation": with_meaning(TEXT, "the vendor's"),
        "cells": with_meaning(array_of(TEXT), "patterns of the cells that it is about; none: the bundle"),
        "text": TEXT,
    }
)
CONCLUSION = record(
    {
        "outcome": TEXT,
        "consistent": FLAG,
        "evidence": TEXT,
        "kept": with_meaning(TEXT, "whether the rules were kept"),
        "decisions": with_meaning(array_of(OPEN_DECISION), "what the buyer has not accepted yet"),
        "undecided": with_meaning(array_of(record({**FINDING, "text": TEXT})), "the findings of `decisions`"),
        "results": with_meaning(mapping_of(COUNT), "number of results of each status"),
        "decision": DECISION,
        "exit_status": COUNT,
    }
)
JOURNAL = record({"events": COUNT, "head": TEXT, "nonce": TEXT})
VERIFIED = record(
    {
        "format": {"const": 1},
        "bundle": TEXT,
        "verdict_sentence": TEXT,
        "conclusion": CONCLUSION,
        "decision": DECISION,
        "exit_status": COUNT,
        "valid": with_meaning(FLAG, "true only with exit status 0"),
        "intact": with_meaning(FLAG, "unaltered, and its tables follow from its logs"),
        "files": COUNT,
        "bytes": COUNT,
        "made_by": TEXT,
        "signed_by": null_or(record({"identity": TEXT, "key": TEXT})),
        "journal": JOURNAL,
        "coverage": with_meaning(
            record({"head": null_or(COUNT), "stamp": null_or(COUNT), "covered_runs": COUNT, "runs": COUNT}),
            "how many of the runs that ended are covered by a journal head, and by a time stamp; null: by none",
        ),
        "findings": with_meaning(array_of(record(FINDING)), "about the bundle"),
        "campaign_findings": with_meaning(array_of(record(FINDING)), "about the entire campaign"),
        "verdict": null_or(record({"campaign": TEXT, "verdict": TEXT, "headline": TEXT, "cells": mapping_of(COUNT)})),
    },
    {
        "table": record(
            {
                "file": TEXT,
                "differences": array_of(record({"place": TEXT, "expected": TEXT, "found": TEXT})),
                "scope": with_meaning(TEXT, "what of the file was compared, and what not"),
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
        "ratio": with_meaning(null_or(NUMBER), "above 1 is better, also where lower values are"),
        "low": null_or(NUMBER),
        "high": null_or(NUMBER),
        "p": null_or(NUMBER),
        "adjusted_p": with_meaning(null_or(NUMBER), "for the number of cells"),
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
        "offers": array_of(
            record(
                {
                    "offer": TEXT,
                    "source": TEXT,
                    "campaign": TEXT,
                    "rules": TEXT,
                    "version": COUNT,
                    "profile": TEXT,
                    "remarks": array_of(TEXT),
                    "summary": {},
                    "cells": array_of(COMPARED_CELL),
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
                "searches": array_of({}),
                "runs": array_of(PLANNED_RUN),
                "findings": with_meaning(array_of(RULED), "what the rules say before anything has run"),
                "cells": array_of(TEXT),
            }
        ),
    ),
    "status": ("campaign status --json", array_of(STATE)),
    "table": ("campaign table --format json", array_of(ROW)),
    "check": (
        "campaign check --json",
        array_of(RULED),
    ),
    "head": ("campaign head --json", record({"campaign": TEXT, "events": COUNT, "head": DIGEST, "nonce": TEXT})),
    "verify": ("campaign verify --json", VERIFIED),
    "terms-accept": (
        "campaign terms accept --json",
        record(
            {
                "format": {"const": 1},
                "decisions": with_meaning(array_of(OPEN_DECISION), "those that were open"),
                "accepted": with_meaning(array_of(TEXT), "ids of those that were accepted now"),
            }
        ),
    ),
    "run": (
        "campaign run --json, campaign rerun --json",
        record(
            {
                "format": {"const": 1},
                "campaign": TEXT,
                "results": with_meaning(TEXT, "the directory of the results"),
                "jobs": with_meaning(array_of(TEXT), "ids of those in Slurm"),
                "rows": with_meaning(array_of(ROW), "of the cells that were chosen"),
                "decision": with_meaning(null_or(DECISION), "null with --detach, and if only some cells were chosen"),
                "exit_status": COUNT,
            }
        ),
    ),
    "report": (
        "campaign report --json",
        record(
            {
                "format": {"const": 1},
                "campaign": TEXT,
                "page": with_meaning(TEXT, "its path; the other files are next to it"),
                "pdf": null_or(TEXT),
                "decision": DECISION,
                "exit_status": COUNT,
            }
        ),
    ),
    "fill": (
        "campaign fill --json",
        record(
            {
                "format": {"const": 1},
                "form": TEXT,
                "output": TEXT,
                "origins": with_meaning(TEXT, "the file that says where each number is from"),
                "cells": with_meaning(
                    array_of(record({"cell": TEXT, "result": TEXT, "written": TEXT, "left_empty": TEXT})),
                    "the columns of `origins`; `left_empty`: why a cell is",
                ),
                "exit_status": COUNT,
            }
        ),
    ),
    "bundle": (
        "campaign bundle --json",
        record(
            {
                "format": {"const": 1},
                "bundle": TEXT,
                "files": COUNT,
                "campaign": TEXT,
                "attempts": with_meaning(COUNT, "with their raw output"),
                "left_out": with_meaning(COUNT, "attempts that are only listed"),
                "journal": null_or(JOURNAL),
                "results": with_meaning(mapping_of(COUNT), "number of results of each status"),
                "exit_status": COUNT,
            }
        ),
    ),
    "sample": (
        "campaign sample --json",
        record(
            {
                "format": {"const": 1},
                "bundle": TEXT,
                "sample": with_meaning(TEXT, "the new campaign file"),
                "seed": TEXT,
                "aims": record({"honest": NUMBER, "inflation": NUMBER, "share": NUMBER, "power": NUMBER}),
                "design": record({"cells": COUNT, "repetitions": COUNT, "limit": NUMBER}),
                "repetitions": COUNT,
                "cells": with_meaning(array_of(TEXT), "those that were drawn"),
                "decision": DECISION,
                "exit_status": COUNT,
            }
        ),
    ),
    "compare": ("campaign compare --format json, campaign accept --format json", COMPARED),
    "rebuild": (
        "campaign rebuild --json",
        record({"format": {"const": 1}, "identical": FLAG, "builds": array_of(record({"identical": FLAG}))}),
    ),
    "clauses": (
        "campaign rules ID --clauses --json",
        array_of(record({"clause": TEXT, "requires": TEXT, "how": TEXT, "by": array_of(TEXT)})),
    ),
    "sandbox-status": (
        "campaign sandbox status --json",
        record(
            {
                "directory": TEXT,
                "state": {"enum": ["up", "degraded", "stopped"]},
                "shape": {},
                "daemons": array_of(record({"name": TEXT, "pid": COUNT, "alive": FLAG, "node": TEXT, "log": TEXT})),
                "nodes": array_of(record({"name": TEXT, "state": TEXT, "slurmd_pid": COUNT})),
                "jobs": array_of(record({"id": TEXT, "name": TEXT, "state": TEXT, "nodes": COUNT, "reason": TEXT})),
                "dead": with_meaning(array_of(TEXT), "names of the daemons that do not run"),
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
