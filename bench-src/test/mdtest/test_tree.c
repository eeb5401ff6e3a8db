/* Description: names of mdtest's directories, layout of items, and where the shift takes each phase. */
#include "mdtest/tree.h"
#include "test/check.h"

static struct mdtest_tree tree;
static struct refusal why;

static int plan(int64_t branch, int64_t depth, bool leaf_only, int64_t items, int64_t items_per_dir)
{
    why.text[0] = '\0';
    return mdtest_tree_plan(&tree, branch, depth, leaf_only, items, items_per_dir, &why);
}

static void path_is(int64_t dir, int owner, const char *expected)
{
    char path[256] = "";
    CHECK_INT(mdtest_tree_path(&tree, dir, owner, path, sizeof path), (int64_t)strlen(expected));
    CHECK_TEXT(path, expected);
}

static void trees_have_the_shape_that_b_and_z_ask_for(void)
{
    CHECK_INT(plan(1, 0, false, 16384, 0), 0);
    CHECK_INT(tree.dirs, 1);
    CHECK_INT(tree.items, 16384);
    CHECK_INT(tree.items_per_dir, 16384);
    path_is(0, -1, "mdtest_tree.0/");
    path_is(0, 12, "mdtest_tree.12.0/");

    CHECK_INT(plan(3, 2, false, 26, 0), 0);
    CHECK_INT(tree.dirs, 13);
    CHECK_INT(tree.first_dir, 0);
    CHECK_INT(tree.items_per_dir, 2);
    path_is(1, -1, "mdtest_tree.0/mdtest_tree.1/");
    path_is(12, -1, "mdtest_tree.0/mdtest_tree.3/mdtest_tree.12/");
    path_is(4, 7, "mdtest_tree.7.0/mdtest_tree.7.1/mdtest_tree.7.4/");

    CHECK_INT(plan(1, 3, false, 8, 0), 0);
    CHECK_INT(tree.dirs, 4);
    path_is(3, -1, "mdtest_tree.0/mdtest_tree.1/mdtest_tree.2/mdtest_tree.3/");

    CHECK_INT(plan(3, 2, true, 18, 0), 0);
    CHECK_INT(tree.first_dir, 4);
    CHECK_INT(tree.items_per_dir, 2);
    CHECK_INT(plan(3, 2, false, 0, 5), 0);
    CHECK_INT(tree.items, 65);
    CHECK_INT(plan(3, 2, true, 0, 5), 0);
    CHECK_INT(tree.items, 45);
}

static void n_and_I_together_ask_for_several_test_directories(void)
{
    CHECK_INT(plan(1, 0, false, 1000, 100), 0);
    CHECK_INT(tree.test_dirs, 10);
    CHECK_INT(tree.items_per_dir, 100);
    CHECK_INT(tree.items, 1000);

    CHECK_INT(plan(3, 1, false, 10, 5), 0);
    CHECK_INT(tree.test_dirs, 2);
    CHECK_INT(tree.items, 2 * 4 * 5);
    CHECK_INT(plan(3, 1, false, 0, 5), 0);
    CHECK_INT(tree.test_dirs, 1);
}

static void numbers_beyond_32_bits_stay_exact(void)
{
    const int64_t many = INT64_C(5000000000);
    CHECK_INT(plan(3, 2, true, 0, many), 0);
    CHECK_INT(tree.items, 9 * many);
    CHECK_INT(plan(1, 0, false, 4 * many, many), 0);
    CHECK_INT(tree.test_dirs, 4);
    CHECK_INT(tree.items, 4 * many);
    CHECK_INT(plan(1 << 16, 2, false, 0, 1), 0);
    CHECK_INT(tree.dirs, 1 + (INT64_C(1) << 16) + (INT64_C(1) << 32));
}

