# What the job does around each run. Nothing here runs while the benchmark is timed.
# shellcheck disable=SC2034,SC2154  # it shares its variables with the other files

# What the submitter's environment makes of bash, or a module that is loaded: BASH_ENV has been read, functions and options are
# inherited. Of the functions, those stay that hide no command: the module command's.
campaign_reset_bash() {
    POSIXLY_CORRECT=y # functions named set, trap and unset come after the commands then
    set +abefkuvxCEHPT
    set +o pipefail
    unset -f declare export hash read set shopt type unset
    unset -v POSIXLY_CORRECT
    unset -v BASH_COMPAT BASH_ENV CDPATH ENV FUNCNEST GLOBIGNORE
    unset -v TMOUT 2>/dev/null # it may be read-only
    shopt -u dotglob failglob lastpipe nocaseglob nocasematch nullglob xpg_echo
    shopt -u inherit_errexit localvar_inherit localvar_unset 2>/dev/null # later than the oldest bash in use
    export -n BASHOPTS SHELLOPTS
    export LC_ALL=C
    IFS=$' \t\n'
    while read -r _ _ campaign_name; do
        [[ $campaign_name == @(job|campaign_*) || $(type -at -- "$campaign_name") == function ]] || unset -f -- "$campaign_name"
    done < <(declare -F)
    hash -r
    umask u=rwx,o-w # no other user changes what the job writes
    campaign_unset_inputs
    set -u
}

# Unsets what tells srun, mpirun and Slurm's commands something else than their options: a module, a profile or an enclosing job may
# have set it. Each version of Slurm has other variables, so those stay that say which job this is and how it reaches its cluster.
campaign_unset_inputs() {
    local name
    for name in "${!SLURM@}" "${!SRUN_@}" "${!SBATCH_@}" "${!SACCT_@}" "${!SCANCEL_@}" "${!SCONTROL_@}" "${!SINFO_@}" "${!SQUEUE_@}" \
        "${!OMPI_MCA_orte_@}" "${!PRTE_MCA_@}"; do
        case $name in
        SLURM_JOB_* | SLURM_JOBID | SLURM_SUBMIT_* | SLURM_RESTART_COUNT | SLURM_SCRIPT_CONTEXT | SLURMD_NODENAME) ;;
        SLURM_CLUSTER_NAME | SLURM_WORKING_CLUSTER | SLURM_CONF | SLURM_CONF_SERVER | SLURM_STEPMGR | SLURM_JWT | SLURM_SACK_*) ;;
        SLURM_NNODES | SLURM_NODELIST | SLURM_NODE_ALIASES | SLURM_TOPOLOGY_ADDR* | SLURM_NTASKS | SLURM_NPROCS) ;;
        SLURM_TASKS_PER_NODE | SLURM_CPUS_PER_TASK | SLURM_CPUS_ON_NODE | SLURM_GPUS_ON_NODE | SLURM_SHARDS_ON_NODE) ;;
        SLURM_NODEID | SLURM_PROCID | SLURM_LOCALID | SLURM_GTIDS | SLURM_TASK_PID | SLURM_PRIO_PROCESS | SLURM_PMIX_*) ;;
        OMPI_MCA_orte_*output* | PRTE_MCA_*output* | S*) unset -v "$name" ;; # of mpirun's, what it puts into the output
        esac
    done
}
POSIXLY_CORRECT=y
trap - DEBUG ERR RETURN # not in a function, which inherits none of them
campaign_reset_bash

campaign_refusal=''   # why nothing may be measured in this job
campaign_over=''      # why the job is at its end: nothing further is begun
campaign_failures=0   # runs of it
campaign_job_folder=''
campaign_pid=''       # the launcher that is running
campaign_ends=''      # the file that says how launchers ended, where there was one
campaign_closing=''   # the folder of the run before, whose record is being written
campaign_launched=()  # of that run: name and launcher of each phase, a word on each line, whose launcher was not asked before
campaign_look_s=30   # seconds between two looks whether a benchmark has printed its last line and does not end
campaign_stopped=''   # when Slurm announced that it suspends the job, which has not gone on since
campaign_suspended='' # of the run: from when and until when it was, a pair of times after another
campaign_longest=10000 # bytes of a reason, of which a record has less: the kernel limits the words of a command
campaign_again_s=5   # seconds before a launcher that reached no task is tried again
# Why a job measures nothing that finds traces of itself: a slurmctld that lost its state has a job run again that ran.
campaign_forgotten='Slurm forgot that it had started the job, and started it again: its measurements would not be one run'

