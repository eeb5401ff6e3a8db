# What ran. The name that a program is given can be anything, and a script can start another one. So on each node of
# the job a process of its own looks from outside at the processes of the run's ranks, by way of /proc: which file
# each of them executes, and what it has loaded. It adds nothing to the ranks, and while they run it starts no
# process: what it hashes it holds open. What it saw it writes when they have ended, and the launcher of the next run
# may start meanwhile. It looks every few milliseconds while ranks start, and then ever more rarely, up to every 5 s:
# what ran between two looks, it did not see, and docs/evidence.md says so. The rest of the job is in
# job-functions.bash.
# shellcheck disable=SC2034,SC2154  # it shares its variables

# --- one node

# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_node() { # a run for each line of its input: a space, FOLDER, tab, LAUNCHER
    local folder launcher said telling=''
    local -A hashed=() # SHA-256 of files that earlier runs had open, by what the file system says of them
    export LC_ALL=C
    campaign_node=${SLURM_NODEID:-0}
    exec {said}>&1 {never}<> <(:)
    while IFS=$'\t' read -r folder launcher; do campaign_watch_run "${folder# }" "$launcher"; done
    echo >&"$never" # no run follows, which what is told would wait for
    campaign_watch_told
}

# Up to the line "end", or the end of its input; then a process of its own writes what it saw, as facts and as lines of
# ranks, while the job prepares the next run.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_run() { # FOLDER LAUNCHER
    local mark="BENCH_JSON=$1/" launcher=${2##*/} newest=0 pause=0.004 now=0 latest=0 asked=0 first='' fresh=0
    local word programs=0 held=0 fd REPLY
    local -A young=() born=() rank_of=() runs=() due=() named=() again=() executed=() loaded=() preloads=()
    local opened=()
    read -r _ _ _ _ newest </proc/loadavg
    campaign_now
    asked=${REPLY/./}
    campaign_fact ready "${SLURMD_NODENAME:-$HOSTNAME}"
    while :; do
        # Where the time is over just as something comes, bash may read and forget a part of it. So that waits for the
        # space that goes ahead of each line, and the line itself is read without a limit of time.
        read -t 0 || read -r -t "$pause" -d ' ' _
        if [[ $? -le 128 ]]; then
            read -r word || break # the job has ended
            [[ $word != end ]] || break
            latest=0 asked=$now # a phase begins
        fi
        campaign_watch_look
    done
    # An answer at once: with none, TCP would hold back what the job says next for the 40 ms of a delayed acknowledgement.
    campaign_fact name "${SLURMD_NODENAME:-$HOSTNAME}"
    campaign_watch_told
    exec {telling}< <(campaign_watch_tell)
    for fd in "${opened[@]}" "${loaded[@]%% *}"; do
        [[ $fd == - ]] || exec {fd}<&-
    done
}

# Waits until all is written of the run before, and takes over the hashes of its files.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_told() {
    local hash file
    [[ -n $telling ]] || return 0
    while read -r hash file; do hashed[$file]=$hash; done <&"$telling"
    exec {telling}<&-
    telling=''
}

