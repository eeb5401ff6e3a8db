# What the job writes down of its surroundings before its first run, and around each. Nothing here runs while the
# benchmark is timed; what cannot be found out is written down as such and never fails a run: only a target that its
# nodes do not share does. The rest of the job is in job-functions.bash.
# shellcheck disable=SC2034,SC2154  # it shares its variables

# --- the job

# campaign_environment JOB_FOLDER DIRECTORY EXECUTABLE [PREFIX...]: writes environment.json of docs/formats.md
campaign_environment() {
    local folder=$1 started facts space job others rest
    campaign_now
    started=$REPLY
    campaign_problems=()
    campaign_ask_nodes "$@"
    # While they find it out:
    campaign_space "$2"
    space=$REPLY
    campaign_quote "$(SLURM_TIME_FORMAT=%s campaign_try scontrol --oneliner show job "${SLURM_JOB_ID:-}")"
    job=$REPLY
    others=$(campaign_other_jobs)
    rest=$(
        campaign_object software srun 'srun --version' mpirun 'mpirun --version' lfs 'lfs --version'
        campaign_storage "$2"
        campaign_environment_variables
    )
    campaign_nodes_answer "$@"
    campaign_fold "$campaign_asked.facts"
    facts=$REPLY
    campaign_now
    {
        printf '{"format": 2, "started": %s, "ended": %s, ' "$started" "$REPLY"
        campaign_pairs host "$HOSTNAME" directory "$2" executable "$3"
        printf ', "space": %s, "job": %s, "other_jobs": %s, %s%s"problems": [' "$space" "$job" "$others" "$rest" "$facts"
        campaign_list "${campaign_problems[@]}"
        printf ']}\n'
    } >"$folder/environment.json.new" && mv -- "$folder/environment.json.new" "$folder/environment.json"
    rm -f -- "$folder/nodes.facts" "$folder/nodes.err"
    { campaign_surroundings=$(<"$folder/environment.json"); } 2>/dev/null
}

campaign_answer_s=45 # so long the nodes are waited for
campaign_asked='' # the name without suffix of the file that the nodes' facts come into

# Each node says its facts, all at once: as the first of its witness, where the job has some.
campaign_ask_nodes() { # JOB_FOLDER DIRECTORY EXECUTABLE [PREFIX...]
    local nodes=${SLURM_JOB_NUM_NODES:-1} about=("$2" "$3" "${campaign_mark##*/}" "${@:4}")
    if [[ -n $campaign_witnessed ]]; then
        campaign_asked=$1/ran
        campaign_watch_start "${about[@]}"
        return
    fi
    campaign_asked=$1/nodes
    timeout --kill-after=5 "$campaign_answer_s" srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --job-name=environment --mpi=none \
        --cpu-bind=none --time=1 \
        bash -c "$(campaign_of_node); "'campaign_node_facts / "$@"' \
        bash "${about[@]}" >"$campaign_asked.facts" 2>"$campaign_asked.err" </dev/null &
    campaign_pid=$!
}

campaign_of_node() { # the functions by which a node says its facts
    declare -f campaign_now campaign_quote campaign_fact campaign_read campaign_file campaign_node_facts campaign_kernel_parameters \
        campaign_processors campaign_memory campaign_fabric campaign_mount campaign_mount_facts campaign_gluster campaign_lustre \
        campaign_executable campaign_prefix campaign_script campaign_variables campaign_sees
    printf 'campaign_longest=%d' "$campaign_longest"
}

# Waits for that; where they cannot be asked, this host speaks for itself.
campaign_nodes_answer() { # JOB_FOLDER DIRECTORY EXECUTABLE [PREFIX...]
    local facts="$campaign_asked.facts" status='' problem silent
    if [[ -z $campaign_witnessed ]]; then
        campaign_wait_launcher || status=$?
    elif ! campaign_watch_await end "$((SECONDS + campaign_answer_s))"; then
        status=124 # as timeout has it
        campaign_watch_alive || { wait "$campaign_watch_pid"; status=$?; }
        campaign_watch_stop 0 # who does not answer sees no run either
    fi
    [[ -z $campaign_mark || ! -s $facts ]] || campaign_judge_nodes "$facts" "$2"
    [[ -n $status ]] || return 0
    problem=$(tail -n 1 "$campaign_asked.err")
    problem="srun, by which the nodes are asked, ended with status $status${problem:+: $problem}"
    [[ $status -ne 124 ]] || problem="the nodes had $campaign_answer_s s to answer"
    [[ -s $facts || -n $campaign_over ]] || (campaign_node_facts / "$2" "$3" '' "${@:4}") >"$facts"
    silent=$(campaign_silent end "$facts")
    campaign_problems+=("$problem${silent:+; no answer from $silent}")
}

