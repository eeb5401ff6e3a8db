# Whether all nodes see the target, on what it is mounted, and its lock, which keeps two jobs from measuring each other.
# The rest of the job is in job-functions.bash.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_lock=''     # the lock on the target that this job holds
campaign_unbroken=0  # how often a stale lock could not be taken away
campaign_owner=''    # what this job writes into it
campaign_mark=''     # a file in the target that this job made, to see whether all its nodes see it
campaign_here=()     # of the machine that submitted the job: its boot, and which directory it sees as the target

campaign_submitted_from() { # BOOT DEVICE:INODE: the machine, and the target as it sees it ('' where it does not)
    campaign_here=("$1" "$2")
}

# A directory that one node alone sees would be measured as if it were the storage of all. What lies on a file system
# of the node's own machine can be shared only where other nodes and the submitting machine are virtual ones of the
# same kernel.
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
    elif [[ -n ${campaign_here[1]} && $(stat -L -c %d:%i -- "$1") != "${campaign_here[1]}" ]]; then
        campaign_refusal="$1 is not shared: $name and ${SLURM_SUBMIT_HOST:-the submit host} see different directories; name one that all nodes see"
    fi
}

# What is mounted at the target is kept by the campaign's first job; on something else no later one measures.
campaign_same_mount() { # DIRECTORY
    local now before='' kept="${campaign_job_folder%/jobs/*}/mounts/${1//\//%}"
    now="$(stat -f -c %T -- "$1" 2>/dev/null) $(stat -L -c %m -- "$1" 2>/dev/null)"
    if [[ -f $kept ]]; then
        read -r before <"$kept"
        if [[ $before != "$now" ]]; then
            campaign_refusal="$1 is on ${now/ / mounted at } of ${SLURMD_NODENAME:-$HOSTNAME}; when the campaign began it was on ${before/ / mounted at }: mount it, or remove $kept"
        fi
    elif [[ $campaign_job_folder == */jobs/* ]]; then
        mkdir -p -- "${kept%/*}" && printf '%s\n' "$now" >"$kept.new" && mv -- "$kept.new" "$kept"
    fi
}

campaign_make_mark() { # DIRECTORY; its name is new, so that no node remembers that it was not there
    [[ ${SLURM_JOB_NUM_NODES:-1} -gt 1 ]] || return 0
    campaign_mark=$(mktemp -- "$1/.campaign-$SLURM_JOB_ID-XXXXXXXX" 2>/dev/null)
}

campaign_remove_mark() {
    [[ -z $campaign_mark ]] || rm -f -- "$campaign_mark"
    campaign_mark=''
}

# Two jobs on one target would measure each other. The driver chains its jobs; this holds where drivers do not know of
# each other. The lock is a directory, since mkdir is atomic on every file system. Its owner is named in it, so that
# the lock of a job that died can be told from that of one that runs.
campaign_take_lock() {
    local lock="$1/.campaign-lock" owner said='' ask=0 error
    campaign_owner="$SLURM_JOB_ID ${campaign_job_folder##*/} ${SLURM_CLUSTER_NAME:-}"
    until error=$(mkdir -- "$lock" 2>&1); do
        [[ -z $campaign_over ]] || return # the job is ending, and mkdir may have been killed with it
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
        owner=$(campaign_owner_of "$lock")
        if [[ $owner == "$campaign_owner" ]]; then # it would wait for itself until its time is over
            campaign_refusal=$campaign_forgotten
            return
        fi
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
    (
        campaign_enter "$lock" || exit 2
        printf '%s\n' "$campaign_owner" >owner && exit
        rm -f -- owner
        exit 1
    )
    case $? in
    0)
        campaign_lock=$lock
        rm -f -- "$campaign_job_folder/waiting"
        ;;
    1)
        rmdir -- "$lock"
        campaign_refusal="$1 is not writable on ${SLURMD_NODENAME:-$HOSTNAME}: $lock/owner"
        ;;
    *) campaign_refusal=$(campaign_replaced "$lock") ;;
    esac
}

campaign_lock_is_stale() {
    local id name cluster said
    read -r id name cluster <<<"$2"
    if [[ -z $id ]]; then # being made just now, unless it is old
        [[ -n $(find "$1" -maxdepth 0 -mmin +1 2>/dev/null) ]]
        return
    fi
    [[ $cluster == "${SLURM_CLUSTER_NAME:-}" ]] || return 1 # another cluster's job: cannot be asked about
    # Without --states it lists what has not ended.
    if ! said=$(env -u SQUEUE_STATES squeue --noheader --jobs="$id" --format='%T %Z' 2>&1); then
        [[ $said == *'Invalid job id'* ]] # any other failure says nothing about the job
        return
    fi
    # Where it was submitted, since a job may be renamed. Of one that waits again, whatever made the lock is gone; of
    # none that is found, the id belongs to another job by now.
    said=$(grep -F -- "/$name" <<<"$said")
    [[ $said != *"/$name" || $said == 'PENDING '* ]]
}

