/* checkpoint: time (s) and bandwidth (MiB/s) to write the memory image of every process to its own file and fsync it,
 * over memory a process and number of processes; with -r also to read the images back, as after a restart.
 *
 * The clock runs on every participating rank from a barrier before opening to a barrier after closing, fsync included;
 * the slowest rank's time counts. Filling the memory, verifying what came back and removing the files are outside. A
 * restart reads the image of another process, on another node where there is one; before it each file's pages are
 * given up on the node that wrote it. */
#include "checkpoint/image.h"
#include "checkpoint/plan.h"
#include "common/buf.h"
#include "common/die.h"
#include "common/elsewhere.h"
#include "common/emit.h"
#include "common/opt.h"
#include "common/quiet.h"
#include "common/rank_rates.h"
#include "common/run.h"
#include "common/scratch.h"
#include "common/stats.h"
#include "common/timer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum operation { CHECKPOINT, RESTART, OPERATIONS };
static const char *const operation_names[OPERATIONS] = {"checkpoint", "restart"};
static const double MIB = 1048576;

struct config {
    const char *directory, *memory_text, *processes_text;
    struct checkpoint_list memory, processes;
    int64_t transfer_bytes, iterations;
    bool restart;
};

/* One number of processes with one size of memory. */
struct point {
    const struct config *config;
    const struct scratch *scratch;
    struct place place; /* of the processes that take part */
    struct elsewhere partner; /* whose image this rank reads back */
    double remote_share, cached_share; /* of the images to be read back; cached -1: not known */
    int64_t bytes, iteration;
    unsigned char *image;
    struct faults faults;
    struct stats rates[OPERATIONS];
};

struct measured {
    double own_s, elapsed_s;
    struct image_times times;
};

static const char intro[] =
    "Measures how long it takes to write every process's memory image to its own file and to\n"
    "fsync it. LIST is values and ranges: 64m or 64m,1g or 64m:1g, which doubles up to its end.\n"
    "Works in a directory of its own below DIR, which it removes.\n";

static bool read_options(struct config *c, int argc, char **argv, struct opt_common *common, int *status)
{
    const struct opt options[] = {
        {'d', NULL, OPT_TEXT, &c->directory, "DIR", "directory to work in (default .)", 0, 0, 0},
        {'m', NULL, OPT_TEXT, &c->memory_text, "LIST", "memory of a process (default 64m)", 0, 0, 0},
        {'p', NULL, OPT_TEXT, &c->processes_text, "LIST", "processes that take part, the first ones (default all)", 0, 0, 0},
        {'t', NULL, OPT_SIZE, &c->transfer_bytes, "BYTES", "bytes of one write or read (default 4m)", 1, 1 << 30, 0},
        {'i', NULL, OPT_INT, &c->iterations, "COUNT", "repetitions of each measurement (default 1)", 1, 1 << 30, 0},
        {'r', "restart", OPT_FLAG, &c->restart, NULL, "read the images back and verify them", 0, 0, 0},
    };
    const struct opt_applet applet = {"checkpoint", "[options]", intro, options, sizeof options / sizeof options[0]};
    return opt_parse(&applet, argc, argv, common, status);
}

static int check_config(struct config *config, int ranks)
{
    char message[256], all[16];
    snprintf(all, sizeof all, "%d", ranks);
    if (checkpoint_read_list(&config->memory, "option -m", config->memory_text, UNITS_BINARY, (int64_t)1 << 50, message,
                             sizeof message) != 0 ||
        checkpoint_read_list(&config->processes, "option -p", config->processes_text != NULL ? config->processes_text : all,
                             UNITS_PLAIN, ranks, message, sizeof message) != 0)
        return usage_error("%s (checkpoint -h explains LIST)", message);
    return EXIT_CODE_OK;
}

static int64_t largest(const struct checkpoint_list *list)
{
    int64_t most = 0;
    for (int i = 0; i < list->count; i++)
        most = list->values[i] > most ? list->values[i] : most;
    return most;
}

