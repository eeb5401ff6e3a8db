/* checkpoint_memory: the memory of a machine against that of the images on it. */
#include "checkpoint/memory.h"

#include "common/die.h"
#include "common/faults.h"
#include "common/hog.h"
#include "common/units.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* The same for processes that share memory, virtual nodes of one machine included: a number for the kernel's start. */
static int machine_color(void)
{
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(id, sizeof id, file) == NULL)
            id[0] = '\0';
        fclose(file);
    }
    unsigned int color = 0;
    for (const char *at = id; *at != '\0'; at++)
        color = color * 31 + (unsigned char)*at;
    return (int)(color & INT_MAX);
}

int checkpoint_check_memory(const struct place *place, int64_t ranks, int64_t bytes)
{
    MPI_Comm machine;
    int takes_part = place->rank < ranks, images;
    MPI_Comm_split(place->comm, machine_color(), place->rank, &machine);
    MPI_Allreduce(&takes_part, &images, 1, MPI_INT, MPI_SUM, machine);
    double need = (double)bytes * images, most = 0.9 * (double)hog_available();
    MPI_Barrier(machine); /* nobody has taken memory yet */
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
