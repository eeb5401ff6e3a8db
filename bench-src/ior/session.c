/* ior_session: what one test needs before its first and after its last repetition, and between them. */
#include "ior/session.h"

#include "common/buf.h"
#include "common/cache.h"
#include "common/die.h"
#include "common/hog.h"
#include "common/quiet.h"
#include "common/timer.h"
#include "ior/access.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* One test is under way at a time. */
static struct {
    struct hog hog;
    uint64_t start_ns;
    int64_t chosen; /* signature of the first repetition where none was given */
} session;

/* A number that -G takes, the same on every rank. */
static int64_t choose_signature(MPI_Comm comm)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint32_t)timer_ns();
    int64_t chosen = 1 + (random & 0x3fffffff);
    MPI_Bcast(&chosen, 1, MPI_INT64_T, 0, comm);
    return chosen;
}

/* The back end, or its stand-in where a node cannot do it. */
static int choose_store(struct ior_test *test)
{
    const struct store *store = test->config->store;
    int error = store->probe == NULL ? 0 : store->probe(), worst;
    MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, test->place.comm);
    if (worst == 0)
        test->store = store;
    else if (store->fallback != NULL)
        test->store = store_find(store->fallback);
    else
        return usage_error("api %s does not work here: %s (%s)", store->name, strerror(-worst), die_errno_name(-worst));
    return EXIT_CODE_OK;
}

/* Did a test before this one write the files of this one, and make them? */
static void find_writers(struct ior_test *test, const struct ior_script *tests, int index)
{
    const struct ior_config *own = &tests->tests[index];
    test->may_remove = true;
    for (int i = 0; i < index; i++) {
        const struct ior_config *other = &tests->tests[i];
        if (other->write && strcmp(other->test_file, own->test_file) == 0 &&
            other->file_per_process == own->file_per_process && other->multi_file == own->multi_file &&
            other->unique_dir == own->unique_dir) {
            test->wrote = true;
            test->may_remove = test->may_remove && !other->into_existing;
        }
    }
    test->may_remove = test->wrote && test->may_remove;
}

/* The directory that the files, or the directories of -u, are made in. */
static void find_directory(const struct ior_config *config, char directory[PATH_MAX])
{
    char path[PATH_MAX];
    const struct ior_names names = {config->test_file, config->file_per_process, false, false};
    ior_names_file(&names, 0, -1, path, sizeof path);
    const char *slash = strrchr(path, '/');
    snprintf(directory, PATH_MAX, "%.*s", slash == NULL ? 1 : (int)(slash + 1 - path), slash == NULL ? "." : path);
}

/* As rank 0 sees it. */
static void find_file_system(struct ior_test *test, const char *directory)
{
    if (test->store->keeps_bytes)
        test->file_system = cache_file_system(directory, &test->in_memory);
    MPI_Bcast(&test->in_memory, 1, MPI_INT, 0, test->place.comm);
}

/* Of stoneWallingStatusFile: the transfers of each process that the writing run came to. */
static int read_stonewall(const struct ior_config *config, MPI_Comm comm, int64_t *steps)
{
    int rank;
    *steps = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        FILE *file = fopen(config->stonewall_file, "re");
        int numbers = file == NULL ? 0 : fscanf(file, "%" SCNd64, steps);
        if (file != NULL)
            fclose(file);
        *steps = numbers == 1 && *steps > 0 ? *steps : 0;
    }
    MPI_Bcast(steps, 1, MPI_INT64_T, 0, comm);
    if (*steps == 0)
        return usage_error("stoneWallingStatusFile '%s' has no number of transfers: a run with -w writes it",
                           config->stonewall_file);
    return EXIT_CODE_OK;
}

/* What the files of an earlier run hold. With -D they may be shorter than the settings say, with stoneWallingStatusFile all
 * alike; the readers go by that. With -zz they may be longer, and reads go to all of them. */
static int measure_files(struct ior_test *test)
{
    const struct ior_config *config = test->config;
    const struct place *place = &test->place;
    char path[PATH_MAX];
    struct stat status;
    int64_t steps = test->plan.per_rank, in_file = 0, kept = steps;
    test->own = (struct ior_source){place->rank, place->node_index, place_machine(), steps, 0};
    test->is_uneven = config->deadline_s > 0 || (!config->write && config->random_offset == 2);
    if (config->write)
        return EXIT_CODE_OK;
    bool by_length = config->deadline_s > 0 && config->file_per_process && !config->multi_file;
    if (config->stonewall_file != NULL && read_stonewall(config, place->comm, &kept) != EXIT_CODE_OK)
        return EXIT_CODE_USAGE;
    if ((by_length || config->random_offset == 2) && (config->file_per_process || place->rank == 0)) {
        ior_access_path(test, place->rank, path);
        if (stat(path, &status) == 0)
            in_file = status.st_size / config->transfer;
    }
    if (config->random_offset == 2) {
        if (!config->file_per_process)
            MPI_Bcast(&in_file, 1, MPI_INT64_T, 0, place->comm);
        test->own.in_file = in_file;
    }
    steps = kept < steps ? kept : steps;
    test->own.steps = by_length && in_file > 0 && in_file < steps ? in_file : steps;
    return EXIT_CODE_OK;
}

