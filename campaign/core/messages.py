"""A text that a person reads, as data: each package keeps its own in `messages`, so that they can be read as a list.

`docs/messages.md` is generated from them, with the example of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from campaign.core.frozen import dataclass


@dataclass(frozen=True, slots=True, init=False)
class Message:
    """`text` with {places} as in `str.format`, and an example of what each place holds.

    NODES_TOO_MANY = Message("launch.{id}: {asked} nodes requested; partition {partition} has {there}",
                             id="max", asked=8, partition="compute", there=4)
    raise InputError(NODES_TOO_MANY(id=..., asked=..., partition=..., there=...))
    """

    text: str
    example: Mapping[str, object]
    alone: Said | None = field(init=False, compare=False, repr=False)  # said without values: always the same

    def __init__(self, text: str, /, **example: object) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "example", example)
        object.__setattr__(self, "alone", None)

    def __call__(self, /, **values: object) -> Said:
        if values or self.alone is None:
            said = Said(self, values)
            if not values:
                object.__setattr__(self, "alone", said)
            return said
        return self.alone


class Said(str):
    """The text of a message, with its values: if it is printed several times, only differing values are repeated."""

    message: Message
    values: Mapping[str, object]

    def __new__(cls, message: Message, values: Mapping[str, object]) -> Said:
        said = str.__new__(cls, message.text.format(**values))
        said.message, said.values = message, values
        return said

    def __deepcopy__(self, _: object) -> Said:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def typed(path: Path | str) -> str:
    """A path as typed in a command that a message gives in single quotes: in double quotes if it needs any."""
    text = str(path)
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else '"' + re.sub(r'([\\"$`])', r"\\\1", text) + '"'


# --- schemas (schema.py): what is wrong with a value

FOUND = Message("found {found}; allowed: {allowed}", found="4k", allowed="a whole number from 1 to 1000")
FOUND_MISSPELT = Message("found {found}; did you mean {near}?", found="creat", near="create")
FOUND_IN_QUOTES = Message(
    "found {found}, a text in quotes; allowed: {allowed}", found='"4"', allowed="a whole number from 1 to 1000"
)
FOUND_READ_AS = Message(
    "found {found}, which YAML reads as {reading}; allowed: {allowed}",
    found="017", reading="an octal number", allowed="a whole number from 1 to 1000",
)  # fmt: skip
NEEDS_QUOTES = Message(
    "found {found}, which YAML reads as {reading}; put it in quotes: {quoted}",
    found="on", reading="true", quoted='"on"',
)  # fmt: skip
LACKS_UNIT = Message(
    "found {found}, which has no {unit}; allowed: {allowed}", found="90", unit="unit", allowed="a time such as 90m"
)
NEGATIVE = Message("found {value}; allowed: 0 or more", value=-1)
TOO_LONG = Message("found {length} characters; allowed: up to {longest}", length=240, longest=200)
UNPRINTABLE = Message("found the character U+{code:04X}; allowed: {allowed}", code=7, allowed="a text on one line")
LINE_BREAK = Message("found a line break in {text}; allowed: {allowed}", text='"a\\nb"', allowed="a text on one line")
KEY_NOT_TEXT = Message("found {found} as a key; allowed: a text as key", found="a list")
DUPLICATE_KEY = Message("duplicate key, first in line {line}; remove one", line=3)
KEY_MISSING = Message("required key missing; allowed: {allowed}", allowed="a list of 1 to 50, each a mapping")
VALUE_MISSING = Message("value missing; allowed: {allowed}; or remove the key", allowed="true or false")
MERGE_KEY = Message("YAML merge keys (<<) are not supported; write the keys out")
UNKNOWN_KEY = Message("unknown key; {remedy}", remedy="did you mean partition?")
DID_YOU_MEAN = Message("did you mean {near}?", near="partition")
ALLOWED = Message("allowed: {allowed}", allowed="single, node, peak, max")

# --- YAML (strict_yaml.py)

NOT_A_REGULAR_FILE = Message("{path}: not a regular file; give a YAML file", path="campaigns")
CANNOT_BE_READ = Message("{path}: cannot be read: {why}; give a YAML file", path="my.yaml", why="Permission denied")
MORE_PROBLEMS = Message("{file}: {count} more problems", file="my.yaml", count=12)
FILE_TOO_LARGE = Message("the file is larger than {most} bytes, the limit", most=262144)
NOT_UTF8 = Message("byte 0x{byte:02x} is not UTF-8; save the file as UTF-8", byte=0xE4)
TYPOGRAPHIC_QUOTE = Message('found the typographic quote {quote}; write plain quotes (") or none', quote="“")
TAB = Message("found a tab; replace it with spaces")
BYTE_ORDER_MARK = Message("found a byte order mark; save the file as UTF-8 without it")
CHARACTER = Message("found the character U+{code:04X}; allowed: printable characters and spaces", code=7)
NOT_YAML = Message(
    "not valid YAML: {what}; check indentation, brackets and quotes", what="expected alphabetic or numeric character"
)
COLON_IN_TEXT = Message('not valid YAML: found a second ": "; put a text that holds ": " in quotes')
CANNOT_START = Message(
    "not valid YAML: {what}; put a text that starts with it in quotes",
    what="found character '%' that cannot start any token",
)
STAR_IN_TEXT = Message("not valid YAML: {what}; put a text that starts with * in quotes", what="found ' '")
AMPERSAND_IN_TEXT = Message("not valid YAML: {what}; put a text that starts with & in quotes", what="found ' '")
QUOTE_MISSING = Message("not valid YAML: a closing quote is missing before this place")
BRACKET_MISSING = Message("not valid YAML: a comma or a closing {bracket} is missing before this place", bracket="]")
INDENTATION = Message("not valid YAML: the indentation differs from that of the line above; align keys of one section")
COLON_MISSING = Message('not valid YAML: found a line without ": " above this place; write "key: value"')
SECOND_DOCUMENT = Message("a second YAML document (---) starts here; keep one")
DIRECTIVE = Message("YAML directives (%) are not supported; remove the line")
FILE_EMPTY = Message("the file is empty; allowed: a mapping of keys to values")
TOO_DEEP = Message("found more than {most} levels of nesting; allowed: up to {most}", most=12)
ALIAS = Message("YAML aliases (*{name}) are not supported; write the value out", name="node")
ANCHOR = Message("YAML anchors (&{name}) are not supported; remove it", name="node")
TAG = Message("YAML tags ({tag}) are not supported; remove it", tag='"!!int"')

# --- JSON (strict_json.py, decode.py)

NO_PLAIN_FILE = Message("{path}: not a regular file", path="table.json")
FILE_OF_TOO_MANY_BYTES = Message("{path}: larger than {most} bytes, the limit", path="table.json", most=1048576)
TEXT_NOT_UTF8 = Message(
    "{source}: byte {byte} is not UTF-8; allowed: {allowed}", source="table.json", byte=17, allowed="a table in JSON"
)
NOT_JSON = Message(
    "{source}:{line}:{column}: not valid JSON: {what}; allowed: {allowed}",
    source="table.json", line=2, column=1, what="Expecting value", allowed="a table in JSON",
)  # fmt: skip
JSON_TOO_DEEP = Message("{source}: nested too deeply; allowed: {allowed}", source="t.json", allowed="a table in JSON")
JSON_REFUSED = Message(
    "{source}: {why}; allowed: {allowed}", source="t.json", why="found NaN", allowed="a table in JSON"
)
JSON_CONSTANT = Message("found {word}, which is not a JSON number", word="NaN")
NOT_A_LIST = Message("{at}: not a list", at="plan.runs")
NOT_AN_OBJECT = Message("{at}: not an object", at="plan.partition")
NOT_OF_TYPE = Message("{at}: found {found!r}; allowed: {kind}", at="plan.partition.nodes", found="4", kind="int")
UNKNOWN_FIELD = Message("{at}: unknown field {field!r}", at="plan.partition", field="colour")
FIELD_MISSING = Message("{at}: {error}", at="plan.partition", error="missing 1 required argument: 'nodes'")

# --- formulas (formula.py)

NO_VALUE_FOR = Message("no value for {names}", names="base_nodes")
CANNOT_BE_COMPUTED = Message("{formula} cannot be computed: {error}", formula="1 / x", error="float division by zero")
NOT_FINITE = Message("{formula} does not give a finite number", formula="exp(x)")
NOT_A_FORMULA = Message(
    "{formula!r} is not a valid formula; allowed: {allowed}", formula="2 *", allowed="names and numbers with + - * / ^"
)
NOT_A_CONDITION = Message(
    "{condition!r} is not a condition; allowed: two formulas with >=, <= or == between them", condition="moved > 1"
)
NOT_ARITHMETIC = Message(
    "{part!r} is not arithmetic; allowed: {allowed}", part="open('x')", allowed="names and numbers with + - * / ^"
)

# --- archives (archives.py) and bundles (bagit.py)

WRONG_SIZE = Message("{name!r:.200}: found {found} of {size} bytes", name="data/index.json", found="10", size=20)
TOO_MANY_MEMBERS = Message("{archive} has more than {most} members", archive="the bundle", most=200000)
ENCRYPTED = Message("encrypted; allowed: unencrypted members")
COMPRESSION_METHOD = Message("compression method {method}; allowed: stored or deflated", method=12)
SPARSE = Message("a sparse file; allowed: regular files")
TRUNCATED = Message("the archive is truncated")
LONG_HEADER = Message(
    "{archive} has a header of {size} bytes; allowed: up to {most}", archive="the bundle", size=2097152, most=1048576
)
NOT_REGULAR = Message("{path}: not a regular file; remove it from the results directory", path="results/my-rfp/pipe")
NOT_A_BUNDLE = Message(
    "{path}: not a bundle: bagit.txt not found; give a directory, .zip or .tar.gz written by 'campaign bundle'",
    path="results",
)
NOT_A_BUNDLE_NEAR = Message(
    "{path}: not a bundle: bagit.txt not found; did you mean {near}?", path="unpacked", near="unpacked/offer"
)
NOT_A_BUNDLE_ARCHIVE = Message(
    "{path}: not a bundle: not a zip or tar archive ({why}); "
    "give a directory, .zip or .tar.gz written by 'campaign bundle'",
    path="c.yaml", why="truncated header",
)  # fmt: skip
BUNDLE_NOT_FOUND = Message("{path}: not found; give a bundle written by 'campaign bundle'", path="b.zip")
BUNDLE_TOO_MANY_FILES = Message("the bundle has more than {most} files", most=200000)
BUNDLE_TOO_LARGE = Message("the bundle has more than {most} bytes", most=2147483648)
DECOMPRESSION_BOMB = Message(
    "the bundle has more than {most} bytes, {times} times its archive: a decompression bomb", most=67108864, times=200
)
TEMPORARY_FULL = Message(
    "{where}: {why}; set TMPDIR to a directory with more space", where="/tmp", why="No space left on device"
)
MEMBER = Message("{name}: {problem}", name='"data/x"', problem="a link; allowed: regular files")
MEMBER_REFUSED = Message("{problem}: refused", problem='"data/x": a link; allowed: regular files')
MEMBER_TYPE = Message("{name}: {found}; allowed: regular files", name='"data/x"', found="a link")
MEMBER_TOO_LARGE = Message("{name}: {size} bytes; allowed: up to {most}", name='"data/x"', size=300, most=200)
MEMBER_LONGER = Message("{name}: longer than the {size} bytes in its header", name='"data/x"', size=20)
MEMBER_SHORTER = Message("{name}: truncated: {found} of {size} bytes", name='"data/x"', found=10, size=20)
NAME_TWICE = Message(
    "{name}: appears twice, or differs from {other} in upper and lower case only", name='"data/X"', other='"data/x"'
)
FOLDER_DIFFERS_IN_CASE = Message(
    "{name}: its directory differs from {other} in upper and lower case only", name='"data/A/x"', other='"data/a"'
)
FILE_AND_FOLDER = Message("{name}: is both a file and a directory", name='"data/x"')
NAME_LENGTH = Message("its name has {length} characters; allowed: 1 to {most} bytes", length=1200, most=1000)
NAME_TOO_DEEP = Message("more than {most} nested directories", most=16)
NAME_LEADS_OUT = Message("its path points outside the bundle")
NAME_NOT_PLAIN = Message("its path is not a plain relative path")
NAME_UNFIT = Message("its name is not allowed on some file systems")
NAME_NOT_NFC = Message("its name is not in Unicode normal form NFC")
NOT_IN_BUNDLE = Message("{name}: missing from the bundle", name="index.json")
MEMBER_NOT_UTF8 = Message("{name}: byte {byte} is not UTF-8", name="index.json", byte=17)
ARCHIVE_DAMAGED = Message("{name}: damaged: {error}", name="b.zip", error='"the archive is truncated"')
ARCHIVE_EMPTY = Message("{name}: empty", name="b.zip")
BAG_DECLARATION = Message("bagit.txt: found {found}; allowed: BagIt 1.0 in UTF-8", found='"BagIt-Version: 0.9"')
PAYLOAD_OXUM = Message(
    "{file}: Payload-Oxum is {stated}, but the bundle holds {counted} (bytes.files); files changed after bundling",
    file="bag-info.txt", stated='"100.3"', counted="99.3",
)  # fmt: skip
INFO_TWICE = Message("{file}: {key}: appears twice", file="bag-info.txt", key='"Payload-Oxum"')
MANIFEST_TRUNCATED = Message("{manifest}: the last line is truncated", manifest="manifest-sha256.txt")
MANIFEST_LINE = Message(
    '{manifest}:{line}: found {found}; allowed: "SHA-256  name"', manifest="manifest-sha256.txt", line=3, found='"x"'
)
LISTED_TWICE = Message("{manifest}:{line}: {name}: listed twice", manifest="manifest-sha256.txt", line=3, name='"x"')
ADDED = Message("{name}: added after bundling: not listed in {manifest}", name='"x"', manifest="manifest-sha256.txt")
GONE = Message("{name}: missing from the bundle: listed in {manifest}", name='"x"', manifest="manifest-sha256.txt")
CHANGED = Message(
    "{name}: changed after bundling: its SHA-256 is {found}, {manifest} lists {listed}",
    name="data/index.json", found="5891b5…", manifest="manifest-sha256.txt", listed="e258d2…",
)  # fmt: skip

# --- git (git.py), signatures (signatures.py), the journal (journal.py), the program's own files (resources.py)

GIT_OBJECT = Message(
    "git: {repository}: object {id} of {path}: {answer}",
    repository="mdtest", id="e69de2…", path="src/mdtest.c", answer="missing",
)  # fmt: skip
GIT_NOT_FOUND = Message(
    "git not found: source.pristine or source.modified names a git revision; "
    "install git, or name a directory or an archive"
)
GIT_TIMED_OUT = Message(
    "git {command} in {repository} timed out after {seconds:g} s", command="ls-tree", repository="ior", seconds=120
)
GIT_FAILED = Message(
    "git {command} in {repository}: {error}", command="rev-parse", repository="ior", error="not a git repository"
)
NO_SUCH_REVISION = Message("revision {revision} not found", revision="v1.9.3")
SIGNATURE_NOT_FOUND = Message("signature {path}: not found", path="waiver.sig")
SIGNERS_NOT_FOUND = Message("list of allowed signers {path}: not found", path="signers")
SIGNED_BY_OTHER = Message("signed by a key that is not in {signers}", signers="signers")
SIGNED_BY_OTHER_WHY = Message("no key in {signers} matches the signature: {why}", signers="signers", why="no principal")
SIGNATURE_WRONG = Message("the signature does not match the content: {why}", why="incorrect signature")
SIGNATURE_FORM = Message("not a signature as ssh-keygen writes it")
KEY_NOT_FOUND = Message("{key}: not found; give an SSH private key, or the public key of one in ssh-agent", key="id")
CANNOT_SIGN = Message("{key}: cannot sign: {why}; give an SSH private key", key="id", why="invalid format")
KEYGEN_NOT_FOUND = Message("ssh-keygen not found; install openssh-client")
KEYGEN_TIMED_OUT = Message("ssh-keygen timed out after {seconds} s", seconds=20)
JOURNAL_UNWRITABLE = Message(
    "{path}: cannot be written: {why}; the journal is written before every other step: free "
    "space or correct `results`",
    path="results/cli/journal.jsonl", why="No space left on device",
)  # fmt: skip
JOURNAL_CHANGED = Message(
    "{path}:{line}: the hash chain is broken (expected {expected}…, found {found}…): "
    "the journal was edited; restore it from a backup",
    path="results/cli/journal.jsonl", line=7, expected="3f1c0a9b2d4e", found="77aa10c9e0f1",
)  # fmt: skip
JOURNAL_LINE_CHANGED = Message("hash chain broken at line {line}: a line was changed, added or removed", line=7)
JOURNAL_LINE_TRUNCATED = Message("line {line} is truncated", line=7)
JOURNAL_UNREADABLE = Message("cannot be read: {why}", why="Permission denied")
JOURNAL_NOT_JSON = Message(
    "{place}: not a JSON event: {found!r}: the journal was edited; restore it from a backup", place="line 7", found=b"x"
)
JOURNAL_FORMAT = Message(
    "{place}: found format {found!r}; known: {known}; use a newer campaign", place="line 7", found=2, known=1
)
NO_HOME = Message("no home directory found; set CAMPAIGN_BENCHMARK to a directory that all nodes see")

# --- patterns of lines (line_pattern.py)

NOT_A_PATTERN = Message(
    "not a regular expression: {error}; allowed: RE2 syntax, without look-around and back-references",
    error="invalid perl operator: (?=",
)
WHOLE_LINE = Message("{text}: a pattern always matches the whole line; remove ^ and $", text="^a")

# --- JSON with lines (placed_json.py)

NESTED_TOO_DEEPLY = Message("nested too deeply")
JSON_TOO_MANY = Message("more than {most} values", most=1_000_000)
JSON_VALUE = Message("not a JSON value")
JSON_ENDS_EARLY = Message("a closing bracket is missing at the end")
JSON_STRING = Message("the closing quote of a string is missing")
JSON_ESCAPE = Message("a string has an escape that JSON does not allow")
JSON_KEY = Message("expected a key")
JSON_COLON = Message("expected : after a key")
JSON_COMMA = Message("expected a comma or a closing bracket")
JSON_KEY_TWICE = Message("duplicate key {key!r}", key="read")

# --- time stamps
STAMP_NOT_REQUESTED = Message(
    "{path}: cannot create the request for a time stamp: {why}", path="head.tsq", why="refused"
)
STAMP_TOO_LARGE = Message("larger than {most} bytes", most=1048576)
STAMP_UNREADABLE = Message("not an RFC 3161 time stamp of a SHA-256 hash")

OPENSSL_NOT_FOUND = Message("openssl: not found; install it to make or check time stamps")
OPENSSL_TIMED_OUT = Message("openssl did not answer within {seconds} s", seconds=20)