/* Bytes that programs of this machine can have without swapping; INT64_MAX where the system does not say. */
static int64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return INT64_MAX;
    char line[128];
    int64_t kib = INT64_MAX / 1024;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1)
            break;
    fclose(file);
    return kib * 1024;
}

/* The same for processes that share memory, virtual nodes of one machine included: a number for the kernel's start. */
static int machine_color(void)
{
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(id, sizeof id, file) == NULL)
            id[0] = '\0';
        fclose(file);
    }
    unsigned int color = 0;
    for (const char *at = id; *at != '\0'; at++)
        color = color * 31 + (unsigned char)*at;
    return (int)(color & INT_MAX);
}

/* Collective: images that do not fit into a machine's memory would end in processes killed by the system, not
 * necessarily these. A tenth is left for what else is needed. */
static int check_memory(const struct config *config, const struct place *place)
{
    MPI_Comm machine;
    int takes_part = place->rank < largest(&config->processes), images;
    MPI_Comm_split(place->comm, machine_color(), place->rank, &machine);
    MPI_Allreduce(&takes_part, &images, 1, MPI_INT, MPI_SUM, machine);
    double need = (double)largest(&config->memory) * images, most = 0.9 * (double)available_bytes();
    MPI_Barrier(machine); /* nobody has taken memory yet */
    MPI_Comm_free(&machine);

    struct {
        double lacking;
        int rank;
    } own = {need - most, place->rank}, worst;
    MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, place->comm);
    if (worst.lacking <= 0)
        return EXIT_CODE_OK;
    double numbers[3] = {images, need, most};
    char node[PLACE_NAME_BYTES], need_text[32], most_text[32];
    place_node_name(place, worst.rank, node);
    MPI_Bcast(numbers, 3, MPI_DOUBLE, worst.rank, place->comm);
    units_format_bytes(need_text, sizeof need_text, numbers[1]);
    units_format_bytes(most_text, sizeof most_text, numbers[2]);
    faults_error("option -m: %.0f images on node %s need %s of memory, at most %s is there (nine tenths of what is free): "
                 "use less memory or fewer processes a node",
                 numbers[0], node, need_text, most_text);
    return EXIT_CODE_USAGE;
}

static void image_path(const struct point *point, int rank, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/image.%d", point->scratch->path, rank) >= PATH_MAX)
        bug("path '%s' does not fit", path);
}

/* What the image of a rank holds in this iteration: never what an earlier one left in a file or in memory. */
static uint64_t image_seed(const struct point *point, int rank)
{
    return (uint64_t)point->bytes << 32 ^ (uint64_t)point->iteration << 24 ^ (uint64_t)rank;
}

static void verify(struct point *point, const char *path)
{
    unsigned char expected, found;
    char detail[128];
    int64_t at = buf_check(point->image, (size_t)point->bytes, image_seed(point, point->partner.rank), 0, &expected, &found);
    if (at < 0)
        return;
    snprintf(detail, sizeof detail, "byte %" PRId64 " is 0x%02x, 0x%02x was written", at, found, expected);
    faults_add(&point->faults, "verify", path, 0, detail);
}

/* Collective over the point's processes. False where an operation failed. */
static bool run_clock(struct point *point, enum operation operation, struct measured *measured)
{
    const struct place *place = &point->place;
    char path[PATH_MAX];
    image_path(point, operation == CHECKPOINT ? place->rank : point->partner.rank, path);
    memset(measured, 0, sizeof *measured);
    MPI_Barrier(place->comm);
    uint64_t start_ns = timer_ns();
    bool right = operation == CHECKPOINT ? image_write(path, point->image, point->bytes, point->config->transfer_bytes,
                                                       &measured->times, &point->faults)
                                         : image_read(path, point->image, point->bytes, point->config->transfer_bytes,
                                                      &measured->times, &point->faults);
    measured->own_s = timer_s(start_ns, timer_ns());
    MPI_Barrier(place->comm);
    measured->elapsed_s = timer_s(start_ns, timer_ns());
    if (operation == RESTART && right)
        verify(point, path);
    int64_t failed = point->faults.count;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT64_T, MPI_SUM, place->comm);
    return failed == 0;
}

