/* mdtest_config: the options of mdtest and what they may not be together. */
#include "mdtest/config.h"

#include "common/die.h"
#include "mdtest/items.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECT_BYTES = 512 };

/* An option that mdtest 4 takes and no API that it works with uses. */
#define OF_API(name) {0, name, OPT_REFUSED, NULL, NULL, "no API that mdtest works with here has it", 0, 0, 0}
#define LAID_OUT(letter, name) {letter, name, OPT_REFUSED, NULL, NULL, "set the layout of the directory before the run", 0, 0, 0}
#define VENDORS(name) {0, name, OPT_REFUSED, NULL, NULL, "files are used by the calls of POSIX alone, not by those of one file system", 0, 0, 0}

static const char intro[] =
    "Measures how many files and directories a second can be created, stat'ed, read and\n"
    "removed. Without -C, -T, -E or -r all four are done; without -D or -F both kinds.\n"
    "Works in test-dir.* directories of its own below each DIR and removes only those.\n";

static void set_defaults(struct mdtest_config *config)
{
    memset(config, 0, sizeof *config);
    config->branch = config->iterations = config->stride = 1;
    config->seed = MDTEST_NOT_RANDOM;
    config->random_seed = -1;
    config->packet = "unique";
    config->api = "POSIX";
    config->directories = ".";
}

