/* ior_access: what follows from a test's settings for one rank. */
#include "ior/access.h"

#include <sys/mman.h>

void ior_access_path(const struct ior_test *test, int rank, char path[PATH_MAX])
{
    const struct ior_config *config = test->config;
    const struct ior_names names = {config->test_file, config->file_per_process, config->unique_dir, test->beside};
    /* ior_config_check has seen to it that the names fit. */
    ior_names_file(&names, rank, config->multi_file ? test->iteration : -1, path, PATH_MAX);
}

void ior_access_options(const struct ior_test *test, int target, bool writes, struct store_options *options)
{
    const struct ior_config *config = test->config;
    const struct ior_plan *plan = &test->plan;
    int64_t file_bytes = plan->per_rank * plan->transfer * (plan->file_per_process ? 1 : plan->ranks);
    *options = (struct store_options){
        .comm = config->file_per_process ? MPI_COMM_SELF : ior_team(test),
        .writes = writes,
        .direct = config->direct,
        .collective = config->collective,
        .one_attempt = config->one_attempt,
        .depth = ior_depth(test),
        .memory = {{test->buffers, config->transfer * ior_depth(test)},
                   {test->pattern.window, test->pattern.slices * test->pattern.transfer_bytes}},
        .reserve_bytes = writes && config->reserve ? file_bytes : 0,
        .must_reserve = config->preallocate,
        .file_bytes = file_bytes,
        .shape = {.transfer = plan->transfer, .block = plan->block, .segments = plan->segments,
                  .ranks = plan->file_per_process ? 1 : plan->ranks, .rank = plan->file_per_process ? 0 : target},
        .hints = config->hints,
        .file_view = config->file_view,
        .range_locks = config->range_locks,
        .hdf5 = config->hdf5,
        .map_drops = config->map_drops,
        .map_advice = !config->map_pattern ? MADV_NORMAL : config->random_offset > 0 ? MADV_RANDOM : MADV_SEQUENTIAL,
        .delays = config->delays_of_rank_0 && test->place.rank != 0 ? (struct store_delays){0} : config->delays,
    };
}

void ior_access_walk(const struct ior_test *test, int rank, struct ior_walk *walk)
{
    static const enum ior_order_kind orders[] = {IOR_SEQUENTIAL, IOR_SHUFFLED, IOR_DRAWN};
    const int64_t seed = test->config->offset_seed >= 0 ? test->config->offset_seed : test->signature;
    ior_walk_begin(walk, &test->plan, rank, orders[test->config->random_offset], (uint64_t)seed);
    walk->in_file = test->beside ? 0 : ior_source_of(test, rank)->in_file;
}

static struct ior_reorder reorder_of(const struct ior_test *test, int more)
{
    const struct ior_config *config = test->config;
    const struct place *place = &test->place;
    return (struct ior_reorder){
        .kind = config->reorder               ? IOR_CONSTANT
                : config->random_tasks == 0 ? IOR_OWN
                : config->random_tasks == 1 ? IOR_RANDOM
                                            : IOR_PERMUTED,
        .node_offset = config->node_offset + more,
        .seed = test->reorder_seed + (uint64_t)more,
        .ranks = place->ranks,
        .nodes = place->nodes,
        .ranks_per_node = place->ranks_per_node,
        .placement = place->order,
    };
}

int ior_access_target(const struct ior_test *test, int more)
{
    const struct ior_reorder reorder = reorder_of(test, more);
    return ior_reorder_target(&reorder, test->place.rank);
}

int ior_access_shift(const struct ior_test *test)
{
    const struct ior_reorder reorder = reorder_of(test, 0);
    return test->config->random_tasks > 0 ? -1 : ior_reorder_shift(&reorder);
}

void ior_access_sources(struct ior_test *test)
{
    const struct place *place = &test->place;
    for (int more = 0; more <= test->config->check_write; more++) {
        struct ior_source *source = &test->sources[more];
        const int rank = ior_access_target(test, more);
        *source = test->own;
        if (place->nodes > 1 || test->is_uneven)
            place_ask(place, rank, &test->own, source, sizeof *source);
        source->rank = rank;
    }
}
