/* mdtest_dirs: the directories around mdtest's items. */
#include "mdtest/dirs.h"

#include "common/die.h"
#include "common/rescue.h"
#include "common/units.h"

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
    int length = snprintf(base, PATH_MAX, "%s/test-dir.%" PRId64 "-", test->config->roots[root], test->iteration);
    if (length + 21 >= PATH_MAX) /* with a number of 20 digits behind it */
        bug("path of the test directory is too long: '%s'", base);
}

/* Ends a base with the number of a test directory. For signal handlers too. */
static void number_base(char *end, int64_t test_dir)
{
    end[units_digits(end, (uint64_t)test_dir)] = '\0';
}

static int make_directory(const struct mdtest_config *config, const char *path)
{
    return config->no_storage ? 0 : mkdir(path, 0775);
}

static int remove_directory(const struct mdtest_config *config, const char *path)
{
    return config->no_storage ? 0 : rmdir(path);
}

static bool has_root(const struct mdtest_test *test)
{
    return test->place.rank < mdtest_roots_used(test->config, &test->place);
}

/* Two directories of -d may be one by two paths: links, bind mounts, one export mounted twice, whose device numbers differ.
 * What shows it on all of them: no test directory was there, and another rank of this run has made it. With -u the ranks
 * then share that one, as each has its own tree in it. */
static bool may_share(const struct mdtest_test *test)
{
    return test->config->unique && mdtest_roots_used(test->config, &test->place) > 1;
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
        if (make_directory(config, path) == 0) {
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
    for (; made > 0 && remove_directory(config, path) == 0; made--) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* What a signal removes: the first test directories of these bases, which this run made. */
static char doomed[MDTEST_MOST_ROOTS][PATH_MAX];
static int doomed_count;
static int64_t doomed_dirs;

static void remove_doomed(void)
{
    for (int i = 0; i < doomed_count; i++) {
        char *end = doomed[i] + strlen(doomed[i]);
        for (int64_t dir = 0; dir < doomed_dirs; dir++) {
            number_base(end, dir);
            rescue_remove(doomed[i]);
        }
    }
}

/* Only a run that would have removed them itself; without -r they are for a later run. */
static bool is_rescued(const struct mdtest_test *test)
{
    const struct mdtest_config *config = test->config;
    return config->run[MDTEST_CREATE] && config->run[MDTEST_REMOVE] && !config->no_storage;
}

static const char left[] = "if an earlier run left it, remove it with -r or by hand";
static const char same[] = "it was not there before: another DIR of -d is this directory by another path; name it once, or add -u: "
                           "a tree for each process";

void mdtest_test_dir_look(struct mdtest_test *test)
{
    char base[PATH_MAX];
    struct stat found;
    if (!has_root(test) || test->config->no_storage)
        return;
    mdtest_base(test, test->place.rank, base);
    char *end = base + strlen(base);
    for (int64_t dir = 0; dir < test->tree.test_dirs; dir++) {
        number_base(end, dir);
        if (lstat(base, &found) == 0) {
            faults_add(&test->faults, "mkdir", base, EEXIST, left);
            return;
        }
    }
}

bool mdtest_test_dir_make(struct mdtest_test *test)
{
    char base[PATH_MAX];
    if (!has_root(test))
        return false;
    mdtest_base(test, test->place.rank, base);
    char *end = base + strlen(base);
    for (int64_t made = 0; made < test->tree.test_dirs; made++) {
        number_base(end, made);
        if (make_directory(test->config, base) == 0)
            continue;
        if (errno == EEXIST && may_share(test))
            return false;
        const bool one_root = mdtest_roots_used(test->config, &test->place) == 1;
        faults_add(&test->faults, "mkdir", base, errno, errno != EEXIST ? NULL : one_root ? left : same);
        while (made-- > 0) {
            number_base(end, made);
            remove_directory(test->config, base);
        }
        return false;
    }
    return true;
}

void mdtest_test_dir_guard(const struct mdtest_test *test)
{
    if (!is_rescued(test))
        return;
    int roots = mdtest_roots_used(test->config, &test->place);
    for (doomed_count = 0; doomed_count < roots; doomed_count++)
        mdtest_base(test, doomed_count, doomed[doomed_count]);
    doomed_dirs = test->tree.test_dirs;
    rescue_arm(test->place.starts_range || test->place.ends_range ? remove_doomed : NULL);
}

void mdtest_test_dir_remove(struct mdtest_test *test)
{
    char base[PATH_MAX];
    if (!has_root(test))
        return;
    mdtest_base(test, test->place.rank, base);
    char *end = base + strlen(base);
    for (int64_t dir = 0; dir < test->tree.test_dirs; dir++) {
        number_base(end, dir);
        if (remove_directory(test->config, base) != 0 && !(errno == ENOENT && may_share(test)))
            faults_add(&test->faults, "rmdir", base, errno, NULL);
    }
}

/* Makes or removes the tree below a test directory. Removal goes from the last directory to the first: children before
 * their parents. */
static void change_tree(struct mdtest_test *test, char path[PATH_MAX], int tree_owner, bool make)
{
    size_t used = strlen(path);
    for (int64_t i = 0; i < test->tree.dirs; i++) {
        int64_t dir = make ? i : test->tree.dirs - 1 - i;
        if (mdtest_tree_path(&test->tree, dir, tree_owner, path + used, PATH_MAX - used) < 0)
            bug("path of directory %" PRId64 " of the tree is too long: '%s'", dir, path);
        if ((make ? make_directory(test->config, path) : remove_directory(test->config, path)) != 0)
            faults_add(&test->faults, make ? "tree_create" : "tree_remove", path, errno, NULL);
    }
}

/* The same below each test directory. */
static void change_trees(struct mdtest_test *test, int base_owner, int tree_owner, bool make)
{
    char path[PATH_MAX];
    mdtest_base(test, base_owner, path);
    char *end = path + strlen(path);
    for (int64_t dir = 0; dir < test->tree.test_dirs; dir++) {
        number_base(end, dir);
        strcat(end, "/");
        change_tree(test, path, tree_owner, make);
    }
}

int64_t mdtest_trees_change(struct mdtest_test *test, bool make)
{
    const struct mdtest_config *config = test->config;
    int rank = test->place.rank, trees = 0;
    if (!config->unique) {
        if (has_root(test)) {
            change_trees(test, rank, -1, make);
            trees = 1;
        }
    } else if (!config->collective) {
        change_trees(test, rank, rank, make);
        trees = 1;
    } else if (rank == 0) {
        for (; trees < test->place.ranks; trees++)
            change_trees(test, trees, trees, make);
    }
    return trees * test->tree.dirs * test->tree.test_dirs;
}

void mdtest_dirs_undo(struct mdtest_test *test)
{
    /* What failed is reported already; that the rest cannot be removed either is no further news. */
    mdtest_trees_change(test, false);
    MPI_Barrier(test->place.comm);
    mdtest_test_dir_remove(test);
    test->faults.count = 0;
}
