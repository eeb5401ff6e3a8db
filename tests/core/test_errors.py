"""Texts of errors."""

from __future__ import annotations

import pytest

from campaign.core.errors import typed_path


@pytest.mark.parametrize(
    ("path", "word"),
    [("site.yaml", "site.yaml"), ("/a/b-1.yaml", "/a/b-1.yaml"), ("my rfp.yaml", '"my rfp.yaml"'), ("a$b", '"a\\$b"')],
)
def test_a_path_in_a_hint_is_quoted_only_where_the_shell_needs_it(path: str, word: str) -> None:
    assert typed_path(path) == word
