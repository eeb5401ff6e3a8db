# What the job writes down of its surroundings before its first run, and around each. Nothing here runs while the benchmark is
# timed; what cannot be found out is written down as such and never fails a run: only a target that its nodes do not share does.
# The rest of the job is in job-functions.bash.
# shellcheck disable=SC2034,SC2154  # it shares its variables

# --- one node: lines of node number, name of a fact, and a piece of its JSON text, which the job puts together

campaign_fact() { # NAME TEXT
    local json
    [[ -n $2 ]] || return 0
    campaign_quote "$2"
    json=$REPLY
    # srun passes on whole what is shorter than 1 KiB; longer lines of two nodes would mix.
    while [[ -n $json ]]; do
        printf '%s\t%s\t%s\n' "$campaign_node" "${1//[^A-Za-z0-9._+-]/_}" "${json:0:800}"
        json=${json:800}
    done
}

campaign_read() { # FILE: the beginning of its text, on one line, into REPLY; needs no other program
    REPLY=''
    [[ -f $1 && -r $1 ]] || return 1
    { IFS= read -r -N "$campaign_longest" REPLY <"$1"; } 2>/dev/null
    REPLY=${REPLY%$'\n'}
    REPLY=${REPLY//[$'\n\t']/ }
    [[ -n $REPLY ]]
}

campaign_file() { # NAME FILE: a fact that stands in a file
    ! campaign_read "$2" || campaign_fact "$1" "$REPLY"
}

# ROOT is / but for tests; DIRECTORY is the target's, MARK a file in it by which the node sees whether it is shared.
campaign_node_facts() { # ROOT DIRECTORY EXECUTABLE MARK [PREFIX...]
    local root=${1%/} name file text=''
    export LC_ALL=C
    campaign_node=${SLURM_NODEID:-0}
    campaign_now
    campaign_fact clock "$REPLY"
    campaign_fact name "${SLURMD_NODENAME:-$HOSTNAME}"
    campaign_fact hostname "$HOSTNAME"
    if [[ -n ${4:-} ]]; then
        campaign_sees "$2" "$4"
        campaign_fact target.seen "$REPLY"
    fi
    # The same on all virtual nodes of one machine.
    ! campaign_read "$root/proc/sys/kernel/random/boot_id" || campaign_fact boot "${REPLY%%-*}"
    printf -v text '%(%z)T' -1
    campaign_fact zone "$text"

    campaign_file kernel.release "$root/proc/sys/kernel/osrelease"
    campaign_file kernel.version "$root/proc/sys/kernel/version"
    campaign_kernel_parameters "$root"
    if [[ -r $root/etc/os-release ]]; then
        while IFS='=' read -r name text; do
            [[ $name != PRETTY_NAME ]] || campaign_fact os "${text//\"/}"
        done <"$root/etc/os-release"
    fi
    campaign_processors "$root"
    campaign_memory "$root"
    for name in dirty_ratio dirty_bytes dirty_background_ratio dirty_background_bytes dirty_expire_centisecs \
        dirty_writeback_centisecs vfs_cache_pressure swappiness min_free_kbytes zone_reclaim_mode overcommit_memory; do
        campaign_file "vm.$name" "$root/proc/sys/vm/$name"
    done
    for name in kernel/numa_balancing kernel/perf_event_paranoid net/core/rmem_max net/core/wmem_max net/ipv4/tcp_rmem \
        net/ipv4/tcp_wmem sunrpc/tcp_slot_table_entries sunrpc/tcp_max_slot_table_entries; do
        campaign_file "${name//\//.}" "$root/proc/sys/$name"
    done
    for name in enabled defrag; do
        campaign_file "transparent_hugepage.$name" "$root/sys/kernel/mm/transparent_hugepage/$name"
    done
    campaign_file clocksource "$root/sys/devices/system/clocksource/clocksource0/current_clocksource"
    ! campaign_read "$root/proc/loadavg" || campaign_fact state.load "${REPLY%%.*}"
    campaign_file state.drop_caches "$root/proc/sys/vm/drop_caches"
    campaign_fabric "$root"
    campaign_mount_facts "$root" "$2"
    campaign_executable "$3"
    campaign_prefix "${@:5}"
    campaign_file ld.so.preload "$root/etc/ld.so.preload"
    while read -r name; do
        case $name in
        SLURM* | SBATCH* | BENCH_* | PATH | LC_ALL | LANG | TMPDIR | TZ | LOADEDMODULES) ;; # the job's own says it
        *) campaign_fact "env.$name" "${!name}" ;;
        esac
    done < <(campaign_variables)
    campaign_fact end yes
}

