/* mpiio_phase: one timed phase of mpiio, the pool's or a static split's, and the check of what it left. */
#include "mpiio/phase.h"

#include "common/buf.h"
#include "common/cache.h"
#include "common/die.h"
#include "common/emit.h"
#include "common/place.h"
#include "common/quiet.h"
#include "common/totals.h"
#include "mpiio/report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool mpiio_failed(struct mpiio_test *test)
{
    int64_t failed = faults_report(&test->faults, &test->run->place);
    test->run->failed_operations += failed;
    return failed > 0;
}

/* Collective: what the pool, or in a static split this rank, has to know. Returns the phase's bytes and chunks. */
static void plan_phase(struct mpiio_test *test, bool writes, struct pool *pool, struct pool_piece *share, int64_t *bytes,
                       int64_t *chunks)
{
    const struct mpiio_config *config = test->config;
    const struct place *place = &test->run->place;
    memset(pool, 0, sizeof *pool);
    if (writes) {
        *share = (struct pool_piece){-1, -1, pool_share(config->total_bytes, config->block_bytes, place->ranks, place->rank)};
        pool_write(pool, config->total_bytes, config->chunk_bytes);
        *bytes = config->total_bytes;
        *chunks = config->split ? place->ranks : pool->chunks;
        return;
    }
    struct pool_file own = {test->own_file_bytes, test->first.rank}, *files = NULL;
    int64_t *shares = NULL;
    if (place->rank == 0) {
        files = die_alloc(sizeof(int64_t), (size_t)place->ranks * sizeof *files);
        shares = die_alloc(sizeof(int64_t), (size_t)place->ranks * sizeof *shares);
    }
    MPI_Gather(&own, 2, MPI_INT64_T, files, 2, MPI_INT64_T, 0, place->comm);
    if (place->rank == 0) {
        for (int rank = 0; rank < place->ranks; rank++)
            shares[rank] = files[files[rank].first_choice].bytes;
        pool_read(pool, files, place->ranks, config->chunk_bytes);
    }
    *share = (struct pool_piece){test->first.rank, 0, 0};
    MPI_Scatter(shares, 1, MPI_INT64_T, &share->bytes, 1, MPI_INT64_T, 0, place->comm);
    MPI_Allreduce(&own.bytes, bytes, 1, MPI_INT64_T, MPI_SUM, place->comm);
    *chunks = config->split ? place->ranks : pool->chunks;
    free(shares);
}

/* Collective: how much of the file that a rank starts on is in its node's page cache; -1 if unknown. To look is to
 * open the file, which brings its metadata here: a file of another machine is not examined. Of one that this run wrote
 * nothing can be in this machine's cache. */
static double ask_cache(struct mpiio_test *test)
{
    char path[PATH_MAX];
    struct stat found;
    struct cache_pages pages = {0};
    mpiio_path(test->config->base, test->first.rank, path);
    bool other_machine = test->first.machine != place_machine();
    if (other_machine && test->writes)
        pages.asked = test->own_file_bytes / 4096 + 1; /* about as much as the others' */
    int fd = test->config->store->uses_page_cache && !other_machine ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (fstat(fd, &found) == 0 && found.st_size > 0)
            cache_ask(fd, 0, found.st_size, &pages);
        close(fd);
    }
    int64_t numbers[2] = {pages.cached, pages.asked};
    MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT64_T, MPI_SUM, test->run->place.comm);
    return numbers[1] > 0 ? (double)numbers[0] / (double)numbers[1] : -1;
}

/* Collective: puts together what the ranks measured. */
static void reduce(const struct mpiio_test *test, const struct mpiio_agent *agent, struct mpiio_result *result)
{
    const struct place *place = &test->run->place;
    const struct mpiio_worker *worker = agent->worker;
    /* A rank that was given nothing may have taken no time of a coarse clock. */
    double rate = worker->bytes > 0 ? (double)worker->bytes / 1048576 / worker->own_s : 0;
    struct totals totals = {
        .most = {worker->own_s, worker->sync_s, worker->starved_s, agent->longest_wait_s, place->rank > 0 ? agent->cpu_s : 0},
        .sums = {rate, worker->starved_s, agent->wait_s},
        .counts = {worker->bytes, worker->pieces, agent->asked, worker->own_read_bytes},
    };
    totals_rate(&totals, worker->bytes > 0 ? rate : -1, place->rank, place->node);
    totals_of(&totals, 1, place->comm);
    const double *most = totals.most, *sums = totals.sums;
    const int64_t *counts = totals.counts;
    result->rank_rates_mib_s = totals.rates;
    result->bytes = counts[0];
    result->chunks = counts[1];
    result->elapsed_s = most[0];
    result->rate_mib_s = (double)counts[0] / 1048576 / most[0];
    result->rate_sum_mib_s = sums[0];
    result->sync_s = most[1];
    result->starved_s = most[2];
    result->starved_mean_s = sums[1] / place->ranks;
    result->longest_wait_s = most[3];
    result->wait_mean_s = counts[2] > 0 ? sums[2] / (double)counts[2] : 0;
    result->agent_cpu_s = most[4];
    result->own_share = counts[0] > 0 ? (double)counts[3] / (double)counts[0] : 0;
}

