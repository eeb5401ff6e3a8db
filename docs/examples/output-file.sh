#!/bin/bash
# A wrapper for a benchmark that writes its result to a file in the directory where it works, as HPCG does:
#   launcher: {prefix: [./output-file.sh, "{directory}", HPCG-Benchmark]}
# Each rank works in the attempt's own directory. When the program has ended, rank 0 prints the files whose names begin as
# the second word says, so that they are part of the recorded output. It starts no other program.
cd "$1" || exit 1
beginning=$2
shift 2
"$@"
status=$?
if [[ ${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}} == 0 ]]; then
    for file in "$beginning"*; do
        [[ ! -f $file ]] || printf '%s\n' "$(<"$file")"
    done
fi
exit "$status"
