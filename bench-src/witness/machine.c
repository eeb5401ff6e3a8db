/* machine: kernel, processors, memory, settings, adapters. */
#include "witness/machine.h"

#include "common/raw.h"
#include "witness/ask.h"
#include "witness/say.h"
#include "witness/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const sysctls[] = {
    "vm/dirty_ratio", "vm/dirty_bytes", "vm/dirty_background_ratio", "vm/dirty_background_bytes", "vm/dirty_expire_centisecs",
    "vm/dirty_writeback_centisecs", "vm/vfs_cache_pressure", "vm/swappiness", "vm/min_free_kbytes", "vm/zone_reclaim_mode",
    "vm/overcommit_memory", "kernel/numa_balancing", "kernel/perf_event_paranoid", "net/core/rmem_max", "net/core/wmem_max",
    "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "sunrpc/tcp_slot_table_entries", "sunrpc/tcp_max_slot_table_entries"};

/* By their beginnings. */
static const char *const parameters[] = {
    "mitigations=", "isolcpus=", "nohz_full=", "rcu_nocbs=", "idle=", "intel_idle.", "processor.", "intel_pstate=",
    "amd_pstate=", "cpufreq.", "transparent_hugepage=", "hugepages", "default_hugepagesz=", "numa_balancing=", "numa=", "nosmt",
    "iommu=", "intel_iommu=", "amd_iommu=", "pti=", "nopti", "spectre_v2=", "spec_store_bypass_disable=", "tsc=",
    "clocksource=", "mem=", "maxcpus=", "nr_cpus=", "audit=", "preempt=", "skew_tick="};

char *machine_parameters(char *cmdline)
{
    struct text found = {0};
    for (char *rest = cmdline, *word; (word = text_part(&rest, ' ')) != NULL;)
        for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
            if (strncmp(word, parameters[i], strlen(parameters[i])) == 0) {
                text_join(&found, " ", word);
                break;
            }
    return found.bytes != NULL ? found.bytes : text_of("none of those that decide speed");
}

enum { ASK_S = 60 }; /* without its daemon, nvidia-smi first sets up one GPU after another */

struct numbers {
    int64_t *list;
    size_t count;
};

static void number_add(struct numbers *numbers, int64_t number)
{
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->list[i] == number)
            return;
    numbers->list = text_grow(numbers->list, numbers->count, sizeof *numbers->list);
    numbers->list[numbers->count++] = number;
}

void machine_processors(char *cpuinfo, struct processors *found)
{
    struct numbers sockets = {0}, cores = {0};
    struct text arm = {0};
    int64_t socket = 0;
    *found = (struct processors){.model = ""};
    for (char *rest = cpuinfo, *line; (line = text_part(&rest, '\n')) != NULL;) {
        char *value = strchr(line, ':');
        if (value == NULL)
            continue;
        size_t key = strcspn(line, "\t:");
        while (key > 0 && line[key - 1] == ' ')
            key--;
        value++;
        value += strspn(value, " \t");
        line[key] = '\0';
        if (strcmp(line, "processor") == 0) {
            found->threads++;
        } else if (strcmp(line, "model name") == 0 || strcmp(line, "cpu") == 0) {
            snprintf(found->model, sizeof found->model, "%s", value);
        } else if (strcmp(line, "CPU implementer") == 0 || strcmp(line, "CPU part") == 0) {
            text_add(&arm, "%s%s %s", arm.used > 0 ? " " : "", line, value);
            if (strcmp(line, "CPU part") == 0 && found->model[0] == '\0')
                snprintf(found->model, sizeof found->model, "%s", arm.bytes);
        } else if (strcmp(line, "physical id") == 0) {
            number_add(&sockets, socket = atoi(value));
        } else if (strcmp(line, "core id") == 0) {
            number_add(&cores, socket << 32 | atoi(value));
        }
    }
    if (found->model[0] == '\0')
        snprintf(found->model, sizeof found->model, "unknown");
    found->sockets = (int)sockets.count;
    found->cores = (int)cores.count;
    free(sockets.list);
    free(cores.list);
    text_free(&arm);
}

