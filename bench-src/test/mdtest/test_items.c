/* Description: the names of mdtest's items: the loop that counts a name up and the one that writes it give the same ones. */
#include "mdtest/items.h"
#include "test/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mdtest_tree tree;
static struct mdtest_job job;
static struct faults faults;

/* So many items from the first of these on, with one operation. Returns how many failed. */
static int64_t run(int (*perform)(struct mdtest_job *), int64_t first, int64_t last, bool one_by_one)
{
    job.perform = perform;
    job.deadline_ns = one_by_one ? UINT64_MAX : 0; /* never reached, but looked at after each */
    faults.count = 0;
    mdtest_items_prepare(&job);
    CHECK_INT(mdtest_items_run(&job, first, last), last);
    return faults.count;
}

static void each_number_has_its_file_in_both_loops(const char *base, int64_t items)
{
    char path[512];
    CHECK_INT(run(mdtest_create_file, 0, items, false), 0);
    for (int64_t i = 0; i < items; i++) {
        const char *dir = i < tree.items_per_dir ? "mdtest_tree.0/" : "mdtest_tree.0/mdtest_tree.1/";
        snprintf(path, sizeof path, "%s0/%sfile.mdtest.7.%" PRId64, base, dir, i);
        CHECK_INT(access(path, F_OK), 0);
    }
    CHECK_INT(run(mdtest_stat, 0, items, true), 0);
    CHECK_INT(run(mdtest_stat, 3, items, false), 0);
    CHECK_INT(run(mdtest_remove_file, 3, items, false), 0);
    CHECK_INT(run(mdtest_stat, 0, items, false), items - 3);
    CHECK_INT(run(mdtest_remove_file, 0, 3, true), 0);
    CHECK_INT(run(mdtest_remove_file, 0, items, false), items);
}

int main(void)
{
    char directory[] = "/tmp/test_items.XXXXXX", base[64], path[128];
    struct refusal why;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(base, sizeof base, "%s/test-dir.0-", directory);
    CHECK_INT(mdtest_tree_plan(&tree, 1, 1, false, 2 * 1003, 0, &why), 0);
    static const char *const dirs[] = {"", "mdtest_tree.0/", "mdtest_tree.0/mdtest_tree.1/"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s0/%s", base, dirs[i]);
        CHECK_INT(mkdir(path, 0700), 0);
    }
    job = (struct mdtest_job){.tree = &tree, .base = base, .kind = "file", .owner = 7, .tree_owner = -1,
                              .operation = "test", .faults = &faults};
    each_number_has_its_file_in_both_loops(base, 2 * 1003);
    for (int i = 2; i >= 0; i--) {
        snprintf(path, sizeof path, "%s0/%s", base, dirs[i]);
        CHECK_INT(rmdir(path), 0);
    }
    CHECK_INT(rmdir(directory), 0);
    return CHECK_REPORT();
}