# Its processes may end while it looks at them, of which the shell would complain.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_look() {
    local pid before=$newest age name REPLY
    campaign_now
    now=${REPLY/./}
    read -r _ _ _ _ newest </proc/loadavg # the number that the kernel gave last
    if [[ $newest -ne $before ]]; then
        asked=$now
        if [[ $newest -gt $before && $newest -lt $((before + 4096)) ]]; then
            for ((pid = before + 1; pid <= newest; pid++)); do young[$pid]=$now due[$pid]=0; done
        else # the numbers began again
            for pid in /proc/[1-9]*; do
                pid=${pid#/proc/}
                [[ -n ${rank_of[$pid]:-} ]] || young[$pid]=$now due[$pid]=0
            done
        fi
    fi
    for pid in "${!young[@]}"; do
        [[ $now -ge ${due[$pid]} ]] || continue
        age=$((now - young[$pid]))
        due[$pid]=$((now + age / 2))
        if ! read -r name <"/proc/$pid/comm" || [[ $age -gt 30000000 ]]; then
            [[ $age -eq 0 ]] || unset "young[$pid]" # a number is given before its process is there
            continue
        fi
        # Until it executes a file, a new process has the variables of whoever started it. Then its name is another,
        # and to read that costs much less than the variables, which are read again at twice the age too.
        [[ $name != slurmstepd && ($name != "${named[$pid]:-}" || $age -ge ${again[$pid]:-0}) ]] || continue
        named[$pid]=$name
        again[$pid]=$((4000 + 2 * age))
        campaign_watch_is_rank "$pid"
        case $? in
        0)
            rank_of[$pid]=$REPLY
            born[$pid]=$now
            due[$pid]=0
            latest=$now
            [[ -n $first && ${REPLY%% *} -ge ${rank_of[$first]%% *} ]] || first=$pid fresh=0
            unset "young[$pid]"
            ;;
        1) ;;
        *) unset "young[$pid]" ;; # nor can it become one
        esac
    done
    for pid in "${!born[@]}"; do
        [[ $now -ge ${due[$pid]} ]] || continue
        due[$pid]=$((now + (now - born[$pid]) / 8))
        campaign_watch_executes "$pid" && continue
        unset "born[$pid]" # it has ended
        [[ $pid != "$first" ]] || first=''
        [[ -n ${born[*]} ]] || latest=0 asked=$now # a next phase may begin
    done
    if [[ -n $first && $now -ge $fresh ]]; then
        campaign_watch_loads "$first"
        fresh=$((now + 10000 + now - latest))
    fi
    if [[ $latest -eq 0 ]]; then
        age=$(((now - asked) / 8))
        age=$((age > 100000 ? 100000 : age))
    else
        age=$(((now - latest) / 8))
        age=$((age > 5000000 ? 5000000 : age))
    fi
    age=$((age < 8000 ? 8000 : age))
    printf -v pause '%d.%06d' $((age / 1000000)) $((age % 1000000))
} 2>/dev/null

# Whether a process is one of the run's ranks on this node, with its rank, and the phase's name if it has one, into
# REPLY; 1 where it may become one by what it executes next, 2 where it cannot.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_is_rank() { # PID
    local words=() text='' line phase rank n=$'\n'
    # Up to its end: of a file that cannot be read on, since its process has ended, bash keeps the rest for the next read.
    read -r -d '' text <"/proc/$1/status"
    [[ $text == *"${n}Tgid:"$'\t'"$1$n"* ]] || return 2 # a thread has a number too
    mapfile -d '' -t words <"/proc/$1/environ" || return 1
    [[ -n ${words[*]} ]] || named[$1]='' # it has the new name already, and its variables in a moment
    local IFS=$n
    text=$n${words[*]}$n
    [[ $text == *"$n$mark"* ]] || return 1
    line=${text#*"$n$mark"} # [PHASE/]bench.jsonl
    line=${line%%"$n"*}
    line=${line%bench.jsonl}
    phase=${line%/}
    if [[ $text =~ ${n}SLURMD_NODENAME=([^$n]*) ]]; then
        [[ ${BASH_REMATCH[1]} == "${SLURMD_NODENAME:-}" ]] || return 2 # of another virtual node of this machine
    fi
    if [[ $launcher == srun ]]; then
        [[ $text =~ ${n}SLURM_STEP_ID=[0-9]+$n && $text =~ ${n}SLURM_PROCID=([0-9]+)$n ]] || return 1
    else
        [[ $text =~ $n(OMPI_COMM_WORLD_RANK|PMIX_RANK|PMI_RANK)=([0-9]+)$n ]] || return 1
    fi
    rank=${BASH_REMATCH[-1]}
    for line in "${words[@]}"; do
        [[ $line != LD_PRELOAD=?* && $line != LD_AUDIT=?* && $line != OMP_NUM_THREADS=?* ]] || preloads[$line]=1
    done
    REPLY=$rank${phase:+ $phase}
}

