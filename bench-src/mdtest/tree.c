/* mdtest_tree: names and shifts. Pure. */
#include "mdtest/tree.h"

#include <inttypes.h>
#include <stdio.h>

/* Directories beyond this are a mistake in -b and -z rather than a test. */
static const int64_t most_dirs = INT64_C(1) << 40;

int mdtest_tree_plan(struct mdtest_tree *tree, int64_t branch, int64_t depth, bool leaf_only, int64_t items,
                     int64_t items_per_dir, struct refusal *why)
{
    int64_t level_dirs = 1, before_level = 0;
    for (int64_t level = 0; level < depth; level++) {
        before_level += level_dirs;
        if (__builtin_mul_overflow(level_dirs, branch, &level_dirs) || before_level + level_dirs > most_dirs)
            return refuse(why, "-b %" PRId64 " -z %" PRId64 ": the tree has more than 2^40 directories", branch, depth);
    }
    tree->branch = branch;
    tree->depth = depth;
    tree->dirs = before_level + level_dirs;
    tree->first_dir = leaf_only ? before_level : 0;
    int64_t with_items = tree->dirs - tree->first_dir;

    tree->test_dirs = items > 0 && items_per_dir > 0 ? items / items_per_dir : 1;
    if (items_per_dir > 0 && items % items_per_dir != 0)
        return refuse(why, "-n %" PRId64 " is not a multiple of -I %" PRId64, items, items_per_dir);
    if (items_per_dir == 0 && items % with_items != 0) {
        int64_t fewer = items / with_items * with_items;
        if (fewer == 0)
            return refuse(why, "-n %" PRId64 " is less than one item in each of the %" PRId64 " directories of the tree: "
                          "use -n %" PRId64, items, with_items, with_items);
        return refuse(why, "-n %" PRId64 " does not divide by the %" PRId64 " directories of the tree: only %" PRId64
                      " items per process would be made; use -n %" PRId64 " or -n %" PRId64,
                      items, with_items, fewer, fewer, fewer + with_items);
    }
    tree->items_per_dir = items_per_dir > 0 ? items_per_dir : items / with_items;
    /* Their numbers count from the root on, where only the leaves have items too. */
    int64_t numbers;
    if (__builtin_mul_overflow(tree->items_per_dir, tree->dirs, &numbers) ||
        __builtin_mul_overflow(numbers, tree->test_dirs, &numbers))
        return refuse(why, "%" PRId64 " items in each of %" PRId64 " directories are beyond 64 bits", tree->items_per_dir,
                      tree->dirs);
    tree->items = tree->items_per_dir * with_items * tree->test_dirs;
    return 0;
}

int mdtest_tree_path(const struct mdtest_tree *tree, int64_t dir, int owner, char *out, size_t out_bytes)
{
    size_t used = 0;
    if (dir > 0) {
        int parent = mdtest_tree_path(tree, (dir - 1) / tree->branch, owner, out, out_bytes);
        if (parent < 0)
            return -1;
        used = (size_t)parent;
    }
    int added = owner < 0 ? snprintf(out + used, out_bytes - used, "mdtest_tree.%" PRId64 "/", dir)
                          : snprintf(out + used, out_bytes - used, "mdtest_tree.%d.%" PRId64 "/", owner, dir);
    return used + (size_t)added < out_bytes ? (int)used + added : -1;
}

const char *const mdtest_operation_names[MDTEST_OPERATIONS] = {"create", "stat", "read", "rename", "remove"};

int mdtest_shift(enum mdtest_operation operation, int64_t offset, int ranks)
{
    static const int64_t shifts[MDTEST_OPERATIONS] = {0, 1, 2, 2, 3};
    return (int)(offset % ranks * shifts[operation] % ranks);
}
