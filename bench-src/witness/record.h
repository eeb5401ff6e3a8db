/* record: environment.json of docs/formats.md: what a job found around itself before its first run, and for each run its own
 * part beside that. */
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

/* What a run adds. made: it created its directory, "true", "false", or "null" before that is known. */
struct own {
    const char *made;
    struct space before, after;
    const struct gathered *ran; /* NULL where nobody looked */
    const char *problem;        /* why not all was seen, or NULL */
};

/* Replaces FOLDER/environment.json, own being NULL for the job's: 0 or -errno. */
int record_write(const char *folder, const struct around *around, const struct own *own);

/* Pure: how many other jobs there are in lines of "MARK ID COMMENT", but for those with a comment of the list. What does not
 * begin with the mark belongs to a comment of several lines. */
int record_other_jobs(char *lines, const char *mark, const char *own_id, char *const *independent, int count);

/* A member of a JSON line or document: a text on one line, and not endless. */
void record_cut(const char *key, const char *value);
