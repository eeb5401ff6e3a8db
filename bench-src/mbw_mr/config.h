/* mbw_config: the options of mbw_mr and what they may not be together. */
#pragma once

#include "common/opt.h"
#include "mbw_mr/point.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MBW_SMALL_BYTES = 8192, /* the largest message with the iterations of small ones */
    MBW_VARIED_WINDOWS = 8, /* 1, 2, 4 … 128 */
    MBW_MOST_SIZES = 32,
};

struct mbw_config {
    int64_t pairs, window, iterations, warmup; /* the last two: below 0 where they follow from the size */
    int64_t before_each;                       /* untimed windows before each timed one, with each_window */
    int64_t print_rate;
    bool vary, validate, sweep, each_window, one_clock, many_buffers, version;
    const char *sizes_text, *buffers_text, *type_text, *percentiles_text; /* the last: NULL where none are printed */
    int64_t size_min, size_max;
    MPI_Datatype type;
    const char *type_name;
    int64_t percentiles[MBW_MOST_PERCENTILES];
    int percentile_count;
    const char *unused; /* what was asked for and has no effect, or NULL */
};

/* As opt_parse. */
bool mbw_config_read(struct mbw_config *config, int argc, char **argv, struct opt_common *common, int *status);

/* Completes the settings, for so many processes: EXIT_CODE_OK, or what to exit with after an error that was printed. */
int mbw_config_check(struct mbw_config *config, const struct opt_common *common, int ranks);
