/* mbw_lines: the JSON lines of mbw_mr. */
#pragma once

#include "mbw_mr/config.h"
#include "mbw_mr/point.h"

/* One measurement, and records of what is printed of it; of messages that arrived damaged there are none. */
void mbw_lines_point(const struct mbw_config *config, const struct mbw_team *team, const struct mbw_load *load,
                     const struct mbw_result *result);

/* What a sweep prints beside these. */
void mbw_lines_sweep(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_result *result,
                     double one_pair_mb_s);
