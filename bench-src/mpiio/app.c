/* mpiio: bandwidth (MiB/s) of storage that many processes write to, or read from, at the same time, where the work is
 * distributed in chunks so that a slow process does not decide how long all take; --static splits it equally instead.
 *
 * Every process has its own file, FILE.00000, FILE.00001 … The clock runs on each process from a barrier to the end of
 * its last transfer, fsync and close included; bandwidth is all bytes over the slowest process's time. Removing files
 * of an earlier run, finding out what is cached, verifying and unlinking are outside. */
#include "common/die.h"
#include "common/elsewhere.h"
#include "common/emit.h"
#include "common/opt.h"
#include "common/rescue.h"
#include "common/scratch.h"
#include "common/units.h"
#include "mpiio/phase.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DIRECT_BYTES = 4096 };

struct texts {
    const char *api, *slow;
};

static const char intro[] =
    "Measures the bandwidth of storage that many processes use at once. The work is handed out\n"
    "in chunks, so that slow processes do less of it instead of making all wait; --static splits\n"
    "it equally. Every process has its own file, FILE.00000, FILE.00001 and so on, which stays.\n"
    "Sizes: k m g t p e are powers of 1000, K M G T P E of 1024.\n";

static bool read_options(struct mpiio_config *c, struct texts *texts, int argc, char **argv, struct opt_common *common,
                         int *status)
{
    const int64_t most = (int64_t)1 << 61;
    const struct opt options[] = {
        {'b', NULL, OPT_SIZE_MIXED, &c->block_bytes, "BYTES", "block size: bytes of one request (default 1M)", 1, 1 << 30, 0},
        {'r', NULL, OPT_SIZE_MIXED, &c->outstanding, "COUNT", "most outstanding requests of a process (default 4)", 1, 65536, 0},
        {'c', NULL, OPT_SIZE_MIXED, &c->chunk_bytes, "BYTES", "chunk size: bytes handed out at a time (default 100M)", 1, most, 0},
        {'s', NULL, OPT_SIZE_MIXED, &c->total_bytes, "BYTES", "bytes to write, of all processes (default 1G)", 1, most, 0},
        {'f', NULL, OPT_TEXT, &c->base, "FILE", "file name, to which .00000 … is added (default testmpiio)", 0, 0, 0},
        {'a', "api", OPT_TEXT, &texts->api, "NAME", "URING (default), AIO, POSIX or DUMMY (no storage)", 0, 0, 0},
        {0, "static", OPT_FLAG, &c->split, NULL, "the same share for every process, handed out at the start", 0, 0, 0},
        {0, "read", OPT_FLAG, &c->read, NULL, "read the files back afterwards, each by other processes first", 0, 0, 0},
        {0, "no-write", OPT_FLAG, &c->no_write, NULL, "with --read: read the files that an earlier run left", 0, 0, 0},
        {0, "verify", OPT_FLAG, &c->verify, NULL, "check the files' content at the end, outside the clock", 0, 0, 0},
        {0, "fsync", OPT_FLAG, &c->fsync, NULL, "fsync each file after its last write, inside the clock", 0, 0, 0},
        {0, "unlink", OPT_FLAG, &c->unlink, NULL, "remove the files at the end", 0, 0, 0},
        {0, "direct", OPT_FLAG, &c->direct, NULL, "past the page cache (O_DIRECT)", 0, 0, 0},
        {0, "interval", OPT_REAL, &c->interval_s, "SECONDS", "timeline in the JSON: length of an interval, doubled when room runs out (default 0.1)", 0, 0, 0},
        {0, "slow", OPT_TEXT, &texts->slow, "RANK:FACTOR,…", "for tests: these processes take FACTOR times as long", 0, 0, 0},
        {0, "pace", OPT_SIZE_MIXED, &c->pace, "BYTES", "for tests: a process moves no more than BYTES a second, a slow one BYTES / FACTOR", 1, most, 0},
    };
    const struct opt_applet applet = {"mpiio", "[options]", intro, options, sizeof options / sizeof options[0]};
    return opt_parse(&applet, argc, argv, common, status);
}

