/* ior_plan: offsets, orders, whose data is read, names of files. */
#include "ior/plan.h"
#include "test/check.h"

#include <stdbool.h>
#include <stdlib.h>

static int64_t next_offset(struct ior_walk *walk)
{
    int64_t offset;
    ior_walk_next(walk, &offset);
    return offset;
}

/* Segments are cut into a block of each rank, blocks into transfers. */
static void test_shared_file_offsets(void)
{
    struct ior_plan plan;
    ior_plan_make(&plan, 8, 24, 2, 3, false);
    CHECK_INT(plan.per_block, 3);
    CHECK_INT(plan.per_rank, 6);
    static const int64_t of_rank_1[] = {24, 32, 40, 96, 104, 112};
    struct ior_walk walk;
    ior_walk_begin(&walk, &plan, 1, IOR_SEQUENTIAL, 5);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(ior_plan_offset(&plan, 1, i), of_rank_1[i]);
        CHECK_INT(next_offset(&walk), of_rank_1[i]);
    }
}

static void test_file_per_process_is_contiguous(void)
{
    struct ior_plan plan;
    struct ior_walk walk;
    ior_plan_make(&plan, 8, 24, 2, 3, true);
    ior_walk_begin(&walk, &plan, 2, IOR_SEQUENTIAL, 5);
    for (int i = 0; i < 6; i++)
        CHECK_INT(next_offset(&walk), 8 * i);
}

/* Steps, places and offsets beyond 2^31 and 2^32, in the last segment of the last rank. */
static void test_large_files_have_exact_offsets(void)
{
    struct ior_plan plan;
    struct ior_walk walk;
    const int64_t block = INT64_C(3) << 31, transfer = 8, segments = INT64_C(1) << 20;
    int64_t offset;
    ior_plan_make(&plan, transfer, block, segments, 1000, false);
    CHECK_INT(plan.per_rank, block / transfer * segments);
    CHECK_INT(ior_plan_offset(&plan, 999, plan.per_rank - 1), 1000 * segments * block - transfer);
    ior_walk_begin(&walk, &plan, 999, IOR_SEQUENTIAL, 5);
    walk.left_in_block = 1;
    CHECK_INT(next_offset(&walk), 999 * block);
    CHECK_INT(next_offset(&walk), 999 * block + transfer + 999 * block);
    ior_walk_begin(&walk, &plan, 999, IOR_SHUFFLED, 5);
    for (int i = 0; i < 1000; i++) {
        int64_t place = ior_walk_next(&walk, &offset);
        CHECK(place >= 0 && place < plan.per_rank);
        CHECK_INT(offset, ior_plan_offset(&plan, 999, place));
    }
}

/* Every byte of the file belongs to one transfer of one rank. */
static void test_ranks_cover_the_shared_file_once(void)
{
    for (int order = IOR_SEQUENTIAL; order <= IOR_SHUFFLED; order++)
        for (int ranks = 1; ranks <= 5; ranks++) {
            struct ior_plan plan;
            ior_plan_make(&plan, 16, 48, 7, ranks, false);
            int transfers = (int)plan.per_rank * ranks;
            char *seen = calloc((size_t)transfers, 1);
            for (int rank = 0; rank < ranks; rank++) {
                struct ior_walk walk;
                ior_walk_begin(&walk, &plan, rank, order, 99);
                for (int64_t i = 0; i < plan.per_rank; i++) {
                    int64_t offset, place = ior_walk_next(&walk, &offset);
                    CHECK_INT(offset, ior_plan_offset(&plan, rank, place));
                    CHECK(offset % 16 == 0 && offset / 16 < transfers);
                    seen[offset / 16]++;
                }
            }
            for (int i = 0; i < transfers; i++)
                CHECK_INT(seen[i], 1);
            free(seen);
        }
}

static void test_random_orders_depend_on_seed_and_rank_only(void)
{
    struct ior_plan plan;
    ior_plan_make(&plan, 8, 8000, 1, 2, true);
    for (int order = IOR_SHUFFLED; order <= IOR_DRAWN; order++) {
        struct ior_walk one, again, other_rank, other_seed;
        int same_rank = 0, same_seed = 0, in_order = 0;
        ior_walk_begin(&one, &plan, 0, order, 1);
        ior_walk_begin(&again, &plan, 0, order, 1);
        ior_walk_begin(&other_rank, &plan, 1, order, 1);
        ior_walk_begin(&other_seed, &plan, 0, order, 2);
        for (int i = 0; i < 1000; i++) {
            int64_t offset = next_offset(&one);
            CHECK_INT(next_offset(&again), offset);
            same_rank += next_offset(&other_rank) == offset;
            same_seed += next_offset(&other_seed) == offset;
            in_order += offset == 8 * i;
            CHECK(offset >= 0 && offset < 8000);
        }
        CHECK(same_rank < 20 && same_seed < 20 && in_order < 20);
    }
}

static struct ior_reorder reorder(enum ior_reorder_kind kind, int ranks, int nodes, enum place_order placement)
{
    return (struct ior_reorder){.kind = kind, .node_offset = 1, .seed = 7, .ranks = ranks, .nodes = nodes,
                                .ranks_per_node = ranks % nodes == 0 ? ranks / nodes : 0, .placement = placement};
}

static void test_constant_shift_steps_over_whole_nodes(void)
{
    struct ior_reorder block = reorder(IOR_CONSTANT, 8, 4, PLACE_BLOCK);
    CHECK_INT(ior_reorder_target(&block, 0), 2);
    CHECK_INT(ior_reorder_target(&block, 7), 1);
    block.node_offset = 3;
    CHECK_INT(ior_reorder_target(&block, 0), 6);
    struct ior_reorder cyclic = reorder(IOR_CONSTANT, 8, 4, PLACE_CYCLIC);
    CHECK_INT(ior_reorder_target(&cyclic, 0), 1);
    struct ior_reorder uneven = reorder(IOR_CONSTANT, 7, 2, PLACE_BLOCK);
    CHECK_INT(ior_reorder_target(&uneven, 6), 0);
}

