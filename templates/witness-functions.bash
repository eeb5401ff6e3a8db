# What looks at the job from outside of its benchmark: the program `witness` (bench-src/witness), of which one process on
# this node obeys the script and starts one on each node. It writes the facts of the job and of its runs.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_program=''  # the witness's
campaign_watches=0   # 1 where it looks at the ranks of the job's runs
campaign_answer_s=45 # so long the nodes are waited for: for what they are,
campaign_ready_s=20  # until they look at a run,
campaign_end_s=60    # and for what they saw of it
campaign_lock_s=15   # between two questions to Slurm whether the job that holds the target has ended
campaign_inputs=''      # set where the benchmark reads files
campaign_independent=() # parts of the names of jobs on targets of other storage
campaign_witness=()     # what the witness says and hears, while it runs
campaign_witness_pid=''

# shellcheck disable=SC2329  # called where targets have storage of their own
campaign_independent_storage() { campaign_independent=("$@"); } # MARK...: in the names of jobs on targets of other storage

campaign_start_witness() { # JOB_FOLDER DIRECTORY EXECUTABLE [PREFIX...]
    local mark options=(-d "$2" -x "$3" "${campaign_here[@]}" -l "$campaign_answer_s,$campaign_ready_s,$campaign_end_s,$campaign_lock_s")
    [[ $campaign_watches == 0 ]] || options+=(-w)
    for mark in "${campaign_independent[@]}"; do options+=(-i "$mark"); done
    coproc campaign_witness { exec "$campaign_program" job "${options[@]}" -- "$1" "${@:4}"; }
    campaign_witness_pid=$!
    unset CAMPAIGN_SUBMITTED_WITH
}

campaign_tell() { # WORD...: see bench-src/witness/job.h
    local IFS=$'\t' line
    line=$* # one, whatever names of directories have in them
    [[ -z ${campaign_witness[1]:-} ]] || { printf '%s\n' "${line//$'\n'/ }" >&"${campaign_witness[1]}"; } 2>/dev/null
}

# shellcheck disable=SC2329  # called where there are input files
campaign_with_inputs() { campaign_inputs=yes && campaign_tell inputs "$@"; } # FILE...: they are hashed before each run

# The answer into REPLY; false where nobody answers. A line that begins with a tab is for the job's output.
campaign_ask() { # WORD...
    REPLY=''
    campaign_tell "$@"
    while [[ -n ${campaign_witness[0]:-} ]] && IFS= read -r REPLY <&"${campaign_witness[0]}"; do
        [[ $REPLY == $'\t'* ]] || return 0
        [[ $REPLY == $'\t' ]] || campaign_say "${REPLY#$'\t'}"
    done
    REPLY=''
    return 1
}

# Asks what may be a reason to measure nothing.
campaign_ask_whether() { # WORD
    if campaign_ask "$1"; then
        [[ $REPLY != itself ]] || REPLY=$campaign_forgotten
        campaign_refusal=${campaign_refusal:-$REPLY}
    elif [[ -z $campaign_over$campaign_refusal ]]; then
        campaign_refusal="$campaign_program does not run on ${SLURMD_NODENAME:-$HOSTNAME}; put the benchmark where all nodes see it"
    fi
}

# The target is given up with it.
campaign_dismiss_witness() {
    local input=${campaign_witness[1]:-}
    [[ -n $input ]] || return 0
    campaign_tell leave
    exec {input}>&-
    campaign_wait "$campaign_witness_pid"
}
