/* mdtest: rates of file and directory creation, stat, read and removal, in operations per second over all ranks.
 *
 * A phase's clock runs on every rank from a barrier before its operations to a barrier after them; the slowest rank's
 * time counts. In phase p (create 0, stat 1, read 2, remove 3) rank r works on the names of rank (r + p·N) mod ranks,
 * N being the offset of -N. With -u these names lie in the tree that the rank N further on has made. Making the test
 * directory is outside the clock, making the trees has a clock of its own. */
#include "common/buf.h"
#include "common/die.h"
#include "common/emit.h"
#include "common/rescue.h"
#include "common/run.h"
#include "common/units.h"
#include "mdtest/config.h"
#include "mdtest/dirs.h"
#include "mdtest/items.h"
#include "mdtest/phase.h"
#include "mdtest/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -x in a run without creation: rank 0 reads how many items of a rank there are. */
static int read_stonewall_file(const struct mdtest_config *config, int64_t most, int64_t *items)
{
    char text[64] = "";
    FILE *file = fopen(config->stonewall_file, "re");
    if (file == NULL)
        return usage_error("-x '%s': %s (%s); a run with -C writes it", config->stonewall_file, strerror(errno),
                           die_errno_name(errno));
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (units_parse_int(text, UNITS_PLAIN, items) != 0 || *items < 1 || *items > most)
        return usage_error("-x '%s': '%s' is not a count of items from 1 to the %" PRId64 " of -n or -I",
                           config->stonewall_file, text, most);
    return EXIT_CODE_OK;
}

/* Collective: reports what failed outside the phases; true where nothing did. */
static bool no_faults(struct mdtest_test *test)
{
    int64_t failed = faults_report(&test->faults, &test->place);
    test->failed_operations += failed;
    return failed == 0;
}

/* Collective, after file creation: says what -W came to, and keeps the count for -x. */
static void end_stonewall(struct mdtest_test *test)
{
    const char *path = test->config->stonewall_file;
    if (test->config->stonewall_s > 0 && test->stonewall_least == test->tree.items)
        emit_text("Stonewall of %" PRId64 " s not reached: all files were created before.\n", test->config->stonewall_s);
    else if (test->config->stonewall_s > 0)
        emit_text("Stonewall after %" PRId64 " s: %" PRId64 " files on the slowest task; all went on to %" PRId64
                  ", that is %" PRId64 " files.\n",
                  test->config->stonewall_s, test->stonewall_least, test->items, test->place.ranks * test->items);
    if (path == NULL)
        return;
    if (test->place.rank == 0) {
        FILE *file = fopen(path, "we");
        bool failed = file == NULL || fprintf(file, "%" PRId64 "\n", test->items) < 0;
        if (file != NULL && fclose(file) != 0)
            failed = true;
        if (failed)
            faults_add(&test->faults, "write", path, errno, NULL);
    }
    no_faults(test);
}

static void run_items(struct mdtest_test *test, enum mdtest_object object)
{
    const struct mdtest_config *config = test->config;
    bool first = object == MDTEST_DIRECTORY || !mdtest_has_object(config, MDTEST_DIRECTORY);
    bool last = object == MDTEST_FILE || !mdtest_has_object(config, MDTEST_FILE);
    for (int operation = 0; operation < MDTEST_OPERATIONS; operation++)
        if (config->run[operation] && mdtest_has_operation(object, operation))
            mdtest_phase_items(test, operation, object, first, last);
}

/* Collective: what the phases of this iteration came to. */
static void report_phases(struct mdtest_test *test, struct mdtest_rows *rows)
{
    struct mdtest_result results[MDTEST_PHASES];
    mdtest_phases_reduce(test, results);
    for (int i = 0; i < test->phases_done; i++) {
        struct mdtest_phase *phase = &test->phases[i];
        mdtest_phase_latencies(test, phase, &results[i]);
        mdtest_report_phase(test, phase, &results[i], rows);
        if (phase->operation == MDTEST_CREATE && phase->object == MDTEST_FILE)
            end_stonewall(test);
    }
    no_faults(test);
}

/* One iteration. False where the directories could not be made, so that nothing was measured. */
static bool iterate(struct mdtest_test *test)
{
    const struct mdtest_config *config = test->config;
    if (config->pause_s > 0)
        sleep((unsigned)config->pause_s);
    test->phases_done = 0;
    if (config->run[MDTEST_CREATE]) {
        mdtest_test_dir_look(test);
        if (!no_faults(test))
            return false;
        mdtest_test_dir_guard(test);
        MPI_Barrier(test->place.comm); /* a rank that dies from here on leaves others that remove what it made */
        bool made = mdtest_test_dir_make(test);
        if (!no_faults(test)) {
            if (made)
                mdtest_test_dir_remove(test);
            return false;
        }
        if (!config->time_unique && mdtest_phase_tree(test, true) > 0) {
            mdtest_dirs_undo(test);
            return false;
        }
    }
    run_between(&test->place, "begin");
    MPI_Barrier(test->place.comm);
    for (int object = 0; object < MDTEST_OBJECTS; object++)
        if (mdtest_has_object(config, object))
            run_items(test, object);
    if (config->run[MDTEST_REMOVE]) {
        if (!config->time_unique)
            mdtest_phase_tree(test, false);
        mdtest_test_dir_remove(test);
    }
    return true;
}