# Seconds since the epoch, into REPLY; bash has a clock of its own from version 5 on. Beside it, into campaign_uptime,
# those of the kernel's clock that nobody sets.
campaign_now() {
    REPLY=${EPOCHREALTIME:-$(date +%s.%6N)}
    { read -r campaign_uptime _ </proc/uptime; } 2>/dev/null || campaign_uptime=''
}

# As read splits a line, without the process that would print it.
campaign_split() { # TEXT NAME...: the words into the variables, of which the last takes the rest
    local campaign_rest=$1
    shift
    while [[ $# -gt 1 ]]; do
        printf -v "$1" %s "${campaign_rest%% *}"
        [[ $campaign_rest == *' '* ]] || campaign_rest+=' '
        campaign_rest=${campaign_rest#* }
        shift
    done
    printf -v "$1" %s "$campaign_rest"
}

campaign_say() {
    local REPLY
    campaign_now
    printf '%s %s\n' "$REPLY" "$*"
}

# shellcheck disable=SC2329  # called by the traps
campaign_terminated() {
    campaign_over=${campaign_over:-the job was ended (SIG$1)}
    campaign_tell over
    [[ -z $campaign_pid ]] || kill -TERM "$campaign_pid" 2>/dev/null
}
trap 'campaign_terminated TERM' TERM
trap 'campaign_terminated INT' INT
trap 'campaign_terminated USR1' USR1 # of sbatch's --signal
trap 'campaign_terminated USR2' USR2
# shellcheck disable=SC2329  # called by the traps
campaign_stops() {
    local REPLY campaign_uptime
    campaign_now
    campaign_stopped=$REPLY
}
# shellcheck disable=SC2329  # called by the traps
campaign_goes_on() {
    local REPLY campaign_uptime
    campaign_now
    [[ -z $campaign_stopped ]] || campaign_suspended+="$campaign_stopped $REPLY "
    campaign_stopped=''
}
# Slurm sends the first one two seconds before it suspends a job, for gang scheduling and preemption too.
trap campaign_stops TSTP
trap campaign_goes_on CONT
trap campaign_dismiss_witness EXIT
trap : PIPE # nobody reads any more: that write fails, and the job goes on

campaign_module() {
    local REPLY='' before=${LOADEDMODULES-}
    set +u # the module command's own functions use what is not set
    if ! command -v module >/dev/null; then
        REPLY="module $1 cannot be loaded: no module command on ${SLURMD_NODENAME:-$HOSTNAME}"
    else
        module load "$1" || REPLY="module $1 cannot be loaded: module load failed"
    fi
    campaign_reset_bash
    [[ -n $REPLY ]] || campaign_compare_modules "$1" "$before"
    campaign_refusal=${campaign_refusal:-$REPLY}
}

# campaign_begin WITNESS PROBE JOB_FOLDER TARGET_DIRECTORY EXECUTABLE [PREFIX...]; PROBE is 1 where ranks are watched
campaign_begin() {
    export LC_ALL=C # messages and numbers are read by programs, whatever the campaign file sets
    campaign_unset_inputs # of a template of the user's own
    campaign_program=$1 campaign_watches=$2
    shift 2
    campaign_job_folder=$1
    if [[ ${SLURM_RESTART_COUNT:-0} -gt 0 ]]; then
        campaign_refusal="Slurm restarted the job (restart ${SLURM_RESTART_COUNT}): its measurements would not be one run"
    elif [[ -e $1/facts.jsonl ]]; then
        campaign_refusal=$campaign_forgotten
    fi
    [[ $2 != job:* ]] || campaign_resolve "$2"
    [[ -z $campaign_refusal ]] || return
    [[ -z $campaign_in_job ]] || set -- "$1" "$campaign_resolved" "${@:3}"
    campaign_start_witness "$@"
    campaign_take_target "$2"
    [[ -z $campaign_over ]] || return
    [[ -n $campaign_refusal ]] || campaign_probe_ahead
    campaign_ask_whether around
    campaign_probed_ahead
}

# campaign_run RUN ATTEMPT TOKEN FOLDER DIRECTORY PROBE srun OPTION... [PREFIX...] PROGRAM ARGUMENT...
# PROBE is WATCHED:NODES:RANKS_ON_EACH:WORDS_OF_THE_LAUNCHER, WATCHED being 1 where the job looks where the ranks are and
# what they run, otherwise 0. Of several phases each begins with phase=NAME, or beside=NAME where it starts together with the
# one before; they run one after another otherwise, up to the first that fails. Before the launcher: told=PROBE, of a phase with nodes or ranks of its own;
# file=NAME, a file that the program writes as part of its output; end=PATTERN, the last line of its stdout.
campaign_run() {
    [[ -z $campaign_resolved ]] || set -- "${@//"$campaign_in_job"/"$campaign_resolved"}"
    local run=$1 attempt=$2 token=$3 folder=$4 directory=$5 probe=${6%%:*} told=$6 started ended uptime status=-1 outcome reason=''
    local leftover=0 made=false name='' whole=false unended='' watched='' blind='' expected=() launched=() phases=()
    shift 6
    [[ -z $campaign_over ]] || return # the job is ending: what was not begun stays unclaimed
    # Whoever makes this directory owns the attempt: this job, or a driver that has given the job up.
    if ! reason=$(mkdir -- "$folder/claim" 2>&1); then
        [[ ! -d $folder/claim ]] || reason='superseded, another has claimed it'
        campaign_say "$run, attempt $attempt: $reason"
        campaign_failures=$((campaign_failures + 1))
        return
    fi
    campaign_ask begin "$folder" "${directory%/*}" && campaign_refusal=${campaign_refusal:-$REPLY}
    campaign_say "$run, attempt $attempt: $*"
    campaign_suspended=''
    campaign_now
    started=$REPLY
    uptime=$campaign_uptime
    [[ -n $campaign_refusal ]] || campaign_is_still_there
    reason=$campaign_refusal
    [[ -n $reason || -z $campaign_inputs ]] || { campaign_ask hash "$folder" && reason=$REPLY; }
    [[ -n $reason ]] || campaign_phases "$@"
    campaign_goes_on # where it ended right before it would have been suspended
    campaign_now
    ended=$REPLY
    [[ -z $uptime ]] || uptime="$uptime ${campaign_uptime:-$uptime}"
    campaign_recorded
    [[ $made == false ]] || campaign_clear
    campaign_judge
    campaign_record
}

# The phases of campaign_run, whose variables they use; a run without names for them has one.
campaign_phases() {
    local word words=() names=() files=() launch=()
    whole=true
    for word in "$@" phase=; do
        # The text of a file may begin with any word.
        if [[ $word != @(phase|beside)=* || (${words[0]:-} == campaign_write && -z ${words[2]+set}) ]]; then
            words+=("$word")
            continue
        fi
        [[ -z ${words[0]+set} ]] || campaign_phase "${words[@]}" || { whole=false && break; }
        [[ $word == beside=* || -z ${names[0]+set} ]] || campaign_execute || { whole=false && break; }
        words=()
        [[ $word == phase= ]] || name=${word#*=}
    done
}

campaign_judge() { # what became of campaign_run, whose variables it uses
    outcome=failed
    if [[ $whole == true ]]; then
        outcome='done'
    elif [[ -n $campaign_over ]]; then
        outcome=terminated
        reason=$campaign_over
    elif [[ $status -lt 0 ]]; then
        outcome=refused
    else
        reason="${name:+phase $name: }${reason:-the benchmark ended with status $status}"
    fi
    [[ $outcome == 'done' ]] || { campaign_failures=$((campaign_failures + 1)) && expected=(); }
}

# How the run ended, of campaign_run, whose variables it uses. facts.jsonl takes its name once the witness has written the rest,
# while the next run's launcher starts.
campaign_record() {
    local record=("$run" "$attempt" "$token" "$outcome" "${reason:0:campaign_longest}" "$status" "$started" "$ended" "$uptime"
        "$campaign_suspended" "${leftover:-0}" "$unended" "${phases[@]}")
    campaign_ended=true
    if ! campaign_complete "${record[@]}"; then
        campaign_ended=false
        # The driver looks there where an attempt has no record.
        [[ $outcome != refused ]] || printf '%s\n' "$reason" >>"$folder/stderr"
        outcome="$outcome, but its record cannot be written"
        campaign_failures=$((campaign_failures + 1))
    fi
    campaign_tell close "$made" "$campaign_ended" "${expected[@]}"
    campaign_closing=$folder
    campaign_launched=("${launched[@]}")
    campaign_say "$run, attempt $attempt: $outcome ${reason:+($reason)}"
}

# Has the record written by a process of its own, since it must be there where the one that serves the script is not: a job that
# Slurm has started again has none. A signal to all processes of the job may end it right at its start.
campaign_complete() { # WORD...: see bench-src/witness/completion.c
    "$campaign_program" complete "$folder" "$@" || { [[ $? -gt 128 ]] && "$campaign_program" complete "$folder" "$@"; }
}

# Waits until all is written of the run before, while no run is under way.
campaign_recorded() {
    [[ -n $campaign_closing ]] || return 0
    campaign_ask closed
    [[ -z $REPLY ]] || campaign_ask_first=yes # the witnesses do not see all ranks where they should be
    [[ $REPLY != part || -n $campaign_over ]] || campaign_ask_afterwards
    if [[ $campaign_ended == true && -f $campaign_closing/facts.jsonl.new ]]; then
        mv -- "$campaign_closing/facts.jsonl.new" "$campaign_closing/facts.jsonl"
    fi
    campaign_closing=''
}

# Prepares a phase of campaign_run, whose variables it uses. What it prints goes into a folder of its name, where it has one.
campaign_phase() {
    local place=$folder${name:+/$name} told=$told file='' end=''
    while [[ $1 == @(told|file|end)=* ]]; do
        local "$1"
        shift
    done
    campaign_geometry "$told"
    [[ -z $campaign_over ]] || return 1
    [[ -z $name ]] || mkdir -- "$place"
    if [[ $1 != campaign_* ]]; then
        if [[ $probe == 0 ]]; then
            campaign_ask_for_variables "$@"
        else
            campaign_prepare "$@" || return 1
        fi
    fi
    [[ -z $campaign_over ]] || return 1 # it came while the placement was probed
    [[ $made == true ]] || campaign_make_directory || return 1
    names+=("$name") files+=("$file")
    launch+=($# "$place" "$campaign_nodes" "${campaign_per_node##*+*}" "$end" "$@")
}

# Runs what is prepared: a function of the job, or launchers at the same time, in the attempt's own directory. Each is launched
# again where it never reached the benchmark, and ended where the benchmark does not end behind its last line, which is closing
# then, or where another has failed (bench-src/witness/launch.h). False where no other phase may follow.
campaign_execute() {
    local said failed i line lines=() fence=() place began ended up until closing lost=''
    campaign_now
    line="$REPLY $campaign_uptime"
    if [[ ${launch[5]} == campaign_* ]]; then
        "${launch[@]:5}" >"${launch[1]}/stdout" 2>"${launch[1]}/stderr"
    else
        [[ -n ${names[1]+set} ]] || campaign_count_along "$folder" "$probe"
        campaign_tell phase
        campaign_ends=$campaign_job_folder/launched
        # With the ring of Slurm's PMIx, as in a sandbox, ranks of a step that begins on another node than the job may wait for ever.
        [[ ${SLURM_PMIX_FENCE:-} != ring || "${launch[*]}" != *" --relative="[1-9]* ]] || fence=(env --unset=SLURM_PMIX_FENCE)
        "${fence[@]}" "$campaign_program" launch -s "$campaign_look_s,$campaign_again_s" -o "$campaign_ends" -- "${launch[@]}" </dev/null &
        campaign_pid=$!
        campaign_wait_launcher
    fi
    status=$?
    campaign_now
    line="$status ${line% *} $REPLY ${line#* } $campaign_uptime"
    [[ ! -s $campaign_ends ]] || { mapfile -t lines <"$campaign_ends" && : >"$campaign_ends"; }
    failed=${lines[0]:-$((status == 0 ? -1 : 0))}
    for i in "${!names[@]}"; do
        name=${names[i]} place=$folder${names[i]:+/${names[i]}} closing=${lines[2 * i + 2]:-}
        campaign_split "${lines[2 * i + 1]:-$line}" status began ended up until
        [[ ${launch[5]} == campaign_* ]] || campaign_look_for_loss "$place/stderr"
        [[ -z ${files[i]} ]] || campaign_show "${files[i]}" >>"$place/stdout" 2>>"$place/stderr"
        [[ -n ${phases[0]+set} ]] || { started=$began && uptime=$up; }
        [[ -z $name ]] || phases+=("$name" "$status" "$began" "$ended" "${until:+$up $until}")
        unended+=${closing:+${unended:+; }${name:+$name: }$closing}
    done
    # What servers count of several at the same time is none of theirs alone.
    [[ -n ${names[1]+set} || ${launch[5]} == campaign_remove ]] || campaign_count_ends "$folder" "${name:-end}"
    if [[ (-e $directory || -L $directory) && (-L $directory || ! $directory -ef .) ]] && ! said=$("$campaign_program" within "$directory"); then
        reason=$said
        return 1
    fi
    [[ -z $lost ]] || return 1
    if [[ $failed -ge 0 ]]; then
        line=${lines[2 * failed + 1]:-$line}
        name=${names[failed]} status=${line%% *}
        return 1
    fi
    names=() files=() launch=()
}

# shellcheck disable=SC2329  # called by the next two
campaign_below() { # PATH below the attempt's directory: as seen from there, into REPLY; false for any other
    REPLY=./${1#"$directory"/}
    [[ $1 == "$directory"/* && $1 != *..* ]] || { printf '%s is not below %s\n' "$1" "$directory" >&2 && return 1; }
}

# shellcheck disable=SC2329  # called by campaign_phase
campaign_write() { # FILE TEXT: the input of a later phase
    campaign_below "$1" && mkdir -p -- "${REPLY%/*}" && printf '%s\n' "$2" >"$REPLY"
}

# shellcheck disable=SC2329  # called by campaign_phase
campaign_copy() { campaign_below "$1" && mkdir -p -- "${REPLY%/*}" && cp -- "$2" "$REPLY"; } # FILE INPUT

# shellcheck disable=SC2329  # called by campaign_phase
campaign_remove() { # what earlier phases wrote: the attempt's directory, of which its top stays, or something below it
    [[ $1 != "$directory" ]] || { find . -mindepth 1 -xdev -delete && return; }
    campaign_below "$1" && rm -rf --one-file-system -- "$REPLY"
}

campaign_show() { # NAME: prints what the program wrote in the directory where it worked
    local path
    for path in ./$1; do # with any * in the name
        [[ ! -f $path || -L $path ]] || cat -- "$path"
    done
}

# Sets lost, of campaign_execute, where srun lost a node: it may end with status 0 then. A job's script whose own node is
# lost gets no signal, and no step starts any more; nor where slurmctld was killed before it had written down that the
# job had started: it starts the job again, beside this script. A job that is being cancelled is lost to srun before its
# script gets the signal.
campaign_look_for_loss() { # STDERR
    local found
    [[ -s $1 ]] || return
    found=$(sed -n 's/^srun: error: Node failure on //p
        s/^srun: error: Unable to confirm allocation for \(job [0-9]*\): .*[Jj]ob.*/\1/p
        s/^srun: error: Unable to create step for \(job [0-9]*\): .*\(Invalid job\|already completing\).*/\1/p
        s/^srun: error: Slurm \(job [0-9]*\) has expired.*/\1/p
        s/^srun: error: Task launch for StepId=\([0-9]*\)[^ ]* failed on node [^ ]*: Job credential revoked.*/job \1/p' "$1" | sort -u)
    [[ -z $found ]] || { lost=$found && campaign_over="Slurm lost ${lost//$'\n'/ and } during the run"; }
}

# For the process $campaign_pid, whose status it gives. It is ended with the job.
campaign_wait_launcher() {
    local status
    [[ -z $campaign_over ]] || kill -TERM "$campaign_pid" 2>/dev/null # it came before the process was known
    campaign_wait "$campaign_pid"
    status=$?
    campaign_pid=''
    return "$status"
}

campaign_wait() { # PID: its status
    local status
    # A trapped signal ends wait early, so ask again until the process itself has ended.
    wait "$1"
    status=$?
    while kill -0 "$1" 2>/dev/null; do
        wait "$1"
        status=$?
    done
    return "$status"
}

campaign_end() {
    campaign_recorded
    campaign_dismiss_witness
    [[ -z $campaign_ends ]] || rm -f -- "$campaign_ends"
    [[ -z $campaign_ahead && $campaign_probes -eq 0 ]] || rm -rf -- "$campaign_job_folder/placement" # of this start
    campaign_say "end of the job, $campaign_failures of its runs failed"
    [[ $campaign_failures -eq 0 ]]
    exit
}