static void say_count(const char *name, int count)
{
    if (count > 0)
        say(0, name, "%d", count);
    else
        say(0, name, "unknown");
}

static void say_processors(const char *root)
{
    char *path = text_of("%s/proc/cpuinfo", root), *text = raw_text(path), *line;
    if (text[0] != '\0') {
        struct processors found;
        machine_processors(text, &found);
        say(0, "cpu.model", "%s", found.model);
        say_count("cpu.sockets", found.sockets);
        say_count("cpu.cores", found.cores);
        say(0, "cpu.threads", "%d", found.threads);
    }
    free(text);
    free(path);
    struct text governors = {0}, mitigations = {0};
    glob_t files = text_paths(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor");
    for (size_t i = 0; i < files.gl_pathc; i++)
        if ((line = text_line("%s", files.gl_pathv[i])) != NULL) {
            if (governors.bytes == NULL || strstr(governors.bytes, line) == NULL)
                text_join(&governors, " ", line);
            free(line);
        }
    globfree(&files);
    say(0, "cpu.governor", "%s", governors.used > 0 ? governors.bytes : "");
    text_free(&governors);
    say_file("cpu.boost", "%s/sys/devices/system/cpu/cpufreq/boost", root);
    say_file("cpu.no_turbo", "%s/sys/devices/system/cpu/intel_pstate/no_turbo", root);
    say_file("cpu.smt", "%s/sys/devices/system/cpu/smt/control", root);
    files = text_paths(root, "sys/devices/system/cpu/vulnerabilities/*");
    for (size_t i = 0; i < files.gl_pathc; i++)
        if ((line = text_line("%s", files.gl_pathv[i])) != NULL) {
            char *both = text_of("%s: %s", strrchr(files.gl_pathv[i], '/') + 1, line);
            text_join(&mitigations, "; ", both);
            free(both);
            free(line);
        }
    globfree(&files);
    say(0, "cpu.mitigations", "%s", mitigations.used > 0 ? mitigations.bytes : "");
    text_free(&mitigations);
    files = text_paths(root, "sys/devices/system/node/node[0-9]*");
    if (files.gl_pathc > 0)
        say(0, "cpu.numa_nodes", "%zu", files.gl_pathc);
    globfree(&files);
}

static void say_memory(const char *root)
{
    static const char *const wanted[][2] = {
        {"MemTotal:", "memory.total"}, {"SwapTotal:", "memory.swap"}, {"HugePages_Total:", "memory.hugepages"}};
    char *path = text_of("%s/proc/meminfo", root), *text = raw_text(path);
    for (char *rest = text, *line; (line = text_part(&rest, '\n')) != NULL;)
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (strncmp(line, wanted[i][0], strlen(wanted[i][0])) == 0) {
                line += strlen(wanted[i][0]);
                say(0, wanted[i][1], "%s", line + strspn(line, " "));
                break;
            }
    free(text);
    free(path);
}

/* A size in MiB, behind those of the devices before. */
static void add_size(struct text *sizes, long long mib)
{
    if (mib > 0)
        text_add(sizes, "%s%lld", sizes->used > 0 ? " " : "", mib);
}

/* The memory of each accelerator: as amdgpu's files have it in bytes, or as NVIDIA's tool prints it in MiB. */
static void say_devices(const char *root)
{
    struct text sizes = {0};
    glob_t found = text_paths(root, "sys/class/drm/card[0-9]*/device/mem_info_vram_total");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *line = text_line("%s", found.gl_pathv[i]);
        add_size(&sizes, line == NULL ? 0 : atoll(line) >> 20);
        free(line);
    }
    globfree(&found);
    found = text_paths(root, "proc/driver/nvidia/version");
    if (found.gl_pathc > 0) {
        char *said = ask(ASK_S, "nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits", NULL);
        for (char *rest = said, *line; (line = text_part(&rest, '\n')) != NULL;)
            add_size(&sizes, atoll(line));
        free(said);
    }
    globfree(&found);
    if (sizes.used > 0)
        say(0, "device.memory", "%s MiB", sizes.bytes);
    text_free(&sizes);
}