bool mdtest_config_read(struct mdtest_config *config, int argc, char **argv, struct opt_common *common, int *status)
{
    set_defaults(config);
    struct mdtest_config *c = config;
    const int64_t most = INT64_MAX;
    const struct opt options[] = {
        {'C', NULL, OPT_FLAG, &c->run[MDTEST_CREATE], NULL, "create phase", 0, 0, 0},
        {'T', NULL, OPT_FLAG, &c->run[MDTEST_STAT], NULL, "stat phase", 0, 0, 0},
        {'U', NULL, OPT_FLAG, &c->run[MDTEST_RENAME], NULL, "directory rename phase (not with -F)", 0, 0, 0},
        {'E', NULL, OPT_FLAG, &c->run[MDTEST_READ], NULL, "read phase (files: open, read, close)", 0, 0, 0},
        {'r', NULL, OPT_FLAG, &c->run[MDTEST_REMOVE], NULL, "remove phase", 0, 0, 0},
        {'D', NULL, OPT_FLAG, &c->directories_only, NULL, "directories only", 0, 0, 0},
        {'F', NULL, OPT_FLAG, &c->files_only, NULL, "files only", 0, 0, 0},
        {'n', NULL, OPT_SIZE, &c->items, "COUNT", "items per process (default 0: directories only)", 0, most, 0},
        {'I', NULL, OPT_SIZE, &c->items_per_dir, "COUNT", "items per process and directory of the tree; with -n too in COUNT/COUNT test directories", 1, most, 0},
        {'d', NULL, OPT_TEXT, &c->directories, "DIR[@DIR…]", "where to work, made if absent (default .); ranks take turns among several", 0, 0, 0},
        {'N', NULL, OPT_INT, &c->offset, "RANKS", "offset: each phase works on the names of the rank RANKS further on (default 0)", 0, INT32_MAX, 0},
        {'u', NULL, OPT_FLAG, &c->unique, NULL, "a directory tree for each process", 0, 0, 0},
        {'S', NULL, OPT_FLAG, &c->shared, NULL, "all processes work on the same COUNT files (needs -F)", 0, 0, 0},
        {'c', NULL, OPT_FLAG, &c->collective, NULL, "process 0 creates and removes everything, the others open", 0, 0, 0},
        {'b', NULL, OPT_INT, &c->branch, "COUNT", "branches of a directory of the tree (default 1)", 1, 1000000, 0},
        {'z', NULL, OPT_INT, &c->depth, "LEVELS", "depth of the tree (default 0)", 0, 200, 0},
        {'L', NULL, OPT_FLAG, &c->leaf_only, NULL, "items in the leaves of the tree only", 0, 0, 0},
        {'w', NULL, OPT_SIZE, &c->write_bytes, "BYTES", "written into each file at its creation (default 0)", 0, most, 0},
        {'e', NULL, OPT_SIZE, &c->read_bytes, "BYTES", "read from each file (default 0)", 0, most, 0},
        {'y', NULL, OPT_FLAG, &c->sync_each, NULL, "fsync each file after writing", 0, 0, 0},
        {'Y', NULL, OPT_FLAG, &c->sync_phase, NULL, "sync the node at the end of each phase, inside its time", 0, 0, 0},
        {'X', "verify-read", OPT_FLAG, &c->verify, NULL, "verify the data read (inside the time of the read phase)", 0, 0, 0},
        {0, "verify-write", OPT_FLAG, &c->verify_writes, NULL, "read back and verify what was written (inside the time of creation)", 0, 0, 0},
        {'k', NULL, OPT_FLAG, &c->make_nodes, NULL, "make files by mknod, without opening them", 0, 0, 0},
        {'G', NULL, OPT_INT, &c->signature, "NUMBER", "seed of the data (default 0)", 0, 0, 0},
        {0, "dataPacketType", OPT_TEXT, &c->packet, "KIND", "of data: unique (default), timestamp or offset", 0, 0, 0},
        {0, "posix.odirect", OPT_FLAG, &c->direct, NULL, "past the page cache (O_DIRECT)", 0, 0, 0},
        {'R', NULL, OPT_MAYBE_INT, &c->seed, "SEED", "stat and read in random order", 0, most, MDTEST_SEED_TO_CHOOSE},
        {0, "random-seed", OPT_INT, &c->random_seed, "SEED", "seed of -R", 0, most, 0},
        {'W', NULL, OPT_INT, &c->stonewall_s, "SECONDS", "stop file creation then; all go on to the largest count reached, the new COUNT", 1, 1000000000, 0},
        {'x', NULL, OPT_TEXT, &c->stonewall_file, "FILE", "keep the count of -W here for later runs without -C", 0, 0, 0},
        {'i', NULL, OPT_INT, &c->iterations, "COUNT", "iterations (default 1)", 1, 1000000, 0},
        {'p', NULL, OPT_INT, &c->pause_s, "SECONDS", "pause before each iteration", 0, 1000000, 0},
        {'t', NULL, OPT_FLAG, &c->time_unique, NULL, "count the trees of -u into the time of creation and removal", 0, 0, 0},
        {'B', NULL, OPT_FLAG, &c->no_barriers, NULL, "no barriers in the time of the phases", 0, 0, 0},
        {'f', NULL, OPT_INT, &c->first, "TASKS", "first number of tasks to test (default 1 with -l, else all)", 1, INT32_MAX, 0},
        {'l', NULL, OPT_INT, &c->last, "TASKS", "last number of tasks to test (default all)", 1, INT32_MAX, 0},
        {'s', NULL, OPT_INT, &c->stride, "TASKS", "step between the numbers of tasks (default 1)", 1, INT32_MAX, 0},
        {'P', NULL, OPT_FLAG, &c->print_rate_and_time, NULL, "print rates and times", 0, 0, 0},
        {'Z', NULL, OPT_FLAG, &c->print_time, NULL, "print times instead of rates", 0, 0, 0},
        {'v', NULL, OPT_COUNT, &c->verbosity, NULL, "print more: once each iteration, twice the spread over ranks", 0, 0, 0},
        {'V', NULL, OPT_INT, &c->verbosity, "LEVEL", "the same as LEVEL times -v", 0, 5, 0},
        {'a', NULL, OPT_TEXT, &c->api, "API", "how to access files: POSIX (default), or DUMMY: nothing is made or looked at", 0, 0, 0},
        {0, "saveRankPerformanceDetails", OPT_TEXT, &c->rank_file, "FILE", "write a CSV row for each process and phase", 0, 0, 0},
        {0, "latency", OPT_FLAG, &c->latency, NULL, "time each operation and print percentiles (costs clock readings)", 0, 0, 0},
        {0, "warningAsErrors", OPT_FLAG, &c->warnings_are_errors, NULL, "refuse options that have no effect, in place of a warning", 0, 0, 0},
        /* of mdtest 4 */
        {0, "print-all-procs", OPT_REFUSED, NULL, NULL, "--saveRankPerformanceDetails FILE has the numbers of all processes", 0, 0, 0},
        {0, "showRankStatistics", OPT_REFUSED, NULL, NULL, "-vv prints the spread over processes", 0, 0, 0},
        {0, "savePerOpDataCSV", OPT_REFUSED, NULL, NULL, "--latency has the percentiles of single operations", 0, 0, 0},
        {0, "run-cmd-before-phase", OPT_REFUSED, NULL, NULL, "run single phases (-C, -T, -E, -r) with the command in between", 0, 0, 0},
        {0, "run-cmd-after-phase", OPT_REFUSED, NULL, NULL, "run single phases (-C, -T, -E, -r) with the command in between", 0, 0, 0},
        {0, "allocateBufferOnGPU", OPT_REFUSED, NULL, NULL, "data lies in main memory", 0, 0, 0},
        {0, "GPUid", OPT_REFUSED, NULL, NULL, "data lies in main memory", 0, 0, 0},
        {0, "gpuDirect", OPT_REFUSED, NULL, NULL, "data lies in main memory", 0, 0, 0},
        {0, "posix.rangelocks", OPT_REFUSED, NULL, NULL, "each process has files of its own", 0, 0, 0},
        LAID_OUT('g', NULL), LAID_OUT(0, "posix.lustre.stripecount"), LAID_OUT(0, "posix.lustre.stripesize"),
        LAID_OUT(0, "posix.lustre.startost"), LAID_OUT(0, "posix.lustre.pool"), LAID_OUT(0, "posix.beegfs.NumTargets"),
        LAID_OUT(0, "posix.beegfs.ChunkSize"), VENDORS("posix.lustre.ignorelocks"), VENDORS("posix.gpfs.hintaccess"),
        VENDORS("posix.gpfs.releasetoken"), VENDORS("posix.gpfs.finegrainwritesharing"), VENDORS("posix.gpfs.finegrainreadsharing"),
        VENDORS("posix.gpfs.createsharing"), OF_API("aio.max-pending"), OF_API("aio.granularity"),
        OF_API("dummy.delay-create"), OF_API("dummy.delay-close"), OF_API("dummy.delay-sync"), OF_API("dummy.delay-xfer"),
        OF_API("dummy.delay-only-rank0"), OF_API("hdf5.showHints"), OF_API("hdf5.collectiveMetadata"),
        OF_API("hdf5.individualDataSets"), OF_API("hdf5.noFill"), OF_API("hdf5.chunkSize"), OF_API("hdf5.hintsFileName"),
        OF_API("hdf5.setAlignment"), OF_API("mpiio.showHints"), OF_API("mpiio.preallocate"), OF_API("mpiio.useStridedDatatype"),
        OF_API("mpiio.useFileView"), OF_API("mpiio.hintsFileName"), OF_API("mmap.madv_dont_need"), OF_API("mmap.madv_pattern"),
    };
    const struct opt_applet applet = {"mdtest", "-n COUNT [options]", intro, options, sizeof options / sizeof options[0]};
    return opt_parse(&applet, argc, argv, common, status);
}