bool mpiio_phase(struct mpiio_test *test, bool writes)
{
    const struct mpiio_config *config = test->config;
    const struct place *place = &test->run->place;
    struct mpiio_result result = {.writes = writes, .cached_share = writes ? -1 : ask_cache(test)};
    struct pool pool;
    struct pool_piece share;
    int64_t bytes, chunks;
    plan_phase(test, writes, &pool, &share, &bytes, &chunks);
    mpiio_report_plan(config, place, writes, bytes, chunks);
    if (result.cached_share > 0.01 && !config->direct)
        emit_warning("%.1f%% of the files that processes start to read are in their node's page cache: the read rate is in "
                     "part one of memory",
                     100 * result.cached_share);

    static struct mpiio_worker worker;
    struct mpiio_agent agent = {.place = place, .worker = &worker};
    struct mpiio_task task = {
        .store = config->store, .base = config->base, .rank = place->rank, .writes = writes, .direct = config->direct,
        .sync = config->fsync, .depth = (int)config->outstanding, .block_bytes = config->block_bytes,
        .layout_bytes = config->split ? INT64_MAX : config->chunk_bytes, .pattern = &test->pattern, .slow = config->slow,
        .pace_bytes_s = (double)config->pace};
    if (config->split)
        agent.share = &share;
    else if (place->rank == 0)
        agent.pool = &pool;
    MPI_Barrier(place->comm);
    mpiio_worker_start(&worker, &task, timeline_count(place->ranks), (uint64_t)(config->interval_s * 1e9));
    mpiio_agent_run(&agent);
    mpiio_worker_join(&worker);
    quiet_barrier(place->comm);
    pool_free(&pool);

    if (writes)
        test->own_file_bytes = worker.bytes;
    test->faults = worker.faults;
    bool right = !mpiio_failed(test);
    if (right) {
        reduce(test, &agent, &result);
        mpiio_report_phase(config, place, &agent, &result);
    }
    mpiio_worker_free(&worker);
    return right;
}

/* What is wrong with a block that was read; an empty text if nothing is. */
static void compare(const unsigned char *data, const unsigned char *expected, int64_t bytes, int64_t offset,
                    char *detail, size_t detail_bytes)
{
    int64_t at = 0;
    detail[0] = '\0';
    if (memcmp(data, expected, (size_t)bytes) == 0)
        return;
    while (data[at] == expected[at])
        at++;
    snprintf(detail, detail_bytes, "byte %" PRId64 " is 0x%02x, 0x%02x was written", offset + at, data[at], expected[at]);
}

/* Reads the file that this rank starts on, block by block, and compares. Untimed. */
static void verify_file(struct mpiio_test *test, const char *path, int64_t file_bytes, struct store_file *file,
                        const struct mpiio_task *task)
{
    unsigned char *data = buf_alloc((size_t)task->block_bytes);
    char detail[128] = "";
    for (int64_t offset = 0, got = 0; offset < file_bytes && got >= 0 && detail[0] == '\0'; offset += got) {
        int64_t to_layout = task->layout_bytes - offset % task->layout_bytes, bytes = file_bytes - offset;
        bytes = bytes < to_layout ? bytes : to_layout;
        bytes = bytes < task->block_bytes ? bytes : task->block_bytes;
        got = task->store->read(file, data, bytes, offset);
        if (got >= 0 && got < bytes)
            snprintf(detail, sizeof detail, "the file ends at byte %" PRId64, offset + got);
        else if (got >= 0)
            compare(data, pattern_data(&test->pattern, mpiio_block_index(task, offset), offset), bytes, offset, detail,
                    sizeof detail);
        if (got < 0 || detail[0] != '\0')
            faults_add(&test->faults, "verify", path, got < 0 ? (int)-got : 0, detail);
    }
    free(data);
}

bool mpiio_verify(struct mpiio_test *test)
{
    const struct mpiio_config *config = test->config;
    struct pool pool;
    struct pool_piece share;
    int64_t bytes, chunks;
    char path[PATH_MAX];
    plan_phase(test, false, &pool, &share, &bytes, &chunks); /* share: the whole file of the first choice */
    pool_free(&pool);
    mpiio_path(config->base, share.file, path);
    struct mpiio_task task = {.store = config->store, .block_bytes = config->block_bytes,
                              .layout_bytes = config->split ? INT64_MAX : config->chunk_bytes};
    struct store_options options = {.comm = MPI_COMM_SELF, .direct = config->direct, .depth = 1};
    struct store_file *file;
    pattern_prepare(&test->pattern, test->seed, (int)share.file);
    int error = config->store->open(&file, path, &options);
    if (error != 0) {
        faults_add(&test->faults, "open", path, -error, NULL);
    } else {
        verify_file(test, path, share.bytes, file, &task);
        config->store->close(file);
    }
    bool right = !mpiio_failed(test);
    emit_text(right ? "Verified:\t%" PRId64 " bytes\n" : "Verified:\tFAILED of %" PRId64 " bytes\n", bytes);
    emit_line("verify");
    emit_int("bytes", bytes);
    emit_bool("right", right);
    emit_line_end();
    return right;
}
