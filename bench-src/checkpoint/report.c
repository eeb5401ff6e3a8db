/* checkpoint_report: the text and the JSON lines of checkpoint. */
#include "checkpoint/report.h"

#include "common/emit.h"
#include "common/rank_rates.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const operation_names[CHECKPOINT_OPERATIONS] = {"checkpoint", "restart"};
static const double MIB = 1048576;

void checkpoint_report_header(const char *directory)
{
    emit_text("checkpoint: memory image of each process to its own file, fsync included; below %s\n", directory);
    emit_text("%-12s%10s%16s%16s%14s%12s%12s%16s%6s\n", "operation", "processes", "MiB a process", "MiB in all", "time(s)",
              "wr/rd(s)", "fsync(s)", "MiB/s", "iter");
}

static void print_row(const struct checkpoint_point *point, enum checkpoint_operation operation, double elapsed_s,
                      double transfer_s, double sync_s, double rate_mib_s)
{
    double each_mib = (double)point->bytes / MIB;
    emit_text("%-12s%10d%16.3f%16.3f%14.6f%12.6f%12.6f%16.3f%6" PRId64 "\n", operation_names[operation],
              point->place.ranks, each_mib, each_mib * point->place.ranks, elapsed_s, transfer_s, sync_s, rate_mib_s,
              point->iteration);
    emit_flush_text();
}

/* The rate and the time, named after the processes and the memory of each in MiB: checkpoint-4-64m, checkpoint-time-4-64m. */
static void emit_records(const struct checkpoint_point *point, enum checkpoint_operation operation, double elapsed_s,
                         double rate_mib_s, const struct rank_rates *rates)
{
    char memory[32];
    int length = snprintf(memory, sizeof memory, "%.3f", (double)point->bytes / MIB);
    while (memory[length - 1] == '0')
        length--;
    length -= memory[length - 1] == '.';
    for (int times = 0; times < 2; times++) {
        emit_record(times ? elapsed_s : rate_mib_s, times ? 6 : 3, times ? "s" : "MiB/s", "%s%s-%d-%.*sm",
                    operation_names[operation], times ? "-time" : "", point->place.ranks, length, memory);
        emit_seconds("elapsed_s", elapsed_s);
        if (operation == RESTART) {
            emit_share("remote_share", point->remote_share);
            emit_share("cached_share", point->cached_share);
        }
        if (!times)
            rank_rates_emit(rates, "ranks");
        emit_line_end();
    }
}

void checkpoint_report_phase(const struct checkpoint_point *point, enum checkpoint_operation operation,
                             const struct totals *totals)
{
    const struct place *place = &point->place;
    const double *most = totals->most, elapsed_s = most[CHECKPOINT_ELAPSED];
    double rate_mib_s = (double)point->bytes / MIB * place->ranks / elapsed_s;
    print_row(point, operation, elapsed_s, most[CHECKPOINT_TRANSFER], most[CHECKPOINT_SYNC], rate_mib_s);
    emit_line("phase");
    emit_int("iteration", point->iteration);
    emit_string("operation", operation_names[operation]);
    emit_int("processes", place->ranks);
    emit_int("nodes", place->nodes);
    emit_int("memory_bytes", point->bytes);
    emit_int("total_bytes", point->bytes * place->ranks);
    emit_seconds("elapsed_s", elapsed_s);
    emit_seconds("open_s", most[CHECKPOINT_OPEN]);
    emit_seconds(operation == CHECKPOINT ? "write_s" : "read_s", most[CHECKPOINT_TRANSFER]);
    if (operation == CHECKPOINT)
        emit_seconds("fsync_s", most[CHECKPOINT_SYNC]);
    emit_seconds("close_s", most[CHECKPOINT_CLOSE]);
    emit_rate("rate_mib_s", rate_mib_s);
    rank_rates_emit(&totals->rates, "rank_rate_mib_s");
    if (operation == RESTART) {
        emit_share("remote_share", point->remote_share);
        emit_share("cached_share", point->cached_share);
    }
    emit_line_end();
    emit_records(point, operation, elapsed_s, rate_mib_s, &totals->rates);
}
