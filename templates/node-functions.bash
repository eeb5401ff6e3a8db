# What a job writes down of one of its nodes: lines of node number, name of a fact, and a piece of its JSON text.
# The rest of the job is in environment-functions.bash, which puts them together.
# shellcheck disable=SC2034,SC2154  # it shares its variables

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

# Sets campaign_mounted to (root, mount point, options, type, source, options of the file system) of what holds a
# directory.
campaign_mount() { # ROOT DIRECTORY
    local point device inside at options rest kind
    campaign_mounted=()
    point=$(stat -L -c %m -- "$2" 2>/dev/null) || return 1
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
    local file told=''
    for file in "$1"/.meta/graphs/active/*/{type,options/*}; do
        case ${file##*/} in process-uuid | *version*) continue ;; esac
        campaign_read "$file" && told+="${told:+; }${file#*/active/} $REPLY"
    done
    campaign_fact gluster.client "$told"
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
    local hash path libraries=() missing=()
    campaign_fact executable.path "$1"
    [[ -f $1 ]] || {
        campaign_fact executable.problem 'this node does not see it'
        return 0
    }
    while IFS= read -r path; do
        path=${path#*$'\t'}
        if [[ $path == *' => not found'* ]]; then
            missing+=("${path%% *}")
        elif [[ $path =~ (^|' => ')(/.*)' (0x'[0-9a-f]+')'$ && -z ${libraries[199]:-} ]]; then
            libraries+=("${BASH_REMATCH[2]}")
        fi
    done < <(ldd -- "$1" 2>/dev/null)
    while read -r hash path; do
        hash=${hash#\\} # of a name with a line break or a backslash
        if [[ $path == "$1" ]]; then
            campaign_fact executable.sha256 "$hash"
            campaign_fact executable.size "$(stat -L -c %s -- "$1" 2>/dev/null)"
        else
            campaign_fact "library.${path##*/}" "$path $hash"
        fi
    done < <(timeout 60 sha256sum -- "$1" "${libraries[@]}" 2>/dev/null)
    for path in "${missing[@]}"; do campaign_fact "library.$path" 'not found'; done
    campaign_script executable "$1"
}

# What stands before the benchmark: programs, scripts, images. A large one is read on one node alone.
campaign_prefix() { # WORD...
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
    local name
    while read -r name; do
        case $name in
        SLURM_* | SBATCH_* | SLURMD_* | OMPI_* | PMIX_* | PMI_* | PRTE_* | HWLOC_* | IOR_* | MPI* | I_MPI_* | MV2_* | UCX_* | \
            UCC_* | FI_* | HCOLL_* | PSM_* | PSM[23]_* | ROMIO_* | CRAY_MPI* | LD_* | DARSHAN_* | GLIBC_* | MALLOC_* | OMP_* | \
            LUSTRE* | LLAPI* | NSS_WRAPPER* | FAKE* | LIBFAKE* | UID_WRAPPER* | BENCH_* | BASH_ENV | HOSTALIASES | \
            LOADEDMODULES | PATH | TZ | LC_ALL | LANG | TMPDIR) ;;
        *) continue ;;
        esac
        case _${name^^}_ in
        *_PASS_* | *_BEARER_* | *_CERT_* | *JWT* | *TOKEN* | *SECRET* | *PASSW* | *PASSPHRASE* | *CREDENTIAL* | *COOKIE* | *KEY* | *PRIVATE* | *AUTH*) continue ;;
        esac
        [[ ${!name} =~ ://[^/@[:space:]]+@ ]] || printf '%s\n' "$name" # nor one with a login in a URL
    done < <(compgen -e)
}

