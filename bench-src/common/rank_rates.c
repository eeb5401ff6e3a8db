/* rank_rates: what the ranks of a phase reached each for itself. */
#include "common/rank_rates.h"

#include "common/emit.h"
#include "common/spread.h"

void rank_rates_of(struct rank_rates *rates, const struct place *place, bool takes_part, double rate)
{
    struct spread spread;
    spread_of(&spread, place->comm, takes_part, rate);
    *rates = (struct rank_rates){spread.highest, spread.median, spread.lowest, spread.lowest_rank, ""};
    if (spread.lowest_rank >= 0)
        place_node_name(place, spread.lowest_rank, rates->slowest_node);
}

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
