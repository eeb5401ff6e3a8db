/* rank: variables of processes. */
#include "witness/rank.h"

#include "common/asked.h"
#include "common/raw.h"
#include "witness/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const by_srun[] = {"SLURM_PROCID="};
static const char *const by_others[] = {"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK="};
static const char *const telling[] = {"LD_PRELOAD=", "LD_AUDIT=", "OMP_NUM_THREADS="};

/* The value of a variable; NULL where it is not set. */
static const char *value_of(const char *environ, size_t bytes, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = environ; at < environ + bytes; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0)
            return at + length;
    return NULL;
}

static bool is_number(const char *text)
{
    return text != NULL && text[0] != '\0' && text[strspn(text, "0123456789")] == '\0' && strlen(text) < 10;
}

enum rank_kind rank_by(const char *environ, size_t bytes, const char *folder, const char *launcher, const char *node,
                       struct rank *rank)
{
    const char *json = value_of(environ, bytes, "BENCH_JSON="), *where = value_of(environ, bytes, "SLURMD_NODENAME=");
    size_t inside = strlen(folder);
    if (json == NULL || strncmp(json, folder, inside) != 0 || json[inside] != '/')
        return RANK_MAY_BE;
    json += inside + 1; /* [PHASE/]bench.jsonl */
    const char *slash = strchr(json, '/');
    if (slash != NULL && slash - json >= RANK_PHASE_BYTES)
        return RANK_MAY_BE;
    if (where != NULL && strcmp(where, node) != 0)
        return RANK_IS_NEVER;
    bool of_srun = strcmp(launcher, "srun") == 0;
    if (of_srun && !is_number(value_of(environ, bytes, "SLURM_STEP_ID=")))
        return RANK_MAY_BE;
    const char *const *names = of_srun ? by_srun : by_others;
    for (size_t i = 0; i < (of_srun ? sizeof by_srun : sizeof by_others) / sizeof *names; i++) {
        const char *number = value_of(environ, bytes, names[i]);
        if (!is_number(number))
            continue;
        rank->number = atoi(number);
        snprintf(rank->phase, sizeof rank->phase, "%.*s", slash == NULL ? 0 : (int)(slash - json), json);
        return RANK_IS;
    }
    return RANK_MAY_BE;
}

static bool is_process(pid_t pid)
{
    char path[64], wanted[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    snprintf(wanted, sizeof wanted, "\nTgid:\t%d\n", (int)pid);
    char *text = raw_text(path);
    bool is = strstr(text, wanted) != NULL;
    free(text);
    return is;
}

static void read_variables(struct text *variables, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    text_file(variables, path);
}

enum rank_kind rank_of(pid_t pid, const char *folder, const char *launcher, const char *node, struct rank *rank)
{
    struct text variables = {0};
    char path[64];
    enum rank_kind kind = RANK_NOT_YET;
    read_variables(&variables, pid);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    if (variables.used > 0)
        kind = rank_by(variables.bytes, variables.used, folder, launcher, node, rank);
    else if (access(path, R_OK) != 0)
        kind = RANK_MAY_BE;
    if (kind == RANK_IS && !is_process(pid))
        kind = RANK_IS_NEVER; /* threads have numbers too */
    text_free(&variables);
    return kind;
}

bool rank_variables(pid_t pid, void (*with)(void *to, const char *variable), void *to)
{
    struct text variables = {0};
    read_variables(&variables, pid);
    bool there = variables.used > 0;
    for (size_t i = 0; there && i < sizeof telling / sizeof *telling; i++) {
        const char *value = value_of(variables.bytes, variables.used, telling[i]);
        if (value != NULL && value[0] != '\0')
            with(to, value - strlen(telling[i]));
    }
    char name[ASKED_BYTES];
    for (const char *rest = getenv(ASKED_NAMES); there && asked_next(&rest, name);) {
        const char *value = value_of(variables.bytes, variables.used, name);
        bool is_set = value != NULL && value[0] != '\0';
        if (!is_set)
            name[strlen(name) - 1] = '\0';
        with(to, is_set ? value - strlen(name) : name);
    }
    text_free(&variables);
    return there;
}
