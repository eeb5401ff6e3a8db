# The target of a job, and the directories that its attempts have there. Whoever may write in the target can rename what is
# in it, and put a link or a directory of their own in its place: bench-src/witness/owned.h says how that is found out.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_lock=''    # the lock on the target that this job holds
campaign_shared=''  # set where it takes none
campaign_here=()    # option of the witness: the machine that submitted the job, and which directory it sees as the target

campaign_submitted_from() { campaign_here+=(-b "$1,$2"); } # BOOT DEVICE:INODE: the machine, and the target as it sees it, '' for not

# shellcheck disable=SC2329  # called where the job measures nothing on the target, which others may use meanwhile
campaign_shares_target() { campaign_here+=(-n) && campaign_shared=yes; }

campaign_in_job=''  # the target as the plan has it, where it exists only in this job,
campaign_resolved='' # and what it is here
campaign_preparation=() # commands before each run

# shellcheck disable=SC2329  # called where runs are prepared
campaign_prepared_by() { campaign_preparation=("$@"); } # COMMAND...: in each run's own directory, for which {directory} stands

# job:PATH, in which the variables are those of this job.
campaign_resolve() { # PATH
    local rest=${1#job:} name
    local variable='^([^$]*)[$]([{]([A-Za-z_][A-Za-z0-9_]*)[}]|([A-Za-z_][A-Za-z0-9_]*))(.*)$'
    campaign_in_job=$1 campaign_resolved=''
    while [[ $rest =~ $variable ]]; do
        name=${BASH_REMATCH[3]}${BASH_REMATCH[4]}
        campaign_resolved+=${BASH_REMATCH[1]}${!name:-}
        rest=${BASH_REMATCH[5]}
        [[ -n ${!name:-} ]] || campaign_refusal="$1: $name is not set in the job on ${SLURMD_NODENAME:-$HOSTNAME}; correct the name"
    done
    campaign_resolved+=$rest
    campaign_resolved=${campaign_resolved%/}
    [[ $campaign_resolved == /?* && $campaign_resolved != *[$'\t\n\r@']* || -n $campaign_refusal ]] ||
        campaign_refusal="$1 is '$campaign_resolved' on ${SLURMD_NODENAME:-$HOSTNAME}; allowed: an absolute path without @, tabs and line breaks"
}

# Waits for the target, which two jobs must not use at once, and looks at whether it is the one that was meant.
campaign_take_target() { # DIRECTORY
    campaign_ask_whether lock
    [[ -n $campaign_over$campaign_refusal$campaign_shared ]] || campaign_lock="$1/.campaign-lock"
}

# Not measured on the directory below its mount point.
campaign_is_still_there() {
    [[ -n $campaign_lock && ! -e $campaign_lock/owner ]] || return 0
    campaign_refusal="$campaign_lock is gone: ${campaign_lock%/*} was unmounted, or somebody removed the lock; check that it is mounted and run again"
}

# The directory of campaign_run, whose variables it uses; the job works in it from then on.
campaign_make_directory() {
    local said
    if said=$("$campaign_program" make "$directory"); then
        printf '%s\n' "$said" >"$folder/directory-made"
        made=true
        cd -- "$directory" && said=$("$campaign_program" within "$directory" "$said") && campaign_prepare_directory && return
    fi
    reason=$said
    return 1
}

campaign_prepare_directory() { # of campaign_make_directory, whose variable says what is wrong
    local command quoted
    printf -v quoted %q "$directory"
    for command in "${campaign_preparation[@]}"; do
        said=$("$campaign_program" prepare "$folder" "$command" "${command//'{directory}'/"$quoted"}") || return 1
    done
}

# The attempt's directory, in which the job is. Counts the files that are left.
campaign_clear() {
    leftover=$("$campaign_program" clear "$directory")
    cd -- "$campaign_job_folder" || return
}

# What an earlier attempt of these runs left behind when it was killed: a directory that it had created itself.
campaign_remove_stale() { # DIRECTORY [INODE]
    local said
    [[ -z $campaign_refusal ]] && [[ -e $1 || -L $1 ]] || return 0
    campaign_say "removing what an earlier attempt left behind: $1"
    said=$("$campaign_program" stale "$@") || campaign_say "not removed: $said"
}
