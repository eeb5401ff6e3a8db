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

/* Collective: replaces what each process has by an even share of what all have, in turns. Each process must have less than
 * 2 GiB. Returns the number of all. */
int64_t entries_share(struct entries *entries, MPI_Comm comm);
