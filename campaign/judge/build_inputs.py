"""What a build was given besides the published source: files, variables and options (SRC-05). Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from campaign.core.findings import Finding
from campaign.judge.findings import hashed_listing, left_to_buyer
from campaign.results.source.facts import Build

# Options of which the next word is the value, if it is not joined to them.
_WITH_VALUE = re.compile(
    r"-(?:include|imacros|isystem|idirafter|iquote|iprefix|iwithprefix|iwithprefixbefore|isysroot|wrapper|B|T|specs"
    r"|Xlinker|Xpreprocessor|Xassembler|Xclang|D|U|I|L)|--(?:include|imacros|sysroot|specs|config)"
)
_MORE = re.compile(  # what adds to the source or the program, or starts another program
    r"-(?:include|imacros|isystem|idirafter|iquote|iprefix|iwithprefix|isysroot|wrapper|B|T|fplugin|Xlinker"
    r"|Xpreprocessor|Xassembler|Xclang|Wp,|Wa,).*|-{1,2}(?:specs|sysroot|config|include|imacros)\b.*|@.+"
    r"|-Wl,.*(?:wrap|defsym|script|linker|plugin|muldefs|multiple-definition|-T|@|/[^,]*\.(?:[ao]|so[.\d]*)(?:,|$)).*"
)
# Folders and files that are not the system's, by absolute paths.
_SYSTEM = r"(?!(?:usr/)?(?:include|lib\w*)(?:/|$))"
_ELSEWHERE = re.compile(rf"-[ILl]\s?:?/{_SYSTEM}.*|/{_SYSTEM}.*\.(?:[aocChS]|so[.\d]*)")
# Macros in the place of functions, types and constants of the C library and MPI; a configuration's are in capitals.
_MACRO = re.compile(r"-[DU]\s?(?=[^=(]*[a-z]|(?:O|CLOCK|S|SEEK|AT|F|MPI)_).*")
_RUN_PATH = re.compile(r",-{1,2}rpath(?:-link)?[,=][^,]*")  # what is loaded by it is judged by its hash


def check_build_inputs(build: Build) -> Iterator[Finding]:
    """SRC-05: what a build was given besides its source, for the buyer to accept by option, path and hash."""
    options = dict.fromkeys((*_changing_options(build.command), *_changing_options(build.flags)))
    if given_texts := [*options, *build.environment, *build.inputs]:
        names = dict.fromkeys([*options, *(text.partition("=")[0] for text in build.environment)])
        names |= dict.fromkeys(text.rpartition(" ")[0] for text in build.inputs)
        yield left_to_buyer(
            "build {build} was given more than its source and the system's packages: {inputs}",
            "the source, and files of packages",
            hashed_listing(given_texts),
            build=build.binary_sha256[:12],
            inputs=hashed_listing(list(names)),
        )


def _changing_options(text: str) -> Iterator[str]:
    """The options of a command line that change what is compiled or linked."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    while words:
        size = 2 if _WITH_VALUE.fullmatch(words[0]) and len(words) > 1 else 1
        option, words = " ".join(words[:size]), words[size:]
        if any(pattern.fullmatch(_RUN_PATH.sub("", option)) for pattern in (_MORE, _ELSEWHERE, _MACRO)):
            yield option