/* Cuts -d at the @ and drops slashes at the ends. */
static int split_roots(struct mdtest_config *config)
{
    char *rest = config->roots_text = strdup(config->directories), *root;
    while ((root = strsep(&rest, "@")) != NULL) {
        size_t length = strlen(root);
        if (length == 0)
            return usage_error("-d '%s' holds an empty directory name", config->directories);
        while (length > 1 && root[length - 1] == '/')
            root[--length] = '\0';
        if (config->root_count == MDTEST_MOST_ROOTS)
            return usage_error("-d '%s' holds more than %d directories", config->directories, MDTEST_MOST_ROOTS);
        config->roots[config->root_count++] = root;
    }
    return EXIT_CODE_OK;
}

static bool is_same(const struct stat *directory, const char *path)
{
    struct stat other;
    return path != NULL && stat(path, &other) == 0 && other.st_dev == directory->st_dev && other.st_ino == directory->st_ino;
}

/* Is it the root of the file system or a home directory, by whatever path or mount? */
static int check_root(const char *root)
{
    struct stat directory;
    if (stat(root, &directory) != 0)
        return EXIT_CODE_OK; /* absent yet */
    const struct passwd *user = getpwuid(getuid());
    const char *homes[] = {getenv("HOME"), user == NULL ? NULL : user->pw_dir};
    if (is_same(&directory, "/"))
        return usage_error("-d '%s' is the root directory: name a directory for the test (-d /scratch/…)", root);
    for (int i = 0; i < 2; i++)
        if (is_same(&directory, homes[i]))
            return usage_error("-d '%s' is the home directory '%s': name a directory for the test (-d /scratch/…)", root,
                               homes[i]);
    return EXIT_CODE_OK;
}

