/* nfstest_plan: the parameters of nfstest, and the file sizes that follow from them. Pure. */
#pragma once

#include "common/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NFSTEST_MOST_SIZES = 10000 };

/* Sizes are in units. */
struct nfstest_config {
    int64_t unit_bytes;    /* u: 1, 1024 or 1048576 */
    const char *unit_name; /* "b", "Kb", "Mb" */
    int64_t min, max;      /* m, M */
    int64_t buffer;        /* b; 0: the file's size */
    int64_t step, factor;  /* s, K; factor 0: step counts */
    int64_t quota;         /* S; 0: none */
    int64_t files;         /* n */
    int64_t repeats;       /* R */
    const char *folder;    /* f */
    const char *output;    /* o; NULL: stdout */
    bool direct, check, verbose;
};

/* Reads the words ("n3", "uK" …) and fills in what was not given. ranks is the default of n.
 * 0, or -1 with a message. */
int nfstest_read_words(struct nfstest_config *config, int count, char **words, int ranks, struct refusal *why);

/* The lines of the help text on the words. */
extern const char nfstest_words_help[];

/* The file size after `size`; 0 if there is none. */
int64_t nfstest_next_size(const struct nfstest_config *config, int64_t size);

/* Total of all processes' files, in units. */
int64_t nfstest_total(const struct nfstest_config *config, int64_t size, int ranks);
