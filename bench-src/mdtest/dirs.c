/* mdtest_dirs: the directories around mdtest's items. */
#include "mdtest/dirs.h"

#include "common/die.h"
#include "common/rescue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int mdtest_roots_used(const struct mdtest_config *config, const struct place *place)
{
    return config->root_count < place->ranks ? config->root_count : place->ranks;
}

void mdtest_base(const struct mdtest_test *test, int owner, char base[PATH_MAX])
{
    int root = owner < 0 ? 0 : owner % mdtest_roots_used(test->config, &test->place);
    int length = snprintf(base, PATH_MAX, "%s/test-dir.%" PRId64 "-0/", test->config->roots[root], test->iteration);
    if (length >= PATH_MAX)
        bug("path of the test directory is too long: '%s'", base);
}

static bool has_root(const struct mdtest_test *test)
{
    return test->place.rank < mdtest_roots_used(test->config, &test->place);
}

int mdtest_root_make(const struct mdtest_config *config, const struct place *place, struct faults *faults)
{
    char path[PATH_MAX];
    int made = 0;
    if (place->rank >= mdtest_roots_used(config, place))
        return 0;
    snprintf(path, sizeof path, "%s", config->roots[place->rank]);
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(path, 0775) == 0) {
            made++;
        } else if (errno != EEXIST) {
            faults_add(faults, "mkdir", path, errno, NULL);
            return made;
        }
        *at = end;
        if (end == '\0')
            return made;
    }
}

void mdtest_root_remove(const struct mdtest_config *config, const struct place *place, int made)
{
    char path[PATH_MAX];
    if (made == 0)
        return;
    snprintf(path, sizeof path, "%s", config->roots[place->rank]);
    for (; made > 0 && rmdir(path) == 0; made--) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* What a signal removes: test directories that this run made. */
static char doomed[MDTEST_MOST_ROOTS][PATH_MAX];
static int doomed_count;

static void remove_doomed(void)
{
    for (int i = 0; i < doomed_count; i++)
        rescue_remove(doomed[i]);
}

/* Only a run that would have removed them itself; without -r they are for a later run. */
static bool is_rescued(const struct mdtest_test *test)
{
    return test->config->run[MDTEST_CREATE] && test->config->run[MDTEST_REMOVE];
}

bool mdtest_test_dir_make(struct mdtest_test *test)
{
    char base[PATH_MAX];
    if (!has_root(test))
        return false;
    mdtest_base(test, test->place.rank, base);
    if (mkdir(base, 0775) != 0) {
        faults_add(&test->faults, "mkdir", base, errno,
                   errno == EEXIST ? "if an earlier run left it, remove it with -r or by hand" : NULL);
        return false;
    }
    memcpy(doomed[0], base, sizeof base);
    doomed_count = 1;
    if (is_rescued(test))
        rescue_arm(remove_doomed);
    return true;
}

void mdtest_test_dir_guard(const struct mdtest_test *test)
{
    if (!is_rescued(test))
        return;
    int roots = mdtest_roots_used(test->config, &test->place);
    for (doomed_count = 0; doomed_count < roots; doomed_count++)
        mdtest_base(test, doomed_count, doomed[doomed_count]);
    rescue_arm(test->place.starts_range || test->place.ends_range ? remove_doomed : NULL);
}

void mdtest_test_dir_remove(struct mdtest_test *test)
{
    char base[PATH_MAX];
    if (!has_root(test))
        return;
    mdtest_base(test, test->place.rank, base);
    if (rmdir(base) != 0)
        faults_add(&test->faults, "rmdir", base, errno, NULL);
}

/* Makes or removes one tree. Removal goes from the last directory to the first: children before their parents. */
static void change_tree(struct mdtest_test *test, int base_owner, int tree_owner, bool make)
{
    char path[PATH_MAX];
    mdtest_base(test, base_owner, path);
    size_t used = strlen(path);
    for (int64_t i = 0; i < test->tree.dirs; i++) {
        int64_t dir = make ? i : test->tree.dirs - 1 - i;
        if (mdtest_tree_path(&test->tree, dir, tree_owner, path + used, sizeof path - used) < 0)
            bug("path of directory %" PRId64 " of the tree is too long: '%s'", dir, path);
        if ((make ? mkdir(path, 0775) : rmdir(path)) != 0)
            faults_add(&test->faults, make ? "tree_create" : "tree_remove", path, errno, NULL);
    }
}

int64_t mdtest_trees_change(struct mdtest_test *test, bool make)
{
    const struct mdtest_config *config = test->config;
    int rank = test->place.rank, trees = 0;
    if (!config->unique) {
        if (has_root(test)) {
            change_tree(test, rank, -1, make);
            trees = 1;
        }
    } else if (!config->collective) {
        change_tree(test, rank, rank, make);
        trees = 1;
    } else if (rank == 0) {
        for (; trees < test->place.ranks; trees++)
            change_tree(test, trees, trees, make);
    }
    return trees * test->tree.dirs;
}

void mdtest_dirs_undo(struct mdtest_test *test)
{
    /* What failed is reported already; that the rest cannot be removed either is no further news. */
    mdtest_trees_change(test, false);
    MPI_Barrier(test->place.comm);
    if (has_root(test)) {
        char base[PATH_MAX];
        mdtest_base(test, test->place.rank, base);
        rmdir(base);
    }
    test->faults.count = 0;
}
