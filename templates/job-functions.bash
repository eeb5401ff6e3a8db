# What the job does around each run. Nothing here runs while the benchmark is timed.
set -u

campaign_refusal=''  # why nothing may be measured in this job
campaign_failures=0
campaign_lock=''     # the lock on the target that this job holds
campaign_unbroken=0  # how often a stale lock could not be taken away
campaign_owner=''    # what this job writes into it
campaign_pid=''      # the launcher that is running
campaign_nodes=''      # of the run, and the ranks on each
campaign_per_node=''
campaign_watch_pid=''  # of the witnesses of a run, once it has some
campaign_watch_in=''   # what the witnesses of a run read; its end tells them that the run is over
exec {campaign_watch_in}>/dev/null
campaign_longest=4000 # bytes of one text in a record; what is longer is cut, and says so
campaign_signal=''   # set once Slurm wants the job to end
campaign_mark=''     # a file in the target that this job made, to see whether all its nodes see it
# shellcheck disable=SC2034  # read by environment-functions.bash
campaign_independent=() # comments of jobs on targets of other storage
campaign_counters='' # a command that prints what the target's servers have counted
campaign_sampler=''  # the process that asks it while an external benchmark runs
campaign_here=()     # of the machine that submitted the job: its boot, and which directory it sees as the target

campaign_now() { # seconds since the epoch, into REPLY; bash has a clock of its own from version 5 on
    REPLY=${EPOCHREALTIME:-$(date +%s.%6N)}
}

campaign_say() {
    local REPLY
    campaign_now
    printf '%s %s\n' "$REPLY" "$*"
}

campaign_json() { # a JSON string; control characters become spaces, what is not UTF-8 is left out
    campaign_quote "$1"
    printf '%s' "$REPLY"
}