/* IOR: on one node everybody reads what he wrote himself. */
static void test_constant_shift_is_none_on_one_node(void)
{
    struct ior_reorder one_node = reorder(IOR_CONSTANT, 4, 1, PLACE_BLOCK);
    for (int rank = 0; rank < 4; rank++)
        CHECK_INT(ior_reorder_target(&one_node, rank), rank);
    CHECK_INT(ior_reorder_shift(&one_node), 0);
}

static void test_random_targets_are_on_nodes_far_enough(void)
{
    for (int placement = PLACE_BLOCK; placement <= PLACE_CYCLIC; placement++)
        for (int node_offset = 0; node_offset < 4; node_offset++) {
            struct ior_reorder random = reorder(IOR_RANDOM, 12, 4, placement);
            random.node_offset = node_offset;
            for (int rank = 0; rank < 12; rank++)
                for (random.seed = 1; random.seed < 50; random.seed++) {
                    int target = ior_reorder_target(&random, rank);
                    int own = placement == PLACE_BLOCK ? rank / 3 : rank % 4;
                    int node = placement == PLACE_BLOCK ? target / 3 : target % 4;
                    CHECK(target >= 0 && target < 12);
                    CHECK((node - own + 4) % 4 >= node_offset);
                }
        }
}

static void test_random_targets_without_other_nodes(void)
{
    struct ior_reorder one_node = reorder(IOR_RANDOM, 4, 1, PLACE_BLOCK), irregular = reorder(IOR_RANDOM, 5, 2, PLACE_IRREGULAR);
    for (int rank = 0; rank < 4; rank++)
        CHECK(ior_reorder_target(&one_node, rank) < 4);
    for (int rank = 0; rank < 5; rank++)
        CHECK(ior_reorder_target(&irregular, rank) != rank);
}

static void test_a_permutation_reads_everything_once(void)
{
    struct ior_reorder permuted = reorder(IOR_PERMUTED, 13, 1, PLACE_BLOCK);
    int seen[13] = {0};
    for (int rank = 0; rank < 13; rank++)
        seen[ior_reorder_target(&permuted, rank)]++;
    for (int rank = 0; rank < 13; rank++)
        CHECK_INT(seen[rank], 1);
}

/* As many as the share says, at least one on each side, spread so that neighbours differ where they can. */
static void test_readers_of_a_mixed_phase_are_a_share_of_the_ranks(void)
{
    CHECK_INT(ior_mix_readers(1, 2), 1);
    CHECK_INT(ior_mix_readers(99, 2), 1);
    CHECK_INT(ior_mix_readers(70, 10), 7);
    CHECK_INT(ior_mix_readers(50, 5), 3);
    CHECK_INT(ior_mix_readers(99, INT32_MAX), 2126008811);
    for (int ranks = 2; ranks <= 20; ranks++)
        for (int readers = 1; readers < ranks; readers++) {
            int found = 0;
            for (int i = 0; i < ranks; i++) {
                found += ior_mix_reads(i, readers, ranks);
                CHECK_INT(found, (int64_t)(i + 1) * readers / ranks);
            }
            CHECK_INT(found, readers);
        }
}

static void check_name(struct ior_names names, int rank, int64_t repetition, const char *expected)
{
    char path[64];
    CHECK_INT(ior_names_file(&names, rank, repetition, path, sizeof path), 0);
    CHECK_TEXT(path, expected);
}

static void test_names(void)
{
    check_name((struct ior_names){"/s/f", false, false, false}, 3, -1, "/s/f");
    check_name((struct ior_names){"/s/f", false, false, false}, 3, 2, "/s/f.2");
    check_name((struct ior_names){"/s/f", true, true, true}, 3, 2, "/s/3/f.00000003.2.mixed");
    check_name((struct ior_names){"/s/f", true, false, false}, 3, -1, "/s/f.00000003");
    check_name((struct ior_names){"/s/f", true, false, false}, 123456789, 0, "/s/f.123456789.0");
    check_name((struct ior_names){"/a/x@/b/y", true, false, false}, 2, -1, "/a/x.00000002");
    check_name((struct ior_names){"/a/x@/b/y", true, false, false}, 3, -1, "/b/y.00000003");
    check_name((struct ior_names){"/s/f", true, true, false}, 3, -1, "/s/3/f.00000003");
    check_name((struct ior_names){"f", true, true, false}, 3, 1, "3/f.00000003.1");
    char dir[64], tiny[8];
    struct ior_names names = {"/s/f", true, true, false};
    CHECK_INT(ior_names_dir(&names, 12, dir, sizeof dir), 0);
    CHECK_TEXT(dir, "/s/12");
    CHECK_INT(ior_names_file(&names, 3, -1, tiny, sizeof tiny), -1);
}

int main(void)
{
    test_readers_of_a_mixed_phase_are_a_share_of_the_ranks();
    test_shared_file_offsets();
    test_file_per_process_is_contiguous();
    test_large_files_have_exact_offsets();
    test_ranks_cover_the_shared_file_once();
    test_random_orders_depend_on_seed_and_rank_only();
    test_constant_shift_steps_over_whole_nodes();
    test_constant_shift_is_none_on_one_node();
    test_random_targets_are_on_nodes_far_enough();
    test_random_targets_without_other_nodes();
    test_a_permutation_reads_everything_once();
    test_names();
    return CHECK_REPORT();
}