static void items_that_do_not_fit_the_tree_are_refused(void)
{
    CHECK_INT(plan(2, 1, false, 10, 0), -1);
    CHECK_TEXT(why.text, "-n 10 does not divide by the 3 directories of the tree: only 9 items per process would be made; "
                        "use -n 9 or -n 12");
    CHECK_INT(plan(2, 1, false, 2, 0), -1);
    CHECK_TEXT(why.text, "-n 2 is less than one item in each of the 3 directories of the tree: use -n 3");
    CHECK_INT(plan(1, 0, false, 10, 4), -1);
    CHECK_TEXT(why.text, "-n 10 is not a multiple of -I 4");
    CHECK_INT(plan(1000, 200, false, 10, 0), -1);
    CHECK_TEXT(why.text, "-b 1000 -z 200: the tree has more than 2^40 directories");
    CHECK_INT(plan(2, 10, false, 0, INT64_MAX), -1);
    CHECK_TEXT(why.text, "9223372036854775807 items in each of 2047 directories are beyond 64 bits");
    CHECK_INT(plan(1, 100, true, 0, INT64_MAX / 100), -1); /* the leaf's numbers begin behind those of 100 directories */
    CHECK_TEXT(why.text, "92233720368547758 items in each of 101 directories are beyond 64 bits");
}

static void a_path_that_does_not_fit_is_reported(void)
{
    char path[20];
    CHECK_INT(plan(1, 1, false, 2, 0), 0);
    CHECK_INT(mdtest_tree_path(&tree, 0, -1, path, sizeof path), 14);
    CHECK_INT(mdtest_tree_path(&tree, 1, -1, path, sizeof path), -1);
}

/* Share of ranks, in percent, that work in this phase on the names of a rank on another node. */
static int remote_percent(enum mdtest_operation operation, int nodes, int ranks_per_node, int64_t offset)
{
    int ranks = nodes * ranks_per_node, remote = 0;
    int shift = mdtest_shift(operation, offset, ranks);
    CHECK(shift >= 0 && shift < ranks);
    for (int rank = 0; rank < ranks; rank++)
        remote += (rank + shift) % ranks / ranks_per_node != rank / ranks_per_node;
    return 100 * remote / ranks;
}

static void a_shift_of_one_node_moves_stat_and_remove_as_the_run_rules_want(void)
{
    for (int per_node = 1; per_node <= 16; per_node++) {
        CHECK_INT(remote_percent(MDTEST_STAT, 1, per_node, per_node), 0);
        CHECK_INT(remote_percent(MDTEST_REMOVE, 1, per_node, per_node), 0);
        CHECK_INT(remote_percent(MDTEST_STAT, 2, per_node, per_node), 100);
        CHECK_INT(remote_percent(MDTEST_REMOVE, 2, per_node, per_node), 100);
        CHECK_INT(remote_percent(MDTEST_STAT, 3, per_node, per_node), 100);
        CHECK_INT(remote_percent(MDTEST_REMOVE, 3, per_node, per_node), 0); /* back on the creating node */
        for (int nodes = 4; nodes <= 9; nodes++) {
            CHECK_INT(remote_percent(MDTEST_CREATE, nodes, per_node, per_node), 0);
            CHECK_INT(remote_percent(MDTEST_STAT, nodes, per_node, per_node), 100);
            CHECK_INT(remote_percent(MDTEST_READ, nodes, per_node, per_node), 100);
            CHECK_INT(remote_percent(MDTEST_REMOVE, nodes, per_node, per_node), 100);
        }
    }
}

static void a_shift_that_is_not_a_node_leaves_operations_local(void)
{
    CHECK_INT(remote_percent(MDTEST_STAT, 4, 4, 1), 25);
    CHECK_INT(remote_percent(MDTEST_STAT, 4, 4, 16), 0); /* ppn² on 4 nodes: every phase local */
    CHECK_INT(remote_percent(MDTEST_STAT, 4, 4, 0), 0);
    CHECK_INT(mdtest_shift(MDTEST_REMOVE, 16, 64), 48);
    CHECK_INT(mdtest_shift(MDTEST_REMOVE, INT32_MAX, 7), 3 * (INT64_C(2147483647) % 7) % 7);
}

int main(void)
{
    trees_have_the_shape_that_b_and_z_ask_for();
    n_and_I_together_ask_for_several_test_directories();
    numbers_beyond_32_bits_stay_exact();
    items_that_do_not_fit_the_tree_are_refused();
    a_path_that_does_not_fit_is_reported();
    a_shift_of_one_node_moves_stat_and_remove_as_the_run_rules_want();
    a_shift_that_is_not_a_node_leaves_operations_local();
    return CHECK_REPORT();
}