static void print_row(const struct point *point, enum operation operation, double elapsed_s, double transfer_s,
                      double sync_s, double rate_mib_s)
{
    double each_mib = (double)point->bytes / MIB;
    emit_text("%-12s%10d%16.3f%16.3f%14.6f%12.6f%12.6f%16.3f%6" PRId64 "\n", operation_names[operation],
              point->place.ranks, each_mib, each_mib * point->place.ranks, elapsed_s, transfer_s, sync_s, rate_mib_s,
              point->iteration);
    emit_flush_text();
}

/* Collective: puts together and reports what the ranks measured. */
static void report(struct point *point, enum operation operation, const struct measured *measured)
{
    const struct place *place = &point->place;
    double most[5] = {measured->elapsed_s, measured->times.open_s, measured->times.transfer_s, measured->times.sync_s,
                      measured->times.close_s};
    MPI_Allreduce(MPI_IN_PLACE, most, 5, MPI_DOUBLE, MPI_MAX, place->comm);
    double each_mib = (double)point->bytes / MIB, rate_mib_s = each_mib * place->ranks / most[0];
    struct rank_rates rates;
    rank_rates_of(&rates, place, true, each_mib / measured->own_s);
    stats_add(&point->rates[operation], rate_mib_s);
    print_row(point, operation, most[0], most[2], most[3], rate_mib_s);
    emit_line("phase");
    emit_int("iteration", point->iteration);
    emit_string("operation", operation_names[operation]);
    emit_int("processes", place->ranks);
    emit_int("nodes", place->nodes);
    emit_int("memory_bytes", point->bytes);
    emit_int("total_bytes", point->bytes * place->ranks);
    emit_seconds("elapsed_s", most[0]);
    emit_seconds("open_s", most[1]);
    emit_seconds(operation == CHECKPOINT ? "write_s" : "read_s", most[2]);
    if (operation == CHECKPOINT)
        emit_seconds("fsync_s", most[3]);
    emit_seconds("close_s", most[4]);
    emit_rate("rate_mib_s", rate_mib_s);
    rank_rates_emit(&rates, "rank_rate_mib_s");
    if (operation == RESTART) {
        emit_share("remote_share", point->remote_share);
        emit_share("cached_share", point->cached_share);
    }
    emit_line_end();
}

/* Collective: this node's cache gives up the image that it wrote, and is asked about the one that it reads. */
static void forget_images(struct point *point, const char *own_path)
{
    static bool warned;
    char path[PATH_MAX];
    int64_t pages[2];
    image_forget(own_path);
    MPI_Barrier(point->place.comm);
    image_path(point, point->partner.rank, path);
    image_cached(path, point->bytes, &pages[0], &pages[1]);
    MPI_Allreduce(MPI_IN_PLACE, pages, 2, MPI_INT64_T, MPI_SUM, point->place.comm);
    point->cached_share = pages[1] > 0 ? (double)pages[0] / (double)pages[1] : -1;
    if (point->cached_share > 0.01 && !warned)
        emit_warning("%.1f%% of the images are in the page cache of the nodes that read them back: the restart's rate is in "
                     "part one of memory (said once, cached_share in the JSON for each)",
                     100 * point->cached_share);
    warned = warned || point->cached_share > 0.01;
}

/* Collective over the point's processes: one checkpoint, one restart. False where something failed. */
static bool iterate(struct point *point)
{
    struct measured measured;
    char path[PATH_MAX];
    image_path(point, point->place.rank, path);
    buf_fill(point->image, (size_t)point->bytes, image_seed(point, point->place.rank), 0);
    bool right = run_clock(point, CHECKPOINT, &measured);
    if (right)
        report(point, CHECKPOINT, &measured);
    if (right && point->config->restart) {
        memset(point->image, 0, (size_t)point->bytes);
        forget_images(point, path);
        right = run_clock(point, RESTART, &measured);
        if (right)
            report(point, RESTART, &measured);
    }
    MPI_Barrier(point->place.comm); /* nobody removes what another still reads */
    if (unlink(path) != 0 && (right || errno != ENOENT))
        faults_add(&point->faults, "unlink", path, errno, NULL);
    return right;
}

