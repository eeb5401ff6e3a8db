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

/* Moves `part` of `all` to others, evenly picked: directories often stand one behind another. */
static void deal(struct entries *entries, int part, int all, struct entries *others)
{
    struct entries kept = {0};
    size_t next;
    const char *entry;
    int64_t i = 0;
    for (size_t at = 0; (entry = entries_next(entries, at, &next)) != NULL; at = next, i++) {
        struct entries *to = (i + 1) * part / all > i * part / all ? others : &kept;
        reserve(to, next - at);
        memcpy(to->bytes + to->used, entry, next - at);
        to->used += next - at;
        to->count++;
    }
    entries_free(entries);
    *entries = kept;
}

static void receive(struct entries *entries, int from, MPI_Comm comm)
{
    MPI_Status status;
    int bytes;
    MPI_Probe(from, 0, comm, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    reserve(entries, (size_t)bytes + 1);
    char *begin = entries->bytes + entries->used;
    MPI_Recv(begin, bytes, MPI_CHAR, from, 0, comm, MPI_STATUS_IGNORE);
    entries->used += (size_t)bytes;
    for (int i = 0; i < bytes; i++)
        entries->count += begin[i] == '\0';
}

void entries_share(struct entries *entries, MPI_Comm comm)
{
    int rank, first = 0, ranks; /* the group of ranks that this one shares with */
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    while (ranks > 1) {
        const int high = ranks / 2, low = ranks - high, middle = first + low, place = rank < middle ? rank - first : rank - middle;
        struct entries others = {0};
        MPI_Request request;
        deal(entries, rank < middle ? high : low, ranks, &others);
        MPI_Isend(others.bytes, (int)others.used, MPI_CHAR, rank < middle ? middle + place % high : first + place, 0, comm, &request);
        if (rank >= middle || place < high)
            receive(entries, rank < middle ? middle + place : first + place, comm);
        if (rank == middle && low > high)
            receive(entries, middle - 1, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        entries_free(&others);
        first = rank < middle ? first : middle;
        ranks = rank < middle ? low : high;
    }
}
