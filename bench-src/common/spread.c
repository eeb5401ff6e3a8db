/* spread: the median comes from a radix selection: the bits of doubles that are not negative sort like the doubles, so
 * eight rounds, each with a histogram over the next byte, fix the eight bytes of the number that stands at a place. */
#include "common/spread.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The number at `place` (from 0) of the sorted numbers of all ranks that take part. */
static double number_at(MPI_Comm comm, bool takes_part, double value, int64_t place)
{
    uint64_t bits, prefix = 0;
    memcpy(&bits, &value, sizeof bits);
    for (int shift = 56; shift >= 0; shift -= 8) {
        int64_t own[256] = {0}, all[256];
        uint64_t above = shift == 56 ? 0 : UINT64_MAX << (shift + 8);
        if (takes_part && (bits & above) == prefix)
            own[bits >> shift & 255] = 1;
        MPI_Allreduce(own, all, 256, MPI_INT64_T, MPI_SUM, comm);
        int byte = 0;
        while (byte < 255 && place >= all[byte])
            place -= all[byte++];
        prefix |= (uint64_t)byte << shift;
    }
    double result;
    memcpy(&result, &prefix, sizeof result);
    return result;
}

void spread_of(struct spread *spread, MPI_Comm comm, bool takes_part, double value)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    int64_t own = takes_part, count;
    MPI_Allreduce(&own, &count, 1, MPI_INT64_T, MPI_SUM, comm);
    if (count == 0) {
        *spread = (struct spread){0, 0, 0, -1};
        return;
    }
    struct {
        double value;
        int rank;
    } mine = {takes_part ? value : 1e300, rank}, lowest;
    double high = takes_part ? value : -1;
    MPI_Allreduce(&mine, &lowest, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    MPI_Allreduce(&high, &spread->highest, 1, MPI_DOUBLE, MPI_MAX, comm);
    spread->lowest = lowest.value;
    spread->lowest_rank = lowest.rank;
    if (count <= 2 || spread->highest == spread->lowest) {
        spread->median = (spread->lowest + spread->highest) / 2;
        return;
    }
    spread->median = number_at(comm, takes_part, value, count / 2);
    if (count % 2 == 0)
        spread->median = (spread->median + number_at(comm, takes_part, value, count / 2 - 1)) / 2;
}

double spread_of_starts(MPI_Comm comm, uint64_t start_ns, double elapsed_s)
{
    MPI_Comm machine; /* virtual nodes on one machine share its clock too */
    uint64_t first_ns, last_ns;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Allreduce(&start_ns, &first_ns, 1, MPI_UINT64_T, MPI_MIN, machine);
    MPI_Allreduce(&start_ns, &last_ns, 1, MPI_UINT64_T, MPI_MAX, machine);
    MPI_Comm_free(&machine);
    double own[3] = {(double)(last_ns - first_ns) * 1e-9, elapsed_s, -elapsed_s}, most[3];
    MPI_Allreduce(own, most, 3, MPI_DOUBLE, MPI_MAX, comm);
    return fmax(most[0], most[1] + most[2]);
}
