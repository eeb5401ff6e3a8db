/* ior: bandwidth of parallel writes and reads, in MiB/s (2^20 bytes) over all ranks.
 *
 * A phase's clock runs on every rank from a barrier before open to a barrier after close (see ior/phase.c); bytes moved
 * by all ranks over the longest of these times is the bandwidth. Making the data, checking it, looking at the page cache
 * and removing files are outside the clock. A number whose phase or whose data check failed is not printed. */
#include "common/die.h"
#include "common/emit.h"
#include "common/quiet.h"
#include "common/run.h"
#include "ior/access.h"
#include "ior/check.h"
#include "ior/command.h"
#include "ior/files.h"
#include "ior/report.h"
#include "ior/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -H: what the library says of the file that was just written. */
static void say_hint(const char *name, const char *value)
{
    ior_text_say("hint                : %s = %s\n", name, value);
}

static void show_hints(const struct ior_test *test)
{
    struct store_options options;
    struct store_file *file;
    char path[PATH_MAX];
    if (!test->config->show_hints || test->iteration > 0)
        return;
    ior_access_options(test, test->place.rank, false, &options);
    ior_access_path(test, test->place.rank, path);
    if (test->store->hints == NULL) {
        ior_text_say("hints               : api %s has none\n", test->store->name);
    } else if (test->store->open(&file, path, &options) == 0) {
        int count = test->store->hints(file, say_hint);
        if (count == 0)
            ior_text_say("hints               : none\n");
        test->store->close(file);
    }
}

/* Reports what failed between phases. */
static bool no_faults(struct ior_test *test)
{
    int64_t failed = faults_report(&test->faults, &test->place);
    test->failed_operations += failed;
    return failed == 0;
}

/* In a mixed phase of what one side wrote, or the other read. */
static bool check_data(struct ior_test *test, const char *operation, bool writes, int target)
{
    struct ior_verdict verdict;
    if (test->config->verbosity > 0)
        ior_text_say("%s of the data, outside the timed part\n", operation);
    ior_check(test, operation, target, !test->mixes || test->beside == writes, &verdict);
    ior_lines_verdict(test, &verdict);
    if (verdict.bytes_wrong > 0)
        ior_warn("%s: %" PRId64 " of %" PRId64 " bytes are wrong, in %" PRId64 " transfers: the number is withheld", operation,
                 verdict.bytes_wrong, verdict.bytes_checked, verdict.transfers_wrong);
    return verdict.failed == 0;
}

static void publish(struct ior_test *test, struct ior_record *record, const struct ior_result *result)
{
    if (!ior_writes(result->operation))
        ior_text_share(test, result);
    ior_text_row(test, result);
    ior_text_watch(test, result);
    ior_lines_phase(test, result);
    ior_warn_result(test, result);
    if (test->place.rank == 0)
        ior_record_add(record, result);
    emit_flush_text();
}

/* Writes, and checks what was written. False where there is nothing that could be read afterwards. */
static bool write_step(struct ior_test *test, struct ior_record *record)
{
    struct ior_result result;
    int64_t failed_before = test->failed_operations;
    ior_session_pause(test);
    ior_files_prepare(test);
    bool written = no_faults(test);
    if (written) {
        ior_phase(test, IOR_WRITE, test->place.rank, &result);
        written = result.failed == 0;
    }
    if (written)
        show_hints(test);
    bool fine = written && (!test->config->check_write || check_data(test, "write check", true, ior_access_target(test, 1)));
    if (fine)
        publish(test, record, &result);
    else
        ior_text_invalid(test, IOR_WRITE, test->failed_operations - failed_before);
    return fine || (written && !test->config->quit_on_error);
}

static void read_step(struct ior_test *test, struct ior_record *record)
{
    const struct ior_config *config = test->config;
    struct ior_result result;
    int64_t failed_before = test->failed_operations;
    int target = ior_access_target(test, 0);
    ior_session_pause(test);
    if (config->drop_cache)
        ior_pages_drop(test, target);
    /* After a write on its own there is nothing to report. */
    bool fine = !(config->drop_cache || config->rank_file || config->transfers_file || config->stonewall_file) || no_faults(test);
    if (fine) {
        ior_phase(test, IOR_READ, target, &result);
        fine = result.failed == 0 && (!config->check_read || check_data(test, "read check", false, target));
    }
    if (fine)
        publish(test, record, &result);
    else
        ior_text_invalid(test, IOR_READ, test->failed_operations - failed_before);
}

