/* nfstest: throughput of a shared file system as MPI programs see it: each process writes n files, then reads n that
 * other processes wrote, on other nodes where there are any.
 *
 * A phase's clock runs on every rank from a barrier before its first file to a barrier after its last close; the slowest
 * rank's time counts (WTT, RTT). With FS the size of a file: TFS = FS·n·np, TWT = TFS / WTT (printed as TWR),
 * LWR = n·FS / WTT, AWT = WTT / n, and the same for reads. Checking (c1) is inside the clock, as the test's description
 * has it, and reported. Making and removing the directory and the files' removal are outside. */
#include "common/buf.h"
#include "common/die.h"
#include "common/elsewhere.h"
#include "common/emit.h"
#include "common/opt.h"
#include "common/run.h"
#include "common/scratch.h"
#include "common/timer.h"
#include "common/totals.h"
#include "nfstest/file.h"
#include "nfstest/plan.h"
#include "nfstest/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct test {
    const struct nfstest_config *config;
    struct run *run;
    struct scratch scratch;
    struct nfstest_io io;
    struct faults faults;
    struct elsewhere *writers; /* of the files that this rank reads: those of file i are at i mod writer_count */
    int writer_count;
    double foreign_share, remote_share;
    struct nfstest_best best[NFSTEST_OPERATIONS];
};

static const char intro[] =
    "Measures the throughput of a shared file system: each process writes n files, then reads n\n"
    "that others wrote. Works in a directory of its own below DIR, which it removes.\n\n"
    "Parameters, each a letter with its value in one word, in any order:\n";

/* The words without a dash into words, the others into argv. */
static int split_arguments(int argc, char **argv, char **words, char **dashed, int *dashed_count)
{
    int count = 0;
    *dashed_count = 0;
    dashed[(*dashed_count)++] = argv[0];
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            words[count++] = argv[i];
            continue;
        }
        dashed[(*dashed_count)++] = argv[i];
        if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            dashed[(*dashed_count)++] = argv[++i];
    }
    return count;
}

static bool read_arguments(struct nfstest_config *config, int argc, char **argv, struct opt_common *common, int *status)
{
    char *words[argc], *dashed[argc], help[4096];
    struct refusal why;
    static const struct opt none[1];
    int dashed_count, ranks, word_count = split_arguments(argc, argv, words, dashed, &dashed_count);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(help, sizeof help, "%s%s", intro, nfstest_words_help);
    const struct opt_applet applet = {"nfstest", "[parameters] [options]", help, none, 0};
    if (!opt_parse(&applet, dashed_count, dashed, common, status))
        return false;
    if (nfstest_read_words(config, word_count, words, ranks, &why) == 0)
        return true;
    *status = usage_error("%s (nfstest -h lists the parameters)", why.text);
    return false;
}

/* Collective: whose files this rank reads, and how many of them are foreign and remote. */
static void find_writers(struct test *test)
{
    const struct place *place = &test->run->place;
    int64_t files = test->config->files, different = elsewhere_choices(place), shares[2] = {0, 0};
    test->writer_count = (int)(different < files ? different : files);
    test->writers = die_alloc(sizeof(void *), (size_t)test->writer_count * sizeof *test->writers);
    elsewhere_find(place, test->writer_count, test->writers);
    for (int i = 0; i < test->writer_count; i++) {
        int64_t share = files / test->writer_count + (i < files % test->writer_count);
        shares[0] += test->writers[i].rank != place->rank ? share : 0;
        shares[1] += test->writers[i].node_index != place->node_index ? share : 0;
    }
    MPI_Allreduce(MPI_IN_PLACE, shares, 2, MPI_INT64_T, MPI_SUM, place->comm);
    test->foreign_share = (double)shares[0] / ((double)files * place->ranks);
    test->remote_share = (double)shares[1] / ((double)files * place->ranks);
}

static void file_path(const struct test *test, int writer, int64_t i, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/file.%d.%" PRId64, test->scratch.path, writer, i);
    if (length >= PATH_MAX)
        bug("path '%s' does not fit", path);
}

/* One rank's part of a phase. Returns the files that it dealt with as it should. Not inlined: callgrind is told to look at
 * it. */
static int64_t __attribute__((noinline)) do_files(struct test *test, enum nfstest_operation operation, int64_t bytes)
{
    char path[PATH_MAX];
    int64_t done = 0;
    for (int64_t i = 0; i < test->config->files; i++) {
        int writer = operation == NFSTEST_WRITE ? test->run->place.rank : test->writers[i % test->writer_count].rank;
        file_path(test, writer, i, path);
        done += operation == NFSTEST_WRITE ? nfstest_file_write(&test->io, path, bytes)
                                           : nfstest_file_read(&test->io, path, bytes, (unsigned char)writer);
    }
    return done;
}

