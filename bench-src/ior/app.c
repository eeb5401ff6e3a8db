/* ior: bandwidth of parallel writes and reads, in MiB/s (2^20 bytes) over all ranks.
 *
 * A phase's clock runs on every rank from a barrier before open to a barrier after close (see ior/phase.c); bytes moved
 * by all ranks over the longest of these times is the bandwidth. Making the data, checking it, looking at the page cache
 * and removing files are outside the clock. A number whose phase or whose data check failed is not printed. */
#include "common/die.h"
#include "common/emit.h"
#include "common/quiet.h"
#include "common/rescue.h"
#include "common/run.h"
#include "ior/access.h"
#include "ior/check.h"
#include "ior/files.h"
#include "ior/report.h"
#include "ior/script.h"
#include "ior/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char intro[] =
    "Measures the bandwidth of parallel writes and reads of files.\n"
    "\n"
    "A file is COUNT segments (-s), a segment is a block (-b) of each process, a block is\n"
    "moved in transfers (-t). API (-a) is one of\n"
    "  POSIX   pwrite and pread\n"
    "  MPIIO   MPI-IO, with -c collective\n"
    "  MMAP    copies to and from a mapping of the file\n"
    "  URING   io_uring, --queue-depth transfers at a time (POSIX AIO where the kernel has none)\n"
    "  AIO     POSIX AIO, --queue-depth transfers at a time\n"
    "  DUMMY   no storage at all (also: NULL)\n"
    "A script (-f) has the settings' long names, which -O takes too, in any case; options\n"
    "before -f are its defaults. -O alone takes stoneWallingWearOut=1 (all processes go on\n"
    "to the largest amount that one reached by -D), summaryFormat=JSON or CSV (on stdout\n"
    "instead of the text, or in the file that summaryFile=PATH names after it; both may be\n"
    "given). The names stand in docs/ior.md.\n";

/* The command line, as -f found it. */
struct command {
    struct ior_config config;   /* all options */
    struct ior_config defaults; /* the options before -f */
    const char *script;         /* NULL: none */
};

static int take_script(void *data, const char *text, struct refusal *why)
{
    struct command *command = data;
    if (command->script != NULL)
        return refuse(why, "'%s': one script can be run, '%s' was given before", text, command->script);
    command->script = text;
    command->defaults = command->config;
    return 0;
}

/* The content of a file of rank 0, on every rank: NULL after an error that was printed. */
static char *read_for_all(const char *path)
{
    int rank;
    int64_t length = -1;
    char *text = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        size_t bytes = 0;
        FILE *file = fopen(path, "re");
        errno = file == NULL ? errno : 0;
        if (file != NULL) {
            if (getdelim(&text, &bytes, '\0', file) < 0 && !ferror(file))
                errno = 0; /* an empty file */
            fclose(file);
        }
        if (errno != 0)
            usage_error("cannot read the script '%s': %s (%s)", path, strerror(errno), die_errno_name(errno));
        else
            length = text == NULL ? 0 : (int64_t)strlen(text);
    }
    MPI_Bcast(&length, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    char *copy = length < 0 ? NULL : die_alloc(sizeof(void *), (size_t)length + 1);
    if (copy != NULL && rank == 0)
        memcpy(copy, text == NULL ? "" : text, (size_t)length);
    free(text);
    if (copy != NULL)
        MPI_Bcast(copy, (int)length, MPI_CHAR, 0, MPI_COMM_WORLD);
    return copy;
}

static bool read_options(struct command *command, int argc, char **argv, struct opt_common *common, int *status)
{
    struct opt options[IOR_CONFIG_OPTIONS + 1];
    struct opt_call directives = {ior_config_directives, &command->config}, script = {take_script, command};
    memset(command, 0, sizeof *command);
    ior_config_default(&command->config);
    size_t count = ior_config_options(&command->config, &directives, options);
    options[count++] = (struct opt){'f', NULL, OPT_CALL, &script, "SCRIPT", "run the tests of a script; options after this one are not used",
                                    0, 0, 0};
    const struct opt_applet applet = {"ior", "[options]", intro, options, count};
    return opt_parse(&applet, argc, argv, common, status);
}

/* The tests to run: those of the script, or the one of the command line. *text is to be freed after them. */
static int plan_tests(const struct command *command, struct ior_script *tests, char **text)
{
    struct refusal why;
    int ranks, status = EXIT_CODE_OK;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    *tests = (struct ior_script){0};
    *text = NULL;
    if (command->script == NULL) {
        tests->tests = die_alloc(sizeof(void *), sizeof *tests->tests);
        tests->tests[0] = command->config;
        tests->count = 1;
    } else {
        *text = read_for_all(command->script);
        if (*text == NULL)
            return EXIT_CODE_USAGE;
        if (ior_script_parse(tests, *text, command->script, &command->defaults, &why) != 0)
            return usage_error("%s", why.text);
    }
    for (int i = 0; i < tests->count && status == EXIT_CODE_OK; i++)
        if (ior_config_check(&tests->tests[i], ranks, &why) != 0)
            status = usage_error("%s%s", tests->tests[i].where, why.text);
    return status;
}

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
    ior_access_options(test, false, &options);
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

