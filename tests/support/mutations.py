"""Files as nobody should send them: a valid one with one or two changes of its structure or of its bytes.

Everything is drawn from a `random.Random`, so that a seed repeats it.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import yaml

Steps = tuple[str | int, ...]
ODD_TEXTS = (
    *("", " ", "y", "~", "-1", "0", "1e999", "nan", "0x10", "1_000", "٣", "²", "½", "a\x00b", "\ud800", "\u202e"),
    *("{x}", "{{ x }}", "{", "%s", "\\", "../..", "/", "-", "*", "[", "(?P<", "=1+1", "a/b/c/d", "é\u0301", "1 000"),
    *("2026-13-45", "9999999999999", "x" * 5000, "\n", "a\nb", "\t", "#", "'", '"', "1:2", "n[1-", "n[1-999999999]"),
)
ODD_NUMBERS = (
    *(0, -1, 1, 2**31, 2**63, 2**64, 10**30, 10**400, 1.5, -0.0, 1e308, 1e-320),
    *(float("nan"), float("inf"), float("-inf")),
)
DEEP = 3000


def deep(kind: type) -> Any:
    """A list, or a mapping, in itself so often that no reader should follow by recursion."""
    value: Any = None
    for _ in range(60):
        value = {"a": value} if kind is dict else [value]
    return value


def odd_value(chance: Random) -> Any:
    return chance.choice(
        [
            *(None, True, False, [], {}, [None], [[]], {"": ""}, {"a": None}, [{}], deep(list), deep(dict)),
            *(chance.choice(ODD_TEXTS) for _ in range(8)),
            *(chance.choice(ODD_NUMBERS) for _ in range(6)),
        ]
    )


def places(value: Any, at: Steps = ()) -> Iterator[Steps]:
    """The steps to each value in a structure of mappings and lists."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*at, index))


def mutated_value(value: Any, chance: Random) -> Any:
    """The structure with one change: a value of another kind, a key dropped, renamed or doubled, another order."""
    value = copy.deepcopy(value)
    steps = chance.choice(list(places(value)))
    if not steps:
        return odd_value(chance)
    parent = value
    for step in steps[:-1]:
        parent = parent[step]
    last = steps[-1]
    old = parent[last]
    change = chance.randrange(8)
    if change == 0:
        del parent[last]
    elif change == 1 and isinstance(parent, list):
        parent.append(copy.deepcopy(old))
    elif change == 1:
        parent[chance.choice([f"{last}x", *ODD_TEXTS])] = copy.deepcopy(old)
    elif change == 2:
        parent[last] = [old]
    elif change == 3:
        parent[last] = {"a": old}
    elif change == 4 and isinstance(old, int | float):
        parent[last] = chance.choice([*ODD_NUMBERS, -old, old + 1, old * 1000, str(old)])
    elif change == 4 and isinstance(old, str):
        parent[last] = chance.choice([old + chance.choice(ODD_TEXTS), old[:-1], old.upper(), chance.choice(ODD_TEXTS)])
    elif change == 4 and isinstance(old, list):
        parent[last] = old[::-1] if chance.random() < 0.5 else old[:-1]
    elif change == 5 and isinstance(parent, dict):
        other = chance.choice(list(parent))
        parent[last], parent[other] = parent[other], old
    else:
        parent[last] = odd_value(chance)
    return value


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def yaml_text(content: bytes, chance: Random) -> bytes:
    value = mutated_value(yaml.safe_load(content), chance)
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False).encode("utf-8", "surrogatepass")