campaign_quote() { # the same into REPLY, which takes no process where all is ASCII
    local text=${1:0:campaign_longest}
    [[ -z ${1:campaign_longest} ]] || text+=' ... (cut)'
    if [[ $text == *[$'\x80'-$'\xff']* ]]; then
        # By way of UTF-16, which has nothing beyond U+10FFFF either.
        text=$(printf '%s' "$text" | iconv -c -f utf-8 -t utf-16le 2>/dev/null | iconv -f utf-16le -t utf-8 2>/dev/null)
        [[ -n $text ]] || text=${1//[$'\x80'-$'\xff']/?}
    fi
    text=${text//\\/\\\\}
    text=${text//\"/\\\"}
    REPLY="\"${text//[[:cntrl:]]/ }\""
}

# shellcheck disable=SC2329  # called by the traps
campaign_terminated() {
    campaign_signal=$1
    [[ -z $campaign_pid ]] || kill -TERM "$campaign_pid" 2>/dev/null
}
trap 'campaign_terminated TERM' TERM
trap 'campaign_terminated INT' INT
trap 'campaign_remove_mark; campaign_unlock' EXIT

campaign_module() {
    set +u # the module command's own functions use what is not set
    if ! command -v module >/dev/null; then
        campaign_refusal="module $1 cannot be loaded: no module command on ${SLURMD_NODENAME:-$HOSTNAME}"
    else
        module load "$1" || campaign_refusal="module $1 cannot be loaded: module load failed"
    fi
    set -u
}

# campaign_begin JOB_FOLDER TARGET_DIRECTORY EXECUTABLE [PREFIX...]
campaign_begin() {
    export LC_ALL=C # messages and numbers are read by programs, whatever the modules have set
    campaign_job_folder=$1
    if [[ ${SLURM_RESTART_COUNT:-0} -gt 0 ]]; then
        campaign_refusal="Slurm restarted the job (restart ${SLURM_RESTART_COUNT}): its measurements would not be one run"
        return
    fi
    [[ -n $campaign_refusal ]] || campaign_take_lock "$2"
    [[ -n $campaign_refusal ]] || campaign_same_mount "$2"
    [[ -n $campaign_refusal ]] || campaign_look_from_here "$2"
    [[ -n $campaign_refusal || -z $campaign_lock ]] || campaign_make_mark "$2"
    [[ -n $campaign_signal ]] || campaign_environment "$@" # nobody measures here meanwhile
    campaign_remove_mark
}

# shellcheck disable=SC2329  # called where targets have storage of their own
campaign_independent_storage() { # MARK...: the comments of jobs on targets of other storage
    # shellcheck disable=SC2034  # read by environment-functions.bash
    campaign_independent=("$@")
}

campaign_submitted_from() { # BOOT DEVICE:INODE: the machine, and the target as it sees it ('' where it does not)
    campaign_here=("$1" "$2")
}

# A directory that one node alone sees would be measured as if it were the storage of all. What lies on a file system of the
# node's own machine can be shared only where other nodes and the submitting machine are virtual ones of the same kernel.
campaign_look_from_here() { # DIRECTORY
    local kind boot='' name=${SLURMD_NODENAME:-$HOSTNAME}
    [[ ${SLURM_JOB_NUM_NODES:-1} -eq 1 && -n ${campaign_here[0]:-} ]] || return 0
    kind=$(stat -f -c %T -- "$1" 2>/dev/null)
    case $kind in
    tmpfs | ramfs | ext2/ext3 | xfs | btrfs | zfs | overlayfs | f2fs | jfs) ;;
    *) return 0 ;;
    esac
    read -r boot </proc/sys/kernel/random/boot_id || return 0
    if [[ ${boot%%-*} != "${campaign_here[0]}" ]]; then
        campaign_refusal="$1 is not shared: on $name it is of the node's own $kind; name a directory that all nodes see"
    elif [[ -n ${campaign_here[1]} && $(stat -c %d:%i -- "$1") != "${campaign_here[1]}" ]]; then
        campaign_refusal="$1 is not shared: $name and ${SLURM_SUBMIT_HOST:-the submit host} see different directories; name one that all nodes see"
    fi
}

# What is mounted at the target is kept by the campaign's first job; on something else no later one measures.
campaign_same_mount() { # DIRECTORY
    local now before='' kept="${campaign_job_folder%/jobs/*}/mounts/${1//\//%}"
    now="$(stat -f -c %T -- "$1" 2>/dev/null) $(stat -c %m -- "$1" 2>/dev/null)"
    if [[ -f $kept ]]; then
        read -r before <"$kept"
        if [[ $before != "$now" ]]; then
            campaign_refusal="$1 is on ${now/ / mounted at } of ${SLURMD_NODENAME:-$HOSTNAME}; when the campaign began it was on ${before/ / mounted at }: mount it, or remove $kept"
        fi
    elif [[ $campaign_job_folder == */jobs/* ]]; then
        mkdir -p -- "${kept%/*}" && printf '%s\n' "$now" >"$kept.new" && mv -- "$kept.new" "$kept"
    fi
}

# shellcheck disable=SC2329  # called where the target's servers can be asked
campaign_count_by() { # COMMAND
    campaign_counters=$1
}

# One line of counters.jsonl: what the servers have counted so far. WHEN is begin, end, sample, or the phase that has ended.
campaign_count() { # FOLDER COMMAND WHEN
    local said status kind number counts='' problem=''
    said=$(timeout --kill-after=5 30 bash -c "$2" 2>&1 </dev/null)
    status=$?
    [[ $status -eq 0 && -n $said ]] || problem="the command ended with status $status: $said"
    while [[ -z $problem ]] && read -r kind number; do
        if [[ $kind =~ ^[a-z][a-z_]{0,39}$ && $number =~ ^[0-9]{1,18}$ ]]; then
            counts+="${counts:+, }\"$kind\": $((10#$number))"
        else
            problem="not a kind and a number: $kind $number"
        fi
    done <<<"$said"
    campaign_now
    [[ -z $problem ]] || counts=''
    printf '{"time": %s, "when": %s, "counts": %s, "problem": %s}\n' \
        "$REPLY" "$(campaign_json "$3")" "{$counts}" "$(campaign_json "$problem")" >>"$1/counters.jsonl"
}

# Counts between the phases of a benchmark that lets it be done; of another, once a second while it runs.
campaign_count_along() { # FOLDER PROBE
    local count="$1/count.bash"
    [[ -n $campaign_counters ]] || return 0
    # shellcheck disable=SC2016  # the shells that run it expand $1
    {
        declare -f campaign_now campaign_quote campaign_json campaign_count
        printf 'campaign_longest=%d\ncampaign_count %q %q "$1"\n' "$campaign_longest" "$1" "$campaign_counters"
    } >"$count"
    # shellcheck disable=SC2016,SC2089
    printf -v BENCH_BETWEEN_PHASES 'bash %q "$1"' "$count"
    # shellcheck disable=SC2090
    export BENCH_BETWEEN_PHASES
    campaign_count "$1" "$campaign_counters" begin
    if [[ $2 == 1 ]]; then
        while sleep 1; do campaign_count "$1" "$campaign_counters" sample; done &
        campaign_sampler=$!
    fi
}

campaign_count_ends() { # FOLDER WHEN
    [[ -n $campaign_counters ]] || return 0
    if [[ -n $campaign_sampler ]]; then
        kill "$campaign_sampler" 2>/dev/null
        wait "$campaign_sampler" 2>/dev/null
        campaign_sampler=''
    fi
    unset BENCH_BETWEEN_PHASES
    campaign_count "$1" "$campaign_counters" "$2"
}

campaign_make_mark() { # DIRECTORY; its name is new, so that no node remembers that it was not there
    [[ ${SLURM_JOB_NUM_NODES:-1} -gt 1 ]] || return 0
    campaign_mark=$1/.campaign-$SLURM_JOB_ID-$RANDOM
    : 2>/dev/null >"$campaign_mark" || campaign_mark=''
}

campaign_remove_mark() {
    [[ -z $campaign_mark ]] || rm -f -- "$campaign_mark"
    campaign_mark=''
}

# On one node, into REPLY: shared where it sees the file MARK in the directory, otherwise missing or apart.
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

# What the nodes said of the target, as facts with their names.
campaign_judge_nodes() { # FACTS DIRECTORY
    local name what missing='' apart=''
    while read -r name what; do
        case $what in
        missing) missing+="${missing:+, }$name" ;;
        apart) apart+="${apart:+, }$name" ;;
        esac
    done < <(awk -F '\t' '$2 == "name" { name[$1] = $3 } $2 == "target.seen" { print name[$1], $3 }' "$1" | tr -d '"')
    if [[ -n $missing ]]; then
        campaign_refusal="$2 does not exist on $missing; create it where all nodes see it"
    elif [[ -n $apart ]]; then
        campaign_refusal="$2 is not shared: ${SLURMD_NODENAME:-$HOSTNAME} created a file in it that $apart cannot see; name a directory that all nodes see"
    fi
}

# Two jobs on one target would measure each other. The driver chains its jobs; this holds where drivers do not know of each
# other. The lock is a directory, since mkdir is atomic on every file system. Its owner is named in it, so that the lock of a
# job that died can be told from that of one that runs.
campaign_take_lock() {
    local lock="$1/.campaign-lock" owner said='' ask=0 error
    until error=$(mkdir -- "$lock" 2>&1); do
        [[ -z $campaign_signal ]] || return # the job is ending, and mkdir may have been killed with it
        case $(stat -c %F -- "$lock" 2>/dev/null) in
        directory)
            if [[ ! -w $1 ]]; then
                campaign_refusal="$1 is not writable on ${SLURMD_NODENAME:-$HOSTNAME}: it is read-only or another user's; name another directory"
            elif [[ -e $lock/owner && ! -r $lock/owner ]]; then
                campaign_refusal="$lock/owner cannot be read on ${SLURMD_NODENAME:-$HOSTNAME}: the lock is another user's; remove $lock if none of their jobs measures there"
            fi
            [[ -z $campaign_refusal ]] || return
            ;;
        '')
            if [[ $error == *'File exists'* ]]; then # it went away in between
                sleep 0.1
                continue
            fi
            campaign_refusal="$1 is not writable on ${SLURMD_NODENAME:-$HOSTNAME}: ${error##*: }; name another directory"
            if [[ ! -e $1 ]]; then
                campaign_refusal="$1 does not exist on ${SLURMD_NODENAME:-$HOSTNAME}; create it where all nodes see it"
            elif [[ ! -d $1 ]]; then
                campaign_refusal="$1 is not a directory; name a directory"
            fi
            return
            ;;
        *)
            campaign_refusal="$1 cannot be locked: $lock is not a directory; remove it"
            return
            ;;
        esac
        owner=''
        [[ ! -f $lock/owner ]] || owner=$(head -c 500 -- "$lock/owner" 2>/dev/null | tr -cd '[:print:]')
        if [[ -n $owner && $owner != "$said" ]]; then
            campaign_say "waiting for the target: $lock is held by job $owner"
            printf '%s\n' "waiting for the target: $lock is held by job $owner" >"$campaign_job_folder/waiting"
            said=$owner
            ask=0
        fi
        if [[ $SECONDS -ge $ask ]]; then # rarely: every waiting job asks the one slurmctld
            campaign_lock_is_stale "$lock" "$owner" && campaign_break_lock "$lock" "$owner" && continue
            [[ -z $campaign_refusal ]] || return
            ask=$((SECONDS + 15))
        fi
        sleep 1
    done
    campaign_owner="$SLURM_JOB_ID $SLURM_JOB_NAME ${SLURM_CLUSTER_NAME:-}"
    if printf '%s\n' "$campaign_owner" >"$lock/owner"; then
        campaign_lock=$lock
        rm -f -- "$campaign_job_folder/waiting"
    else
        rm -f -- "$lock/owner"
        rmdir -- "$lock"
        campaign_refusal="$1 is not writable on ${SLURMD_NODENAME:-$HOSTNAME}: $lock/owner"
    fi
}

campaign_lock_is_stale() {
    local id name cluster said line
    read -r id name cluster <<<"$2"
    if [[ -z $id ]]; then # being made just now, unless it is old
        [[ -n $(find "$1" -maxdepth 0 -mmin +1 2>/dev/null) ]]
        return
    fi
    [[ $cluster == "${SLURM_CLUSTER_NAME:-}" ]] || return 1 # another cluster's job: cannot be asked about
    if ! said=$(squeue --noheader --states=all --jobs="$id" --format='%j %T' 2>&1); then
        [[ $said == *'Invalid job id'* ]] # any other failure says nothing about the job
        return
    fi
    while read -r line; do
        [[ $line == "$name "* ]] || continue
        case ${line#"$name "} in
        PENDING) return 0 ;; # started again: whatever made the lock is gone
        BOOT_FAIL | CANCELLED | COMPLETED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | REVOKED | TIMEOUT) return 0 ;;
        *) return 1 ;;
        esac
    done <<<"$said"
    return 0 # forgotten, or the id belongs to another job by now
}

# Breaking is itself under a lock, so that a second breaker cannot take away the lock that the first has just made.
campaign_break_lock() {
    local guard="$1.breaking" broken=1 error
    if ! mkdir -- "$guard" 2>/dev/null; then
        [[ -z $(find "$guard" -maxdepth 0 -mmin +1 2>/dev/null) ]] || rmdir -- "$guard" 2>/dev/null
        return 1
    fi
    # Asked again: what was stale a moment ago may be gone, and another's in its place.
    if [[ ! -e $1/owner || -f $1/owner ]] && [[ $(head -c 500 -- "$1/owner" 2>/dev/null | tr -cd '[:print:]') == "$2" ]] && campaign_lock_is_stale "$1" "$2"; then
        campaign_say "the lock of job $2 is stale: taken away"
        error=$(rm -f -- "$1/owner" 2>&1 && rmdir -- "$1" 2>&1)
        broken=$?
        campaign_unbroken=$((campaign_unbroken + broken))
        # A network file system may keep a file that was open for a moment longer.
        [[ $campaign_unbroken -lt 3 ]] || campaign_refusal="$1 of job $2, which has ended, cannot be removed: ${error##*: }; remove it"
    fi
    rmdir -- "$guard"
    return "$broken"
}

campaign_unlock() {
    [[ -n $campaign_lock ]] || return
    # Not where somebody has taken it for stale, and another's stands there now.
    if [[ $(cat -- "$campaign_lock/owner" 2>/dev/null) == "$campaign_owner" ]]; then
        rm -f -- "$campaign_lock/owner"
        rmdir -- "$campaign_lock"
    fi
    campaign_lock=''
}

# What an earlier attempt of these runs left behind when it was killed: a directory that it had made itself.
campaign_remove_stale() {
    if [[ -z $campaign_refusal && -d $1 && ! -L $1 ]]; then
        campaign_say "removing what a killed attempt left behind: $1"
        rm -rf --one-file-system -- "$1"
    fi
}

# campaign_run RUN ATTEMPT TOKEN FOLDER DIRECTORY PROBE srun OPTION... [PREFIX...] PROGRAM ARGUMENT...
# PROBE is 1 where the job looks where the ranks are and what they run, otherwise 0; with another launcher than srun followed by
# :NODES:RANKS_ON_EACH:WORDS_OF_THE_LAUNCHER. Of several phases each begins with phase=NAME; they run one after another, up to the
# first that fails.
campaign_run() {
    local run=$1 attempt=$2 token=$3 folder=$4 directory=$5 probe=${6%%:*} told=$6 started ended status=-1 outcome reason=''
    local leftover=0 before made=false times='' name='' words=() word whole=false
    shift 6
    [[ -z $campaign_signal ]] || return # the job is ending: what was not begun stays unclaimed
    # Whoever makes this directory owns the attempt: this job, or a driver that has given the job up.
    if ! mkdir -- "$folder/claim" 2>/dev/null; then
        campaign_say "$run, attempt $attempt: superseded, another has claimed it"
        campaign_failures=$((campaign_failures + 1))
        return
    fi
    before=$(campaign_space "${directory%/*}")
    campaign_attempt_environment "$folder" null "$before" null
    campaign_say "$run, attempt $attempt: $*"
    campaign_now
    started=$REPLY
    if [[ -z $campaign_refusal && -n $campaign_lock && ! -e $campaign_lock/owner ]]; then
        # Not measured on the directory below its mount point.
        campaign_refusal="$campaign_lock is gone: ${directory%/*} was unmounted, or somebody removed the lock; check that it is mounted and run again"
    fi
    if [[ -n $campaign_refusal ]]; then
        reason=$campaign_refusal
    elif [[ $1 != phase=* ]]; then
        campaign_phase "$@" && whole=true
    else
        whole=true
        for word in "$@" phase=; do
            if [[ $word != phase=* ]]; then
                words+=("$word")
                continue
            fi
            [[ -z ${words[0]+set} ]] || campaign_phase "${words[@]}" || { whole=false && break; }
            words=()
            name=${word#phase=}
        done
    fi
    campaign_now
    ended=$REPLY
    campaign_watch_end "$folder"
    if [[ $made == true ]] && ! rmdir -- "$directory" 2>/dev/null; then
        # Files: mdtest up to 1.9 leaves its empty top directory behind when it is not asked for all of its phases.
        leftover=$(find "$directory" -mindepth 1 ! -type d -printf . 2>/dev/null | wc -c)
        rm -rf --one-file-system -- "$directory"
    fi
    campaign_attempt_environment "$folder" "$made" "$before" "$(campaign_space "${directory%/*}")"
    if [[ $whole == true ]]; then
        outcome='done'
    elif [[ -n $campaign_signal ]]; then
        outcome=terminated
        reason="the job was ended (SIG$campaign_signal)"
    elif [[ $status -lt 0 ]]; then
        outcome=refused
    else
        outcome=failed
        reason="${name:+phase $name: }${reason:-the benchmark ended with status $status}"
    fi
    if ! printf '{"format": 1, "run": %s, "attempt": %d, "token": %s, "job_id": %s, "job_name": %s, "cluster": %s, "nodes": %s, "outcome": "%s", "reason": %s, "exit_status": %d, "started": %s, "ended": %s, "leftover_files": %d, "restart_count": %d%s}\n' \
        "$(campaign_json "$run")" "$attempt" "$(campaign_json "$token")" "$(campaign_json "$SLURM_JOB_ID")" \
        "$(campaign_json "$SLURM_JOB_NAME")" "$(campaign_json "${SLURM_CLUSTER_NAME:-}")" \
        "$(campaign_json "$SLURM_JOB_NODELIST")" "$outcome" "$(campaign_json "$reason")" "$status" "$started" "$ended" \
        "$leftover" "${SLURM_RESTART_COUNT:-0}" "${times:+, \"phases\": [$times]}" >"$folder/completion.json.new" ||
        ! mv -- "$folder/completion.json.new" "$folder/completion.json"; then
        outcome="$outcome, but its record cannot be written"
    fi
    [[ $outcome == 'done' ]] || campaign_failures=$((campaign_failures + 1))
    campaign_say "$run, attempt $attempt: $outcome ${reason:+($reason)}"
}

# One phase of campaign_run, whose variables it uses. What it prints goes into a folder of its name, where it has one.
campaign_phase() {
    local place=$folder${name:+/$name} began error
    [[ -z $campaign_signal ]] || return 1
    [[ -z $name ]] || mkdir -- "$place"
    if [[ $1 != campaign_* ]]; then
        campaign_geometry "$told" "$@"
        [[ $probe == 0 ]] || campaign_probe_once "$place" "$@" || return 1
        [[ $probe == 0 || -n $campaign_watch_pid ]] || campaign_watch_begin "$folder" "$1"
    fi
    [[ -z $campaign_signal ]] || return 1 # it came while the placement was probed
    if [[ $made == false ]]; then
        if ! error=$(mkdir -- "$directory" 2>&1); then
            reason="${directory%/*} is not writable on ${SLURMD_NODENAME:-$HOSTNAME}: ${error##*: }"
            return 1
        fi
        : >"$folder/directory-made"
        made=true
    fi
    if [[ $1 == campaign_* ]]; then
        campaign_now
        campaign_started=$REPLY
        "$@" >"$place/stdout" 2>"$place/stderr"
    else
        campaign_count_along "$folder" "$probe"
        # In a process of its own: where nobody reads any more, the signal ends that one and not the job.
        [[ -z $campaign_watch_pid ]] || (printf 'phase\n' >&"$campaign_watch_in") 2>/dev/null
        campaign_launch "$place" "$@"
    fi
    status=$?
    began=$campaign_started
    [[ -n $times ]] || started=$began
    campaign_now # names of phases are plain
    [[ -z $name ]] || times+="${times:+, }{\"phase\": \"$name\", \"exit_status\": $status, \"started\": $began, \"ended\": $REPLY}"
    [[ $1 == campaign_remove ]] || campaign_count_ends "$folder" "${name:-end}"
    return "$status"
}

# shellcheck disable=SC2329  # called by campaign_phase
campaign_write() { # FILE TEXT: the input of a later phase
    if [[ $1 != "$directory"/* || $1 == *..* ]]; then
        printf '%s is not below %s\n' "$1" "$directory" >&2
        return 1
    fi
    mkdir -p -- "${1%/*}" && printf '%s\n' "$2" >"$1"
}

# shellcheck disable=SC2329  # called by campaign_phase
campaign_remove() { # what earlier phases wrote: the attempt's directory, of which its top stays, or something below it
    if [[ $1 == "$directory" ]]; then
        find "$1" -mindepth 1 -xdev -delete
    elif [[ $1 == "$directory"/* && $1 != *..* ]]; then
        rm -rf --one-file-system -- "$1"
    else
        printf '%s is not below %s\n' "$1" "$directory" >&2
        return 1
    fi
}

# Runs the launcher, and again where it never reached the benchmark because slurmctld was away, for up to ten minutes.
campaign_launch() {
    local folder=$1 status tries=0
    shift
    while :; do
        campaign_now
        campaign_started=$REPLY
        BENCH_JSON="$folder/bench.jsonl" BENCH_EXPECT_NODES=$campaign_nodes BENCH_EXPECT_PPN=$campaign_per_node \
            "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null {campaign_watch_in}>&- &
        campaign_pid=$!
        campaign_wait
        status=$?
        [[ $status -ne 0 && -z $campaign_signal && $tries -lt 120 && ! -s $folder/stdout ]] || break
        # What slurmctld itself refuses, it refuses again.
        grep -qE '^srun: error: .*(contact slurm controller|Socket timed out|Connection|Zero Bytes)' "$folder/stderr" || break
        tries=$((tries + 1))
        campaign_say "not launched, again in 5 s: $(tail -n 1 "$folder/stderr")"
        sleep 5
        [[ -z $campaign_signal ]] || break
    done
    return "$status"
}

# For the process $campaign_pid, whose status it gives.
campaign_wait() {
    local status
    [[ -z $campaign_signal ]] || kill -TERM "$campaign_pid" 2>/dev/null # it came before the process was known
    # A trapped signal ends wait early, so ask again until the process itself has ended.
    wait "$campaign_pid"
    status=$?
    while kill -0 "$campaign_pid" 2>/dev/null; do
        wait "$campaign_pid"
        status=$?
    done
    campaign_pid=''
    return "$status"
}

campaign_end() {
    campaign_unlock
    campaign_say "end of the job, $campaign_failures of its runs failed"
    [[ $campaign_failures -eq 0 ]]
    exit
}