# The nodes of the job that have not said a fact, the first ones by name.
campaign_silent() { # FACT FILE
    local said name number=0 names=''
    said=$(awk -F '\t' -v fact="$1" '
        $2 == fact { said[$1] }
        $2 == "name" || $2 == "ready" { gsub(/"/, "", $3); name[$1] = $3 }
        END { for (node in said) printf " %s ", name[node] }' "$2")
    for name in $(scontrol show hostnames "${SLURM_JOB_NODELIST:-}" 2>/dev/null); do
        [[ $said != *" $name "* ]] || continue
        number=$((number + 1))
        [[ $number -gt 8 ]] || names+="${names:+, }$name"
    done
    [[ $number -le 8 ]] || names+=" and $((number - 8)) more"
    printf '%s' "$names"
}

campaign_try() { # COMMAND...: what it says, the beginning of it; nothing where it fails or is not there
    command -v "$1" >/dev/null || return 0
    timeout --kill-after=2 15 "$@" 2>/dev/null </dev/null | head -c "$campaign_longest"
}

campaign_space() { # DIRECTORY: of its file system, as a JSON object, into REPLY
    local numbers
    if numbers=$(stat -f -c '"block_size": %S, "blocks": %b, "free": %f, "available": %a, "inodes": %c, "inodes_free": %d' -- "$1" 2>/dev/null); then
        campaign_now
        REPLY="{\"time\": $REPLY, $numbers}"
    else
        REPLY=null
    fi
}

# How many run beside this one, as far as this user is shown them; jobs on storage that is said to be independent are
# left out.
campaign_other_jobs() {
    local jobs id mark number=0 own="@$RANDOM$RANDOM@" # begins a job's line; a comment may have several
    if ! jobs=$(timeout 15 squeue --noheader --states=running --format="$own%A %k" 2>/dev/null </dev/null); then
        printf null
        return
    fi
    while read -r id mark; do
        [[ $id != "$own"* || $id == "$own${SLURM_JOB_ID:-}" || " ${campaign_independent[*]} " == *" ${mark:-none} "* ]] || number=$((number + 1))
    done < <(sort -u <<<"$jobs")
    printf '%s' "$number"
}

campaign_object() { # NAME, then pairs of key and command: the first line of what each says
    local pairs=() said
    printf '"%s": {' "$1"
    shift
    while [[ $# -ge 2 ]]; do
        # shellcheck disable=SC2086  # the words of a command
        said=$(campaign_try $2)
        [[ -z $said ]] || pairs+=("$1" "${said%%$'\n'*}")
        shift 2
    done
    campaign_pairs "${pairs[@]}"
    printf '}, '
}

campaign_storage() { # DIRECTORY: what the file system's own tools say of it
    local words=() pairs=() source='' said=()
    ! campaign_mount '' "$1" || source=${campaign_mounted[4]}
    printf '"storage": {'
    case ${campaign_mounted[3]:-} in
    lustre) said=("lfs getstripe -d" "lfs getdirstripe -d" "lfs mdts" "lfs osts") ;;
    beegfs) said=("beegfs-ctl --getentryinfo") ;;
    gpfs) said=("mmlsfs") ;;
    esac
    local command text
    for command in "${said[@]}"; do
        read -r -a words <<<"$command"
        if [[ $command == mmlsfs ]]; then
            text=$(PATH="$PATH:/usr/lpp/mmfs/bin" campaign_try mmlsfs "${source##*/}")
        else
            text=$(campaign_try "${words[@]}" "$1")
        fi
        [[ -z $text ]] || pairs+=("$command" "${text//$'\n'/; }")
    done
    campaign_pairs "${pairs[@]}"
    printf '}, '
}

campaign_environment_variables() {
    local name pairs=() slurms=()
    printf '"environment": {'
    while read -r name; do
        pairs+=("$name" "${!name}")
        [[ ${campaign_set_by_slurm[$name]-$'\n'} != "${!name}" ]] || slurms+=("$name")
    done < <(campaign_variables)
    campaign_pairs "${pairs[@]}"
    printf '}, "set_by_slurm": ['
    campaign_list "${slurms[@]}"
    printf '], '
}

campaign_pairs() { # KEY TEXT ...: as JSON
    local REPLY separator=''
    while [[ $# -ge 2 ]]; do
        campaign_quote "$1"
        printf '%s%s: ' "$separator" "$REPLY"
        campaign_quote "$2"
        printf '%s' "$REPLY"
        separator=', '
        shift 2
    done
}

campaign_list() { # JSON strings
    local REPLY text separator=''
    for text in "$@"; do
        campaign_quote "$text"
        printf '%s%s' "$separator" "$REPLY"
        separator=', '
    done
}

# The facts of all nodes as JSON, into REPLY: who they are one by one, everything else once for all nodes that say the
# same.
campaign_fold() { # FILE
    REPLY=$(campaign_folded "$1")
    [[ $REPLY != *[$'\x80'-$'\xff']* ]] || REPLY=$(campaign_utf8 <<<"$REPLY")
}

campaign_folded() { # FILE
    awk -F '\t' -v most_values=100 -v most_names=1000 '
        $2 == "rank" || $2 == "ready" { next } # between the witnesses and the job
        NF >= 3 && $1 ~ /^[0-9]+$/ && $1 + 0 < 1000000 && length($2) <= 200 && $2 ~ /^[A-Za-z0-9._+-]+$/ {
            node = $1 + 0
            if (node > last) last = node
            nodes[node]
            if (!($2 in known)) {
                if (count >= most_names) next
                known[$2]
                names[count++] = $2
            }
            piece = substr($0, length($1) + length($2) + 3)
            text[node, $2] = text[node, $2] piece
        }
        function whole(value) { return value ~ /^"([^"\\]|\\["\\])*"$/ }
        function said(node, name) { return (node, name) in text && whole(text[node, name]) ? text[node, name] : "null" }
        function join(list, from, to) { return (list == "" ? "" : list ",") (from == to ? from : from "-" to) }
        END {
            printf "\"nodes\": ["
            for (node = 0; node <= last; node++) if (node in nodes) {
                place[node] = places++
                printf "%s{\"name\": %s", separator, said(node, "name")
                if (said(node, "hostname") != said(node, "name")) printf ", \"hostname\": %s", said(node, "hostname")
                printf ", \"clock\": %s, \"boot\": %s}", said(node, "clock"), said(node, "boot")
                separator = ", "
                if (!((node, "end") in text)) cut = join(cut, place[node], place[node])
            }
            printf "], \"incomplete\": \"%s\", \"facts\": {", cut
            separator = ""
            for (one = 0; one < count; one++) {
                name = names[one]
                if (name == "name" || name == "hostname" || name == "clock" || name == "boot" || name == "end") continue
                split("", from); split("", to); split("", list); split("", order)
                values = dropped = 0
                for (node = 0; node <= last; node++) if ((node, name) in text) {
                    value = text[node, name]
                    if (!(value in from)) {
                        if (values >= most_values || !whole(value)) { dropped++; continue }
                        order[values++] = value
                        from[value] = to[value] = place[node]
                    } else if (to[value] == place[node] - 1) {
                        to[value] = place[node]
                    } else {
                        list[value] = join(list[value], from[value], to[value])
                        from[value] = to[value] = place[node]
                    }
                }
                printf "%s\"%s\": [", separator, name
                for (v = 0; v < values; v++) {
                    value = order[v]
                    printf "%s{\"nodes\": \"%s\", \"value\": %s}", v ? ", " : "", join(list[value], from[value], to[value]), value
                }
                if (dropped) printf "%s{\"dropped\": %d}", values ? ", " : "", dropped
                printf "]"
                separator = ", "
            }
            printf "}, "
        }' "$1"
}

campaign_utf8() { # leaves out what is not UTF-8, by way of UTF-16, which has nothing beyond U+10FFFF either
    if command -v iconv >/dev/null; then
        iconv -c -f utf-8 -t utf-16le 2>/dev/null | iconv -f utf-16le -t utf-8
    else
        tr -d '\200-\377'
    fi
}

# The job's record with this attempt's own part before it. What was written last stays where this fails.
campaign_attempt_environment() { # FOLDER MADE SPACE_BEFORE SPACE_AFTER
    [[ -n $campaign_surroundings ]] || return 0
    printf '{"made": %s, "before": %s, "after": %s, %s%s\n' "$2" "$3" "$4" "${campaign_ran:+\"ran\": $campaign_ran, }" \
        "${campaign_surroundings#\{}" >"$1/environment.json.new" && mv -- "$1/environment.json.new" "$1/environment.json"
}
