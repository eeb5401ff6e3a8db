/* ior_files: making room for the test files, and removing them, whatever ends the run.
 *
 * A rank that is killed cannot remove its file, but the launcher then sends SIGTERM to the others: each removes its own
 * file and that of the rank after it. */
#include "ior/files.h"

#include "common/rescue.h"
#include "common/timer.h"
#include "ior/access.h"
#include "ior/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a signal removes: a rank's file and that of the rank after it, then those of a mixed phase. Empty: nothing. */
static char guarded[4][PATH_MAX], guarded_dirs[2][PATH_MAX]; /* directories: of -u */

static void remove_guarded(void)
{
    for (int i = 0; i < 4; i++)
        if (guarded[i][0] != '\0')
            unlink(guarded[i]);
    for (int i = 0; i < 2; i++)
        if (guarded_dirs[i][0] != '\0')
            rmdir(guarded_dirs[i]);
}

/* The directory of -u. */
static void unique_dir(const struct ior_test *test, int rank, char path[PATH_MAX])
{
    const struct ior_names names = {test->config->test_file, test->config->file_per_process, test->config->unique_dir, false};
    ior_names_dir(&names, rank, path, PATH_MAX);
}

static void guard(const struct ior_test *test)
{
    if (test->config->keep || test->config->keep_with_error || !test->store->keeps_bytes)
        return;
    for (int i = 0; i < 2; i++) {
        int rank = (test->place.rank + i) % test->place.ranks;
        ior_access_path(test, rank, guarded[i]);
        guarded_dirs[i][0] = '\0';
        if (test->config->unique_dir)
            unique_dir(test, rank, guarded_dirs[i]);
    }
    rescue_arm(remove_guarded);
}

/* Does this rank remove the file that it writes, or the one for all? */
static bool is_mine(const struct ior_test *test)
{
    int rank;
    MPI_Comm_rank(ior_team(test), &rank);
    return test->config->file_per_process || rank == 0;
}

static void remove_one(struct ior_test *test, const char *path)
{
    int error = test->store->remove(path);
    if (error != 0 && error != -ENOENT)
        faults_add(&test->faults, "remove", path, -error, NULL);
}

/* What this run finds under the name of its file. */
enum { EXISTS, REFUSED, FINDINGS };

/* A file that this run did not write is removed, or with -E written into and kept. Anything else that has the name, such
 * as a device, is never removed. */
static void look_for_existing(struct ior_test *test, const char *path, int64_t findings[FINDINGS])
{
    struct stat status;
    if (test->wrote || !is_mine(test) || !test->store->keeps_bytes || lstat(path, &status) != 0)
        return;
    findings[EXISTS] = 1;
    if (test->config->warnings_are_errors) {
        findings[REFUSED] = 1;
        faults_add(&test->faults, "write", path, 0, "it is not of this run (an error by --warningAsErrors)");
    } else if (!test->config->use_existing && !S_ISREG(status.st_mode)) {
        findings[REFUSED] = 1;
        faults_add(&test->faults, "remove", path, 0, "it is no regular file: -E writes into it");
    }
}

void ior_files_prepare(struct ior_test *test)
{
    const struct ior_config *config = test->config;
    char path[PATH_MAX];
    int64_t findings[FINDINGS] = {0};
    if (config->unique_dir) {
        unique_dir(test, test->place.rank, path);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            faults_add(&test->faults, "mkdir", path, errno, NULL);
    }
    ior_access_path(test, test->place.rank, path);
    look_for_existing(test, path, findings);
    MPI_Allreduce(MPI_IN_PLACE, findings, FINDINGS, MPI_INT64_T, MPI_SUM, test->place.comm);
    if (!test->wrote)
        test->may_remove = findings[REFUSED] == 0 && (findings[EXISTS] == 0 || !config->use_existing);
    if (findings[REFUSED] > 0)
        return;
    test->wrote = !config->multi_file; /* -m: the next repetition has other files */
    if (findings[EXISTS] > 0)
        ior_warn(config->use_existing ? "%" PRId64 " files such as '%s' are not of this run: -E writes into them, and they stay"
                                      : "%" PRId64 " files such as '%s' are not of this run: they are replaced, as -E was not given",
                 findings[EXISTS], path);
    if (is_mine(test) && !config->use_existing)
        remove_one(test, path);
    if (test->may_remove)
        guard(test);
    MPI_Barrier(test->place.comm);
}

void ior_files_prepare_beside(struct ior_test *test)
{
    char path[PATH_MAX];
    struct stat status;
    const int next = (test->place.rank + 1) % test->place.ranks, next_writes = place_peer_value(&test->place, test->beside, 1);
    const bool removes = test->beside && test->store->keeps_bytes && is_mine(test);
    ior_access_path(test, test->place.rank, path);
    int foreign = removes && !test->beside_kept && lstat(path, &status) == 0;
    if (foreign)
        faults_add(&test->faults, "write", path, 0, "it exists, and is not of this run: remove it, or give another -o");
    else if (removes)
        remove_one(test, path);
    MPI_Allreduce(MPI_IN_PLACE, &foreign, 1, MPI_INT, MPI_MAX, test->place.comm);
    if (foreign || !test->beside || !test->store->keeps_bytes || test->config->keep_with_error)
        return;
    snprintf(guarded[2], sizeof guarded[2], "%s", path);
    if (next_writes)
        ior_access_path(test, next, guarded[3]);
    rescue_arm(remove_guarded);
}

void ior_files_remove_beside(struct ior_test *test, bool keep)
{
    char path[PATH_MAX];
    test->beside_kept = keep;
    guarded[2][0] = guarded[3][0] = '\0';
    MPI_Barrier(test->place.comm);
    if (!test->beside || !is_mine(test) || keep)
        return;
    ior_access_path(test, test->place.rank, path);
    remove_one(test, path);
}

void ior_files_let_go(void)
{
    rescue_disarm();
    memset(guarded, 0, sizeof guarded);
    memset(guarded_dirs, 0, sizeof guarded_dirs);
}

double ior_files_remove(struct ior_test *test)
{
    char path[PATH_MAX];
    double own_s, worst_s;
    MPI_Barrier(test->place.comm);
    uint64_t start_ns = timer_ns();
    ior_access_path(test, test->place.rank, path);
    if (is_mine(test))
        remove_one(test, path);
    if (test->config->unique_dir) {
        unique_dir(test, test->place.rank, path);
        /* Somebody else's files may be in it. */
        if (rmdir(path) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
            faults_add(&test->faults, "rmdir", path, errno, NULL);
    }
    own_s = timer_s(start_ns, timer_ns());
    MPI_Allreduce(&own_s, &worst_s, 1, MPI_DOUBLE, MPI_MAX, test->place.comm);
    ior_files_let_go();
    return worst_s;
}
