/* mbw_lines: the JSON lines of mbw_mr. */
#include "mbw_mr/lines.h"

#include "common/emit.h"
#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>

/* For JSON lines: ratios of what they hold are as exact as those that are printed. */
static void emit_figure(const char *key, double value)
{
    emit_real(key, value, units_decimals(value) + 6);
}

static void emit_percentiles(const struct mbw_config *config, const struct mbw_result *result)
{
    if (config->percentile_count == 0)
        return;
    emit_group("window_percentiles_mb_s", '{');
    for (int i = 0; i < config->percentile_count; i++) {
        char key[8];
        snprintf(key, sizeof key, "p%d", (int)config->percentiles[i]);
        emit_figure(key, result->percentiles_mb_s[i]);
    }
    emit_group_end('}');
}

static void emit_point(const struct mbw_config *config, const struct mbw_team *team, const struct mbw_load *load,
                       const struct mbw_result *result)
{
    emit_line("bandwidth");
    emit_int("size_bytes", load->size_bytes);
    emit_int("pairs", team->pairs);
    emit_int("pairs_across_nodes", team->across_nodes);
    emit_int("window", load->window);
    emit_string("datatype", config->type_name);
    emit_string("buffers", load->many_buffers ? "multiple" : "single");
    emit_int("iterations", load->iterations);
    emit_int("warmup", load->warmup);
    emit_seconds("elapsed_s", result->elapsed_s);
    emit_seconds("phase_s", result->phase_s);
    emit_figure("rate_mb_s", result->rate_mb_s);
    emit_figure("rate_messages_s", result->messages_s);
    emit_figure("pair_rate_mb_s", result->rate_mb_s / team->pairs);
    emit_group("pair_spread_mb_s", '{');
    emit_figure("fastest", result->pair_rate_mb_s.fastest);
    emit_figure("median", result->pair_rate_mb_s.median);
    emit_figure("slowest", result->pair_rate_mb_s.slowest);
    emit_group_end('}');
    emit_int("slowest_rank", result->pair_rate_mb_s.slowest_rank);
    emit_known("wrong_messages", load->validate ? result->wrong_messages : -1);
    emit_percentiles(config, result);
    emit_line_end();
}

/* Ends the line of a number of so many pairs, with this name and this unit. */
static void emit_number(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_result *result,
                        bool windows, const char *name, const char *unit, double value)
{
    if (windows)
        emit_record(value, units_decimals(value), unit, "%s-%d-%" PRId64 "-w%" PRId64, name, team->pairs, load->size_bytes, load->window);
    else
        emit_record(value, units_decimals(value), unit, "%s-%d-%" PRId64, name, team->pairs, load->size_bytes);
    emit_seconds("elapsed_s", result->elapsed_s);
}

void mbw_lines_point(const struct mbw_config *config, const struct mbw_team *team, const struct mbw_load *load,
                         const struct mbw_result *result)
{
    emit_point(config, team, load, result);
    if (result->wrong_messages > 0)
        return;
    emit_number(team, load, result, config->vary, "total", "MB/s", result->rate_mb_s);
    emit_line_end();
    if (!config->print_rate)
        return;
    emit_number(team, load, result, config->vary, "rate", "messages/s", result->messages_s);
    emit_line_end();
}

void mbw_lines_sweep(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_result *result,
                       double one_pair_mb_s)
{
    if (result->wrong_messages > 0)
        return;
    double pair = result->rate_mb_s / team->pairs;
    emit_number(team, load, result, false, "pair", "MB/s", pair);
    emit_group("ranks", '{');
    emit_figure("fastest", result->pair_rate_mb_s.fastest);
    emit_figure("median", result->pair_rate_mb_s.median);
    emit_figure("slowest", result->pair_rate_mb_s.slowest);
    emit_group_end('}');
    emit_line_end();
    emit_number(team, load, result, false, "rise", "x", result->rate_mb_s / one_pair_mb_s);
    emit_line_end();
    emit_number(team, load, result, false, "fall", "x", one_pair_mb_s / pair);
    emit_line_end();
}