campaign_kernel_parameters() { # ROOT: those of the boot command line that decide how fast a node is
    local word words=() found=''
    campaign_read "$1/proc/cmdline" || return 0
    read -r -a words <<<"$REPLY"
    for word in "${words[@]}"; do
        case $word in
        mitigations=* | isolcpus=* | nohz_full=* | rcu_nocbs=* | idle=* | intel_idle.* | processor.* | intel_pstate=* | amd_pstate=* | \
            cpufreq.* | transparent_hugepage=* | hugepages* | default_hugepagesz=* | numa_balancing=* | numa=* | nosmt* | iommu=* | \
            intel_iommu=* | amd_iommu=* | pti=* | nopti | spectre_v2=* | spec_store_bypass_disable=* | tsc=* | clocksource=* | \
            mem=* | maxcpus=* | nr_cpus=* | audit=* | preempt=* | skew_tick=*)
            found+="${found:+ }$word"
            ;;
        esac
    done
    campaign_fact kernel.parameters "${found:-none of those that decide speed}"
}

campaign_processors() { # ROOT
    local name file text='' model sockets cores threads numa=0 seen=''
    if [[ -r $1/proc/cpuinfo ]]; then
        IFS=$'\t' read -r sockets cores threads model < <(awk -F '[ \t]*:[ \t]*' '
            $1 == "processor" { threads++ }
            $1 == "model name" || $1 == "cpu" { model = $2 }
            $1 == "CPU implementer" || $1 == "CPU part" { arm = arm " " $1 " " $2 }
            $1 == "CPU part" { if (model == "") model = substr(arm, 2) }
            $1 == "physical id" { socket = $2; sockets[socket] }
            $1 == "core id" { cores[socket, $2] }
            END {
                for (one in sockets) s++
                for (one in cores) c++
                printf "%s\t%s\t%d\t%s\n", s ? s : "unknown", c ? c : "unknown", threads, model == "" ? "unknown" : model
            }' "$1/proc/cpuinfo")
        campaign_fact cpu.model "$model"
        campaign_fact cpu.sockets "$sockets"
        campaign_fact cpu.cores "$cores"
        campaign_fact cpu.threads "$threads"
    fi
    for file in "$1"/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do
        if campaign_read "$file" && [[ " $seen " != *" $REPLY "* ]]; then seen+="${seen:+ }$REPLY"; fi
    done
    campaign_fact cpu.governor "$seen"
    campaign_file cpu.boost "$1/sys/devices/system/cpu/cpufreq/boost"
    campaign_file cpu.no_turbo "$1/sys/devices/system/cpu/intel_pstate/no_turbo"
    campaign_file cpu.smt "$1/sys/devices/system/cpu/smt/control"
    for file in "$1"/sys/devices/system/cpu/vulnerabilities/*; do
        ! campaign_read "$file" || text+="${text:+; }${file##*/}: $REPLY"
    done
    campaign_fact cpu.mitigations "$text"
    for file in "$1"/sys/devices/system/node/node[0-9]*; do
        [[ ! -d $file ]] || numa=$((numa + 1))
    done
    [[ $numa -eq 0 ]] || campaign_fact cpu.numa_nodes "$numa"
}

