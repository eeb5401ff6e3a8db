/* ior_lines: the applet's JSON lines, as docs/bench-jsonl.md describes them. */
#include "ior/report.h"

#include "common/emit.h"
#include "common/latency.h"

static void emit_signature(int64_t signature)
{
    if (signature != 0)
        emit_int("signature", signature);
    else
        emit_null("signature");
}

/* Of a store that lays its files out itself. */
static void emit_layout(const struct ior_test *test)
{
    const struct store_hdf5 *how = &test->config->hdf5;
    if (!test->store->own_layout)
        return;
    emit_group("hdf5", '{');
    emit_string("version", test->store->version());
    emit_int("chunk_elements", how->chunk);
    emit_int("alignment_bytes", how->alignment);
    emit_bool("no_fill", how->no_fill);
    emit_bool("collective_metadata", how->collective_metadata);
    emit_group_end('}');
}

void ior_lines_test(const struct ior_test *test, const struct ior_record *record, int64_t memory_bytes)
{
    static const char *const kinds[] = {"unique", "timestamp", "offset"};
    const struct ior_config *c = test->config;
    emit_line("test");
    emit_int("test", record->number);
    emit_string("api", record->api);
    emit_string("api_asked", c->store->name);
    emit_string("test_file", c->test_file);
    emit_string("path", record->path);
    emit_string("file_system", test->file_system);
    emit_bool("in_memory", test->in_memory || !test->store->keeps_bytes);
    emit_int("processes", record->ranks);
    emit_int("nodes", record->nodes);
    emit_int("processes_per_node", test->place.ranks_per_node);
    emit_bool("file_per_process", c->file_per_process);
    emit_bool("collective", c->collective);
    emit_int("transfer_bytes", c->transfer);
    emit_int("block_bytes", c->block);
    emit_int("segments", c->segments);
    emit_int("bytes_planned", test->plan.per_rank * test->plan.transfer * test->plan.ranks);
    emit_int("repetitions", c->repetitions);
    emit_int("queue_depth", ior_depth(test));
    emit_string("order", ior_order_name(c));
    emit_string("reorder", ior_reorder_name(c));
    emit_int("node_offset", c->node_offset);
    emit_bool("direct", c->direct);
    emit_bool("fsync", c->fsync);
    emit_bool("fsync_per_write", c->fsync_each);
    emit_bool("preallocated", c->reserve);
    emit_bool("drop_cache", c->drop_cache);
    emit_int("memory_per_node_bytes", memory_bytes);
    emit_int("deadline_s", c->deadline_s);
    emit_bool("wear_out", c->wear_out);
    emit_int("least_s", c->least_s);
    emit_int("transfers_limit", c->most_steps);
    emit_int("transfer_pause_us", c->transfer_pause_us);
    emit_int("prefill_bytes", c->prefill);
    emit_int("mixed_percent", c->mixed);
    emit_bool("file_view", c->file_view);
    emit_bool("range_locks", c->range_locks);
    emit_bool("dry_run", c->dry_run);
    emit_layout(test);
    emit_string("data", kinds[c->kind]);
    emit_signature(c->signature);
    emit_int("reference", c->reference);
    emit_line_end();
}

static void emit_stonewall(const struct ior_result *r)
{
    if (r->stonewall_s < 0) {
        emit_null("stonewall");
        return;
    }
    emit_group("stonewall", '{');
    emit_seconds("elapsed_s", r->stonewall_s);
    emit_int("bytes", r->stonewall_bytes);
    emit_group_end('}');
}

static void emit_watch(const struct ior_watch *watch)
{
    const struct timeline *timeline = &watch->timeline;
    latency_emit("latency_percentiles_s", &watch->latency->hist);
    emit_group("over_time", '{');
    emit_seconds("interval_s", (double)timeline->interval_ns * 1e-9);
    emit_group("bytes", '[');
    for (int i = 0; i < timeline->used; i++)
        emit_int(NULL, timeline->bytes[i]);
    emit_group_end(']');
    emit_group_end('}');
}

void ior_lines_phase(const struct ior_test *test, const struct ior_result *r)
{
    emit_line("phase");
    emit_int("test", test->number);
    emit_int("iteration", r->iteration);
    emit_string("operation", ior_operation_name(r->operation));
    emit_rate("rate_mib_s", r->rate_mib_s);
    emit_rate("rate_ops_s", r->rate_ops_s);
    emit_int("bytes", r->bytes);
    emit_int("transfers", r->transfers);
    emit_seconds("elapsed_s", r->total_s);
    emit_seconds("open_s", r->open_s);
    emit_seconds("transfer_s", r->move_s);
    emit_seconds("fsync_s", r->sync_s);
    emit_seconds("close_s", r->close_s);
    emit_seconds("latency_s", r->latency_s);
    if (r->beside_share >= 0) {
        emit_int("processes", r->processes);
        emit_share("beside_share", r->beside_share);
    }
    rank_rates_emit(&r->rank_rates_mib_s, "rank_rate_mib_s");
    emit_stonewall(r);
    emit_known("rank_shift", r->shift);
    emit_share("remote_share", r->remote_share);
    emit_share("cached_share", r->share.cached);
    emit_share("dirty_share", r->share.dirty);
    emit_string("cache_method", r->share.method);
    emit_int("cache_pages_asked", r->share.pages_asked);
    emit_seconds("cache_check_s", r->share.cost_s);
    emit_seconds("prepare_s", r->prepare_s);
    emit_signature(r->signature);
    if (test->config->latency)
        emit_watch(r->watch);
    emit_line_end();
    for (int i = 0; test->config->latency && i < r->watch->latency->count; i++) {
        emit_line("latency");
        emit_int("test", test->number);
        emit_int("iteration", r->iteration);
        emit_string("operation", ior_operation_name(r->operation));
        latency_emit_interval(r->watch->latency, i);
        emit_line_end();
    }
}

void ior_lines_verdict(const struct ior_test *test, const struct ior_verdict *verdict)
{
    emit_line("verification");
    emit_int("test", test->number);
    emit_int("iteration", test->iteration);
    emit_string("operation", verdict->operation);
    emit_int("bytes_checked", verdict->bytes_checked);
    emit_int("bytes_wrong", verdict->bytes_wrong);
    emit_int("transfers_wrong", verdict->transfers_wrong);
    emit_int("failed", verdict->failed);
    emit_line_end();
}

void ior_lines_result(const struct ior_record *record)
{
    for (int operation = 0; operation < IOR_OPERATIONS; operation++) {
        struct ior_statistics s;
        ior_record_statistics(record, operation, &s);
        if (s.n == 0)
            continue;
        emit_line("result");
        emit_int("test", record->number);
        emit_string("operation", ior_operation_name(operation));
        emit_rate("max", s.mib_s.max);
        emit_rate("min", s.mib_s.min);
        emit_rate("mean", s.mib_s.mean);
        emit_rate("stddev", stats_population_stddev(&s.mib_s));
        emit_int("iterations", s.n);
        emit_string("unit", "MiB/s");
        emit_rate("max_ops_s", s.ops_s.max);
        emit_rate("mean_ops_s", s.ops_s.mean);
        emit_line_end();
    }
}
