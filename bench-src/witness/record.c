/* record: the facts of a job. */
#include "witness/record.h"

#include "witness/facts.h"
#include "witness/variables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

double record_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct space record_space(const char *directory)
{
    struct statvfs found;
    if (statvfs(directory, &found) != 0)
        return (struct space){0};
    return (struct space){true,          record_now_s(),  found.f_frsize, found.f_blocks,
                          found.f_bfree, found.f_bavail, found.f_files,  found.f_ffree};
}

int record_other_jobs(char *lines, const char *mark, const char *own_id, char *const *independent, int count)
{
    struct text known = {0}; /* ids, a blank around each */
    int others = 0;
    for (char *rest = lines, *line; (line = text_part(&rest, '\n')) != NULL;) {
        char *name = line, *begins = text_part(&name, ' '), *id = text_part(&name, ' ');
        bool left_out = strcmp(begins, mark) != 0 || id == NULL || strcmp(id, own_id) == 0;
        id = id == NULL ? "" : id;
        for (int i = 0; i < count && name != NULL; i++)
            left_out = left_out || strstr(name, independent[i]) != NULL;
        char *between = text_of(" %s ", id);
        if (!left_out && (known.bytes == NULL || strstr(known.bytes, between) == NULL)) {
            text_add(&known, "%s", between);
            others++;
        }
        free(between);
    }
    text_free(&known);
    return others;
}

void record_emit_space(const char *when, const struct space *space)
{
    const struct {
        const char *name, *unit;
        uint64_t value;
    } counts[] = {
        {"block_size", "bytes", space->block_size_bytes}, {"blocks", "blocks", space->blocks},
        {"free", "blocks", space->free},                  {"available", "blocks", space->available},
        {"inodes", "inodes", space->inodes},              {"inodes_free", "inodes", space->inodes_free},
    };
    for (size_t i = 0; space->known && i < sizeof counts / sizeof *counts; i++) {
        char *name = text_of("%s.%s", when, counts[i].name);
        facts_int((struct fact){.source = "target", .name = name, .unit = counts[i].unit, .time_s = space->time_s},
                  (int64_t)counts[i].value);
        free(name);
    }
}

static struct fact of_host(const char *name)
{
    return (struct fact){.source = "host", .name = name};
}

static void emit_named(const char *beginning, const char *name, const char *value)
{
    char *fact = text_of("%s.%s", beginning, name);
    facts_text(of_host(fact), value);
    free(fact);
}

static void emit_variable(const char *name, const char *value)
{
    emit_named("env", name, value);
}

static void emit_set_by_slurm(const char *name)
{
    facts_text(of_host("set_by_slurm"), name);
}

static void emit_pairs(const char *beginning, char **pairs)
{
    for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i += 2)
        emit_named(beginning, pairs[i], pairs[i + 1]);
}

static void emit_around(const struct around *around)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    facts_real((struct fact){.source = "host", .name = "started", .unit = "s"}, around->started_s);
    facts_real((struct fact){.source = "host", .name = "ended", .unit = "s"}, around->ended_s);
    facts_text(of_host("hostname"), host);
    facts_text(of_host("directory"), around->directory);
    facts_text(of_host("executable"), around->executable);
    emit_pairs("software", around->software);
    emit_pairs("storage", around->storage);
    variables_each(emit_variable);
    variables_set_by_slurm(around->first.bytes, around->first.used, getenv("CAMPAIGN_SUBMITTED_WITH"), emit_set_by_slurm);
    for (size_t i = 0; around->problems != NULL && around->problems[i] != NULL; i++)
        facts_text(of_host("problem"), around->problems[i]);
    facts_text((struct fact){.source = "slurm", .name = "job"}, around->job);
    facts_known((struct fact){.source = "slurm", .name = "other_jobs"}, around->other_jobs);
    record_emit_space("space", &around->space);
    gather_emit(&around->nodes, "node");
}

int record_job(const char *folder, const struct around *around)
{
    int error = facts_open(folder, true);
    if (error != 0)
        return error;
    emit_around(around);
    error = facts_close(false);
    return error == 0 ? facts_complete(folder) : error;
}

int record_begin(const char *folder, const struct around *around, const struct space *before)
{
    int error = facts_open(folder, false);
    if (error != 0)
        return error;
    emit_around(around);
    record_emit_space("before", before);
    return facts_close(false);
}
