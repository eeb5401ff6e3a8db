"""What the site has besides docs/: pages from the top of the checkout, examples, and links of words of the glossary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ROOT / "dist" / "pages"  # `make site` has the program write them
AT_THE_TOP = {"README.md": "index.md"} | {name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")}
WITHOUT_LINKS = ("CHANGELOG.md", "applets.md", "cli.md", "examples.md", "outputs.md")  # of words of the glossary
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)")
# What no word is linked in: code, links and pictures, headings, HTML.
KEPT = re.compile(r"^(?:```.*?^```|#.*?)$|`[^`\n]+`|!?\[[^\]]*\]\([^)]*\)|<[^>]+>", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Headings get the anchors that a forge gives them, so that a link works on both."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: Any) -> Files:
    for source, page in AT_THE_TOP.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=LINK.sub(_from_the_top, text)))
    for generated in sorted(PAGES.glob("*.md")):
        if (short := files.get_file_from_path(generated.name)) is not None:
            files.remove(short)
        files.append(File.generated(config, generated.name, content=generated.read_text(encoding="utf-8")))
    files.append(File.generated(config, "examples.md", content=_examples()))
    files.append(File.generated(config, "outputs.md", content=_outputs()))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    here = dirname(page.file.src_uri)
    text = LINK.sub(lambda match: _to_examples(match, here), markdown)
    if page.file.src_uri == "glossary.md":
        return re.sub(r"^\| ([^|]+) \| (?=[^-])", _entry, text, flags=re.MULTILINE)
    return text if page.file.src_uri in WITHOUT_LINKS else _with_words(text, here)


def _from_the_top(match: re.Match[str]) -> str:
    """A link of a page at the top of the checkout, as a page of the site has it; one to the code is text alone."""
    picture, label, target, place = match[1], match[2], match[3], match[4] or ""
    path = target.removeprefix("docs/")
    if path != target or target in AT_THE_TOP:
        return f"{picture}[{label}]({AT_THE_TOP.get(path, path)}{place})"
    return label


def _to_examples(match: re.Match[str], here: str) -> str:
    """A link to a directory of examples leads to the page that shows them."""
    if not (DOCS / here / match[3]).is_dir():
        return match[0]
    return f"[{match[2]}]({relpath('examples.md', here or '.')})"


def _examples() -> str:
    """Every example, whole."""
    parts = ["# Examples", "", "Campaign files that run on the sandbox: `campaign run --sandbox FILE`."]
    for path in sorted((DOCS / "examples").rglob("*.yaml")):
        name = path.relative_to(DOCS).as_posix()
        parts += ["", f"## {name}", "", "```yaml", path.read_text(encoding="utf-8").rstrip(), "```"]
    return "\n".join(parts) + "\n"


def _outputs() -> str:
    """The keys of every JSON output, from its schema."""
    parts = ["# Keys of the JSON output", "", "Those that a program may rely on ([schemas](data.md))."]
    for path in sorted((DOCS / "schema" / "outputs").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        parts += [
            "",
            f"## {schema['title'].removeprefix('Output of ')}",
            "",
            "| key | type | meaning |",
            "|---|---|---|",
        ]
        parts += [f"| `{key}` | {kind} | {meaning} |" for key, kind, meaning in _keys(schema, "")]
    return "\n".join(parts) + "\n"


def _keys(schema: dict[str, Any], at: str) -> Iterator[tuple[str, str, str]]:
    """Each key with its type and meaning; `[]` stands for the entries of a list."""
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    null = " or null" if choices else ""
    for inner in choices or [schema]:
        if at:
            kind = inner.get("type") or " ".join(map(str, inner.get("enum", [inner.get("const", "any")])))
            yield at, kind + null, schema.get("description", "")
        if "items" in inner:
            yield from _keys(inner["items"], f"{at}[]")
        for key, value in inner.get("properties", {}).items():
            yield from _keys(value, f"{at}.{key}".lstrip("."))


def _words() -> dict[str, str]:
    """The words of the glossary and the anchor of each."""
    rows = re.findall(r"^\| ([^|]+) \| (?=[^-])", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)[1:]
    return {word: _anchor(word) for word in rows}


def _anchor(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def _entry(match: re.Match[str]) -> str:
    word = match[1]
    return match[0] if word == "word" else f'| <span id="{_anchor(word)}">{word}</span> | '


def _with_words(text: str, here: str) -> str:
    """The page with the first use of each word of the glossary linked to it."""
    words = _words()
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})(s?)\b")
    glossary = relpath(normpath("glossary.md"), here or ".")
    linked: set[str] = set()

    def link(match: re.Match[str]) -> str:
        if match[1] in linked:
            return match[0]
        linked.add(match[1])
        return f"[{match[0]}]({glossary}#{words[match[1]]})"

    parts, end = [], 0
    for kept in KEPT.finditer(text):
        parts += [pattern.sub(link, text[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join([*parts, pattern.sub(link, text[end:])])