campaign_memory() { # ROOT
    local name value unit
    [[ -r $1/proc/meminfo ]] || return 0
    while read -r name value unit; do
        case $name in
        MemTotal:) campaign_fact memory.total "$value $unit" ;;
        SwapTotal:) campaign_fact memory.swap "$value $unit" ;;
        HugePages_Total:) campaign_fact memory.hugepages "$value" ;;
        esac
    done <"$1/proc/meminfo"
}

campaign_fabric() { # ROOT: what the node has of network adapters
    local port device text file name
    for port in "$1"/sys/class/infiniband/*/ports/*; do
        [[ -d $port ]] || continue
        device=${port%/ports/*}
        text=''
        for file in "$port/link_layer" "$port/state" "$port/rate" "$device/fw_ver" "$device/board_id" "$device/hca_type"; do
            ! campaign_read "$file" || text+="${text:+, }$REPLY"
        done
        campaign_fact "fabric.${device##*/}.${port##*/}" "$text"
    done
    for device in "$1"/sys/class/cxi/*; do
        [[ ! -e $device ]] || campaign_fact "fabric.${device##*/}" present
    done
    for device in "$1"/sys/class/net/*; do
        [[ -e $device/device ]] || continue # bridges, tunnels and the loopback have no hardware
        text=''
        for name in operstate speed mtu; do
            ! campaign_read "$device/$name" || text+="${text:+, }$name $REPLY"
        done
        campaign_fact "net.${device##*/}" "$text"
    done
}

# Sets campaign_mounted to (root, mount point, options, type, source, options of the file system) of what holds a directory.
campaign_mount() { # ROOT DIRECTORY
    local point device inside at options rest kind
    campaign_mounted=()
    point=$(stat -c %m -- "$2" 2>/dev/null) || return 1
    [[ -r $1/proc/self/mountinfo ]] || return 1
    while read -r _ _ device inside at options rest; do
        printf -v at '%b' "$at" # \040 is a blank
        [[ $at == "$point" ]] || continue
        rest=" $rest"
        rest=${rest#* - }
        read -r kind source rest <<<"$rest"
        campaign_mounted=("$inside" "$at" "$options" "$kind" "$source" "$rest" "$device") # the last one lies on top
    done <"$1/proc/self/mountinfo"
    [[ -n ${campaign_mounted[*]} ]]
}

campaign_mount_facts() { # ROOT DIRECTORY
    local name names=(mount.inside mount.point mount.options mount.type mount.source mount.super_options mount.device) number source
    name=$(stat -f -c '%T (0x%t), block size %s' -- "$2" 2>/dev/null)
    campaign_fact fs.type "$name"
    campaign_mount "$1" "$2" || return 0
    for number in "${!names[@]}"; do campaign_fact "${names[number]}" "${campaign_mounted[number]}"; done
    case ${campaign_mounted[3]} in
    nfs*)
        [[ ! -r $1/proc/self/mountstats ]] || campaign_fact nfs.options "$(awk -v point="${campaign_mounted[1]}" '
            $1 == "device" { found = $5 == point }
            found && ($1 == "opts:" || $1 == "caps:" || $1 == "nfsv4:" || $1 == "sec:") { sub(/^[ \t]+/, ""); printf "%s; ", $0 }
            ' "$1/proc/self/mountstats")"
        ;;
    lustre) campaign_lustre "$1" ;;
    fuse.glusterfs) campaign_gluster "${campaign_mounted[1]}" ;;
    beegfs)
        for name in "$1"/proc/fs/beegfs/*/config; do campaign_file beegfs.config "$name"; done
        ;;
    esac
}

campaign_gluster() { # MOUNT_POINT: the client's translators with their options, those of its servers among them
    local file said=''
    for file in "$1"/.meta/graphs/active/*/{type,options/*}; do
        case ${file##*/} in process-uuid | *version*) continue ;; esac
        campaign_read "$file" && said+="${said:+; }${file#*/active/} $REPLY"
    done
    campaign_fact gluster.client "$said"
}

