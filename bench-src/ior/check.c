/* ior_check: reads a rank's data again, outside the timed part, and compares every byte. */
#include "ior/check.h"

#include "ior/access.h"

#include <inttypes.h>
#include <stdio.h>

struct check {
    struct ior_test *test;
    struct ior_verdict *verdict;
    const char *path;
    struct ior_walk walk;
    struct store_file *file;
};

static void note_difference(struct check *check, int64_t offset, const struct pattern_difference *difference)
{
    char detail[128];
    snprintf(detail, sizeof detail, "byte %" PRId64 ": 0x%02x expected, 0x%02x found; %" PRId64 " wrong of %" PRId64
             " bytes read at %" PRId64, offset + difference->first, difference->expected, difference->found,
             difference->bytes, check->test->plan.transfer, offset);
    faults_add(&check->test->faults, check->verdict->operation, check->path, 0, detail);
    check->verdict->transfers_wrong++;
    check->verdict->bytes_wrong += difference->bytes;
}

/* Reads and compares one transfer; false where going on makes no sense. */
static bool check_one(struct check *check, int64_t bytes)
{
    struct ior_test *test = check->test;
    struct pattern_difference difference;
    int64_t offset, place = ior_walk_next(&check->walk, &offset);
    int64_t moved = test->store->read(check->file, test->buffers, bytes, offset);
    if (moved != bytes) {
        char detail[96];
        snprintf(detail, sizeof detail, "%" PRId64 " of %" PRId64 " bytes at offset %" PRId64, moved < 0 ? 0 : moved, bytes,
                 offset);
        faults_add(&test->faults, check->verdict->operation, check->path, moved < 0 ? (int)-moved : 0, detail);
        return false;
    }
    if (bytes == 0)
        return true;
    check->verdict->bytes_checked += bytes;
    if (pattern_matches(&test->pattern, test->buffers, place, offset, &difference))
        return true;
    note_difference(check, offset, &difference);
    return !test->config->quit_on_error;
}

static void check_file(struct check *check, int64_t steps)
{
    struct ior_test *test = check->test;
    bool together = ior_config_lockstep(test->config, false), go_on = true;
    for (int64_t step = 0; step < steps && (go_on || together); step++) {
        bool fine = check_one(check, go_on ? test->plan.transfer : 0);
        go_on = go_on && fine;
    }
}

/* Of one rank. */
static void check_own(struct ior_test *test, const char *operation, int target, struct ior_verdict *verdict)
{
    char path[PATH_MAX];
    struct store_options options;
    struct check check = {.test = test, .verdict = verdict, .path = path};
    ior_access_path(test, target, path);
    ior_access_options(test, target, false, &options);
    ior_access_walk(test, target, &check.walk);
    pattern_prepare(&test->pattern, (uint64_t)ior_seed(test), target);
    int error = test->store->open(&check.file, path, &options);
    if (error != 0) {
        faults_add(&test->faults, operation, path, -error, "at open");
    } else {
        check_file(&check, ior_steps(test, target));
        test->store->close(check.file);
    }
}

void ior_check(struct ior_test *test, const char *operation, int target, bool takes_part, struct ior_verdict *verdict)
{
    *verdict = (struct ior_verdict){.operation = operation};
    MPI_Barrier(test->place.comm);
    if (takes_part)
        check_own(test, operation, target, verdict);
    int64_t own[3] = {verdict->bytes_checked, verdict->bytes_wrong, verdict->transfers_wrong}, all[3];
    MPI_Allreduce(own, all, 3, MPI_INT64_T, MPI_SUM, test->place.comm);
    verdict->bytes_checked = all[0];
    verdict->bytes_wrong = all[1];
    verdict->transfers_wrong = all[2];
    verdict->failed = faults_report(&test->faults, &test->place);
    test->failed_operations += verdict->failed;
}