/* Memory for data and histograms; none of it depends on the number of ranks or items. */
static void allocate(struct mdtest_test *test, struct mdtest_rows *rows)
{
    const struct mdtest_config *config = test->config;
    if (config->write_bytes > 0 || config->read_bytes > 0)
        test->buffer = buf_alloc(2 * MDTEST_BUFFER_BYTES);
    if (!config->latency)
        return;
    for (int i = 0; i < MDTEST_PHASES; i++)
        test->phases[i].latency = latency_new();
    for (int object = 0; object < MDTEST_OBJECTS; object++)
        for (int operation = 0; operation < MDTEST_OPERATIONS; operation++)
            rows->items[object][operation].hist = die_alloc(sizeof(void *), sizeof(struct stats_hist));
}

static void release(struct mdtest_test *test, struct mdtest_rows *rows)
{
    free(test->buffer);
    for (int i = 0; i < MDTEST_PHASES; i++)
        latency_free(test->phases[i].latency);
    for (int object = 0; object < MDTEST_OBJECTS; object++)
        for (int operation = 0; operation < MDTEST_OPERATIONS; operation++)
            free(rows->items[object][operation].hist);
}

/* The test with the tasks of one place. Returns the number of operations that failed. */
static int64_t run_test(const struct mdtest_config *config, const struct mdtest_tree *tree, int64_t items,
                        const struct place *place)
{
    static struct mdtest_test test;
    static struct mdtest_rows rows;
    memset(&test, 0, sizeof test);
    memset(&rows, 0, sizeof rows);
    test.config = config;
    test.tree = *tree;
    test.items = items;
    test.place = *place;
    MPI_Comm_split_type(place->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &test.machine);
    allocate(&test, &rows);
    mdtest_report_plan(&test);

    for (; test.iteration < config->iterations; test.iteration++) {
        test.items = items;
        bool measured = iterate(&test);
        report_phases(&test, &rows); /* from here on no rank removes anything any more */
        rescue_disarm();
        if (!measured)
            break;
    }
    mdtest_report_summary(&test, &rows);
    release(&test, &rows);
    MPI_Comm_free(&test.machine);
    return test.failed_operations;
}

/* The test with the first tasks of all; the other ranks wait. */
static int64_t run_part(const struct mdtest_config *config, const struct mdtest_tree *tree, int64_t items, int tasks,
                        const struct place *all)
{
    MPI_Comm comm;
    struct place part;
    MPI_Comm_split(all->comm, all->rank < tasks ? 0 : MPI_UNDEFINED, all->rank, &comm);
    if (comm == MPI_COMM_NULL)
        return 0;
    place_init(&part, comm);
    int64_t failed = run_test(config, tree, items, &part);
    MPI_Comm_free(&comm);
    return failed;
}

/* False where one of them is an error. */
static bool warn_unused(struct mdtest_config *config)
{
    const char *unused[MDTEST_MOST_UNUSED];
    int count = mdtest_config_unused(config, unused);
    for (int i = 0; i < count; i++) {
        if (config->warnings_are_errors)
            faults_error("%s (an error by --warningAsErrors)", unused[i]);
        else
            emit_warning("%s", unused[i]);
    }
    return count == 0 || !config->warnings_are_errors;
}

/* All numbers of tasks that -f, -l and -s ask for; one without them. */
static int run_tests(struct mdtest_config *config, const struct mdtest_tree *tree, struct run *run)
{
    struct {
        int64_t items, seed;
        int status;
    } start = {tree->items, config->seed, EXIT_CODE_OK};
    if (run->place.rank == 0 && config->stonewall_file != NULL && !config->run[MDTEST_CREATE])
        start.status = read_stonewall_file(config, tree->items, &start.items);
    if (start.seed == MDTEST_SEED_TO_CHOOSE)
        start.seed = (int64_t)time(NULL);
    MPI_Bcast(&start, sizeof start, MPI_BYTE, 0, run->place.comm);
    if (start.status != EXIT_CODE_OK)
        return start.status;
    config->seed = start.seed;
    if (!warn_unused(config))
        return EXIT_CODE_USAGE;
    if (config->no_storage)
        emit_warning("-a DUMMY: nothing is created, looked at or removed; the rates are those of the benchmark itself");

    struct faults faults = {0};
    int made = config->run[MDTEST_CREATE] ? mdtest_root_make(config, &run->place, &faults) : 0;
    run->failed_operations = faults_report(&faults, &run->place);
    if (run->failed_operations > 0)
        return EXIT_CODE_FAILED;
    mdtest_report_header(config, &run->place);
    for (int64_t tasks = config->first; tasks <= config->last; tasks += config->stride) {
        if (tasks == run->place.ranks)
            run->failed_operations += run_test(config, tree, start.items, &run->place);
        else
            run->failed_operations += run_part(config, tree, start.items, (int)tasks, &run->place);
        MPI_Barrier(run->place.comm);
    }
    if (config->run[MDTEST_REMOVE])
        mdtest_root_remove(config, &run->place, made);
    mdtest_report_footer();
    return EXIT_CODE_OK;
}

int app_mdtest(int argc, char **argv)
{
    struct mdtest_config config;
    struct mdtest_tree tree;
    struct opt_common common;
    struct run run;
    int status, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (mdtest_config_read(&config, argc, argv, &common, &status)) {
        status = mdtest_config_check(&config, &tree, ranks);
        if (status == EXIT_CODE_OK) {
            status = run_begin(&run, "mdtest", &common, config.roots[0]);
            if (status == EXIT_CODE_OK)
                status = run_tests(&config, &tree, &run);
            status = run_end(&run, status);
        }
    }
    mdtest_config_free(&config);
    return status;
}