static bool check_data(struct ior_test *test, const char *operation, int target)
{
    struct ior_verdict verdict;
    if (test->config->verbosity > 0)
        ior_text_say("%s of the data, outside the timed part\n", operation);
    ior_check(test, operation, target, &verdict);
    ior_lines_verdict(test, &verdict);
    if (verdict.bytes_wrong > 0)
        ior_warn("%s: %" PRId64 " of %" PRId64 " bytes are wrong, in %" PRId64 " transfers: the number is withheld", operation,
                 verdict.bytes_wrong, verdict.bytes_checked, verdict.transfers_wrong);
    return verdict.failed == 0;
}

static void publish(struct ior_test *test, struct ior_record *record, const struct ior_result *result)
{
    if (result->operation == IOR_READ)
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
    bool fine = written && (!test->config->check_write || check_data(test, "write check", ior_access_target(test, 1)));
    if (fine)
        publish(test, record, &result);
    else
        ior_text_invalid(test, IOR_WRITE, test->failed_operations - failed_before);
    return fine || (written && !test->config->quit_on_error);
}

static void read_step(struct ior_test *test, struct ior_record *record)
{
    struct ior_result result;
    int64_t failed_before = test->failed_operations;
    int target = ior_access_target(test, 0);
    ior_session_pause(test);
    if (test->config->drop_cache)
        ior_pages_drop(test, target);
    bool fine = no_faults(test);
    if (fine) {
        ior_phase(test, IOR_READ, target, &result);
        fine = result.failed == 0 && (!test->config->check_read || check_data(test, "read check", target));
    }
    if (fine)
        publish(test, record, &result);
    else
        ior_text_invalid(test, IOR_READ, test->failed_operations - failed_before);
}

/* One repetition. A phase in which an operation or the check of the data failed has no number. */
static void iterate(struct ior_test *test, struct ior_record *record)
{
    const struct ior_config *config = test->config;
    if (config->write && !write_step(test, record))
        return;
    /* Without its write, or its read, a check stands alone. */
    if (!config->write && config->check_write && !check_data(test, "write check", ior_access_target(test, 1)) &&
        config->quit_on_error)
        return;
    if (config->read && ior_session_has_time(test))
        read_step(test, record);
    else if (!config->read && config->check_read)
        check_data(test, "read check", ior_access_target(test, 0));
}

static void remove_files(struct ior_test *test, bool with_errors)
{
    const struct ior_config *config = test->config;
    bool keep = config->keep || (config->keep_with_error && with_errors);
    if (test->may_remove && !keep)
        ior_text_removed(test, ior_files_remove(test));
    rescue_disarm();
    no_faults(test);
}

/* One test on the ranks that take part. Returns the number of operations that failed. A repetition in which some did is
 * followed by the next one, as IOR does; with -q by none. */
static int64_t run_test(struct ior_test *test, struct ior_record *record)
{
    const struct ior_config *config = test->config;
    bool go_on = true;
    ior_text_test(test, record);
    ior_warn_test(test);
    ior_text_columns();
    for (; go_on && test->iteration < config->repetitions && ior_session_has_time(test); test->iteration++) {
        int64_t failed_before = test->failed_operations;
        ior_session_next(test);
        iterate(test, record);
        remove_files(test, test->failed_operations > failed_before);
        go_on = !config->quit_on_error || test->failed_operations == failed_before;
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
            quit = config->quit_on_error && run->failed_operations > 0;
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

static int measure(struct ior_script *tests, struct run *run, int argc, char **argv)
{
    const struct ior_config *last = &tests->tests[tests->count - 1];
    time_t began = time(NULL);
    if ((last->json && last->json_file == NULL) || (last->csv && last->csv_file == NULL))
        ior_text_silence();
    struct ior_record *records = die_alloc(sizeof(void *), (size_t)tests->count * sizeof *records);
    ior_text_header(argc, argv);
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
    struct command command;
    struct opt_common common;
    struct ior_script tests = {0};
    struct run run;
    char *text = NULL;
    int status;
    if (read_options(&command, argc, argv, &common, &status)) {
        status = plan_tests(&command, &tests, &text);
        if (status == EXIT_CODE_OK) {
            status = run_begin(&run, "ior", &common, tests.tests[0].test_file);
            if (status == EXIT_CODE_OK)
                status = measure(&tests, &run, argc, argv);
            status = run_end(&run, status);
        }
    }
    ior_script_free(&tests);
    ior_config_free();
    free(text);
    return status;
}
