# Where a launcher places the ranks, for benchmarks that do not check it themselves. srun, whose options are the campaign's
# own, is seen at work by the witnesses; others are asked.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_nodes='' # of the run, and the ranks on each, 7+3 for 7 and one more on the first 3; the words of its launcher
campaign_per_node=''
campaign_words=''
campaign_probe_longest=300   # seconds: a step that is never launched must not hold the job until its limit
campaign_launchers=()        # those that are asked before the job's first run: what campaign_geometry is told, a word on each line
declare -A campaign_probed=() # by launcher: the folder with what was found of its placement
campaign_probes=0             # that were begun for one run
campaign_ahead=''            # the process that asks before the first run
campaign_ask_first=''        # each launcher is asked before a run: the ranks of one before were not all seen in their places

campaign_geometry() { # PROBE
    local watched
    campaign_split "${1//:/ }" watched campaign_nodes campaign_per_node campaign_words
}

# Launches the same geometry with a program that says where it is, and says what is wrong.
campaign_probe() { # FOLDER LAUNCHER...
    local folder=$1 status words=("${@:2:campaign_words}")
    words=("${words[@]/#--label/--overlap}") # its answer is read without the ranks' numbers
    # Slurm places the ranks before it connects them.
    SLURM_OVERLAP=1 timeout --kill-after=5 "$campaign_probe_longest" "${words[@]/#--mpi=*/--mpi=none}" \
        "$campaign_program" where >"$folder/placement.txt" 2>"$folder/placement.err" </dev/null
    status=$?
    if [[ $status -ne 0 ]]; then
        [[ $status -ne 124 && $status -ne 137 ]] || echo "it did not end in $campaign_probe_longest s" >>"$folder/placement.err"
        printf 'the placement probe failed: %s' "$(tail -n 1 "$folder/placement.err")"
        return 1
    fi
    "$campaign_program" placed "$folder/placement.txt" "$campaign_nodes" "$campaign_per_node" && return
    local each=$campaign_per_node
    [[ $each != *+* ]] || each="$((${each%+*} + 1)) or ${each%+*}"
    printf 'the ranks are not block-placed and even on %d nodes with %s each: see facts.jsonl' "$campaign_nodes" "$each"
    return 1
}

campaign_probe_folder() { # a new one, into REPLY
    campaign_probes=$((campaign_probes + 1))
    REPLY=$campaign_job_folder/placement/run$campaign_probes
    mkdir -p -- "$REPLY"
}

# The same launcher places the ranks of all runs of a job alike, so it is asked once. The folder with what was found into REPLY;
# $reason says what is wrong.
campaign_probe_once() { # LAUNCHER...
    local launcher="${*:1:campaign_words}"
    REPLY=${campaign_probed[$launcher]:-}
    [[ -z $REPLY ]] || return 0
    campaign_probe_folder
    reason=$(campaign_probe "$REPLY" "$@") || return
    campaign_probed[$launcher]=$REPLY
}

# shellcheck disable=SC2329  # called where launchers have options of the user's
campaign_launched_by() { # PROBE LAUNCHER...: a launcher of the job's runs
    local IFS=$'\n'
    campaign_launchers=("$*" "${campaign_launchers[@]}") # the largest, which takes longest, first
}

# Asks the launchers of all runs while the job writes down its surroundings. A run whose launcher fails here asks it again,
# and says what is wrong.
campaign_probe_ahead() {
    [[ -n ${campaign_launchers[*]} ]] || return 0
    (
        local number words=() place="$campaign_job_folder/placement"
        for number in "${!campaign_launchers[@]}"; do
            mapfile -t words < <(printf '%s\n' "${campaign_launchers[number]}")
            campaign_geometry "${words[0]}"
            mkdir -p -- "$place/$number"
            [[ $number -lt 4 ]] || wait -n # so many at once
            campaign_probe "$place/$number" "${words[@]:1}" && printf '%s\n' "$number" >>"$place/block" &
        done
        wait
    ) >/dev/null 2>&1 &
    campaign_ahead=$!
}

# Takes over what was found, once all of it is there.
campaign_probed_ahead() {
    local number words=() place="$campaign_job_folder/placement"
    [[ -n $campaign_ahead ]] || return 0
    campaign_pid=$campaign_ahead
    campaign_wait_launcher
    [[ -f $place/block ]] || return 0
    while read -r number; do
        mapfile -t words < <(printf '%s\n' "${campaign_launchers[number]}")
        campaign_probed["${words[*]:1}"]=$place/$number
    done <"$place/block"
}

# Before a phase is launched: has its ranks looked at, or asks its launcher where it places them. The witnesses look at
# all phases of a run from before the first one on.
campaign_prepare() { # LAUNCHER...; uses campaign_run's variables
    local launcher status
    if [[ -z $watched ]]; then
        watched=yes
        campaign_tell watch "$1" "$directory"
        # While the nodes get ready; what another launcher is asked may be a reason not to make it.
        [[ $1 != srun || $made == true ]] || campaign_make_directory || return 1
        campaign_ask ready || REPLY='no witness'
        blind=$REPLY
    fi
    if [[ $1 != srun || -n $campaign_ask_first$blind ]]; then
        campaign_probe_once "$@"
        status=$?
        "$campaign_program" probed "$folder" "$name" "$REPLY"
        [[ $status -eq 0 ]] || campaign_look_for_loss "$REPLY/placement.err"
        return "$status"
    fi
    printf -v launcher '%s\n' "$name" "$told" "${@:1:campaign_words}"
    launched+=("${launcher%$'\n'}")
    expected+=("$campaign_nodes:$campaign_per_node:$name")
}

# Another launcher than the srun that starts the witnesses may give its ranks other variables than theirs: what it does not say of
# them is unknown, and no reason to measure nothing.
campaign_ask_for_variables() { # LAUNCHER...
    [[ $1 != srun ]] || return 0
    campaign_probe_once "$@" || { reason='' && return; }
    "$campaign_program" probed "$folder" "$name" "$REPLY"
}

# Of a run whose ranks were not all seen, once nothing runs: its launchers' answers are among its facts.
campaign_ask_afterwards() {
    local phase words=()
    for phase in "${campaign_launched[@]}"; do
        mapfile -t words < <(printf '%s\n' "$phase") # phase, what campaign_geometry is told, launcher
        campaign_geometry "${words[1]}"
        campaign_probe_folder
        campaign_probe "$REPLY" "${words[@]:2}" >/dev/null
        "$campaign_program" probed "$campaign_closing" "${words[0]}" "$REPLY"
    done
}
