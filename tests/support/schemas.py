"""The schemas by which the program reads its files, for the documentation: as rows of a table, and as JSON Schema
(draft 2020-12) for editors.

An editor checks names, kinds of values, ranges and choices. What a text means, and conditions between values, are
checked by `campaign plan` and `campaign rules`: a file that they accept always fits the JSON Schema.
"""

from __future__ import annotations

from typing import Any

from campaign.core.schema import Boolean, Choice, Field, KeyedMap, ListOf, MapOf, Number, OneOf, Schema, Text


def reference(record: KeyedMap, prefix: str = "") -> list[tuple[str, str, str, str]]:
    """The schema as rows of a table: key, what is allowed, default, meaning; a record's keys follow it."""
    rows = []
    for name, field in record.fields.items():
        kind: Schema = field.kind
        allowed = "a mapping" if isinstance(kind, KeyedMap) else kind.allowed
        default = field.default_says or ("required" if field.required else str(field.default or "none"))
        rows.append((prefix + name, allowed, default, field.says))
        suffix = "[]." if isinstance(kind, ListOf) else "."
        inner = kind.item if isinstance(kind, ListOf) else kind
        if isinstance(inner, KeyedMap):
            rows += reference(inner, prefix + name + suffix)
    return rows


def document(record: KeyedMap, title: str) -> dict[str, Any]:
    """The schema of a whole file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema_of(record)}


def document_of_extending(record: KeyedMap, title: str, own: list[str]) -> dict[str, Any]:
    """The schema of a file that may extend another one, which then may have all keys but these."""
    complete = schema_of(record)
    extending = {**_without_required(complete), "required": ["extends", *own]}
    choice = {"if": {"required": ["extends"]}, "then": extending, "else": complete}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **choice}


def _without_required(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_required(value) for key, value in schema.items() if key != "required" or "type" in value}
    return [_without_required(value) for value in schema] if isinstance(schema, list) else schema


def schema_of(kind: Schema) -> dict[str, Any]:
    """The schema of one value."""
    match kind:
        case Text():
            pattern = {"pattern": f"^(?:{kind.pattern})$"} if kind.pattern else {}
            kinds = ["string", "number"] if kind.numbers else "string"
            return {"type": kinds, "minLength": 1, "maxLength": kind.longest, **pattern, "description": kind.allowed}
        case Number():
            number = {"type": "integer", "minimum": kind.minimum, "maximum": kind.maximum}
            other_entries: list[dict[str, Any]] = (
                [{"type": "string", "pattern": r"^[0-9]+\^[0-9]+$"}] if kind.power else []
            )
            other_entries += [{"enum": list(kind.words)}] if kind.words else []
            return {**({"anyOf": [number, *other_entries]} if other_entries else number), "description": kind.allowed}
        case Boolean():
            return {"type": "boolean", "description": kind.allowed}
        case Choice():
            return {"enum": list(kind.words), "description": kind.allowed}
        case ListOf():
            return {"type": "array", "items": schema_of(kind.item), "minItems": kind.least, "maxItems": kind.most}
        case MapOf():
            properties = {"propertyNames": schema_of(kind.key), "additionalProperties": schema_of(kind.value)}
            return {"type": "object", **properties, "maxProperties": kind.most}
        case OneOf():
            return {"anyOf": [schema_of(kind.scalar), schema_of(kind.mapping)], "description": kind.allowed}
        case KeyedMap():
            fields = {name: _field(field) for name, field in kind.fields.items()}
            needed = [name for name, field in kind.fields.items() if field.required]
            required = {"required": needed} if needed else {}
            return {"type": "object", "properties": fields, **required, "additionalProperties": False}
    raise TypeError(f"no JSON Schema for {kind!r}")


def _field(field: Field) -> dict[str, Any]:
    """The schema of a value with its meaning and what is allowed, which an editor shows."""
    value = schema_of(field.kind)
    allowed = value.get("description")
    default = field.default_says or (str(field.default) if field.default else "")
    says = [f"{field.says[0].upper()}{field.says[1:]}."]
    says += [f"Allowed: {allowed}."] if allowed else []
    says += [f"Default: {default}."] if default else []
    return {**value, "description": " ".join(says)}