static void emit_results(const struct point *point)
{
    for (int operation = 0; operation < OPERATIONS; operation++) {
        const struct stats *rates = &point->rates[operation];
        if (rates->n == 0)
            continue;
        emit_line("result");
        emit_string("operation", operation_names[operation]);
        emit_int("processes", point->place.ranks);
        emit_int("memory_bytes", point->bytes);
        emit_stats(rates, "MiB/s");
        emit_line_end();
    }
}

/* Collective over comm. Returns the number of operations that failed. */
static int64_t run_point(const struct config *config, const struct scratch *scratch, MPI_Comm comm, int64_t bytes)
{
    struct point point = {.config = config, .scratch = scratch, .bytes = bytes};
    place_init(&point.place, comm);
    elsewhere_find(&point.place, 1, &point.partner);
    int64_t remote = point.partner.node_index != point.place.node_index;
    MPI_Allreduce(MPI_IN_PLACE, &remote, 1, MPI_INT64_T, MPI_SUM, comm);
    point.remote_share = (double)remote / point.place.ranks;
    point.image = buf_alloc((size_t)bytes);
    bool right = true;
    for (; point.iteration < config->iterations && right; point.iteration++)
        right = iterate(&point);
    int64_t failed = faults_report(&point.faults, &point.place);
    if (failed == 0)
        emit_results(&point);
    free(point.image);
    return failed;
}

static void run_points(const struct config *config, struct run *run, const struct scratch *scratch)
{
    const struct place *place = &run->place;
    for (int p = 0; p < config->processes.count; p++) {
        MPI_Comm comm;
        MPI_Comm_split(place->comm, place->rank < config->processes.values[p] ? 0 : MPI_UNDEFINED, place->rank, &comm);
        for (int m = 0; m < config->memory.count && run->failed_operations == 0; m++) {
            int64_t failed = comm != MPI_COMM_NULL ? run_point(config, scratch, comm, config->memory.values[m]) : 0;
            quiet_barrier(place->comm);
            MPI_Bcast(&failed, 1, MPI_INT64_T, 0, place->comm);
            run->failed_operations = failed;
        }
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }
}

static int run_test(const struct config *config, struct run *run)
{
    struct scratch scratch;
    struct faults faults = {0};
    const struct place *place = &run->place;
    int status = check_memory(config, place);
    if (status != EXIT_CODE_OK)
        return status;
    if (scratch_make(&scratch, place, config->directory, "checkpoint", &faults)) {
        emit_text("checkpoint: memory image of each process to its own file, fsync included; below %s\n", config->directory);
        emit_text("%-12s%10s%16s%16s%14s%12s%12s%16s%6s\n", "operation", "processes", "MiB a process", "MiB in all", "time(s)",
                  "wr/rd(s)", "fsync(s)", "MiB/s", "iter");
        run_points(config, run, &scratch);
        scratch_remove(&scratch, place, &faults);
    }
    run->failed_operations += faults_report(&faults, place);
    return EXIT_CODE_OK;
}

int app_checkpoint(int argc, char **argv)
{
    struct config config = {.directory = ".", .memory_text = "64m", .transfer_bytes = 4 << 20, .iterations = 1};
    struct opt_common common;
    struct run run;
    int status, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!read_options(&config, argc, argv, &common, &status))
        return status;
    status = check_config(&config, ranks);
    if (status != EXIT_CODE_OK)
        return status;
    status = run_begin(&run, "checkpoint", &common);
    if (status == EXIT_CODE_OK)
        status = run_test(&config, &run);
    return run_end(&run, status);
}