/* Rank 0 asks the file system for all. */
static int check_roots(const struct mdtest_config *config)
{
    int status = EXIT_CODE_OK, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 0 && status == EXIT_CODE_OK && i < config->root_count; i++)
        status = check_root(config->roots[i]);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return status;
}

static int check_data(struct mdtest_config *config)
{
    static const struct {
        const char *name;
        enum pattern_kind kind;
    } kinds[] = {
        {"unique", PATTERN_UNIQUE},       {"incompressible", PATTERN_UNIQUE}, {"random", PATTERN_UNIQUE},
        {"timestamp", PATTERN_TIMESTAMP}, {"offset", PATTERN_OFFSET},
    };
    const char *packet = config->packet;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcasecmp(packet, kinds[i].name) == 0 || (packet[1] == '\0' && packet[0] == kinds[i].name[0])) {
            config->data = kinds[i].kind;
            return EXIT_CODE_OK;
        }
    return usage_error("--dataPacketType '%s' is not one of unique (u, also i and r), timestamp (t), offset (o)", packet);
}

static int check_conflicts(const struct mdtest_config *c)
{
    if (strcasecmp(c->api, "POSIX") != 0 && !c->no_storage)
        return usage_error("option -a: '%s' is not POSIX or DUMMY", c->api);
    if (c->items > 0 && c->items_per_dir > 0 && c->unique)
        return usage_error("-n and -I exclude each other with -u: with -I the number of items follows from the tree");
    if (c->files_only && c->directories_only)
        return usage_error("-F and -D exclude each other: leave both out for files and directories");
    if (c->shared && !c->files_only)
        return usage_error("-S shares files, not directories: add -F");
    if (c->shared && c->unique)
        return usage_error("-S and -u exclude each other: the same files for all, or a directory for each");
    if (c->shared && c->collective)
        return usage_error("-S and -c exclude each other: with -S all processes create");
    if (c->shared && c->root_count > 1)
        return usage_error("-S needs one directory, -d names %d", c->root_count);
    if (c->direct && (c->write_bytes % DIRECT_BYTES != 0 || c->read_bytes % DIRECT_BYTES != 0))
        return usage_error("--posix.odirect needs -w and -e in multiples of %d bytes, or of what the storage wants", DIRECT_BYTES);
    if (c->make_nodes && (c->write_bytes > 0 || c->sync_each))
        return usage_error("-k makes files without opening them: leave out %s", c->write_bytes > 0 ? "-w" : "-y");
    if (c->seed >= 0 && c->random_seed >= 0)
        return usage_error("-R%" PRId64 " and --random-seed give the seed twice", c->seed);
    if (c->verify && c->read_bytes == 0)
        return usage_error("-X verifies what is read: add -e BYTES");
    if (c->run[MDTEST_CREATE] && c->run[MDTEST_READ] && c->read_bytes > c->write_bytes)
        return usage_error("-e %" PRId64 " reads more than -w %" PRId64 " writes", c->read_bytes, c->write_bytes);
    if (c->stonewall_s > 0 && (c->directories_only || !c->run[MDTEST_CREATE]))
        return usage_error("-W stops file creation: it needs -C and files");
    if (c->stonewall_s > 0 && (c->collective || c->no_barriers))
        return usage_error("-W and %s exclude each other", c->collective ? "-c" : "-B");
    if (c->first > 0 && c->last > 0 && c->first > c->last)
        return usage_error("-f %" PRId64 " is more than -l %" PRId64, c->first, c->last);
    return EXIT_CODE_OK;
}