/* "3:4,7:1.5": sets the factor of this rank. */
static int read_slow(struct mpiio_config *config, const char *text, int rank, int ranks)
{
    config->slow = 1;
    for (const char *at = text; at != NULL && *at != '\0';) {
        char who[32], factor_text[32];
        int used = 0;
        int64_t slow_rank;
        double factor;
        if (sscanf(at, "%31[^:,]:%31[^,]%n", who, factor_text, &used) != 2 || (at[used] != ',' && at[used] != '\0') ||
            units_parse_int(who, UNITS_PLAIN, &slow_rank) != 0 || units_parse_real(factor_text, &factor) != 0)
            return usage_error("option --slow: '%s' is not a list of RANK:FACTOR", text);
        if (slow_rank < 0 || slow_rank >= ranks)
            return usage_error("option --slow: there is no rank %" PRId64 ", only 0 to %d", slow_rank, ranks - 1);
        if (!(factor >= 1 && factor <= 1000000))
            return usage_error("option --slow: factor '%s' is out of range: 1 to 1000000 is allowed", factor_text);
        if (slow_rank == rank)
            config->slow = factor;
        at += used + (at[used] == ',');
    }
    return EXIT_CODE_OK;
}

static int find_store(struct mpiio_config *config, const char *name)
{
    const struct store *store = store_find(name);
    if (store == NULL || store == &store_mpiio || store->needs_length)
        return usage_error("option -a: '%s' is not URING, AIO, POSIX or DUMMY", name);
    config->store = store;
    return EXIT_CODE_OK;
}

static int check_config(struct mpiio_config *config)
{
    const struct {
        const char *option;
        int64_t bytes;
    } sizes[] = {{"-b", config->block_bytes}, {"-c", config->chunk_bytes}, {"-s", config->total_bytes}};
    if (config->no_write && !config->read)
        return usage_error("option --no-write leaves nothing to do: add --read");
    if (config->no_write && config->unlink)
        return usage_error("option --unlink removes what this run wrote, which with --no-write is nothing");
    if (config->verify && (config->no_write || !config->store->keeps_bytes))
        return usage_error("option --verify needs files that this run wrote");
    if (!(config->interval_s >= 1e-6 && config->interval_s <= 1e6))
        return usage_error("option --interval: %g is out of range: 0.000001 to 1000000 seconds are allowed",
                           config->interval_s);
    for (size_t i = 0; config->direct && i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].bytes % DIRECT_BYTES != 0)
            return usage_error("option %s: %" PRId64 " is not a multiple of %d, as --direct needs", sizes[i].option,
                               sizes[i].bytes, DIRECT_BYTES);
    if (strlen(config->base) > PATH_MAX - 32)
        return usage_error("option -f: the file name is too long");
    return EXIT_CODE_OK;
}

/* Collective: where a node cannot do what the back end needs, all take the next best. */
static int probe_store(struct mpiio_config *config, const struct place *place)
{
    while (config->store->probe != NULL) {
        struct {
            int error, rank;
        } own = {-config->store->probe(), place->rank}, worst;
        MPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MAXLOC, place->comm);
        if (worst.error == 0)
            return EXIT_CODE_OK;
        const struct store *next = config->store->fallback == NULL ? NULL : store_find(config->store->fallback);
        if (next == NULL) {
            faults_error("%s does not work on rank %d: %s (%s)", config->store->name, worst.rank, strerror(worst.error),
                         die_errno_name(worst.error));
            return EXIT_CODE_FAILED;
        }
        emit_warning("%s does not work on rank %d: %s (%s); using %s", config->store->name, worst.rank,
                     strerror(worst.error), die_errno_name(worst.error), next->name);
        config->store = next;
    }
    return EXIT_CODE_OK;
}

static void own_path(const struct mpiio_test *test, char path[PATH_MAX])
{
    mpiio_path(test->config->base, test->run->place.rank, path);
}

static void remove_own_file(struct mpiio_test *test, bool must_exist)
{
    char path[PATH_MAX];
    own_path(test, path);
    int error = -test->config->store->remove(path);
    if (error != 0 && (must_exist || error != ENOENT))
        faults_add(&test->faults, "unlink", path, error, NULL);
}