campaign_lustre() { # ROOT: the client's settings, those of all servers together
    local file name
    local -A values=()
    for file in "$1"/{proc,sys}/fs/lustre/{version,llite/*/*,osc/*/*,mdc/*/*,ldlm/namespaces/*/*}; do
        name=${file##*/}
        case $name in
        version | max_cached_mb | max_read_ahead_mb | max_read_ahead_per_file_mb | max_read_ahead_whole_mb | statahead_max | \
            statahead_agl | xattr_cache | lazystatfs | fast_read | checksums | checksum_pages | checksum_type | \
            max_rpcs_in_flight | max_mod_rpcs_in_flight | max_pages_per_rpc | max_dirty_mb | lru_max_age | default_easize) ;;
        *) continue ;;
        esac
        campaign_read "$file" || continue
        file=${file#*/fs/lustre/}
        file="lustre.${file%%/*}.$name"
        [[ ", ${values[$file]:-}, " == *", $REPLY, "* ]] || values[$file]+="${values[$file]:+, }$REPLY"
    done
    for name in "${!values[@]}"; do campaign_fact "$name" "${values[$name]}"; done
}

campaign_executable() { # EXECUTABLE: as this node sees it, with the libraries that it loads
    local hash path libraries=()
    campaign_fact executable.path "$1"
    [[ -f $1 ]] || {
        campaign_fact executable.problem 'this node does not see it'
        return 0
    }
    mapfile -t libraries < <(ldd -- "$1" 2>/dev/null | sed -n 's/^[ \t]*\(.* => \)\{0,1\}\(\/.*\) (0x[0-9a-f]*)$/\2/p' | head -n 200)
    while read -r hash path; do
        hash=${hash#\\} # of a name with a line break or a backslash
        if [[ $path == "$1" ]]; then
            campaign_fact executable.sha256 "$hash"
            campaign_fact executable.size "$(stat -L -c %s -- "$1" 2>/dev/null)"
        else
            campaign_fact "library.${path##*/}" "$path $hash"
        fi
    done < <(timeout 60 sha256sum -- "$1" "${libraries[@]}" 2>/dev/null)
    while read -r path _; do
        campaign_fact "library.$path" 'not found'
    done < <(ldd -- "$1" 2>/dev/null | grep 'not found')
    campaign_script executable "$1"
}

campaign_prefix() { # WORD...: what stands before the benchmark: programs, scripts, images. A large one is read on one node alone.
    local word path hash number=0
    for word in "$@"; do
        number=$((number + 1))
        path=$word
        [[ $word == */* ]] || { [[ $word == "$1" ]] && path=$(type -P -- "$word"); }
        [[ -f $path ]] || continue
        [[ $campaign_node -eq 0 || $(stat -L -c %s -- "$path") -le 67108864 ]] || continue
        hash=''
        read -r hash _ < <(timeout 40 sha256sum -- "$path" 2>/dev/null)
        campaign_fact "prefix.$number.${path##*/}" "$path ${hash:-unread}"
        campaign_script "prefix.$number.${path##*/}" "$path"
    done
}

campaign_script() { # NAME FILE: of a script, the interpreter that its first line names, with its hash
    local head='' words=() path hash
    { IFS= read -r -N 2 head <"$2"; } 2>/dev/null
    [[ $head == '#!' ]] || return 0
    read -r head <"$2"
    read -r -a words <<<"${head#\#!}"
    path=${words[0]:-}
    [[ ${path##*/} != env || -z ${words[1]:-} ]] || path=$(type -P -- "${words[1]}")
    path=$(readlink -f -- "$path") && read -r hash _ < <(sha256sum -- "$path" 2>/dev/null)
    campaign_fact "$1.interpreter" "$path ${hash:-}"
}

campaign_variables() { # names of the variables that say how a run is launched and what it loads; never a secret's
    compgen -e | grep -E '^(SLURM_|SBATCH_|SLURMD_|OMPI_|PMIX_|PMI_|PRTE_|HWLOC_|IOR_|MPI|I_MPI_|MV2_|UCX_|UCC_|FI_|HCOLL_|PSM[23]?_|ROMIO_|CRAY_MPI|LD_|DARSHAN_|GLIBC_|MALLOC_|OMP_|LUSTRE|LLAPI|NSS_WRAPPER|FAKE|LIBFAKE|UID_WRAPPER|BENCH_|BASH_ENV$|HOSTALIASES$|LOADEDMODULES$|PATH$|TZ$|LC_ALL$|LANG$|TMPDIR$)' |
        grep -v -i -E 'JWT|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|API_?KEY|PRIVATE|AUTH' | sort
}

# --- the job

# campaign_environment JOB_FOLDER DIRECTORY EXECUTABLE [PREFIX...]: writes environment.json of docs/formats.md
campaign_environment() {
    local folder=$1 started facts="$1/nodes.facts"
    campaign_now
    started=$REPLY
    campaign_problems=()
    campaign_ask_nodes "$@"
    campaign_now
    {
        printf '{"format": 2, "started": %s, "ended": %s, "host": %s, "directory": %s, "executable": %s, ' \
            "$started" "$REPLY" "$(campaign_json "$HOSTNAME")" "$(campaign_json "$2")" "$(campaign_json "$3")"
        printf '"space": %s, ' "$(campaign_space "$2")"
        printf '"job": %s, ' "$(campaign_json "$(SLURM_TIME_FORMAT=%s campaign_try scontrol show job --oneliner "${SLURM_JOB_ID:-}")")"
        printf '"other_jobs": %s, ' "$(campaign_other_jobs)"
        campaign_object software srun 'srun --version' mpirun 'mpirun --version' lfs 'lfs --version'
        campaign_storage "$2"
        campaign_environment_variables
        campaign_fold "$facts"
        printf '"problems": ['
        campaign_list "${campaign_problems[@]}"
        printf ']}\n'
    } >"$folder/environment.json.new" && mv -- "$folder/environment.json.new" "$folder/environment.json"
    rm -f -- "$facts" "$folder/nodes.err"
}

# Each node says its facts, all at once; where they cannot be asked, this host speaks for itself.
campaign_ask_nodes() { # JOB_FOLDER DIRECTORY EXECUTABLE
    local facts="$1/nodes.facts" status nodes=${SLURM_JOB_NUM_NODES:-1}
    timeout --kill-after=5 45 srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --job-name=environment --mpi=none \
        --cpu-bind=none --time=1 \
        bash -c "$(declare -f campaign_now campaign_quote campaign_fact campaign_read campaign_file campaign_node_facts campaign_kernel_parameters \
            campaign_processors campaign_memory campaign_fabric campaign_mount campaign_mount_facts campaign_gluster campaign_lustre \
            campaign_executable campaign_prefix campaign_script campaign_variables campaign_sees); campaign_longest=$campaign_longest; "'campaign_node_facts / "$@"' \
        bash "$2" "$3" "${campaign_mark##*/}" "${@:4}" >"$facts" 2>"$1/nodes.err" </dev/null &
    campaign_pid=$!
    campaign_wait
    status=$?
    [[ -z $campaign_mark || ! -s $facts ]] || campaign_judge_nodes "$facts" "$2"
    [[ $status -ne 0 ]] || return 0
    campaign_problems+=("the nodes were asked by srun, which ended with status $status: $(tail -n 1 "$1/nodes.err")")
    [[ -s $facts || -n $campaign_signal ]] || (campaign_node_facts / "$2" "$3" '' "${@:4}") >"$facts"
}

campaign_try() { # COMMAND...: what it says, the beginning of it; nothing where it fails or is not there
    command -v "$1" >/dev/null || return 0
    timeout --kill-after=2 15 "$@" 2>/dev/null </dev/null | head -c "$campaign_longest"
}

campaign_space() { # DIRECTORY: of its file system, as a JSON object
    local numbers
    if numbers=$(stat -f -c '"block_size": %S, "blocks": %b, "free": %f, "available": %a, "inodes": %c, "inodes_free": %d' -- "$1" 2>/dev/null); then
        campaign_now
        printf '{"time": %s, %s}' "$REPLY" "$numbers"
    else
        printf null
    fi
}

# How many run beside this one, as far as this user is shown them; jobs on storage that is said to be independent are left out.
campaign_other_jobs() {
    local jobs id mark number=0
    if ! jobs=$(timeout 15 squeue --noheader --states=running --format='%A %k' 2>/dev/null </dev/null); then
        printf null
        return
    fi
    while read -r id mark; do
        [[ -z $id || $id == "${SLURM_JOB_ID:-}" || " ${campaign_independent[*]} " == *" ${mark:-none} "* ]] || number=$((number + 1))
    done < <(sort -u <<<"$jobs")
    printf '%s' "$number"
}

campaign_object() { # NAME, then pairs of key and command: the first line of what each says
    local separator='' key said
    printf '"%s": {' "$1"
    shift
    while [[ $# -ge 2 ]]; do
        key=$1
        # shellcheck disable=SC2086  # the words of a command
        said=$(campaign_try $2)
        if [[ -n $said ]]; then
            printf '%s"%s": %s' "$separator" "$key" "$(campaign_json "${said%%$'\n'*}")"
            separator=', '
        fi
        shift 2
    done
    printf '}, '
}

campaign_storage() { # DIRECTORY: what the file system's own tools say of it
    local pairs=() source='' said=()
    ! campaign_mount '' "$1" || source=${campaign_mounted[4]}
    printf '"storage": {'
    case ${campaign_mounted[3]:-} in
    lustre) said=("lfs getstripe -d" "lfs getdirstripe -d" "lfs mdts" "lfs osts") ;;
    beegfs) said=("beegfs-ctl --getentryinfo") ;;
    gpfs) said=("mmlsfs") ;;
    esac
    local command text separator=''
    for command in "${said[@]}"; do
        read -r -a pairs <<<"$command"
        if [[ $command == mmlsfs ]]; then
            text=$(PATH="$PATH:/usr/lpp/mmfs/bin" campaign_try mmlsfs "${source##*/}")
        else
            text=$(campaign_try "${pairs[@]}" "$1")
        fi
        [[ -n $text ]] || continue
        printf '%s%s: %s' "$separator" "$(campaign_json "$command")" "$(campaign_json "${text//$'\n'/; }")"
        separator=', '
    done
    printf '}, '
}

campaign_environment_variables() {
    local name separator=''
    printf '"environment": {'
    while read -r name; do
        printf '%s%s: %s' "$separator" "$(campaign_json "$name")" "$(campaign_json "${!name}")"
        separator=', '
    done < <(campaign_variables)
    printf '}, '
}

campaign_list() { # JSON strings
    local text separator=''
    for text in "$@"; do
        printf '%s%s' "$separator" "$(campaign_json "$text")"
        separator=', '
    done
}

# The facts of all nodes as JSON: who they are one by one, everything else once for all nodes that say the same.
campaign_fold() { # FILE
    awk -F '\t' -v most_values=100 -v most_names=1000 '
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
        }' "$1" | campaign_utf8
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
    local job ran=''
    job=$(<"$campaign_job_folder/environment.json") 2>/dev/null || return 0
    [[ ! -f $1/ran.json ]] || ran=$(<"$1/ran.json")
    printf '{"made": %s, "before": %s, "after": %s, %s%s\n' "$2" "$3" "$4" "${ran:+\"ran\": $ran, }" "${job#\{}" >"$1/environment.json.new" &&
        mv -- "$1/environment.json.new" "$1/environment.json" && rm -f -- "$1/ran.json"
}
