/* mpiio_report: mpiio's text and JSON lines. */
#include "mpiio/report.h"

#include "common/die.h"
#include "common/emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_TAG = 20 };

static const double MIB = 1048576;

static const char *operation_name(bool writes)
{
    return writes ? "write" : "read";
}

void mpiio_report_plan(const struct mpiio_config *config, const struct place *place, bool writes, int64_t total_bytes,
                       int64_t chunks)
{
    char path[PATH_MAX];
    mpiio_path(config->base, 0, path);
    emit_text("Rank 00000 | Blocksize: %" PRId64 "\n", config->block_bytes);
    emit_text("Rank 00000 | Max outstanding requests: %" PRId64 "\n", config->outstanding);
    emit_text("Rank 00000 | File name: %s\n", path);
    if (!config->split)
        emit_text("Rank 00000 | Chunk size %" PRId64 "\n", config->chunk_bytes);
    emit_text("Rank 00000 | Number of chunks %" PRId64 "\n", chunks);
    if (writes)
        emit_text("Rank 00000 | Requested bytes to write: %" PRId64 "\n", config->total_bytes);
    emit_text("Rank 00000 | Bytes to %s: %" PRId64 "\n", operation_name(writes), total_bytes);
    emit_text(config->split ? "Static split\n" : "Server started\n");
    emit_flush_text();

    emit_line("plan");
    emit_string("operation", operation_name(writes));
    emit_string("mode", config->split ? "static" : "pool");
    emit_string("api", config->store->name);
    emit_int("total_bytes", total_bytes);
    emit_int("chunks", chunks);
    emit_known("chunk_bytes", config->split ? -1 : config->chunk_bytes);
    emit_int("block_bytes", config->block_bytes);
    emit_int("outstanding", config->outstanding);
    emit_bool("direct", config->direct);
    emit_bool("fsync", config->fsync);
    emit_int("pace_bytes_s", config->pace);
    emit_int("processes", place->ranks);
    emit_line_end();
}

/* What a rank tells rank 0 about itself; its timeline follows. */
struct process {
    int64_t bytes, pieces;
    double own_s, starved_s, sync_s, wait_s, longest_wait_s, cpu_s, slow;
    int64_t intervals;
    char node[PLACE_NAME_BYTES];
};

static void print_process(const struct process *process, int rank, bool writes)
{
    emit_text("Rank %05d | %s %" PRId64 " chunks, %" PRId64 "\n", rank, writes ? "Wrote" : "Read", process->pieces,
              process->bytes);
    emit_text("Process on rank %d said 'bye'\n", rank);
}

static void emit_process(const struct process *process, int rank, bool writes, const int64_t *timeline, double interval_s)
{
    emit_line("process");
    emit_string("operation", operation_name(writes));
    emit_int("rank", rank);
    emit_string("node", process->node);
    emit_int("bytes", process->bytes);
    emit_int("chunks", process->pieces);
    emit_seconds("own_s", process->own_s);
    emit_rate("rate_mib_s", (double)process->bytes / MIB / process->own_s);
    emit_seconds("starved_s", process->starved_s);
    emit_seconds("fsync_s", process->sync_s);
    emit_seconds("wait_s", process->wait_s);
    emit_seconds("longest_wait_s", process->longest_wait_s);
    emit_seconds("agent_cpu_s", process->cpu_s);
    emit_real("slowed", process->slow, 3);
    emit_real("interval_s", interval_s, 6);
    emit_group("timeline_bytes", '[');
    for (int64_t i = 0; i < process->intervals; i++)
        emit_int(NULL, timeline[i]);
    emit_group_end(']');
    emit_line_end();
}

/* One rank after the other, so that rank 0 has never more than one timeline beside its own. */
static void report_processes(const struct mpiio_config *config, const struct place *place,
                             const struct mpiio_agent *agent, bool writes)
{
    struct mpiio_worker *worker = agent->worker;
    int doublings;
    MPI_Allreduce(&worker->timeline.doublings, &doublings, 1, MPI_INT, MPI_MAX, place->comm);
    timeline_coarsen(&worker->timeline, doublings);
    struct process own = {worker->bytes,  worker->pieces,        worker->own_s, worker->starved_s, worker->sync_s,
                          agent->wait_s,  agent->longest_wait_s, agent->cpu_s,  config->slow,      worker->timeline.used,
                          {0}};
    memcpy(own.node, place->node, sizeof own.node);
    if (place->rank != 0) {
        MPI_Send(&own, sizeof own, MPI_BYTE, 0, REPORT_TAG, place->comm);
        MPI_Send(worker->timeline.bytes, (int)own.intervals, MPI_INT64_T, 0, REPORT_TAG, place->comm);
        return;
    }
    int64_t *timeline = die_alloc(sizeof(int64_t), (size_t)worker->timeline.count * sizeof(int64_t));
    for (int rank = 0; rank < place->ranks; rank++) {
        struct process process = own;
        memcpy(timeline, worker->timeline.bytes, (size_t)own.intervals * sizeof(int64_t));
        if (rank > 0) {
            MPI_Recv(&process, sizeof process, MPI_BYTE, rank, REPORT_TAG, place->comm, MPI_STATUS_IGNORE);
            MPI_Recv(timeline, (int)process.intervals, MPI_INT64_T, rank, REPORT_TAG, place->comm, MPI_STATUS_IGNORE);
        }
        print_process(&process, rank, writes);
        emit_process(&process, rank, writes, timeline, (double)worker->timeline.interval_ns * 1e-9);
    }
    free(timeline);
}

