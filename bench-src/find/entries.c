#include "find/entries.h"

#include "common/die.h"

#include <stdlib.h>
#include <string.h>

static void reserve(struct entries *entries, size_t more)
{
    if (entries->used + more <= entries->room)
        return;
    entries->room = 2 * (entries->used + more);
    entries->bytes = realloc(entries->bytes, entries->room);
    if (entries->bytes == NULL)
        die("no memory for the names of %lld files", (long long)entries->count);
}

void entries_add(struct entries *entries, char kind, const char *directory, const char *name)
{
    size_t above = directory == NULL ? 0 : strlen(directory) + 1, own = strlen(name) + 1;
    reserve(entries, 1 + above + own);
    char *to = entries->bytes + entries->used;
    *to++ = kind;
    if (above > 0) {
        memcpy(to, directory, above - 1);
        to[above - 1] = '/';
    }
    memcpy(to + above, name, own);
    entries->used += 1 + above + own;
    entries->count++;
}

const char *entries_next(const struct entries *entries, size_t at, size_t *next)
{
    if (at >= entries->used)
        return NULL;
    *next = at + strlen(entries->bytes + at) + 1;
    return entries->bytes + at;
}

void entries_free(struct entries *entries)
{
    free(entries->bytes);
    *entries = (struct entries){0};
}

/* Where each entry goes: the first of a process to the rank after that of the last one before it. */
static int first_rank(const struct entries *entries, MPI_Comm comm, int ranks, int64_t *all)
{
    int64_t before = 0;
    MPI_Exscan(&entries->count, &before, 1, MPI_INT64_T, MPI_SUM, comm);
    MPI_Allreduce(&entries->count, all, 1, MPI_INT64_T, MPI_SUM, comm);
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank == 0 ? 0 : (int)(before % ranks);
}

int64_t entries_share(struct entries *entries, MPI_Comm comm)
{
    int ranks;
    int64_t all;
    MPI_Comm_size(comm, &ranks);
    const int first = first_rank(entries, comm, ranks, &all);
    int *numbers = calloc((size_t)ranks * 5, sizeof *numbers);
    if (numbers == NULL)
        die("no memory for the numbers of %d processes", ranks);
    int *sizes = numbers, *places = sizes + ranks, *filled = places + ranks;
    int *sizes_in = filled + ranks, *places_in = sizes_in + ranks;
    size_t next;
    const char *entry;
    int to = first;
    for (size_t at = 0; (entry = entries_next(entries, at, &next)) != NULL; at = next, to = (to + 1) % ranks)
        sizes[to] += (int)(next - at);
    for (int rank = 1; rank < ranks; rank++)
        places[rank] = places[rank - 1] + sizes[rank - 1];
    char *out = malloc(entries->used + 1);
    if (out == NULL)
        die("no memory for names");
    to = first;
    for (size_t at = 0; (entry = entries_next(entries, at, &next)) != NULL; at = next, to = (to + 1) % ranks) {
        memcpy(out + places[to] + filled[to], entry, next - at);
        filled[to] += (int)(next - at);
    }
    MPI_Alltoall(sizes, 1, MPI_INT, sizes_in, 1, MPI_INT, comm);
    size_t total = (size_t)sizes_in[0];
    for (int rank = 1; rank < ranks; rank++) {
        places_in[rank] = places_in[rank - 1] + sizes_in[rank - 1];
        total += (size_t)sizes_in[rank];
    }
    entries->used = entries->count = 0;
    reserve(entries, total + 1);
    MPI_Alltoallv(out, sizes, places, MPI_CHAR, entries->bytes, sizes_in, places_in, MPI_CHAR, comm);
    entries->used = total;
    for (size_t at = 0; entries_next(entries, at, &next) != NULL; at = next)
        entries->count++;
    free(out);
    free(numbers);
    return all;
}
