# Environment modules. The command of version 3.2 fails with status 0, and Lmod replaces a module by another of its family: what
# is loaded is compared with what was asked, after each. A command that keeps no list of it is believed.
# shellcheck disable=SC2034  # it shares its variables

declare -A campaign_loaded=() # modules that were asked: '' for one that is listed by its name, otherwise what was added for it

campaign_is_listed() { # MODULE, in any version
    [[ :$LOADEDMODULES: == *:"$1":* || :$LOADEDMODULES: == *:"$1"/* ]]
}

campaign_compare_modules() { # MODULE LIST_BEFORE: why it, or one before it, is not loaded, into REPLY; false then
    local name entry entries=() added=''
    REPLY=''
    [[ -n ${LOADEDMODULES+set} ]] || return 0
    if ! campaign_is_listed "$1"; then # by an alias, or a version with a name
        IFS=: read -ra entries < <(printf '%s\n' "$LOADEDMODULES")
        for entry in "${entries[@]}"; do
            [[ :$2: == *:"$entry":* ]] || added+=$entry:
        done
        if [[ -z $added ]]; then
            # It is there already, by another name, where the status can be believed.
            (set +u && module load campaign/none) >/dev/null 2>&1 || return 0
            REPLY="module $1 cannot be loaded: module load ended with status 0; loaded are ${LOADEDMODULES:-none}"
            return 1
        fi
    fi
    campaign_loaded[$1]=$added
    for name in "${!campaign_loaded[@]}"; do
        IFS=: read -ra entries < <(printf '%s\n' "$name:${campaign_loaded[$name]}")
        for entry in "${entries[@]}"; do
            ! campaign_is_listed "$entry" || continue 2
        done
        REPLY="module $name was replaced or removed when module $1 was loaded; loaded are ${LOADEDMODULES:-none}"
        return 1
    done
}
