/* spread: the median comes from a radix selection: the bits of doubles that are not negative sort like the doubles, so a
 * histogram over each next byte fixes the bytes of the number that stands at a place, until one number alone begins with
 * them. Numbers of one run have their first byte or two in common, so that this takes two or three histograms. */
#include "common/spread.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The median of the numbers of all ranks that take part, of which lowest and highest differ. */
static double median_of(MPI_Comm comm, bool takes_part, double value, double lowest, double highest)
{
    uint64_t bits = bits_of(value), low = bits_of(lowest), high = bits_of(highest);
    int shift = 56;
    while (low >> shift == high >> shift) /* a byte that all have */
        shift -= 8;
    uint64_t above = shift == 56 ? 0 : UINT64_MAX << (shift + 8), prefix = low & above;
    int64_t own[256], all[256], count = 0, place = -1;
    for (;; shift -= 8) {
        memset(own, 0, sizeof own);
        if (takes_part && (bits & above) == prefix)
            own[bits >> shift & 255] = 1;
        MPI_Allreduce(own, all, 256, MPI_INT64_T, MPI_SUM, comm);
        if (place < 0) {
            for (int byte = 0; byte < 256; byte++)
                count += all[byte];
            place = count / 2;
        }
        int byte = 0;
        while (byte < 255 && place >= all[byte])
            place -= all[byte++];
        prefix |= (uint64_t)byte << shift;
        above = UINT64_MAX << shift;
        if (all[byte] == 1 || shift == 0)
            break;
    }
    /* That number, and the next one below all that begin with these bytes. */
    double mine[2] = {-1, -1}, most[2];
    if (takes_part && (bits & above) == prefix)
        mine[0] = value;
    if (takes_part && bits < prefix)
        mine[1] = value;
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, comm);
    if (count % 2 == 1 || place > 0)
        return most[0];
    return (most[0] + most[1]) / 2;
}

void spread_of(struct spread *spread, MPI_Comm comm, bool takes_part, double value)
{
    struct {
        double value;
        int rank;
    } own[2], least[2]; /* of the numbers, and of their negatives */
    int rank;
    MPI_Comm_rank(comm, &rank);
    own[0].rank = own[1].rank = rank;
    own[0].value = takes_part ? value : HUGE_VAL;
    own[1].value = takes_part ? -value : HUGE_VAL;
    MPI_Allreduce(own, least, 2, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    if (least[0].value == HUGE_VAL) {
        *spread = (struct spread){0, 0, 0, -1};
        return;
    }
    spread->lowest = least[0].value;
    spread->lowest_rank = least[0].rank;
    spread->highest = -least[1].value;
    spread->median = spread->lowest;
    if (spread->highest > spread->lowest)
        spread->median = median_of(comm, takes_part, value, spread->lowest, spread->highest);
}

double spread_of_starts(MPI_Comm comm, MPI_Comm machine, uint64_t start_ns, double elapsed_s)
{
    uint64_t start[2] = {start_ns, ~start_ns}, last[2]; /* of the complements: the first start's is the largest */
    MPI_Allreduce(start, last, 2, MPI_UINT64_T, MPI_MAX, machine);
    double own[3] = {(double)(last[0] - ~last[1]) * 1e-9, elapsed_s, -elapsed_s}, most[3];
    MPI_Allreduce(own, most, 3, MPI_DOUBLE, MPI_MAX, comm);
    return fmax(most[0], most[1] + most[2]);
}