/* Collective: makes way for the files to be written. Only a regular file is removed, and not without a word. */
static void remove_existing(struct mpiio_test *test)
{
    const struct place *place = &test->run->place;
    char path[PATH_MAX];
    struct stat status;
    int64_t existing = 0;
    own_path(test, path);
    if (test->config->store->keeps_bytes && lstat(path, &status) == 0) {
        existing = 1;
        if (S_ISREG(status.st_mode))
            remove_own_file(test, false);
        else
            faults_add(&test->faults, "unlink", path, 0, "it is no regular file: choose another name (-f)");
    }
    MPI_Allreduce(MPI_IN_PLACE, &existing, 1, MPI_INT64_T, MPI_SUM, place->comm);
    if (existing > 0)
        emit_warning("%" PRId64 " files '%s.00000' … that an earlier run left are replaced", existing, test->config->base);
}

/* The size of the file that an earlier run left. */
static void find_own_file(struct mpiio_test *test)
{
    char path[PATH_MAX];
    struct stat found;
    own_path(test, path);
    if (stat(path, &found) != 0)
        faults_add(&test->faults, "stat", path, errno, "--no-write reads one file for each process");
    else
        test->own_file_bytes = found.st_size;
}

/* Collective: everything that was asked for. False where something failed. */
static bool run_phases(struct mpiio_test *test)
{
    const struct mpiio_config *config = test->config;
    if (config->no_write)
        find_own_file(test);
    else
        remove_existing(test);
    int64_t bytes = config->no_write ? test->own_file_bytes : 1;
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, test->run->place.comm);
    if (mpiio_failed(test))
        return false;
    if (bytes == 0) {
        faults_error("files '%s.00000' … are empty: there is nothing to read", config->base);
        return false;
    }
    test->writes = !config->no_write;
    if (config->unlink && config->store->keeps_bytes)
        scratch_watch_files(config->base, &test->run->place);
    if (test->writes && !mpiio_phase(test, true))
        return false;
    if (config->read && !mpiio_phase(test, false))
        return false;
    return !config->verify || mpiio_verify(test);
}

static int run_test(struct mpiio_config *config, struct run *run)
{
    struct mpiio_test test = {.config = config, .run = run, .seed = (uint64_t)time(NULL)};
    const struct place *place = &run->place;
    int status = probe_store(config, place);
    if (status != EXIT_CODE_OK)
        return status;
    if (config->store->submit == NULL)
        config->outstanding = 1; /* it has no more under way, and should not say so */
    MPI_Bcast(&test.seed, sizeof test.seed, MPI_BYTE, 0, place->comm);
    elsewhere_find(place, 1, &test.first);
    pattern_init(&test.pattern, PATTERN_UNIQUE, (config->block_bytes + 7) / 8 * 8, 2 * (int)config->outstanding);
    if (!config->no_write)
        pattern_prepare(&test.pattern, test.seed, place->rank);
    bool right = run_phases(&test);
    MPI_Barrier(place->comm); /* no rank removes files that another still reads */
    if (test.writes && (config->unlink || !right))
        remove_own_file(&test, right && config->store->keeps_bytes);
    mpiio_failed(&test);
    rescue_disarm();
    pattern_free(&test.pattern);
    return right ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

int app_mpiio(int argc, char **argv)
{
    struct mpiio_config config = {.block_bytes = 1 << 20, .outstanding = 4, .chunk_bytes = 100 << 20,
                                  .total_bytes = 1 << 30, .base = "testmpiio", .interval_s = 0.1};
    struct texts texts = {.api = "URING"};
    struct opt_common common;
    struct run run;
    int status, rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!read_options(&config, &texts, argc, argv, &common, &status))
        return status;
    status = find_store(&config, texts.api);
    if (status == EXIT_CODE_OK)
        status = read_slow(&config, texts.slow, rank, ranks);
    if (status == EXIT_CODE_OK)
        status = check_config(&config);
    if (status != EXIT_CODE_OK)
        return status;
    status = run_begin(&run, "mpiio", &common, config.base);
    if (status == EXIT_CODE_OK)
        status = run_test(&config, &run);
    return run_end(&run, status);
}
