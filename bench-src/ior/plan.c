/* ior_plan: which bytes of which file a rank moves, in which order, and whose data it reads. Pure. */
#include "ior/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ior_plan_make(struct ior_plan *plan, int64_t transfer, int64_t block, int64_t segments, int ranks,
                   bool file_per_process)
{
    *plan = (struct ior_plan){.transfer = transfer, .block = block, .segments = segments, .ranks = ranks,
                              .file_per_process = file_per_process, .per_block = block / transfer,
                              .per_rank = block / transfer * segments};
}

int64_t ior_plan_offset(const struct ior_plan *plan, int rank, int64_t place)
{
    if (plan->file_per_process)
        return place * plan->transfer;
    int64_t segment = place / plan->per_block, within = place % plan->per_block;
    return (segment * plan->ranks + rank) * plan->block + within * plan->transfer;
}

/* A number from 0 to n-1 that depends on seed and index only. */
static uint64_t draw(uint64_t seed, uint64_t index, uint64_t n)
{
    struct permute permute;
    permute_init(&permute, UINT64_MAX, seed);
    return permute_at(&permute, index) % n;
}

void ior_walk_begin(struct ior_walk *walk, const struct ior_plan *plan, int rank, enum ior_order_kind order,
                    uint64_t seed)
{
    memset(walk, 0, sizeof *walk);
    walk->plan = plan;
    walk->order = order;
    walk->rank = rank;
    walk->seed = draw(seed, (uint64_t)rank, UINT64_MAX);
    walk->offset = ior_plan_offset(plan, rank, 0);
    walk->left_in_block = plan->per_block;
    permute_init(&walk->permute, order == IOR_SHUFFLED ? (uint64_t)plan->per_rank : UINT64_MAX, walk->seed);
}

int64_t ior_walk_jump(struct ior_walk *walk, int64_t *offset)
{
    uint64_t drawn = permute_at(&walk->permute, (uint64_t)walk->step++);
    if (walk->in_file > 0) {
        int64_t any = (int64_t)(drawn % (uint64_t)walk->in_file);
        *offset = any * walk->plan->transfer;
        return any;
    }
    int64_t place = (int64_t)(walk->order == IOR_SHUFFLED ? drawn : drawn % (uint64_t)walk->plan->per_rank);
    *offset = ior_plan_offset(walk->plan, walk->rank, place);
    return place;
}

int ior_reorder_shift(const struct ior_reorder *reorder)
{
    if (reorder->kind != IOR_CONSTANT)
        return 0;
    bool whole_nodes = reorder->placement == PLACE_BLOCK && reorder->ranks_per_node > 0;
    int64_t step = reorder->node_offset * (whole_nodes ? reorder->ranks_per_node : 1);
    return (int)(step % reorder->ranks);
}

/* Any rank on a node that is at least node_offset nodes further on, as long as there are nodes. */
static int random_target(const struct ior_reorder *reorder, int rank)
{
    int nodes = reorder->nodes, per_node = reorder->ranks_per_node;
    bool regular = per_node > 0 && (reorder->placement == PLACE_BLOCK || reorder->placement == PLACE_CYCLIC);
    if (!regular) {
        nodes = reorder->ranks;
        per_node = 1;
    }
    bool block = reorder->placement == PLACE_BLOCK || !regular;
    int64_t least = reorder->node_offset < nodes ? reorder->node_offset : nodes - 1;
    int own = block ? rank / per_node : rank % nodes;
    int node = (int)((own + least + (int64_t)draw(reorder->seed, 2 * (uint64_t)rank, (uint64_t)(nodes - least))) % nodes);
    int within = (int)draw(reorder->seed, 2 * (uint64_t)rank + 1, (uint64_t)per_node);
    return block ? node * per_node + within : within * nodes + node;
}

int ior_reorder_target(const struct ior_reorder *reorder, int rank)
{
    struct permute permute;
    switch (reorder->kind) {
    case IOR_CONSTANT:
        return (rank + ior_reorder_shift(reorder)) % reorder->ranks;
    case IOR_RANDOM:
        return random_target(reorder, rank);
    case IOR_PERMUTED:
        permute_init(&permute, (uint64_t)reorder->ranks, reorder->seed);
        return (int)permute_at(&permute, (uint64_t)rank);
    case IOR_OWN:
        break;
    }
    return rank;
}

int ior_mix_readers(int64_t percent, int ranks)
{
    int64_t readers = (percent * ranks + 50) / 100;
    return (int)(readers < 1 ? 1 : readers > ranks - 1 ? ranks - 1 : readers);
}

bool ior_mix_reads(int index, int readers, int ranks)
{
    return ((int64_t)index + 1) * readers / ranks > (int64_t)index * readers / ranks;
}

/* The base name of a rank: start and length. */
static const char *base_of(const char *base, int rank, int *length)
{
    int count = 1;
    for (const char *at = base; *at != '\0'; at++)
        count += *at == '@';
    for (int skip = rank % count; skip > 0; skip--)
        base = strchr(base, '@') + 1;
    *length = (int)strcspn(base, "@");
    return base;
}

int ior_names_dir(const struct ior_names *names, int rank, char *path, size_t path_bytes)
{
    const char *slash = strrchr(names->base, '/');
    int before = slash == NULL ? 0 : (int)(slash + 1 - names->base);
    int length = snprintf(path, path_bytes, "%.*s%d", before, names->base, rank);
    return length < (int)path_bytes ? 0 : -1;
}

int ior_names_file(const struct ior_names *names, int rank, int64_t repetition, char *path, size_t path_bytes)
{
    char of_rank[16] = "", of_repetition[24] = "";
    const char *of_mix = names->beside ? ".mixed" : "";
    int length, used;
    if (names->file_per_process)
        snprintf(of_rank, sizeof of_rank, ".%08d", rank);
    if (repetition >= 0)
        snprintf(of_repetition, sizeof of_repetition, ".%" PRId64, repetition);
    const char *base = names->file_per_process ? base_of(names->base, rank, &length) : names->base;
    if (!names->file_per_process)
        length = (int)strlen(base);
    if (names->unique_dir) {
        const char *slash = strrchr(base, '/');
        int before = slash == NULL ? 0 : (int)(slash + 1 - base);
        used = snprintf(path, path_bytes, "%.*s%d/%.*s%s%s%s", before, base, rank, length - before, base + before, of_rank,
                        of_repetition, of_mix);
    } else {
        used = snprintf(path, path_bytes, "%.*s%s%s%s", length, base, of_rank, of_repetition, of_mix);
    }
    return used < (int)path_bytes ? 0 : -1;
}
