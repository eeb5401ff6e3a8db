/* find: files per second that all processes together look at in a directory tree, as the find phase of IO500.
 *
 * The time of the slowest process is used, from a barrier to the end of the walk. A file is examined by its name, and by
 * lstat where its size or its age is asked for and the name fits. */
#include "common/die.h"
#include "common/emit.h"
#include "common/faults.h"
#include "common/opt.h"
#include "common/quiet.h"
#include "common/run.h"
#include "common/timer.h"
#include "common/version.h"
#include "find/walk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static const char intro[] =
    "Walks through a directory tree with all processes and counts its files, and those that fit\n"
    "all of --name, --size and --newer. Reports files a second, all files over the time.\n";

static bool read_options(struct find_config *c, int argc, char **argv, struct opt_common *common, int *status)
{
    const struct opt options[] = {
        {'d', "directory", OPT_TEXT, &c->directory, "DIR", "where to begin (required)", 0, 0, 0},
        {'n', "name", OPT_TEXT, &c->name, "PATTERN", "names that fit, with * ? [ ] as in a shell", 0, 0, 0},
        {'s', "size", OPT_INT, &c->size, "BYTES", "files of this size", 0, INT64_MAX, 0},
        {0, "newer", OPT_TEXT, &c->newer, "FILE", "files changed later than FILE", 0, 0, 0},
    };
    const struct opt_applet applet = {"find", "-d DIR [options]", intro, options, sizeof options / sizeof options[0]};
    return opt_parse(&applet, argc, argv, common, status);
}

static void report(const struct walk *walk, const struct place *place, double elapsed_s)
{
    const int64_t own[] = {walk->files, walk->found};
    int64_t all[2];
    double slowest_s;
    MPI_Reduce(own, all, 2, MPI_INT64_T, MPI_SUM, 0, place->comm);
    MPI_Reduce(&elapsed_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, place->comm);
    if (place->rank != 0)
        return;
    emit_text("%d processes on %d nodes\n", place->ranks, place->nodes);
    emit_text("MATCHED %" PRId64 "/%" PRId64 "\n", all[1], all[0]);
    emit_text("rate: %.3f files/s, time: %.6f s\n", (double)all[0] / slowest_s, slowest_s);
    emit_record((double)all[1], 0, "files", "found");
    emit_line_end();
    emit_record((double)all[0], 0, "files", "files");
    emit_line_end();
    emit_record((double)all[0] / slowest_s, 3, "files/s", "rate");
    emit_seconds("elapsed_s", slowest_s);
    emit_line_end();
}

static int measure(const struct find_config *config, struct run *run)
{
    struct walk walk = {.config = config};
    struct stat status;
    if (config->newer != NULL && stat(config->newer, &status) != 0)
        return usage_error("option --newer: '%s': %s", config->newer, strerror(errno));
    if (config->newer != NULL)
        walk.newer = status.st_mtim;
    emit_text("find (campaign bench %s)\n", version_number);
    run_print_command_line();
    quiet_barrier(run->place.comm);
    const uint64_t start_ns = timer_ns();
    walk_tree(&walk, &run->place);
    report(&walk, &run->place, timer_s(start_ns, timer_ns()));
    run->failed_operations = faults_report(&walk.faults, &run->place);
    emit_text("failed operations: %" PRId64 "\n", run->failed_operations);
    entries_free(&walk.directories);
    return EXIT_CODE_OK;
}

int app_find(int argc, char **argv)
{
    struct find_config config = {.size = -1};
    struct opt_common common = {0};
    int status;
    if (!read_options(&config, argc, argv, &common, &status))
        return status;
    if (config.directory == NULL)
        return usage_error("-d DIR is missing");
    struct run run;
    status = run_begin(&run, "find", &common, config.directory);
    if (status == EXIT_CODE_OK)
        status = measure(&config, &run);
    return run_end(&run, status);
}