def json_text(content: bytes, chance: Random) -> bytes:
    return json.dumps(mutated_value(json.loads(content), chance), ensure_ascii=chance.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def json_lines(content: bytes, chance: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    change = chance.randrange(6)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, chance.choice(lines))
    else:
        lines[at] = json_text(lines[at], chance) + b"\n"
    return b"".join(lines)


def csv_text(content: bytes, chance: Random) -> bytes:
    rows = list(csv.reader(io.StringIO(content.decode())))
    row = chance.choice(rows)
    change = chance.randrange(6)
    if change == 0:
        rows.remove(row)
    elif change == 1:
        rows.insert(chance.randrange(len(rows)), list(row))
    elif change == 2 and row:
        del row[chance.randrange(len(row))]
    elif change == 3:
        row.append(chance.choice(ODD_TEXTS))
    elif row:
        row[chance.randrange(len(row))] = str(odd_value(chance))
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def text_lines(content: bytes, chance: Random) -> bytes:
    """Lines dropped, doubled or exchanged, a number or a word replaced."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return chance.choice(ODD_TEXTS).encode("utf-8", "surrogatepass")
    at = chance.randrange(len(lines))
    change = chance.randrange(6)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, chance.choice(lines))
    elif change == 2:
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        words = list(re.finditer(rb"\d+(\.\d+)?" if change < 5 else rb"\S+", content))
        if words:
            word = chance.choice(words)
            odd = str(chance.choice([*ODD_TEXTS, *ODD_NUMBERS])).encode("utf-8", "surrogatepass")
            return content[: word.start()] + odd + content[word.end() :]
    return b"".join(lines)


def raw_bytes(content: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    change = chance.randrange(7)
    if change == 0:
        return content[:at]
    if change == 1:
        return b""
    odd = [
        b"\x00",
        b"\xff\xfe",
        b"\xc3\x28",
        b"\xef\xbb\xbf",
        b"\r",
        b"[" * DEEP,
        b'{"a":' * DEEP,
        b"\xed\xa0\x80",
        b"\n\n",
    ]
    if change == 2:
        return chance.choice(odd) + content
    if change == 3:
        return content + chance.choice(odd)
    return content[:at] + chance.choice(odd) + content[at + chance.randrange(3) :]


def zip_archive(content: bytes, chance: Random) -> bytes:
    """An .xlsx, .docx or .zip of which one member is changed, dropped, or there twice."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        names = old.namelist()
        at = chance.choice(names)
        change = chance.randrange(8)
        for name in names:
            data = old.read(name)
            if name != at:
                new.writestr(name, data)
            elif change == 1:
                new.writestr(name, data)
                new.writestr(name, data)
            elif change == 2:
                new.writestr(chance.choice(["/etc/x", "../x", "a" * 300, name.upper(), name + "/"]), data)
            elif change != 0:
                new.writestr(name, mutate(data, name, chance))
    return out.getvalue()


def database(content: bytes, chance: Random) -> bytes:
    """An index of SQLite with another value of any kind in one place, without a table, or without rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = chance.choice(tables)
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        column, change = chance.choice(columns), chance.randrange(12)
        with suppress(sqlite3.Error):
            if change == 0:
                connection.execute(f'DROP TABLE "{table}"')
            elif change == 1:
                connection.execute(f'DELETE FROM "{table}"')
            elif change == 2:
                connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column}_"')
            elif change == 3:
                connection.execute(f"PRAGMA user_version = {chance.randrange(100)}")
            elif change == 4:
                connection.execute(f'UPDATE "{table}" SET "{column}" = CAST(? AS TEXT)', (b"\xff\xfe",))
            else:
                odd = chance.choice([None, b"\xff", -1, 0, 1.5, 2**62, float("inf"), *ODD_TEXTS[:-4], "[", "{}", "[1"])
                condition = "" if change < 8 else f' WHERE rowid = (SELECT rowid FROM "{table}" LIMIT 1)'
                connection.execute(f'UPDATE "{table}" SET "{column}" = ?{condition}', (odd,))
        connection.commit()
        return connection.serialize()


Mutation = Callable[[bytes, Random], bytes]
BY_SUFFIX: dict[str, Mutation] = {
    ".yaml": yaml_text,
    ".json": json_text,
    ".jsonl": json_lines,
    ".csv": csv_text,
    ".xlsx": zip_archive,
    ".docx": zip_archive,
    ".zip": zip_archive,
    ".db": database,
}


def mutate(content: bytes, name: str, chance: Random) -> bytes:
    """The content with one change: mostly one of the kind that the name's suffix says, sometimes of its bytes."""
    of_kind = BY_SUFFIX.get(Path(name).suffix, text_lines)
    mutation = chance.choices((of_kind, text_lines, raw_bytes), (8, 1, 1))[0]
    try:
        return mutation(content, chance)
    except (ValueError, yaml.YAMLError, zipfile.BadZipFile, sqlite3.Error, IndexError, RecursionError):
        return raw_bytes(content, chance)  # it was changed before, and is no longer of its kind
