/* find: files per second that all processes together look at in a directory tree, as the find phase of IO500.
 *
 * The time of the slowest process is used, from a barrier to the end of the walk. A file is examined by its name, and by
 * lstat where its size or its age is asked for and the name fits. The processes read directories, and share what they
 * find after at most BATCH names of each: a single directory is read by one process and examined by all. */
#include "common/die.h"
#include "common/emit.h"
#include "common/faults.h"
#include "common/opt.h"
#include "common/quiet.h"
#include "common/run.h"
#include "common/timer.h"
#include "common/version.h"
#include "find/entries.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 20000 };

struct config {
    const char *directory, *name, *newer;
    int64_t size;
};

struct walk {
    const struct config *config;
    struct timespec newer; /* of the file --newer */
    struct entries directories;
    size_t next; /* of those not read yet */
    DIR *open;
    const char *path; /* of the open one */
    int64_t files, found;
    struct faults faults;
};

static const char intro[] =
    "Walks through a directory tree with all processes and counts its files, and those that fit\n"
    "all of --name, --size and --newer. Reports files a second, all files over the time.\n";

static bool read_options(struct config *c, int argc, char **argv, struct opt_common *common, int *status)
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

static bool is_newer(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec : one->tv_nsec > other->tv_nsec;
}

/* Counts a file, or keeps a directory to be read. */
static void look_at(struct walk *walk, const char *entry)
{
    const struct config *config = walk->config;
    const char *path = entry + 1, *slash = strrchr(path, '/');
    const bool named = config->name == NULL || fnmatch(config->name, slash == NULL ? path : slash + 1, 0) == 0;
    const bool ask = entry[0] == '?' || (named && (config->size >= 0 || config->newer != NULL));
    struct stat status = {0};
    if (entry[0] != 'd' && ask && lstat(path, &status) != 0) {
        faults_add(&walk->faults, "lstat", path, errno, NULL);
        return;
    }
    if (entry[0] == 'd' || S_ISDIR(status.st_mode)) {
        entries_add(&walk->directories, 'd', NULL, path);
        return;
    }
    walk->files++;
    walk->found += named && (config->size < 0 || status.st_size == config->size) &&
                   (config->newer == NULL || is_newer(&status.st_mtim, &walk->newer));
}

static char kind_of(const struct dirent *entry)
{
    return entry->d_type == DT_DIR ? 'd' : entry->d_type == DT_UNKNOWN ? '?' : 'f';
}

static bool open_next(struct walk *walk)
{
    size_t next;
    const char *entry = entries_next(&walk->directories, walk->next, &next);
    if (entry == NULL)
        return false;
    walk->next = next;
    walk->path = entry + 1;
    walk->open = opendir(walk->path);
    if (walk->open == NULL)
        faults_add(&walk->faults, "opendir", walk->path, errno, NULL);
    return true;
}

/* Reads at most BATCH names of the directories that this process has. */
static void read_names(struct walk *walk, struct entries *found)
{
    while (found->count < BATCH) {
        if (walk->open == NULL) {
            if (!open_next(walk))
                return;
            continue;
        }
        errno = 0;
        const struct dirent *entry = readdir(walk->open);
        if (entry != NULL) {
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                entries_add(found, kind_of(entry), walk->path, entry->d_name);
            continue;
        }
        if (errno != 0)
            faults_add(&walk->faults, "readdir", walk->path, errno, NULL);
        closedir(walk->open);
        walk->open = NULL;
    }
}

/* Directories that have been read are dropped once no name of them is in use. */
static bool has_more(struct walk *walk)
{
    const bool more = walk->open != NULL || walk->next < walk->directories.used;
    if (!more) {
        entries_free(&walk->directories);
        walk->next = 0;
    }
    return more;
}

/* Keeps the path of the open directory, which adding others may move. */
static void take(struct walk *walk, const struct entries *shared)
{
    const size_t at = walk->open == NULL ? 0 : (size_t)(walk->path - walk->directories.bytes);
    size_t next;
    const char *entry;
    for (size_t place = 0; (entry = entries_next(shared, place, &next)) != NULL; place = next)
        look_at(walk, entry);
    if (walk->open != NULL)
        walk->path = walk->directories.bytes + at;
}

static void walk_tree(struct walk *walk, const struct place *place)
{
    struct entries names = {0};
    if (place->rank == 0)
        entries_add(&walk->directories, 'd', NULL, walk->config->directory);
    for (int more = 1; more != 0;) {
        read_names(walk, &names);
        const int64_t shared = entries_share(&names, place->comm);
        take(walk, &names);
        entries_free(&names);
        int own = has_more(walk) || shared > 0;
        MPI_Allreduce(&own, &more, 1, MPI_INT, MPI_LOR, place->comm);
    }
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

static int measure(const struct config *config, struct run *run)
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
    struct config config = {.size = -1};
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