static int take_memory(const struct ior_test *test, int64_t *bytes)
{
    const struct ior_config *config = test->config;
    *bytes = config->memory_percent > 0 ? hog_share_of_node(config->memory_percent) : config->memory_bytes;
    if (config->memory_per_task > 0)
        *bytes = config->memory_per_task * test->place.ranks_on_node;
    if (*bytes == 0 || config->dry_run)
        return EXIT_CODE_OK;
    int error = hog_take(&session.hog, &test->place, *bytes);
    if (error != 0)
        return usage_error("cannot take %s of a node's memory (%s): %s (%s)%s",
                           config->memory == NULL ? "that much" : config->memory,
                           config->memory == NULL ? "memoryPerTask" : "-M", strerror(-error), die_errno_name(-error),
                           error == -ENOMEM ? ": a node has less available" : "");
    return EXIT_CODE_OK;
}

/* Who reads in a mixed phase: on each node the same share, as far as it can be. */
static void split_sides(struct ior_test *test)
{
    const struct place *place = &test->place;
    MPI_Comm by_node;
    int index;
    if (test->config->mixed == 0)
        return;
    MPI_Comm_split(place->comm, 0, place->node_index, &by_node);
    MPI_Comm_rank(by_node, &index);
    MPI_Comm_free(&by_node);
    test->reads_beside = ior_mix_reads(index, ior_mix_readers(test->config->mixed, place->ranks), place->ranks);
    MPI_Comm_split(place->comm, test->reads_beside, place->rank, &test->side);
}

int ior_session_begin(struct ior_test *test, const struct ior_script *tests, int index, MPI_Comm comm,
                      struct ior_record *record)
{
    const struct ior_config *config = &tests->tests[index];
    int64_t memory_bytes;
    memset(test, 0, sizeof *test);
    test->side = MPI_COMM_NULL;
    memset(&session, 0, sizeof session);
    test->config = config;
    test->number = index;
    place_init(&test->place, comm);
    session.start_ns = timer_ns();
    session.chosen = choose_signature(comm);
    int status = choose_store(test);
    if (status != EXIT_CODE_OK)
        return status;
    status = take_memory(test, &memory_bytes);
    if (status != EXIT_CODE_OK)
        return status;
    ior_plan_make(&test->plan, config->transfer, config->block, config->segments, test->place.ranks,
                  config->file_per_process);
    test->buffers = buf_alloc_io((size_t)(config->transfer * ior_depth(test)));
    split_sides(test);
    if (config->latency && config->mixed > 0)
        test->other_watch = ior_watch_new(test->place.ranks, 0);
    if (config->latency || config->transfers_file != NULL)
        test->watch = ior_watch_new(test->place.ranks, config->transfers_file == NULL ? 0 : test->plan.per_rank);
    pattern_init(&test->pattern, config->kind, config->transfer, ior_depth(test));
    find_writers(test, tests, index);
    status = measure_files(test);
    if (status != EXIT_CODE_OK)
        return status;

    record->config = *config;
    record->number = index;
    record->ranks = test->place.ranks;
    record->nodes = test->place.nodes;
    record->ranks_per_node = (test->place.ranks + test->place.nodes - 1) / test->place.nodes;
    record->api = test->store->name;
    record->started = time(NULL);
    ior_access_path(test, 0, record->path);
    find_directory(config, record->directory);
    find_file_system(test, record->directory);
    record->space.files = -1;
    if (test->place.rank == 0)
        cache_space_of(record->directory, &record->space);
    ior_lines_test(test, record, memory_bytes);
    return EXIT_CODE_OK;
}

void ior_session_end(struct ior_test *test)
{
    hog_release(&session.hog);
    free(test->buffers);
    ior_watch_free(test->watch);
    ior_watch_free(test->other_watch);
    if (test->side != MPI_COMM_NULL)
        MPI_Comm_free(&test->side);
    pattern_free(&test->pattern);
}

void ior_session_next(struct ior_test *test)
{
    const struct ior_config *config = test->config;
    test->signature = config->signature != 0 ? config->signature : session.chosen + test->iteration;
    if (config->reorder_seed > 0)
        test->reorder_seed = (uint64_t)config->reorder_seed;
    else if (config->reorder_seed < 0)
        test->reorder_seed = (uint64_t)(test->iteration - config->reorder_seed);
    else
        test->reorder_seed = (uint64_t)(session.chosen + test->iteration);
    if (test->iteration == 0 || config->random_tasks > 0)
        ior_access_sources(test);
}

void ior_session_pause(const struct ior_test *test)
{
    if (test->config->delay_s == 0)
        return;
    ior_text_say("delaying %g seconds . . .\n", test->config->delay_s);
    quiet_sleep_ns((uint64_t)(test->config->delay_s * 1e9));
}

bool ior_session_has_time(const struct ior_test *test)
{
    if (test->config->most_minutes == 0)
        return true;
    int has_time = timer_s(session.start_ns, timer_ns()) < 60.0 * (double)test->config->most_minutes;
    MPI_Bcast(&has_time, 1, MPI_INT, 0, test->place.comm);
    return has_time;
}
