# What the target's servers have counted, before and after each run and between its phases.
# The rest of the job is in job-functions.bash.
# shellcheck disable=SC2034,SC2154  # it shares its variables

campaign_counters='' # a command that prints what the target's servers have counted
campaign_sampler=''  # the process that asks it while an external benchmark runs

# shellcheck disable=SC2329  # called where the target's servers can be asked
campaign_count_by() { # COMMAND
    campaign_counters=$1
}

# One line of counters.jsonl: what the servers have counted so far. WHEN is begin, end, sample, or the phase that has
# ended.
campaign_count() { # FOLDER COMMAND WHEN
    local said status kind number now counts='' problem=''
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
    now=$REPLY
    [[ -z $problem ]] || counts=''
    campaign_quote "$problem"
    # Names of phases are plain.
    printf '{"time": %s, "when": "%s", "counts": %s, "problem": %s}\n' "$now" "$3" "{$counts}" "$REPLY" >>"$1/counters.jsonl"
}

# Counts between the phases of a benchmark that lets it be done; of another, once a second while it runs.
campaign_count_along() { # FOLDER PROBE
    local count="$1/count.bash"
    [[ -n $campaign_counters ]] || return 0
    # shellcheck disable=SC2016  # the shells that run it expand $1
    {
        declare -f campaign_now campaign_quote campaign_count
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
