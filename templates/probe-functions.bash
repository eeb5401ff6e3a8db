# What 'campaign plan --probe' asks of the nodes; the rest of the job is in job-functions.bash.
# shellcheck disable=SC2154  # it shares its variables

campaign_probe_longest_s=30 # of one launch

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

# On one node: lines of its name and what is wrong on it, and one with nothing at the end. EXECUTABLE is empty where it is in an
# image, which is a file of the node where IMAGE is not empty.
campaign_probe_node() { # MARK FIRST_NODE EXECUTABLE IMAGE DIRECTORY...
    local name=${SLURMD_NODENAME:-$HOSTNAME} mark=$1 first=$2 executable=$3 image=$4 directory error status library
    shift 4
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
    [[ -z $image || -e $image ]] || printf '%s\t%s\n' "$name" "$image not found; put the image where all nodes see it"
    if [[ -z $executable ]]; then
        : # the launch shows whether it is in the image
    elif [[ ! -e $executable ]]; then
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

campaign_probe_nodes() { # FOLDER EXECUTABLE IMAGE DIRECTORY...
    local folder=$1 directory mark=.campaign-probe-$SLURM_JOB_ID nodes=${SLURM_JOB_NUM_NODES:-1}
    shift
    export LC_ALL=C
    [[ -z $campaign_refusal ]] || printf '%s\t%s\n' "${SLURMD_NODENAME:-$HOSTNAME}" "$campaign_refusal" >"$folder/nodes"
    for directory in "${@:3}"; do
        mkdir -- "$directory/$mark" 2>/dev/null # its name can be known before: nothing is written through a link
    done
    timeout --kill-after=5 120 srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --mpi=none --cpu-bind=none \
        bash -c "$(declare -f campaign_sees campaign_probe_node); "'campaign_probe_node "$@"' \
        bash "$mark" "${SLURMD_NODENAME:-$HOSTNAME}" "$@" >>"$folder/nodes" 2>"$folder/nodes.err" </dev/null
    for directory in "${@:3}"; do
        rmdir -- "$directory/$mark" 2>/dev/null
    done
    campaign_probe_launched=''
    if grep -q $'\t.' "$folder/nodes" || [[ $(sort -u "$folder/nodes" | wc -l) -lt $nodes ]]; then
        campaign_probe_launched='not tried' # what was found first is mended first
    fi
}

# Starts the benchmark once by this launcher, unless one before it did; it is to say that it has so many ranks. What came
# of it is a line of `launches`: works, endless (works, but for its end), alone (each rank for itself), hangs, fails or unknown; its MPI; what it said.
# In WORD... {library} stands for the MPI library of EXECUTABLE.
campaign_probe_launch() { # FOLDER RANKS EXECUTABLE DIRECTORY WORD...
    local folder=$1 ranks=$2 library directory=$4 kind status sizes words
    local place="$1/launch"
    library=$(ldd -- "$3" 2>/dev/null | awk '$1 ~ /^libmpi(ch|_cray|_gnu[_0-9]*|_intel)?\.so/ && $3 ~ /^\// { print $3; exit }')
    shift 4
    [[ -z $campaign_probe_launched ]] || return
    words=("${@//\{library\}/$library}")
    if [[ $* == *'{library}'* && -z $library ]]; then
        kind=unknown campaign_probe_launched=yes
    elif ! mkdir -m 700 -- "$directory" 2>"$place.err"; then
        kind=fails
    else
        timeout --kill-after=5 "$campaign_probe_longest_s" "${words[@]}" >"$place.out" 2>"$place.err" </dev/null
        status=$?
        sizes=$(grep -oP '(was launched with |^tasks +: |^clients += |^size )\K[0-9]+' "$place.out" | sort -u)
        if [[ $status -eq 124 || $status -eq 137 ]]; then
            kind=hangs
            [[ $sizes != "$ranks" ]] || kind=endless campaign_probe_launched=yes
        elif [[ $sizes == 1 && $ranks -gt 1 ]]; then
            kind=alone
        elif [[ $status -ne 0 || $sizes != "$ranks" ]]; then
            kind=fails
        else
            kind=works campaign_probe_launched=yes
        fi
        rm -rf --one-file-system -- "$directory"
    fi
    status=$(grep -m 1 -iE 'pmi|mpi_init|not found|error' "$place.err" || grep '[[:alpha:]]' "$place.err" | tail -n 1)
    printf '%s\t%s\t%s\n' "$kind" "${library##*/}" "${status//$'\t'/ }" >>"$folder/launches"
}
