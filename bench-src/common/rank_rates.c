/* rank_rates: what the ranks of a phase reached each for itself. */
#include "common/rank_rates.h"

#include "common/die.h"
#include "common/emit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void rank_rates_emit(const struct rank_rates *rates, const char *key)
{
    emit_group(key, '{');
    emit_rate("fastest", rates->fastest);
    emit_rate("median", rates->median);
    emit_rate("slowest", rates->slowest);
    emit_group_end('}');
    emit_int("slowest_rank", rates->slowest_rank);
    emit_string("slowest_node", rates->slowest_node);
}

int rank_rates_save(const struct place *place, const char *path, const char *header, const char *what,
                    const double *numbers, int count)
{
    static bool begun;
    double *all = NULL;
    if (place->rank == 0)
        all = die_alloc(sizeof(void *), (size_t)place->ranks * (size_t)count * sizeof *all);
    MPI_Gather(numbers, count, MPI_DOUBLE, all, count, MPI_DOUBLE, 0, place->comm);
    if (place->rank != 0)
        return 0;
    errno = 0;
    FILE *file = fopen(path, begun ? "ae" : "we");
    if (file != NULL && !begun)
        fprintf(file, "%s\n", header);
    begun = true;
    for (int rank = 0; rank < place->ranks && file != NULL; rank++) {
        fprintf(file, "%s,%d", what, rank);
        for (int i = 0; i < count; i++)
            fprintf(file, ",%.10e", all[rank * count + i]);
        fprintf(file, "\n");
    }
    free(all);
    bool failed = file == NULL || ferror(file) != 0;
    if (file != NULL && fclose(file) != 0)
        failed = true;
    return !failed ? 0 : errno != 0 ? errno : EIO;
}
