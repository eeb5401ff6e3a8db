# What the target's servers have counted, before and after each run and between its phases.
# The rest of the job is in job-functions.bash.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_counters='' # a command that prints what the target's servers have counted
campaign_sampler=''  # the process that asks it while an external benchmark runs

# shellcheck disable=SC2329  # called where the target's servers can be asked
campaign_count_by() { # COMMAND
    campaign_counters=$1
}

# One fact of a run: what the servers have counted so far. WHEN is begin, end, sample, or the phase that has
# ended.
campaign_count() { # FOLDER WHEN
    "$campaign_program" count "$1" "$campaign_counters" "$2"
}

# Counts between the phases of a benchmark that lets it be done; of another, once a second while it runs.
campaign_count_along() { # FOLDER PROBE
    [[ -n $campaign_counters ]] || return 0
    # shellcheck disable=SC2016,SC2089  # the shell that runs it expands $1
    printf -v BENCH_BETWEEN_PHASES '%q count %q %q "$1"' "$campaign_program" "$1" "$campaign_counters"
    # shellcheck disable=SC2090
    export BENCH_BETWEEN_PHASES
    campaign_count "$1" begin
    if [[ $2 == 1 ]]; then
        while sleep 1; do campaign_count "$1" sample; done &
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
    campaign_count "$1" "$2"
}
