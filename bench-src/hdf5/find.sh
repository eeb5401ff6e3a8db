#!/bin/sh
# Finds the parallel HDF5 of an MPI: prints the words with which $MPICC compiles and links a program with it, or "no: REASON".
# $HDF5_FLAGS, where it is set, is the only candidate; else those of pkg-config's hdf5-openmpi, hdf5-mpich and hdf5, of h5pcc,
# and none (a module may have set the compiler's paths). A candidate of another MPI is told by its library: two of MPI's
# libraries would be linked.
# usage: find.sh
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cat >"$place/trial.c" <<'SOURCE'
#include <hdf5.h>
#ifndef H5_HAVE_PARALLEL
#error this HDF5 is not parallel
#endif
int trial(void) { return H5Pset_fapl_mpio(0, MPI_COMM_SELF, MPI_INFO_NULL) + H5Pset_dxpl_mpio(0, H5FD_MPIO_COLLECTIVE); }
SOURCE

mpi_libraries() { # of MPI in C
    ldd "$place/trial.so" 2>/dev/null | sed -n 's/^[[:space:]]*\(libmpi\(ch\|_cray\|_gnu[_0-9]*\|_intel\)\{0,1\}\.so[.0-9]*\) .*/\1/p' | sort -u
}

try() { # the words of a candidate
    # shellcheck disable=SC2086 # these are words
    if ! ${MPICC:-mpicc} ${CPPFLAGS:-} ${LDFLAGS:-} -shared -fPIC -Wl,-z,defs "$place/trial.c" $1 -o "$place/trial.so" 2>"$place/said"; then
        reason=$(head -n 1 "$place/said" | sed "s|^$place/trial.c:[0-9:]* *||")
        return 1
    fi
    if [ "$(mpi_libraries | wc -l)" -gt 1 ]; then
        reason="HDF5 is built for another MPI ($(mpi_libraries | tr '\n' ' '))"
        return 1
    fi
    printf '%s\n' "$1"
    exit 0
}

reason=''
if [ -n "${HDF5_FLAGS:-}" ]; then
    try "$HDF5_FLAGS" || true
else
    for name in hdf5-openmpi hdf5-mpich hdf5; do
        if words=$(pkg-config --cflags --libs "$name" 2>/dev/null); then try "$words -lhdf5" || true; fi
    done
    if words=$(h5pcc -show 2>/dev/null); then try "${words#* }" || true; fi
    said=$reason
    try '-lhdf5' || reason=${said:-$reason}
fi
printf 'no: %s\n' "$(printf '%s' "${reason:-the compiler says nothing}" | tr "\n\"\\\\'" '    ' | cut -c 1-200)"
