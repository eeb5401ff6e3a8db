/* ior_ranks: what each rank did in each phase, in a CSV file. */
#include "ior/report.h"

#include "common/die.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { OWN, MOVE, MIB, NUMBERS };

void ior_ranks_save(struct ior_test *test, const struct ior_result *result, double own_s, double move_s, int64_t bytes)
{
    static bool begun; /* the tests of a script go on where the one before stopped */
    const char *path = test->config->rank_file;
    const struct place *place = &test->place;
    double own[NUMBERS] = {own_s, move_s, (double)bytes / (1 << 20)}, *all = NULL;
    if (path == NULL)
        return;
    if (place->rank == 0)
        all = die_alloc(sizeof(void *), (size_t)place->ranks * NUMBERS * sizeof *all);
    MPI_Gather(own, NUMBERS, MPI_DOUBLE, all, NUMBERS, MPI_DOUBLE, 0, place->comm);
    if (place->rank != 0)
        return;
    FILE *file = fopen(path, begun ? "ae" : "we");
    bool failed = file == NULL;
    if (!failed && !begun)
        fprintf(file, "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n");
    for (int rank = 0; rank < place->ranks && !failed; rank++) {
        const double *of = all + rank * NUMBERS;
        failed = fprintf(file, "%s,%d,%.9f,%.9f,%.3f,%.3f\n", ior_operation_name(result->operation), rank, of[OWN],
                         of[MOVE], of[MIB] / of[OWN], of[MOVE] > 0 ? of[MIB] / of[MOVE] : 0) < 0;
    }
    if (file != NULL && fclose(file) != 0)
        failed = true;
    if (failed)
        faults_add(&test->faults, "write", path, errno, NULL);
    begun = true;
    free(all);
}