/* Some processes read what was written before, the others write files beside it. */
static bool mixed_step(struct ior_test *test, struct ior_record *record)
{
    struct ior_result results[2];
    const struct ior_config *config = test->config;
    const int64_t failed_before = test->failed_operations;
    const int from = ior_access_target(test, 0);
    ior_session_pause(test);
    if (config->drop_cache)
        ior_pages_drop(test, from);
    test->mixes = true;
    test->beside = !test->reads_beside;
    test->beside_steps = config->most_steps > 0 && config->most_steps < test->plan.per_rank ? config->most_steps : test->plan.per_rank;
    const int target = test->beside ? test->place.rank : from;
    ior_files_prepare_beside(test);
    bool fine = no_faults(test);
    if (fine) {
        ior_phase_mixed(test, target, &results[0], &results[1]);
        fine = results[0].failed == 0;
        fine = fine && (!config->check_write || check_data(test, "write check", true, target)) &&
               (!config->check_read || check_data(test, "read check", false, target));
        ior_files_remove_beside(test, config->keep_with_error && !fine);
        fine = no_faults(test) && fine;
    }
    test->mixes = test->beside = false;
    for (int side = 0; side < 2; side++)
        if (fine)
            publish(test, record, &results[side]);
        else
            ior_text_invalid(test, IOR_MIX_WRITE + side, test->failed_operations - failed_before);
    return fine;
}

/* One repetition. A phase in which an operation or the check of the data failed has no number. */
static void iterate(struct ior_test *test, struct ior_record *record)
{
    const struct ior_config *config = test->config;
    if (config->write && !write_step(test, record))
        return;
    /* Without its write, or its read, a check stands alone. */
    if (!config->write && config->mixed == 0 && config->check_write &&
        !check_data(test, "write check", true, ior_access_target(test, 1)) && config->quit_on_error)
        return;
    if (config->mixed > 0 && ior_session_has_time(test) && !mixed_step(test, record) && config->quit_on_error)
        return;
    if (config->read && ior_session_has_time(test))
        read_step(test, record);
    else if (!config->read && config->mixed == 0 && config->check_read)
        check_data(test, "read check", false, ior_access_target(test, 0));
}

/* --warningAsErrors: was there one since there were so many? */
static bool stops_at_warning(struct ior_test *test, int before)
{
    if (!test->config->warnings_are_errors || ior_warned() == before)
        return false;
    faults_error("a warning is an error by --warningAsErrors: the test ends there");
    test->failed_operations++;
    return true;
}

static void remove_files(struct ior_test *test, bool with_errors)
{
    const struct ior_config *config = test->config;
    bool keep = config->keep || (config->keep_with_error && with_errors);
    if (test->may_remove && !keep)
        ior_text_removed(test, ior_files_remove(test));
    ior_files_let_go();
    no_faults(test);
}

/* One test on the ranks that take part. Returns the number of operations that failed. A repetition in which some did is
 * followed by the next one, as IOR does; with -q by none. */
static int64_t run_test(struct ior_test *test, struct ior_record *record)
{
    const struct ior_config *config = test->config;
    const int warned = test->number == 0 ? 0 : ior_warned(); /* what is said before the first test belongs to it */
    ior_text_test(test, record);
    ior_warn_test(test);
    bool go_on = !stops_at_warning(test, warned);
    if (config->dry_run) {
        ior_text_say("Dry run: nothing was written or read.\n\n");
        return test->failed_operations;
    }
    ior_text_columns();
    for (; go_on && test->iteration < config->repetitions && ior_session_has_time(test); test->iteration++) {
        int64_t failed_before = test->failed_operations;
        ior_session_next(test);
        iterate(test, record);
        remove_files(test, test->failed_operations > failed_before);
        go_on = !stops_at_warning(test, warned) && (!config->quit_on_error || test->failed_operations == failed_before);
    }
    ior_text_best(record);
    ior_lines_result(record);
    return test->failed_operations;
}

