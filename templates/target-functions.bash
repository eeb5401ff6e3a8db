# The target of a job, and the directories that its attempts have there. Whoever may write in the target can rename what is
# in it, and put a link or a directory of their own in its place: bench-src/witness/owned.h says how that is found out.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_lock=''    # the lock on the target that this job holds
campaign_shared=''  # set where it takes none
campaign_here=()    # option of the witness: the machine that submitted the job, and which directory it sees as the target

campaign_submitted_from() { campaign_here+=(-b "$1,$2"); } # BOOT DEVICE:INODE: the machine, and the target as it sees it, '' for not

# shellcheck disable=SC2329  # called where the job measures nothing on the target, which others may use meanwhile
campaign_shares_target() { campaign_here+=(-n) && campaign_shared=yes; }

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
        cd -- "$directory" && said=$("$campaign_program" within "$directory" "$said") && return
    fi
    reason=$said
    return 1
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
