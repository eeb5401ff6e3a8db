/* mdtest_items: the inner loop of mdtest: names and system calls, nothing else. */
#pragma once

#include "common/faults.h"
#include "common/latency.h"
#include "common/pattern.h"
#include "common/permute.h"
#include "mdtest/tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define MDTEST_RENAMED ".renamed" /* at the end of a directory's name */

enum { MDTEST_BUFFER_BYTES = 1 << 20 }; /* longer data repeats it */

/* What one rank does in one phase. The caller fills the first part. */
struct mdtest_job {
    const struct mdtest_tree *tree;
    const char *base; /* what goes before the number of the test directory: "/scratch/u/test-dir.0-" */
    const char *kind; /* "file" or "dir" */
    int owner;        /* rank whose names these are, -1: names that all ranks share */
    int tree_owner;   /* rank whose tree they are in, -1: the common tree */
    int (*perform)(struct mdtest_job *job); /* one of the functions below */
    const char *operation;                  /* its name in error messages */
    const struct permute *order;            /* NULL: from the first to the last */
    uint64_t deadline_ns;                   /* of timer_ns: stop after the item that reaches it; 0: none */
    struct latency *latency;                /* of --latency, else NULL: no clock is read per item */
    struct faults *faults;
    unsigned char *buffer; /* MDTEST_BUFFER_BYTES twice: what is written or expected, what is read */
    int64_t data_bytes;    /* a file, written or read */
    bool sync_each, verify;
    bool verify_writes;    /* what was written is read back at once */
    enum pattern_kind data; /* its kind; but for PATTERN_OFFSET, of which the file's number is the offset, the first word of
                             * each file is its own */
    uint64_t seed;         /* of the data */
    int open_flags;        /* besides those of the operation */

    char path[PATH_MAX]; /* the item at work */
    int digits_at;       /* where its number starts */
    int digits;          /* how many its number has */
    int64_t number;      /* of the item within its owner's tree */
    int64_t place_start, place_stop; /* items whose directory path names */
    int64_t first_number; /* of the item at place_start */
    char detail[96];                 /* set by perform where it returns -1 */
};

/* Sets the second part, and the data to write or to expect. */
void mdtest_items_prepare(struct mdtest_job *job);

/* Performs the items from first (included) to last (not). Returns the place it reached: last, or less at the deadline. */
int64_t mdtest_items_run(struct mdtest_job *job, int64_t first, int64_t last);

/* The operations, on job->path: 0, an errno, or -1 with job->detail. */
int mdtest_nothing(struct mdtest_job *job); /* every one of the API DUMMY */
int mdtest_create_file(struct mdtest_job *job);
int mdtest_make_node(struct mdtest_job *job); /* a file that is not opened */
int mdtest_open_file(struct mdtest_job *job); /* one that exists, to write into it */
int mdtest_create_directory(struct mdtest_job *job);
int mdtest_stat(struct mdtest_job *job);
int mdtest_rename_directory(struct mdtest_job *job); /* to a name of its own, and back */
int mdtest_rename_back(struct mdtest_job *job);
int mdtest_read_file(struct mdtest_job *job);
int mdtest_remove_file(struct mdtest_job *job);
int mdtest_remove_directory(struct mdtest_job *job);
