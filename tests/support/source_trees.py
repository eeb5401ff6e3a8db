"""Source trees for the tests: in memory, on disk, and at random."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import strategies as st

from campaign.results.source.trees import LINK, PLAIN, PROGRAM, Tree, TreeEntry


def entry(path: str, data: bytes = b"", mode: str = PLAIN) -> TreeEntry:
    return TreeEntry(path, mode, data)


def tree(*entries: TreeEntry, name: str = "tree", **files: bytes) -> Tree:
    """Entries as they are, and files by keyword: `mdtest_c=b"..."` is mdtest.c."""
    tree_entries = [*entries, *(entry(key.replace("_", "."), data) for key, data in files.items())]
    return Tree(name, {entry.path: entry for entry in tree_entries})


def write(top: Path, tree: Tree) -> Path:
    """The tree as files below `top`, which is made."""
    top.mkdir(parents=True, exist_ok=True)
    for path, entry in tree.entries.items():
        place = top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == LINK:
            place.symlink_to(os.fsdecode(entry.data))
        else:
            place.write_bytes(entry.data)
            place.chmod(0o755 if entry.mode == PROGRAM else 0o644)
    return top


# Names that a patch must quote, lines that look like a patch's own, and files that end without a newline.
_NAMES = [
    *("a", "b.c", "d/e", "d/f g", "d/h/i", "-x", 'q"uote', "tab\there", "new\nline", "back\\slash", "é"),
    os.fsdecode(b"\xff\xfe.c"),
]
_LINES = [
    b"x",
    b"y",
    b"",
    b"-- a",
    b"+++ b",
    b"@@ -1 +1 @@",
    b"cr\r",
    b"\xff\xfe",
    b"\\ No newline",
    b" ",
    b"diff --git",
]

_text = st.builds(
    lambda lines, newline: b"\n".join(lines) + (b"\n" if newline and lines else b""),
    st.lists(st.sampled_from(_LINES), max_size=25),
    st.booleans(),
)
_data = st.one_of(_text, _text, st.binary(max_size=200).map(lambda data: b"\0" + data))
_link = st.sampled_from([b"a", b"../elsewhere", b"/etc/passwd"]).map(lambda data: (LINK, data))
_file = st.tuples(st.sampled_from([PLAIN, PLAIN, PROGRAM]), _data)

trees = st.dictionaries(st.sampled_from(_NAMES), st.one_of(_file, _file, _file, _link), min_size=1).map(
    lambda files: tree(*(TreeEntry(path, mode, data) for path, (mode, data) in files.items()))
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two trees that share some files, and some with edits."""
    old = draw(trees)
    kept_entries = {path: entry for path, entry in old.entries.items() if draw(st.booleans())}
    return old, Tree(
        "new",
        {**old.entries, **draw(trees).entries} if draw(st.booleans()) else {**draw(trees).entries, **kept_entries},
    )
