"""What the site has besides docs/: pages from the top of the checkout, examples, and links of words of the glossary."""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
AT_THE_TOP = {"README.md": "index.md"} | {name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)")
# What no word is linked in: code, links and pictures, headings, HTML.
KEPT = re.compile(r"^(?:```.*?^```|#.*?)$|`[^`\n]+`|!?\[[^\]]*\]\([^)]*\)|<[^>]+>", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    for source, page in AT_THE_TOP.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=LINK.sub(_from_the_top, text)))
    files.append(File.generated(config, "examples.md", content=_examples()))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    here = dirname(page.file.src_uri)
    text = LINK.sub(lambda match: _to_examples(match, here), markdown)
    if page.file.src_uri == "glossary.md":
        return re.sub(r"^\| ([^|]+) \| (?=[^-])", _entry, text, flags=re.MULTILINE)
    return text if page.file.src_uri in ("CHANGELOG.md", "examples.md") else _with_words(text, here)


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
