# What 'campaign plan --probe' asks of the nodes; the rest of the job is in job-functions.bash.
# shellcheck disable=SC2154  # it shares its variables

# Into REPLY: shared where a node sees the file MARK in the directory, otherwise missing or apart.
campaign_sees() { # DIRECTORY MARK
    local _
    REPLY=missing
    [[ -d $1 ]] || return 0
    for _ in 1 2 3; do
        REPLY=shared
        [[ ! -e $1/$2 ]] || return 0
        REPLY=apart
        sleep 1
    done
}

# On one node: lines of its name and what is wrong on it, and one with nothing at the end.
campaign_probe_node() { # MARK FIRST_NODE EXECUTABLE DIRECTORY...
    local name=${SLURMD_NODENAME:-$HOSTNAME} mark=$1 first=$2 executable=$3 directory error status library
    shift 3
    for directory in "$@"; do
        campaign_sees "$directory" "$mark"
        case $REPLY in
        missing) printf '%s\t%s\n' "$name" "$directory does not exist; create it where all nodes see it" ;;
        apart) printf '%s\t%s\n' "$name" "$directory is not shared: a file that $first created in it is not there; name a directory that all nodes see" ;;
        *)
            if error=$(mkdir -- "$directory/$mark.${SLURM_NODEID:-0}" 2>&1); then
                rmdir -- "$directory/$mark.${SLURM_NODEID:-0}"
            else
                printf '%s\t%s\n' "$name" "$directory is not writable: ${error##*: }; name another directory"
            fi
            ;;
        esac
    done
    if [[ ! -e $executable ]]; then
        printf '%s\t%s\n' "$name" "$executable not found; put the benchmark where all nodes see it"
    else
        while read -r library _; do
            printf '%s\t%s\n' "$name" "$executable needs $library, which is not found; load its module (slurm.modules)"
        done < <(ldd -- "$executable" 2>/dev/null | grep 'not found')
        error=$(timeout 30 "$executable" -h 2>&1 >/dev/null </dev/null)
        status=$?
        if [[ $status -eq 126 || $status -eq 127 ]]; then
            printf '%s\t%s\n' "$name" "$executable does not start: ${error##*$'\n'}"
        fi
    fi
    printf '%s\t\n' "$name"
}

campaign_probe_nodes() { # FOLDER MPI EXECUTABLE DIRECTORY...
    local folder=$1 mpi=$2 directory mark=.campaign-probe-$SLURM_JOB_ID nodes=${SLURM_JOB_NUM_NODES:-1}
    shift 2
    export LC_ALL=C
    [[ -z $campaign_refusal ]] || printf '%s\t%s\n' "${SLURMD_NODENAME:-$HOSTNAME}" "$campaign_refusal" >"$folder/nodes"
    for directory in "${@:2}"; do
        mkdir -- "$directory/$mark" 2>/dev/null # its name can be known before: nothing is written through a link
    done
    timeout --kill-after=5 120 srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --mpi="$mpi" --cpu-bind=none \
        bash -c "$(declare -f campaign_sees campaign_probe_node); "'campaign_probe_node "$@"' \
        bash "$mark" "${SLURMD_NODENAME:-$HOSTNAME}" "$@" >>"$folder/nodes" 2>"$folder/nodes.err" </dev/null
    for directory in "${@:2}"; do
        rmdir -- "$directory/$mark" 2>/dev/null
    done
    : >"$folder/ended"
}