# Notes which file a rank's process executes now; false where the process has ended.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_executes() { # PID
    local rank=${rank_of[$1]} number fd
    number=${runs[$1]:-}
    [[ -z $number || ! /proc/$1/exe -ef /proc/self/fd/${opened[number]} ]] || return 0
    [[ -e /proc/$1/exe ]] || return 1
    { exec {fd}<"/proc/$1/exe"; } || return 1
    for number in "${!opened[@]}"; do
        if [[ /proc/self/fd/$fd -ef /proc/self/fd/${opened[number]} ]]; then
            exec {fd}<&-
            fd=''
            break
        fi
    done
    if [[ -n $fd ]]; then
        number=$programs
        opened[number]=$fd
        programs=$((programs + 1))
    fi
    runs[$1]=$number
    [[ " ${executed[$rank]:-} " == *" $number "* ]] || executed[$rank]+="${executed[$rank]:+ }$number"
}

# Notes the files whose code a process has in its memory.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_loads() { # PID
    local lines=() line inode path fd
    mapfile -t lines <"/proc/$1/maps" || return 0
    for line in "${lines[@]}"; do
        [[ $line == *x[ps]' '* ]] || continue # most do not, and one star costs a fifth of three
        [[ ${line#* } == ??x*' /'* ]] || continue
        path=/${line#* /}
        [[ -z ${loaded[$path]:-} ]] || continue
        read -r _ _ _ _ inode _ <<<"$line"
        # By way of the process's own root, since it may be in a container.
        if { exec {fd}<"/proc/$1/root$path"; }; then loaded[$path]="$fd $inode"; else loaded[$path]="- $inode"; fi
        held=$((held + 1))
        [[ $held -lt 400 ]] || return 0
    done
}

# Hashes the files that the witness holds open, into hashes and inodes. A file is not read again for a later run of
# the job where device, inode, size and both its times are the same, and it had last changed 2 s or more before it was
# read.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_hash() { # FILE...
    local inode changed said path hash REPLY
    local unknown=()
    local -A saying=()
    campaign_now
    while read -r inode changed said path; do
        inodes[${path##*/}]=$inode
        hashes[${path##*/}]=${hashed[$inode $said]:-}
        [[ -z ${hashes[${path##*/}]} ]] || continue
        unknown+=("$path")
        [[ $changed -ge $((${REPLY%.*} - 2)) ]] || saying[${path##*/}]="$inode $said"
    done < <(stat -L -c '%i %Z %d:%s:%.9Y:%.9Z %n' "$@" 2>/dev/null)
    [[ -n ${unknown[*]} ]] || return 0
    while read -r hash path; do
        hashes[${path##*/}]=$hash
        [[ -n ${saying[${path##*/}]:-} ]] || continue
        hashed[${saying[${path##*/}]}]=$hash
        learnt+=("$hash ${saying[${path##*/}]}")
    done < <(timeout 60 sha256sum "${unknown[@]}" 2>/dev/null </dev/null)
}

# All that was seen, and to the standard output new hashes with what the file system says of their files. Only now
# other programs are started.
# shellcheck disable=SC2329  # the nodes are sent it
campaign_watch_tell() {
    local number path fd inode rank ids text hash told
    local files=() learnt=()
    local -A hashes=() inodes=()
    read -r -t 0.05 -u "$never" _ # the next run's launcher first
    exec {told}>&1 >&"$said"
    campaign_watch_look
    for fd in "${opened[@]}"; do files+=("/proc/self/fd/$fd"); done
    for fd in "${loaded[@]%% *}"; do [[ $fd == - ]] || files+=("/proc/self/fd/$fd"); done
    [[ -z ${files[*]} ]] || campaign_watch_hash "${files[@]}"
    for fd in "${opened[@]}"; do
        text=$(readlink "/proc/self/fd/$fd")
        campaign_fact "program.${hashes[$fd]:-unread}" "$text"
    done
    for path in "${!loaded[@]}"; do
        fd=${loaded[$path]% *} inode=${loaded[$path]#* }
        hash=${hashes[$fd]:-cannot be read}
        [[ $fd == - || ${inodes[$fd]:-} == "$inode" ]] || hash='is another file by now'
        campaign_fact "library.${path##*/}" "$path $hash"
    done
    for text in "${!preloads[@]}"; do campaign_fact "env.${text%%=*}" "${text#*=}"; done
    for rank in "${!executed[@]}"; do
        ids=''
        for number in ${executed[$rank]}; do
            fd=${opened[number]}
            text=${hashes[$fd]:-0000000000000000} # could not be read
            ids+="${ids:+,}${text:0:16}"
        done
        [[ $rank != *' '* ]] || ids+=" ${rank#* }" # the phase
        printf '%s\trank\t%s %s %s\n' "$campaign_node" "${rank%% *}" "${SLURMD_NODENAME:-$HOSTNAME}" "$ids"
    done
    campaign_fact end yes
    [[ -z ${learnt[*]} ]] || printf '%s\n' "${learnt[@]}" >&"$told"
}

# --- the job

# What the launcher is told of the run's geometry; srun's options say so themselves.
campaign_geometry() { # PROBE srun OPTION... PROGRAM ARGUMENT...
    local word
    IFS=: read -r _ campaign_nodes campaign_per_node campaign_words <<<"$1"
    shift
    [[ -z $campaign_words ]] || return 0
    campaign_words=1
    for word in "${@:2}"; do
        case $word in
        --nodes=*) campaign_nodes=${word#*=} ;;
        --ntasks-per-node=*) campaign_per_node=${word#*=} ;;
        --*) ;;
        *) return 0 ;;
        esac
        campaign_words=$((campaign_words + 1))
    done
}

# Whether the ranks in a file are placed as the run asks: blocks of the same number on each node. 2 where some are
# missing.
campaign_placed() { # FILE [PHASE]
    awk -v nodes="$campaign_nodes" -v per_node="$campaign_per_node" -v phase="${2:-}" '
        $4 != phase { next }
        $2 != last { if ($2 in count) uneven = 1; last = $2; distinct++ }
        { count[$2]++; ranks++ }
        END {
            for (node in count) if (count[node] != per_node) uneven = 1
            exit ranks < nodes * per_node ? 2 : distinct != nodes || uneven
        }' "$1"
}

# The same of a run whose launcher was not asked before it, by what the witnesses saw. Where they did not see all, the
# launcher is asked once nothing runs any more; its answer stands beside the run's output.
campaign_placed_as_seen() { # uses campaign_run's variables
    local phase words=() idle='' right=true
    for phase in "${launched[@]}"; do
        mapfile -t words <<<"$phase" # folder, name, launcher
        campaign_placed "$folder/ran.txt" "${words[1]}" && continue
        [[ $? -ne 2 ]] || {
            [[ -n $idle ]] || read -r -u "$campaign_idle" idle
            [[ $idle != idle ]] || campaign_probe "${words[0]}" "${words[@]:2}" >/dev/null
        }
        right=false
    done
    [[ $right == true ]]
}

campaign_probe_longest=300 # seconds: a step that is never launched must not hold the job until its limit

# Launches the same geometry with a program that says where it is, for benchmarks that do not check it themselves.
campaign_probe() { # FOLDER LAUNCHER...
    local folder=$1 status
    shift
    local words=("${@:1:campaign_words}")
    # Slurm places the ranks before it connects them.
    # shellcheck disable=SC2016  # expanded by the shell of each rank
    SLURM_OVERLAP=1 timeout --kill-after=5 "$campaign_probe_longest" "${words[@]/#--mpi=*/--mpi=none}" bash -c \
        'echo "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-$SLURM_PROCID}}} ${SLURMD_NODENAME:-$HOSTNAME}"' \
        >"$folder/placement.txt" 2>"$folder/placement.err" </dev/null
    status=$?
    if [[ $status -ne 0 ]]; then
        [[ $status -ne 124 && $status -ne 137 ]] || echo "it did not end in $campaign_probe_longest s" >>"$folder/placement.err"
        printf 'the placement probe failed: %s' "$(tail -n 1 "$folder/placement.err")"
        return 1
    fi
    sort -n -o "$folder/placement.txt" "$folder/placement.txt"
    campaign_placed "$folder/placement.txt" || {
        printf 'the ranks are not block-placed and even on %d nodes with %d each: see placement.txt' \
            "$campaign_nodes" "$campaign_per_node"
        return 1
    }
}

declare -A campaign_probed=() # by launcher: the folder with what the probe of its placement found
campaign_watch_pid=''         # of the witnesses, once the job has some
campaign_watch_until=''       # when those of a run are waited for no longer
campaign_watch_ready_s=20     # so long they are waited for before a run, and after it
campaign_watch_end_s=60
campaign_watch_problem=''     # why they do not see the run
campaign_watch_mute=''        # why they see no run any more: they were waited for once
campaign_ahead=''             # the process that probes the placement by all launchers before the first run

# The same launcher places the ranks of all runs of a job alike, so it is asked once; $reason says what is wrong.
campaign_probe_once() { # FOLDER LAUNCHER...
    local launcher="${*:2:campaign_words}" before
    before=${campaign_probed[$launcher]:-}
    [[ -n $before ]] && cp -- "$before/placement.txt" "$before/placement.err" "$1" && return
    reason=$(campaign_probe "$@") || return
    campaign_probed[$launcher]=$1
}

# shellcheck disable=SC2329  # called where the job looks how the ranks are placed
campaign_launched_by() { # PROBE LAUNCHER...: a launcher of the job's runs
    local IFS=$'\n'
    campaign_witnessed=yes
    [[ $1 != *:* ]] || campaign_launchers=("$*" "${campaign_launchers[@]}") # the largest, which takes longest, first
}

# Probes the launchers of all runs while the job writes down its surroundings. A run whose launcher fails here probes
# it again, and says what is wrong.
campaign_probe_ahead() {
    [[ -n ${campaign_launchers[*]} ]] || return 0
    (
        local number words=() place="$campaign_job_folder/placement"
        for number in "${!campaign_launchers[@]}"; do
            mapfile -t words <<<"${campaign_launchers[number]}"
            campaign_geometry "${words[0]}" "${words[@]:1}"
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
        mapfile -t words <<<"${campaign_launchers[number]}"
        campaign_probed["${words[*]:1}"]=$place/$number
    done <"$place/block"
}

# One step for all runs of a job: to start it takes longer than all that it does.
# shellcheck disable=SC2120  # environment-functions.bash gives it words
campaign_watch_start() { # [WORD...]: what campaign_node_facts is told, where the nodes say their facts first
    local nodes=${SLURM_JOB_NUM_NODES:-1} said="$campaign_job_folder/ran"
    : >"$said.facts"
    # shellcheck disable=SC2016  # the nodes expand it
    exec {campaign_watch_in}> >(cd -- "$campaign_job_folder" && exec srun --overlap --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 \
        --job-name=witness --mpi=none --cpu-bind=none \
        bash -c "$(declare -f campaign_watch_node campaign_watch_run campaign_watch_look campaign_watch_is_rank \
            campaign_watch_executes campaign_watch_loads campaign_watch_hash campaign_watch_tell campaign_watch_told)
            $(campaign_of_node)"'; [[ $# -eq 0 ]] || campaign_node_facts / "$@"; campaign_watch_node' \
        bash "$@" >>"$said.facts" 2>"$said.err")
    campaign_watch_pid=$!
}

# Tells the witnesses of a run, which must not begin before they look.
campaign_watch_begin() { # FOLDER LAUNCHER
    campaign_watching=$1
    campaign_watch_problem=$campaign_watch_mute
    [[ -z $campaign_watch_mute ]] || return 0
    campaign_watch_alive || {
        campaign_recorded # it reads what those before have said
        campaign_watch_start
    }
    campaign_watch_tells "$1"$'\t'"$2"
    campaign_watch_until=$((SECONDS + campaign_watch_ready_s))
}

# Until they look. Later they would not see how the run's ranks start.
campaign_watch_ready() {
    [[ -n $campaign_watch_until ]] || return 0
    campaign_watch_await ready "$campaign_watch_until" || campaign_watch_missed ready "$campaign_watch_ready_s"
    campaign_watch_until=''
    [[ -z $campaign_watch_problem ]] || campaign_watch_quit
}

campaign_watch_missed() { # WORD SECONDS
    local said="$campaign_job_folder/ran" error within=''
    [[ -z $campaign_watch_problem && -z $campaign_over ]] || return 0
    ! campaign_watch_alive || within=" within $2 s"
    error=$(tail -n 1 "$said.err")
    campaign_watch_problem="no answer from the witness of $(campaign_silent "$1" "$said.facts")$within${error:+: $error}"
}

# Where they run and do not answer, no later run of the job waits for them again.
campaign_watch_quit() {
    ! campaign_watch_alive || campaign_watch_mute='not watched: in an earlier run of this job the witnesses had not answered in time'
    campaign_watch_stop 0
}

campaign_watch_alive() {
    [[ -n $campaign_watch_pid ]] && kill -0 "$campaign_watch_pid" 2>/dev/null
}

campaign_watch_tells() { # LINE
    { printf ' %s\n' "$1" >&"$campaign_watch_in"; } 2>/dev/null
}

# Until all of them have said WORD, or will not any more: then false.
campaign_watch_await() { # WORD UNTIL
    local ms=5 pause alive=yes
    while [[ $(grep -c -F $'\t'"$1"$'\t' "$campaign_job_folder/ran.facts") -lt ${SLURM_JOB_NUM_NODES:-1} ]]; do
        [[ -n $alive && $SECONDS -lt $2 && -z $campaign_over ]] || return 1
        campaign_watch_alive || alive='' # it may have been the last that they said
        printf -v pause '0.%03d' "$ms"
        read -r -t "$pause" -u "$campaign_never" _
        ms=$((ms < 200 ? ms * 4 / 3 : ms))
    done
}

# Tells them of the run's end. Each then says what it saw, and nothing more but that it is ready for the next run.
campaign_watch_ends() {
    : >"$campaign_job_folder/ran.facts"
    campaign_watch_tells end
}

# What they saw of the run is then in ran.txt (a line for each rank) and, as a JSON object, in $campaign_ran; false
# where not all of them have said it.
campaign_watch_end() { # FOLDER
    local said="$campaign_job_folder/ran" problems=''
    [[ -n $campaign_watching ]] || return 0
    campaign_watch_await end "$((SECONDS + campaign_watch_end_s))" || {
        campaign_watch_missed end "$campaign_watch_end_s"
        campaign_quote "${campaign_watch_problem:-$campaign_over}"
        problems=$REPLY
    }
    awk -F '\t' '$2 == "rank" { print $3 }' "$said.facts" | sort -n >"$1/ran.txt"
    campaign_fold "$said.facts"
    campaign_ran="{$REPLY\"problems\": [$problems]}"
    [[ -z $problems ]]
}

campaign_watch_no_more() { # tells them that no run follows
    exec {campaign_watch_in}>&-
    exec {campaign_watch_in}>/dev/null
}

# Ends the witnesses, and waits so long for what they end by themselves. Their srun is asked to end, and then made to.
campaign_watch_stop() { # SECONDS
    local signal until=$((SECONDS + $1))
    [[ -n $campaign_watch_pid ]] || return 0
    campaign_watch_no_more
    for signal in TERM KILL; do
        while campaign_watch_alive && [[ $SECONDS -lt $until && (-z $campaign_over || $signal == KILL) ]]; do
            read -r -t 0.01 -u "$campaign_never" _
        done
        kill "-$signal" "$campaign_watch_pid" 2>/dev/null
        until=$((SECONDS + 5))
    done
    wait "$campaign_watch_pid" 2>/dev/null
    campaign_watch_pid=''
}
