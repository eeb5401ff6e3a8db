/* faults: operations that failed. All are counted, the first few of each rank are reported, and the run goes on. */
#pragma once

#include "common/place.h"

#include <limits.h>
#include <stdint.h>

enum {
    FAULTS_KEPT = 3,           /* of each rank between two reports */
    FAULTS_RANKS_LISTED = 256, /* in one report; the others are only counted */
};

struct fault {
    int error; /* errno, or 0 where only detail says what was wrong */
    char operation[16];
    char detail[128];
    char path[PATH_MAX];
};

/* Starts as all zeros. */
struct faults {
    int64_t count;
    struct fault kept[FAULTS_KEPT];
};

/* Notes one failed operation. error is an errno or 0; detail is NULL or more words on what was wrong. */
void faults_add(struct faults *faults, const char *operation, const char *path, int error, const char *detail);

/* Collective: prints what the ranks kept on stderr and as JSON `error` lines, in the order of the ranks, and empties
 * it. Returns the number of failed operations of all ranks. */
int64_t faults_report(struct faults *faults, const struct place *place);

/* The same where the number of all ranks is known already. */
void faults_list(struct faults *faults, const struct place *place, int64_t total);

/* One error that is no failed operation of the benchmark's own: stderr and JSON, by rank 0. */
void faults_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
