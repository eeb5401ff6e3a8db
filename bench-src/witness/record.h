/* record: the facts of a job's surroundings before its first run, and what a run adds (docs/formats.md). */
#pragma once

#include "witness/gather.h"

#include <stdbool.h>
#include <stdint.h>

/* A file system at one time, in blocks. */
struct space {
    bool known;
    double time_s; /* since 1970 */
    uint64_t block_size_bytes, blocks, free, available, inodes, inodes_free;
};

struct space record_space(const char *directory);
double record_now_s(void);

struct around {
    double started_s, ended_s;
    const char *directory, *executable;
    struct space space;
    char *job;      /* what scontrol says of it; "" where it does not */
    int other_jobs; /* that run on the cluster; -1 where that is not known */
    char **software, **storage; /* pairs of a name and what it says, NULL at the end */
    char **problems;            /* NULL at the end */
    struct text first;          /* the first environment of the job's script */
    struct gathered nodes;
};

/* FOLDER/facts.jsonl of the job: 0 or -errno. */
int record_job(const char *folder, const struct around *around);

/* Begins the facts of an attempt's folder with those of its job and the target's space: 0 or -errno. */
int record_begin(const char *folder, const struct around *around, const struct space *before);

/* "before", or "after". */
void record_emit_space(const char *when, const struct space *space);

/* Pure: how many other jobs there are in lines of "MARK ID NAME DIRECTORY", but for those whose name or directory contains a
 * text of the list. What does not begin with the mark belongs to a name of several lines. */
int record_other_jobs(char *lines, const char *mark, const char *own_id, char *const *independent, int count);
