/* Description: a clock and the kernel's are read at the same moment, also by a process that is stopped between two readings. */
#include "common/raw.h"
#include "test/check.h"

static uint64_t time_ns;
static const uint64_t *stop_ns; /* after each reading, the last one for all that follow */

static uint64_t now(void)
{
    uint64_t read_ns = time_ns;
    time_ns += *stop_ns;
    stop_ns += stop_ns[1] != 0;
    return read_ns;
}

/* By how much the two differ where the process is stopped for so long after each reading. */
static int64_t apart(const uint64_t *stops_ns)
{
    uint64_t clock_ns = 0, kernels_ns = 0;
    stop_ns = stops_ns;
    raw_beside(now, now, &clock_ns, &kernels_ns);
    return (int64_t)(clock_ns - kernels_ns);
}

int main(void)
{
    CHECK_INT(apart((uint64_t[]){50, 0}), 0);
    CHECK_INT(apart((uint64_t[]){80000000, 50, 0}), 0);
    CHECK_INT(apart((uint64_t[]){50, 80000000, 50, 0}), 0);
    CHECK_INT(apart((uint64_t[]){80000000, 50, 50, 50, 80000000, 50, 50, 50, 0}), 0);
    CHECK_INT(apart((uint64_t[]){30000, 0}), 0); /* a slow clock, read 100 times */
    return CHECK_REPORT();
}
