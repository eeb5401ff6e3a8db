/* checkpoint_memory: the memory of a machine against that of the images on it. */
#include "checkpoint/memory.h"

#include "common/die.h"
#include "common/faults.h"
#include "common/hog.h"
#include "common/units.h"

#include <inttypes.h>

int checkpoint_check_memory(const struct place *place, int64_t ranks, int64_t bytes)
{
    MPI_Comm machine;
    int takes_part = place->rank < ranks, images;
    MPI_Comm_split(place->comm, place_machine(), place->rank, &machine);
    MPI_Allreduce(&takes_part, &images, 1, MPI_INT, MPI_SUM, machine);
    double need = (double)bytes * images, most = 0.9 * (double)hog_available();
    MPI_Barrier(machine); /* no rank has taken memory yet */
    MPI_Comm_free(&machine);

    struct {
        double lacking;
        int rank;
    } own = {need - most, place->rank}, worst;
    MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, place->comm);
    if (worst.lacking <= 0)
        return EXIT_CODE_OK;
    double numbers[3] = {images, need, most};
    char node[PLACE_NAME_BYTES], need_text[32], most_text[32];
    place_node_name(place, worst.rank, node);
    MPI_Bcast(numbers, 3, MPI_DOUBLE, worst.rank, place->comm);
    units_format_bytes(need_text, sizeof need_text, numbers[1]);
    units_format_bytes(most_text, sizeof most_text, numbers[2]);
    faults_error("option -m: %.0f images on node %s need %s of memory, at most %s is there (nine tenths of what is free): "
                 "use less memory or fewer processes a node",
                 numbers[0], node, need_text, most_text);
    return EXIT_CODE_USAGE;
}
