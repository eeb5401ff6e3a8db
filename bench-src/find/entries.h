/* entries: names met on a walk through directories, and their even distribution over the processes.
 *
 * Entries travel as texts: a letter for what they are (d directory, f anything else, ? not known), the path, a zero. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct entries {
    char *bytes;
    size_t used, room;
    int64_t count;
};

void entries_add(struct entries *entries, char kind, const char *directory, const char *name);

/* The entry at `at` and, in *next, where the one after it begins; NULL at the end. */
const char *entries_next(const struct entries *entries, size_t at, size_t *next);

void entries_free(struct entries *entries);

/* Collective: replaces what each process has by an even share of what all have. Each process must have less than 2 GiB.
 *
 * The lower half of the ranks and the upper one give each other what is theirs, then the halves of each half do so: whatever
 * the number of ranks, log2 of it are messages of a rank. */
void entries_share(struct entries *entries, MPI_Comm comm);