/* Collective: one phase. False where an operation failed. */
static bool run_phase(struct test *test, enum nfstest_operation operation, int64_t size, struct nfstest_result *result)
{
    const struct place *place = &test->run->place;
    int64_t bytes = size * test->config->unit_bytes;
    memset(result, 0, sizeof *result);
    test->io.check_ns = 0;
    if (operation == NFSTEST_WRITE)
        memset(test->io.buffer, (unsigned char)place->rank, (size_t)test->io.buffer_bytes);
    MPI_Barrier(place->comm);
    uint64_t start_ns = timer_ns();
    int64_t done = do_files(test, operation, bytes);
    uint64_t own_ns = timer_ns();
    MPI_Barrier(place->comm);
    struct totals totals = {.most = {timer_s(start_ns, timer_ns()), (double)test->io.check_ns * 1e-9}, .counts = {test->faults.count}};
    double rate = (double)done * (double)bytes / 1048576 / timer_s(start_ns, own_ns);
    totals_rate(&totals, rate, place->rank, place->node);
    totals_of(&totals, 1, place->comm);
    const int64_t failed = totals.counts[0];
    result->elapsed_s = totals.most[0];
    result->check_s = totals.most[1];
    result->foreign_share = test->foreign_share;
    result->remote_share = test->remote_share;
    result->rank_rates_mib_s = totals.rates;
    faults_list(&test->faults, place, failed);
    test->run->failed_operations += failed;
    return failed == 0;
}

/* Removes this rank's files. After a failure some of them need not exist. */
static void remove_files(struct test *test, bool must_exist)
{
    char path[PATH_MAX];
    for (int64_t i = 0; i < test->config->files; i++) {
        file_path(test, test->run->place.rank, i, path);
        if (unlink(path) != 0 && (must_exist || errno != ENOENT))
            faults_add(&test->faults, "unlink", path, errno, NULL);
    }
}

/* Collective: writes and reads one size once. False where an operation failed. */
static bool run_size(struct test *test, int64_t repeat, int64_t size)
{
    const struct nfstest_config *config = test->config;
    const struct place *place = &test->run->place;
    bool right = true;
    nfstest_report_start(config, repeat, size);
    test->io.buffer_bytes = (config->buffer > 0 && config->buffer < size ? config->buffer : size) * config->unit_bytes;
    for (int operation = 0; operation < NFSTEST_OPERATIONS && right; operation++) {
        struct nfstest_result result;
        right = run_phase(test, (enum nfstest_operation)operation, size, &result);
        if (!right)
            break;
        double rate = nfstest_report_phase(config, place, (enum nfstest_operation)operation, repeat, size, &result);
        if (rate > test->best[operation].rate_mib_s)
            test->best[operation] = (struct nfstest_best){rate, size, result};
    }
    MPI_Barrier(place->comm); /* no rank removes files that another still reads */
    remove_files(test, right);
    int64_t failed = faults_report(&test->faults, place);
    test->run->failed_operations += failed;
    return right && failed == 0;
}

static bool run_sizes(struct test *test)
{
    const struct nfstest_config *config = test->config;
    for (int64_t repeat = 0; repeat < config->repeats; repeat++)
        for (int64_t size = config->min; size != 0; size = nfstest_next_size(config, size))
            if (!run_size(test, repeat, size))
                return false;
    return true;
}

static void allocate(struct test *test)
{
    const struct nfstest_config *config = test->config;
    int64_t most = config->buffer > 0 && config->buffer < config->max ? config->buffer : config->max;
    test->io = (struct nfstest_io){.direct = config->direct, .check = config->check, .faults = &test->faults};
    test->io.buffer = buf_alloc_io((size_t)(most * config->unit_bytes));
}

static void release(struct test *test)
{
    free(test->io.buffer);
    free(test->writers);
}

static int run_test(const struct nfstest_config *config, struct run *run)
{
    struct test test = {.config = config, .run = run};
    const struct place *place = &run->place;
    allocate(&test);
    find_writers(&test);
    if (place->nodes == 1)
        emit_warning("all processes are on one node: files are read on the node that wrote them, its page cache is in reach");
    else if (test.remote_share < 1)
        emit_warning("one node has more than half of the processes: %.1f%% of the files are read on the node that wrote them",
                     100 * (1 - test.remote_share));
    nfstest_report_header(config, place);
    bool right = false;
    if (scratch_make(&test.scratch, place, config->folder, "nfstest", &test.faults)) {
        uint64_t start_ns = timer_ns();
        right = run_sizes(&test);
        double elapsed_s = timer_s(start_ns, timer_ns());
        scratch_remove(&test.scratch, place, &test.faults);
        if (right)
            nfstest_report_end(config, place, elapsed_s, test.best);
    }
    run->failed_operations += faults_report(&test.faults, place);
    release(&test);
    return right ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* Collective: rank 0 opens the output file for the time of the test. */
static int run_with_output(const struct nfstest_config *config, struct run *run)
{
    int status = EXIT_CODE_OK, error = run->place.rank == 0 ? nfstest_report_open(config) : 0;
    if (error != 0)
        status = usage_error("cannot write the output file '%s' of parameter o: %s (%s)", config->output, strerror(-error),
                             die_errno_name(-error));
    MPI_Bcast(&status, 1, MPI_INT, 0, run->place.comm);
    if (status != EXIT_CODE_OK)
        return status;
    status = run_test(config, run);
    error = nfstest_report_close();
    if (error != 0) {
        faults_error("cannot write the output file '%s': %s (%s)", config->output, strerror(-error), die_errno_name(-error));
        status = EXIT_CODE_FAILED;
    }
    return status;
}

int app_nfstest(int argc, char **argv)
{
    struct nfstest_config config;
    struct opt_common common;
    struct run run;
    int status;
    if (!read_arguments(&config, argc, argv, &common, &status))
        return status;
    status = run_begin(&run, "nfstest", &common, config.folder);
    if (status == EXIT_CODE_OK)
        status = run_with_output(&config, &run);
    return run_end(&run, status);
}
