/* run: begin and end of an applet's run. */
#include "common/run.h"

#include "common/crowd.h"
#include "common/die.h"
#include "common/emit.h"
#include "common/faults.h"
#include "common/raw.h"
#include "common/timer.h"
#include "common/units.h"
#include "common/version.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int argc;
    char **argv;
} command;

void run_command_line(int argc, char **argv)
{
    command.argc = argc;
    command.argv = argv;
}

void run_print_command_line(void)
{
    emit_text("Command line used: %s", command.argv[0]);
    for (int i = 1; i < command.argc; i++) {
        emit_text(" '");
        for (const char *at = command.argv[i]; *at != '\0'; at++)
            emit_text(*at == '\'' ? "'\\''" : "%c", *at);
        emit_text("'");
    }
    emit_text("\n");
}

/* The executables of all ranks, hashed before anything is timed. */
struct binaries {
    char hex[SHA256_HEX_BYTES]; /* of rank 0's */
    int other_rank;             /* the lowest rank with another one, INT_MAX if there is none */
    char other_node[PLACE_NAME_BYTES], other_hex[SHA256_HEX_BYTES];
};

static void compare_binaries(const struct run *run, struct binaries *found)
{
    const struct place *place = &run->place;
    unsigned char own[SHA256_BYTES], first[SHA256_BYTES];
    memcpy(own, run->attest.binary, SHA256_BYTES);
    memcpy(first, own, SHA256_BYTES);
    MPI_Bcast(first, SHA256_BYTES, MPI_UNSIGNED_CHAR, 0, place->comm);
    sha256_hex(first, found->hex);
    int differs = memcmp(first, own, SHA256_BYTES) != 0 ? place->rank : INT_MAX;
    MPI_Allreduce(&differs, &found->other_rank, 1, MPI_INT, MPI_MIN, place->comm);
    if (found->other_rank == INT_MAX)
        return;
    MPI_Bcast(own, SHA256_BYTES, MPI_UNSIGNED_CHAR, found->other_rank, place->comm);
    sha256_hex(own, found->other_hex);
    place_node_name(place, found->other_rank, found->other_node);
}

/* First line of the MPI library's description. */
static void mpi_version(char text[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
}

static void emit_start(const struct run *run, const char *applet)
{
    const struct place *place = &run->place;
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    struct binaries binaries;
    compare_binaries(run, &binaries);
    bool agreed = binaries.other_rank == INT_MAX;
    mpi_version(mpi);
    double own_step_s = timer_step_s(), clock_step_s;
    MPI_Allreduce(&own_step_s, &clock_step_s, 1, MPI_DOUBLE, MPI_MAX, place->comm);
    emit_line("start");
    emit_int("format", 1);
    emit_string("program", "bench");
    emit_string("version", version_number);
    emit_string("applet", applet);
    emit_group("argv", '[');
    for (int i = 0; i < command.argc; i++)
        emit_string(NULL, command.argv[i]);
    emit_group_end(']');
    emit_string("binary_sha256", binaries.hex);
    emit_bool("binary_agreed", agreed);
    emit_string("compiler", version_compiler);
    emit_string("compiler_flags", version_flags);
    emit_string("mpi", mpi);
    emit_real("unix_time", timer_unix_s(), 6);
    emit_seconds("clock_step_s", clock_step_s);
    emit_int("processes", place->ranks);
    emit_int("nodes", place->nodes);
    emit_int("processes_per_node", place->ranks_per_node);
    emit_string("placement", place_order_name(place->order));
    place_emit_map(place);
    emit_string("job_id", getenv("SLURM_JOB_ID"));
    emit_string("step_id", getenv("SLURM_STEP_ID"));
    emit_line_end();
    attest_emit(&run->attest, place);
    if (!agreed)
        emit_warning("ranks run different executables: rank %d on %s has %s, rank 0 has %s", binaries.other_rank,
                     binaries.other_node, binaries.other_hex, binaries.hex);
}

/* Value of an environment variable of rank 0: *value is left alone where it is not set. */
static int expected_number(const char *name, int64_t *value)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0')
        return EXIT_CODE_OK;
    if (units_parse_int(text, UNITS_PLAIN, value) != 0 || *value < 1)
        return usage_error("environment variable %s: '%s' is not a whole number above 0", name, text);
    return EXIT_CODE_OK;
}