/* Is there room for the longest name? */
static int check_lengths(const struct mdtest_config *config, const struct mdtest_tree *tree)
{
    char path[PATH_MAX];
    int tree_length = mdtest_tree_path(tree, tree->dirs - 1, config->unique ? INT_MAX : -1, path, sizeof path);
    for (int i = 0; i < config->root_count; i++) {
        /* the root, "/test-dir.I-N/", the tree, "file.mdtest.R.N" with numbers of 10 and 20 digits */
        if (tree_length < 0 || strlen(config->roots[i]) + 40 + (size_t)tree_length + 44 + sizeof MDTEST_RENAMED > PATH_MAX)
            return usage_error("-d '%.100s…' with -z %" PRId64 ": paths are longer than the system allows (%d)",
                               config->roots[i], config->depth, PATH_MAX);
    }
    return EXIT_CODE_OK;
}

int mdtest_config_check(struct mdtest_config *config, struct mdtest_tree *tree, int ranks)
{
    struct refusal why;
    bool any = false;
    for (int i = 0; i < MDTEST_OPERATIONS; i++)
        any = any || (config->run[i] && i != MDTEST_RENAME);
    for (int i = 0; i < MDTEST_OPERATIONS; i++)
        config->run[i] = config->run[i] || (!any && i != MDTEST_RENAME);
    config->no_storage = strcasecmp(config->api, "DUMMY") == 0;
    int status = split_roots(config);
    if (status == EXIT_CODE_OK)
        status = check_data(config);
    if (status == EXIT_CODE_OK)
        status = check_conflicts(config);
    if (status != EXIT_CODE_OK)
        return status;
    if (mdtest_tree_plan(tree, config->branch, config->depth, config->leaf_only, config->items, config->items_per_dir,
                         &why) != 0)
        return usage_error("%s", why.text);
    int64_t all;
    if (__builtin_mul_overflow(tree->items, ranks, &all))
        return usage_error("%" PRId64 " items on each of %d processes are beyond 64 bits", tree->items, ranks);
    if (config->seed == MDTEST_SEED_TO_CHOOSE && config->random_seed >= 0)
        config->seed = config->random_seed;
    if (config->first > ranks || config->last > ranks)
        return usage_error("-f or -l asks for more tasks than the %d that were started", ranks);
    if (config->last == 0) {
        config->last = ranks;
        config->first = config->first == 0 ? ranks : config->first;
    } else if (config->first == 0) {
        config->first = 1;
    }
    status = check_lengths(config, tree);
    return status == EXIT_CODE_OK ? check_roots(config) : status;
}

int mdtest_config_unused(struct mdtest_config *config, const char *unused[MDTEST_MOST_UNUSED])
{
    int count = 0;
    if (config->time_unique && !config->unique) { /* as in IO500's hard test: mdtest takes it and does nothing */
        unused[count++] = "-t has no effect: it counts the trees of -u, which is not given";
        config->time_unique = false;
    }
    if (config->run[MDTEST_RENAME] && config->files_only) {
        unused[count++] = "-U has no effect: it renames directories, of which -F makes none";
        config->run[MDTEST_RENAME] = false;
    }
    if (config->random_seed >= 0 && config->seed == MDTEST_NOT_RANDOM)
        unused[count++] = "--random-seed has no effect: it is of -R, which is not given";
    if (config->verify_writes && config->write_bytes == 0)
        unused[count++] = "--verify-write has no effect: nothing is written (-w)";
    if (config->make_nodes && config->directories_only)
        unused[count++] = "-k has no effect: -D makes no files";
    return count;
}

void mdtest_config_free(struct mdtest_config *config)
{
    free(config->roots_text);
}