/* All tests, up to the first that cannot be run; with -q up to the first error. */
static int run_tests(struct ior_script *tests, struct ior_record *records, struct run *run)
{
    int status = EXIT_CODE_OK;
    for (int i = 0; i < tests->count && status == EXIT_CODE_OK; i++) {
        MPI_Comm comm;
        const struct ior_config *config = &tests->tests[i];
        int tasks = config->tasks == 0 ? run->place.ranks : (int)config->tasks, quit = 0;
        MPI_Comm_split(run->place.comm, run->place.rank < tasks ? 0 : MPI_UNDEFINED, run->place.rank, &comm);
        if (comm != MPI_COMM_NULL) {
            struct ior_test test;
            status = ior_session_begin(&test, tests, i, comm, &records[i]);
            if (status == EXIT_CODE_OK)
                run->failed_operations += run_test(&test, &records[i]);
            tests->tests[i].into_existing = config->write && !test.may_remove;
            ior_session_end(&test);
            quit = (config->quit_on_error || config->warnings_are_errors) && run->failed_operations > 0;
            MPI_Comm_free(&comm);
        }
        quiet_barrier(run->place.comm); /* ranks beyond numTasks wait here all the time */
        int both[2] = {status, quit};
        MPI_Bcast(both, 2, MPI_INT, 0, run->place.comm);
        status = both[0];
        if (both[1])
            break;
    }
    return status;
}

static int summary_failed(const char *kind, const char *path, int error)
{
    return usage_error("cannot write the %s summary '%s': %s (%s)", kind, path == NULL ? "(stdout)" : path,
                       strerror(-error), die_errno_name(-error));
}

/* The summary files: those of the last test's settings. */
static int write_summaries(const struct ior_script *tests, const struct ior_record *records, time_t began, int argc,
                           char **argv)
{
    const struct ior_config *config = &tests->tests[tests->count - 1];
    int status = EXIT_CODE_OK, rank, error;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && config->json) {
        error = ior_summary_json(config->json_file, records, tests->count, began, argc, argv);
        if (error != 0)
            status = summary_failed("JSON", config->json_file, error);
    }
    if (rank == 0 && config->csv) {
        error = ior_summary_csv(config->csv_file, records, tests->count);
        if (error != 0)
            status = summary_failed("CSV", config->csv_file, error);
    }
    return status == EXIT_CODE_OK ? status : EXIT_CODE_FAILED;
}

/* What the command line asks for and the script decides otherwise, from its first test on. */
static void warn_overridden(const struct ior_script *tests)
{
    char name[64];
    for (size_t i = 0; i < ior_setting_count; i++)
        if (tests->overridden[i])
            ior_warn("option %s is not used: the script sets it otherwise", ior_config_name(i, name, sizeof name));
}

static int measure(struct ior_script *tests, struct run *run, int argc, char **argv)
{
    const struct ior_config *last = &tests->tests[tests->count - 1];
    time_t began = time(NULL);
    if ((last->json && last->json_file == NULL) || (last->csv && last->csv_file == NULL))
        ior_text_silence();
    struct ior_record *records = die_alloc(sizeof(void *), (size_t)tests->count * sizeof *records);
    ior_text_header(argc, argv);
    warn_overridden(tests);
    int status = run_tests(tests, records, run);
    ior_text_summary(records, tests->count, run->failed_operations);
    int written = write_summaries(tests, records, began, argc, argv);
    for (int i = 0; i < tests->count; i++)
        free(records[i].results);
    free(records);
    return status == EXIT_CODE_OK ? written : status;
}

int app_ior(int argc, char **argv)
{
    struct ior_command command;
    struct opt_common common;
    struct run run;
    int status;
    if (ior_command_read(&command, argc, argv, &common, &status)) {
        status = run_begin(&run, "ior", &common, command.tests.tests[0].test_file);
        if (status == EXIT_CODE_OK)
            status = measure(&command.tests, &run, argc, argv);
        status = run_end(&run, status);
    }
    ior_command_free(&command);
    return status;
}