/* Of some files in a folder, what they say, behind a word or without. */
static void say_joined(const char *fact, const char *folder, const char *const names[][2], size_t count)
{
    struct text told = {0};
    for (size_t i = 0; i < count; i++) {
        char *line = text_line("%s/%s", folder, names[i][0]);
        if (line == NULL)
            continue;
        char *both = text_of("%s%s", names[i][1], line);
        text_join(&told, ", ", both);
        free(both);
        free(line);
    }
    say(0, fact, "%s", told.used > 0 ? told.bytes : "");
    text_free(&told);
}

static void say_adapters(const char *root)
{
    static const char *const of_port[][2] = {{"link_layer", ""}, {"state", ""}, {"rate", ""},
                                             {"../../fw_ver", ""}, {"../../board_id", ""}, {"../../hca_type", ""}};
    static const char *const of_net[][2] = {{"operstate", "operstate "}, {"speed", "speed "}, {"mtu", "mtu "}};
    glob_t found = text_paths(root, "sys/class/infiniband/*/ports/*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *port = found.gl_pathv[i], *number = strrchr(port, '/') + 1, *device = strstr(port, "/infiniband/") + 12;
        char *fact = text_of("fabric.%.*s.%s", (int)strcspn(device, "/"), device, number);
        say_joined(fact, port, of_port, sizeof of_port / sizeof *of_port);
        free(fact);
    }
    globfree(&found);
    found = text_paths(root, "sys/class/cxi/*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *fact = text_of("fabric.%s", strrchr(found.gl_pathv[i], '/') + 1);
        say(0, fact, "present");
        free(fact);
    }
    globfree(&found);
    found = text_paths(root, "sys/class/net/*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat hardware;
        char *device = text_of("%s/device", found.gl_pathv[i]), *fact = text_of("net.%s", strrchr(found.gl_pathv[i], '/') + 1);
        if (stat(device, &hardware) == 0) /* bridges, tunnels and the loopback have none */
            say_joined(fact, found.gl_pathv[i], of_net, sizeof of_net / sizeof *of_net);
        free(device);
        free(fact);
    }
    globfree(&found);
}

void machine_say(const char *root)
{
    char *line = text_line("%s/proc/cmdline", root);
    say_file("kernel.release", "%s/proc/sys/kernel/osrelease", root);
    say_file("kernel.version", "%s/proc/sys/kernel/version", root);
    if (line != NULL) {
        char *found = machine_parameters(line);
        say(0, "kernel.parameters", "%s", found);
        free(found);
        free(line);
    }
    char *path = text_of("%s/etc/os-release", root), *text = raw_text(path);
    for (char *rest = text; (line = text_part(&rest, '\n')) != NULL;)
        if (strncmp(line, "PRETTY_NAME=", 12) == 0) {
            line += 12 + strspn(line + 12, "\"'");
            say(0, "os", "%.*s", (int)strcspn(line, "\"'"), line);
        }
    free(text);
    free(path);
    say_processors(root);
    say_memory(root);
    say_devices(root);
    for (size_t i = 0; i < sizeof sysctls / sizeof *sysctls; i++) {
        char *fact = text_of("%s", sysctls[i]);
        for (char *at = fact; (at = strchr(at, '/')) != NULL;)
            *at = '.';
        say_file(fact, "%s/proc/sys/%s", root, sysctls[i]);
        free(fact);
    }
    say_file("transparent_hugepage.enabled", "%s/sys/kernel/mm/transparent_hugepage/enabled", root);
    say_file("transparent_hugepage.defrag", "%s/sys/kernel/mm/transparent_hugepage/defrag", root);
    say_file("clocksource", "%s/sys/devices/system/clocksource/clocksource0/current_clocksource", root);
    if ((line = text_line("%s/proc/loadavg", root)) != NULL)
        say(0, "state.load", "%.*s", (int)strcspn(line, "."), line);
    free(line);
    say_file("state.drop_caches", "%s/proc/sys/vm/drop_caches", root);
    say_adapters(root);
    say_file("ld.so.preload", "%s/etc/ld.so.preload", root);
}
