/* checkpoint: time (s) and bandwidth (MiB/s) to write the memory image of every process to its own file and fsync it,
 * over memory a process and number of processes; with -r also to read the images back, as after a restart.
 *
 * The clock runs on every participating rank from a barrier before opening to a barrier after closing, fsync included;
 * the slowest rank's time counts. Filling the memory, verifying what came back and removing the files are outside. A
 * restart reads the image of another process, on another node where there is one; before it each file's pages are
 * given up on the node that wrote it. */
#include "checkpoint/memory.h"
#include "checkpoint/plan.h"
#include "checkpoint/point.h"
#include "checkpoint/report.h"
#include "common/die.h"
#include "common/opt.h"
#include "common/quiet.h"
#include "common/run.h"
#include "common/scratch.h"

#include <stdio.h>

struct config {
    const char *directory, *memory_text, *processes_text;
    struct checkpoint_list memory, processes;
    int64_t transfer_bytes, iterations;
    bool restart;
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
    struct refusal why;
    char all[16];
    snprintf(all, sizeof all, "%d", ranks);
    const char *memory = config->memory_text, *processes = config->processes_text != NULL ? config->processes_text : all;
    if (checkpoint_read_list(&config->memory, "option -m", memory, UNITS_BINARY, (int64_t)1 << 50, &why) != 0 ||
        checkpoint_read_list(&config->processes, "option -p", processes, UNITS_PLAIN, ranks, &why) != 0)
        return usage_error("%s (checkpoint -h explains LIST)", why.text);
    return EXIT_CODE_OK;
}

static int64_t largest(const struct checkpoint_list *list)
{
    int64_t most = 0;
    for (int i = 0; i < list->count; i++)
        most = list->values[i] > most ? list->values[i] : most;
    return most;
}

static void run_points(const struct config *config, struct run *run, const struct scratch *scratch)
{
    const struct place *place = &run->place;
    for (int p = 0; p < config->processes.count; p++) {
        MPI_Comm comm;
        MPI_Comm_split(place->comm, place->rank < config->processes.values[p] ? 0 : MPI_UNDEFINED, place->rank, &comm);
        for (int m = 0; m < config->memory.count && run->failed_operations == 0; m++) {
            struct checkpoint_point point = {.directory = scratch->path, .bytes = config->memory.values[m],
                                             .transfer_bytes = config->transfer_bytes, .iterations = config->iterations,
                                             .restart = config->restart};
            int64_t failed = comm != MPI_COMM_NULL ? checkpoint_point_run(&point, comm) : 0;
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
    int status = checkpoint_check_memory(place, largest(&config->processes), largest(&config->memory));
    if (status != EXIT_CODE_OK)
        return status;
    if (scratch_make(&scratch, place, config->directory, "checkpoint", &faults)) {
        checkpoint_report_header(config->directory);
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
    status = run_begin(&run, "checkpoint", &common, config.directory);
    if (status == EXIT_CODE_OK)
        status = run_test(&config, &run);
    return run_end(&run, status);
}