static void emit_tracker(const struct mpiio_agent *agent, const struct mpiio_result *result)
{
    emit_group("tracker", '{');
    emit_int("answers", agent->answered);
    emit_seconds("busy_s", agent->busy_s);
    emit_seconds("answer_s", agent->answered > 0 ? agent->busy_s / (double)agent->answered : 0);
    emit_seconds("cpu_s", agent->cpu_s);
    emit_seconds("wait_mean_s", result->wait_mean_s);
    emit_seconds("longest_wait_s", result->longest_wait_s);
    emit_seconds("asker_cpu_s", result->agent_cpu_s);
    emit_group_end('}');
}

static void emit_phase(const struct mpiio_config *config, const struct mpiio_agent *agent,
                       const struct mpiio_result *result)
{
    emit_line("phase");
    emit_int("iteration", 0);
    emit_string("operation", operation_name(result->writes));
    emit_string("mode", config->split ? "static" : "pool");
    emit_int("bytes", result->bytes);
    emit_int("chunks", result->chunks);
    emit_seconds("elapsed_s", result->elapsed_s);
    emit_rate("rate_mib_s", result->rate_mib_s);
    emit_rate("rank_rate_sum_mib_s", result->rate_sum_mib_s);
    emit_real("share_of_sum", result->rate_mib_s / result->rate_sum_mib_s, 6);
    rank_rates_emit(&result->rank_rates_mib_s, "rank_rate_mib_s");
    emit_seconds("fsync_s", result->sync_s);
    emit_seconds("starved_s", result->starved_s);
    emit_seconds("starved_mean_s", result->starved_mean_s);
    if (!config->split)
        emit_tracker(agent, result);
    if (!result->writes) {
        emit_share("own_share", result->own_share);
        emit_share("cached_share", result->cached_share);
    }
    emit_line_end();
}

static void emit_records(const struct mpiio_result *result)
{
    const struct rank_rates *rates = &result->rank_rates_mib_s;
    const char *name = operation_name(result->writes);
    emit_record(result->rate_mib_s, 2, "MiB/s", "%s", name);
    emit_seconds("elapsed_s", result->elapsed_s);
    if (!result->writes)
        emit_share("cached_share", result->cached_share);
    rank_rates_emit(rates, "ranks");
    emit_line_end();
    const struct part {
        const char *name, *unit;
        double value;
        int decimals;
    } parts[] = {{"sum", "MiB/s", result->rate_sum_mib_s, 2},
                 {"reached", "x", result->rate_mib_s / result->rate_sum_mib_s, 3},
                 {"fastest", "MiB/s", rates->fastest, 2},
                 {"median", "MiB/s", rates->median, 2},
                 {"slowest", "MiB/s", rates->slowest, 2}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        emit_record(parts[i].value, parts[i].decimals, parts[i].unit, "%s-%s", name, parts[i].name);
        emit_line_end();
    }
}

void mpiio_report_phase(const struct mpiio_config *config, const struct place *place, const struct mpiio_agent *agent,
                        const struct mpiio_result *result)
{
    const struct rank_rates *rates = &result->rank_rates_mib_s;
    report_processes(config, place, agent, result->writes);
    emit_text("Processes:\tfastest %.2f, median %.2f, slowest %.2f MiB/sec (rank %d on %s)\n", rates->fastest,
              rates->median, rates->slowest, rates->slowest_rank, rates->slowest_node);
    emit_text("Sum:\t%.2f MiB/sec of the processes while they were at work; reached: %.3f of it\n", result->rate_sum_mib_s,
              result->rate_mib_s / result->rate_sum_mib_s);
    emit_text("%sBW:\t%.2f MiB/sec\n", result->writes ? "" : "Read ", result->rate_mib_s);
    emit_flush_text();
    emit_phase(config, agent, result);
    emit_records(result);
}
