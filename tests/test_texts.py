"""Texts use the words of a native engineer, one word for one thing (`python -m tests.support.texts` lists them)."""

from __future__ import annotations

import ast
import re

from tests.support import texts

# Words that a native engineer would not say, each with better ones; and texts that have them as names or values.
WORDS_NOT_TO_USE = {
    r"mend(s|ed)?": "fix",
    "beside": "next to, with",
    "such a one": "this one",
    "(is|are) (said|told)": "is shown, is reported",
    "nothing but": "only",
    "of (its|their) own": "its own, separate",
    "leads? (to|on)": "gives, causes",
    "looked at": "checked",
    "held against": "compared with",
    "by another way": "through another channel",
    "otherwise than": "differently from",
    "alike": "equal, the same",
    "anew": "again",
    "as a whole": "entire",
    "judged again": "re-evaluated",
    "handed in": "submitted",
    "You may not": "This does not show",
}
NAMES = (r"beside=", r"`beside`", r"phase\['beside'\]", r"\.beside\b", "^to be looked at$")  # a key of packs, a state


def test_texts_have_none_of_the_words_that_a_native_engineer_would_not_say() -> None:
    places = {
        f"{path.relative_to(texts.PACKAGE)}:{line}: {text}": text
        for path in sorted(texts.PACKAGE.rglob("*.py"))
        for line, text in texts.texts(ast.parse(path.read_text(encoding="utf-8")))
    }
    words = re.compile(rf"\b({'|'.join(WORDS_NOT_TO_USE)})\b")
    names = re.compile("|".join(NAMES))
    assert [place for place, text in places.items() if words.search(names.sub("", text))] == []
