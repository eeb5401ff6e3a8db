"""A patch + a tree -> the patched tree, by `git apply`: git's format with all its features, or diff -u's.

The patch may come from an untrusted source: no file is written, and every removed or context line must be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from campaign.core import git
from campaign.results.source.trees import LARGEST_FILE, TreeEntry

_CHANGES = re.compile(rb"^(?:diff --git |--- |@@ |Binary files |GIT binary patch)", re.MULTILINE)
_SIZE = re.compile(rb"^(?:literal|delta) ([0-9]+)", re.MULTILINE)


class DoesNotApply(ValueError):
    """Says what is wrong, with the place."""


def apply_patch(patch: bytes, tree: Mapping[str, TreeEntry]) -> dict[str, TreeEntry]:
    """The files of a tree after a patch, with paths as for -p1. Raises DoesNotApply."""
    if not _CHANGES.search(patch):
        return dict(tree)
    if any(len(size) > 9 or int(size) > LARGEST_FILE for size in _SIZE.findall(patch)):
        raise DoesNotApply(f"binary content of more than {LARGEST_FILE} bytes")
    try:
        files = git.patched([(entry.path, entry.mode, entry.data) for entry in tree.values()], patch)
    except ValueError as error:
        raise DoesNotApply(str(error)) from error
    return {blob.path: TreeEntry(blob.path, blob.mode, data) for blob, data in files}