# Breaking is itself under a lock, so that a second breaker cannot take away the lock that the first has just made.
campaign_break_lock() {
    local guard="$1.breaking" broken=1 error
    if ! mkdir -- "$guard" 2>/dev/null; then
        [[ -z $(find "$guard" -maxdepth 0 -mmin +1 2>/dev/null) ]] || rmdir -- "$guard" 2>/dev/null
        return 1
    fi
    # Asked again: what was stale a moment ago may be gone, and another's in its place.
    if [[ ! -e $1/owner || -f $1/owner ]] && [[ $(campaign_owner_of "$1") == "$2" ]] && campaign_lock_is_stale "$1" "$2"; then
        campaign_say "the lock of job $2 is stale: taken away"
        error=$(campaign_remove_lock "$1" 2>&1)
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
    if [[ -f $campaign_lock/owner && $(<"$campaign_lock/owner") == "$campaign_owner" ]]; then
        campaign_remove_lock "$campaign_lock"
    fi
    campaign_lock=''
}

campaign_owner_of() { # LOCK: who holds it, as it is written there
    [[ ! -f $1/owner ]] || timeout 10 head -c 500 -- "$1/owner" 2>/dev/null | tr -cd '[:print:]'
}

campaign_remove_lock() { # LOCK
    (cd -- "$1" && [[ .. -ef ${1%/*}/ ]] && rm -f -- owner) && rmdir -- "$1"
}

# Whoever may write in the target can rename what lies in it, and put a link or a directory of their own in its place.
# So what a job has created there it enters, sees that it is what it has created, and then writes and removes from
# within.
campaign_go_to() { # DIRECTORY of the target
    cd -- "$1" 2>/dev/null && [[ .. -ef ${1%/*}/ ]] && campaign_is_own
}

campaign_enter() { # DIRECTORY that was created just now, and is empty; its inode into REPLY
    campaign_go_to "$1" || return
    REPLY=$(find . -maxdepth 1 -printf '%i ') # of everything in it
    REPLY=${REPLY% }
    [[ $REPLY == "${REPLY%% *}" ]]
}

campaign_is_own() { # the directory where it is; some file systems give another owner to all that is created
    local probe status
    [[ ! -O . ]] || return 0
    probe=$(mktemp ./.campaign-XXXXXXXX 2>/dev/null) || return
    [[ $(stat -c %u .) == "$(stat -c %u "$probe")" ]]
    status=$?
    rm -f -- "$probe"
    return "$status"
}

campaign_replaced() { # DIRECTORY
    printf '%s' "$1 is not the directory that the job created: somebody who can write in ${1%/*} has replaced it; use a target that nobody else can write in"
}

# The attempt's directory, in which the job is, wherever somebody may have moved it. Counts the files that are left:
# mdtest up to 1.9 leaves its empty top directory behind when it is not asked for all of its phases.
campaign_clear() {
    local at=$directory
    [[ ! -L $at && $at -ef . ]] || at=$(readlink /proc/self/cwd)
    if ! rmdir -- "$at" 2>/dev/null; then
        leftover=$(find . -mindepth 1 ! -type d -printf . 2>/dev/null | wc -c)
        campaign_empty
        rmdir -- "$at"
    fi
    cd -- "$campaign_job_folder" || return
}

campaign_empty() { # the directory where it is
    find . -mindepth 1 -xdev -delete
}

# What an earlier attempt of these runs left behind when it was killed: a directory that it had created itself.
campaign_remove_stale() { # DIRECTORY [INODE]
    [[ -z $campaign_refusal ]] && [[ -e $1 || -L $1 ]] || return 0
    campaign_say "removing what an earlier attempt left behind: $1"
    (
        if [[ -L $1 ]] || ! campaign_go_to "$1"; then
            campaign_say "not removed: $(campaign_replaced "$1")"
            exit 1
        fi
        inode=$(stat -c %i .)
        if [[ -n ${2:-} && $2 != "$inode" ]]; then
            campaign_say "not removed: $1 has inode $inode, but the job that created it noted inode $2: another directory is in its place, or the file system gives the same directory another number (FUSE); look what is in it, and remove it yourself if it is what the benchmark left"
            exit 1
        fi
        campaign_empty
    ) && rmdir -- "$1"
}
