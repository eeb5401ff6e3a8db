"""What the documents for people refer to is there: pictures, pages, files, modules and names of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *DOCS.glob("*.md")]
CODE = ("campaign/", "tests/", "bench-src/", "rules/", "templates/", "docs/")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def links(page: Path) -> list[str]:
    """The addresses of a page's links and pictures that lead into this project."""
    addresses = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    return [address for address in addresses if not re.match(r"[a-z]+:|#", address)]


def quoted_words(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_exists(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link.partition("#")[0]).exists()] == []


def test_every_picture_is_shown_on_a_page() -> None:
    paths = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    pictures = {path.resolve() for path in DOCS.rglob("*") if path.suffix in (".png", ".jpg", ".svg")}
    assert {picture.parent for picture in pictures} == {DOCS / "images"}
    assert pictures - paths == set()


@pytest.mark.parametrize("name", ["docs/map.md", "CONTRIBUTING.md"])
def test_every_file_of_the_code_that_a_page_names_exists(name: str) -> None:
    paths = [word for word in quoted_words(read(name)) if word.startswith(CODE) and not re.search(r"NAME|ID", word)]
    # What is built is not in every checkout.
    assert [path for path in paths if "/build" not in path and not list(ROOT.glob(path))] == []
    assert len(paths) > 5


def test_every_module_in_the_map_is_in_its_package() -> None:
    table = read("docs/map.md").partition("\n## Packages")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)/` \|(.*)$", table, re.MULTILINE)[1:]
    assert {package for package, _ in rows} == {path.parent.name for path in ROOT.glob("campaign/*/__init__.py")}
    for package, words in rows:
        folder = ROOT / "campaign" / package
        modules = [word.rstrip("/") for word in quoted_words(words) if re.fullmatch(r"[a-z_]+/?", word)]
        names = {path.stem for path in folder.rglob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
        assert set(modules) - names == set(), package


def test_every_name_that_the_map_says_where_to_change_is_in_its_file() -> None:
    table = read("docs/map.md").partition("\n## Where to change what")[2].partition("\n## ")[0]
    places = re.findall(r"((?:`\w+`(?: \(\w+\)|, the loop,)? and )?`\w+`) (?:\(\w+\) )?in `([^`]+)`", table)
    assert len(places) == len(re.findall(r" in `", table)) > 10
    for names, path in places:
        assert [name for name in quoted_words(names) if not re.search(rf"\b{name}\b", read(path))] == [], path


def test_all_pages_together_can_be_read_in_an_afternoon() -> None:
    pages = {*PAGES, *DOCS.glob("*/*.md")} - {ROOT / "CHANGELOG.md"}
    words = [word for page in pages for word in page.read_text(encoding="utf-8").split()]
    assert sum(any(letter.isalnum() for letter in word) for word in words) <= 45_000


def test_the_glossary_is_in_order_with_one_line_for_each_word() -> None:
    words = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", read("docs/glossary.md"), re.MULTILINE)[1:]
    assert len(words) > 30
    assert words == sorted(set(words))
