#!/bin/sh
# Prints the record of a build as JSON: which binary, from which sources, by which compiler, flags and libraries. Called
# by the Makefile with what it built with in RECORD_*; the hash of the sources is defined in docs/modifications.md.
# usage: record.sh BINARY [MODULE]
set -eu
LC_ALL=C
export LC_ALL

json() { # a JSON string on one line
    printf '"%s"' "$(printf '%s' "$1" | tr '\000-\037\177' ' ' | sed 's/[\\"]/\\&/g')"
}

files() { # of the sources, without the builds
    find . \( -path ./build -o -path ./build-san \) -prune -o -type f -print0 | sort -z
}

source_tree() { # SHA-256 over "SHA256 MODE PATH" of each file
    files | xargs -0 sha256sum -- | while read -r hash path; do
        mode=100644
        [ ! -x "$path" ] || mode=100755
        printf '%s %s %s\n' "$hash" "$mode" "${path#./}"
    done | sha256sum | cut -d ' ' -f 1
}

revision() { # of the repository that these sources belong to, if they do
    git ls-files --error-unmatch Makefile >/dev/null 2>&1 && git rev-parse --verify --quiet HEAD || true
}

dirty() {
    if [ -z "$1" ]; then
        echo null
    elif [ -n "$(git status --porcelain -- . 2>/dev/null)" ]; then
        echo true
    else
        echo false
    fi
}

wrapped() { # the command that the wrapper runs: Open MPI's way to ask for it, that of MPICH and Intel, or else the wrapper
    $RECORD_MPICC --showme 2>/dev/null || $RECORD_MPICC -show 2>/dev/null || echo "$RECORD_MPICC"
}

mpi_version() { # in the words of Open MPI's wrapper, or of MPICH's and Intel's
    $RECORD_MPICC --showme:version 2>/dev/null || $RECORD_MPICC -v 2>/dev/null | head -n 1 || true
}

sections() { # SHA-256 of what each section of the binary has in the file, so that two builds can be compared part by part
    separator=''
    { readelf -SW "$1" 2>/dev/null || true; } | sed -n 's/^ *\[ *[0-9]*\] *\(\.[^ ]*\) *\([A-Z_]*\) *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2 \3 \4/p' |
        while read -r name type offset bytes; do
            [ "$type" != NOBITS ] || continue
            printf '%s' "$separator"
            printf '"%s %s"' "$name" "$(tail -c "+$((0x$offset + 1))" "$1" | head -c "$((0x$bytes))" | sha256sum | cut -d ' ' -f 1)"
            separator=', '
        done
}

libraries() { # of the binary, and then the further ones of its module
    separator=''
    for file; do ldd "$file" 2>/dev/null || true; done | awk '$2 == "=>" && !seen[$1]++' | while read -r name _ path _; do
        printf '%s' "$separator"
        json "$name => $path"
        separator=', '
    done
}

list() { # of its lines
    separator=''
    while read -r line; do
        printf '%s' "$separator"
        json "$line"
        separator=', '
    done
}

variables() { # that compilers, linkers and MPI's wrappers take, besides their options
    env | grep -E '^(C_INCLUDE_PATH|CPATH|LIBRARY_PATH|LD_RUN_PATH|LD_PRELOAD|COMPILER_PATH|GCC_EXEC_PREFIX|CCC_OVERRIDE_OPTIONS|ICCCFG|ICXCFG)=|^(OMPI|MPICH|I_MPI)_(CFLAGS|CPPFLAGS|LDFLAGS|LIBS)=|^(MPICC_PROFILE|OPAL_PREFIX|NIX_CFLAGS_COMPILE|NIX_LDFLAGS)=' | sort
}

programs() { # that made it: the wrapper, the compiler, and what these start
    command -v "${RECORD_MPICC%% *}" || true
    compiler=$(wrapped)
    command -v "${compiler%% *}" || true
    for name in cc1 as collect2 ld; do
        path=$($RECORD_MPICC -print-prog-name=$name 2>/dev/null) && command -v "$path" || true
    done
}

inputs() { # path and SHA-256 of what was read from elsewhere than the sources, and is of no package of this machine
    {
        programs
        cat $RECORD_HEADERS 2>/dev/null | tr ' ' '\n' | grep '^/' | sed 's/[:\\]*$//' || true
        printf '%s\n' "$RECORD_LINKED" | tr '()' '\n\n' | grep '^/' || true
    } | sort -u | while read -r path; do
        case $path in
        "$PWD"/* | "${RECORD_WITNESS%/*}"/*) ;;
        *) [ ! -f "$path" ] || printf '%s\n' "$path" ;;
        esac
    done | xargs -r -d '\n' $RECORD_EMULATOR "$RECORD_WITNESS" packages
}

commit=$(revision)
printf '{"format": 1, "program": "bench", "version": %s, "binary_sha256": "%s",\n' \
    "$(json "$RECORD_VERSION")" "$(sha256sum <"$1" | cut -d ' ' -f 1)"
printf ' "compiler": %s, "command": %s, "flags": %s,\n' \
    "$(json "$RECORD_COMPILER")" "$(json "$(wrapped)")" "$(json "$RECORD_FLAGS")"
printf ' "mpi": %s, "libraries": [%s],\n "sections": [%s],\n' "$(json "$(mpi_version)")" "$(libraries "$@")" "$(sections "$1")"
printf ' "source_tree": "%s", "source_files": %d,\n' "$(source_tree)" "$(files | tr -cd '\000' | wc -c)"
printf ' "preprocessed": "%s", "environment": [%s],\n "inputs": [%s],\n' \
    "${RECORD_PREPROCESSED%% *}" "$(variables | list)" "$(inputs | list)"
printf ' "revision": %s, "dirty": %s, "unix_time": %d}\n' \
    "$([ -n "$commit" ] && json "$commit" || echo null)" "$(dirty "$commit")" "$(date +%s)"