/* Compares what the driver asked of Slurm with what came to be. */
static int check_geometry(const struct place *place)
{
    int64_t nodes = 0, per_node = 0;
    int status = EXIT_CODE_OK;
    if (place->rank == 0) {
        status = expected_number("BENCH_EXPECT_NODES", &nodes);
        if (status == EXIT_CODE_OK)
            status = expected_number("BENCH_EXPECT_PPN", &per_node);
    }
    if (status == EXIT_CODE_OK && nodes != 0 && nodes != place->nodes) {
        faults_error("ranks are on %d nodes, BENCH_EXPECT_NODES asks for %" PRId64, place->nodes, nodes);
        status = EXIT_CODE_GEOMETRY;
    }
    if (status == EXIT_CODE_OK && per_node != 0 && per_node != place->ranks_per_node) {
        if (place->ranks_per_node == 0)
            faults_error("nodes have different numbers of ranks, BENCH_EXPECT_PPN asks for %" PRId64 " on each", per_node);
        else
            faults_error("nodes have %d ranks each, BENCH_EXPECT_PPN asks for %" PRId64, place->ranks_per_node, per_node);
        status = EXIT_CODE_GEOMETRY;
    }
    if (status == EXIT_CODE_OK && (nodes != 0 || per_node != 0) && place->order != PLACE_BLOCK) {
        faults_error("ranks are placed %s over the nodes, block placement (consecutive ranks share a node) is expected",
                     place_order_name(place->order));
        status = EXIT_CODE_GEOMETRY;
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, place->comm);
    return status;
}

int run_begin(struct run *run, const char *applet, const struct opt_common *common, const char *directory)
{
    memset(run, 0, sizeof *run);
    place_init(&run->place, MPI_COMM_WORLD);
    die_identify(applet, run->place.rank, run->place.node);
    int status = EXIT_CODE_OK;
    if (run->place.rank == 0 && common->json != NULL) {
        int error = emit_open(common->json);
        if (error != 0)
            status = usage_error("cannot write the JSON file '%s': %s (%s)", common->json, strerror(-error),
                                 die_errno_name(-error));
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, run->place.comm);
    if (status != EXIT_CODE_OK)
        return status;
    attest_look(&run->attest, &run->place, directory);
    crowd_sleeps_longer(false);
    emit_start(run, applet);
    raw_beside(timer_ns, raw_ns, &run->began_ns, &run->began_raw_ns);
    return check_geometry(&run->place);
}

/* Without fork, which some MPI libraries do not stand. Returns the exit status, -1 where it cannot be run. */
static int run_shell(const char *text, const char *argument)
{
    char *argv[] = {"sh", "-c", (char *)text, "sh", (char *)argument, NULL};
    pid_t child;
    int status;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ) != 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void run_between(const struct place *place, const char *ended)
{
    if (place->rank == 0) {
        const char *text = getenv("BENCH_BETWEEN_PHASES");
        int status = text == NULL || text[0] == '\0' ? 0 : run_shell(text, ended);
        if (status != 0)
            emit_warning("BENCH_BETWEEN_PHASES, run after '%s', ended with status %d", ended, status);
    }
}

/* The exit status after output that came, or came not, to where it should. */
static int check_output(int error, const char *what, int status)
{
    if (error == 0)
        return status;
    warn("cannot write the %s output: %s (%s)", what, strerror(-error), die_errno_name(-error));
    return status == EXIT_CODE_OK ? EXIT_CODE_FAILED : status;
}

/* The clock of the phases beside the kernel's, of the rank where they differ most. */
static void emit_clocks(const struct run *run)
{
    struct {
        double apart_s;
        int rank;
    } own, worst;
    uint64_t now_ns = 0, now_raw_ns = 0;
    raw_beside(timer_ns, raw_ns, &now_ns, &now_raw_ns);
    double clocks_s[2] = {timer_s(run->began_ns, now_ns), timer_s(run->began_raw_ns, now_raw_ns)};
    own.apart_s = clocks_s[0] > clocks_s[1] ? clocks_s[0] - clocks_s[1] : clocks_s[1] - clocks_s[0];
    own.rank = run->place.rank;
    MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, run->place.comm);
    MPI_Bcast(clocks_s, 2, MPI_DOUBLE, worst.rank, run->place.comm);
    emit_seconds("clock_s", clocks_s[0]);
    emit_seconds("kernel_clock_s", clocks_s[1]);
}

int run_end(struct run *run, int status)
{
    if (status == EXIT_CODE_OK && run->failed_operations > 0)
        status = EXIT_CODE_FAILED;
    status = check_output(emit_flush_text(), "text", status);
    emit_line("end");
    emit_string("status", status == EXIT_CODE_OK ? "ok" : "failed");
    emit_int("failed_operations", run->failed_operations);
    emit_int("exit_status", status);
    emit_real("unix_time", timer_unix_s(), 6);
    if (run->began_raw_ns != 0) {
        emit_clocks(run);
        attest_emit_later(&run->attest);
        attest_free(&run->attest);
    }
    emit_line_end();
    status = check_output(emit_close(), "JSON", status);
    MPI_Bcast(&status, 1, MPI_INT, 0, run->place.comm);
    return status;
}
