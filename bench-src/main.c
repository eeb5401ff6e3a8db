/* main: applet table, MPI start and end. An applet is called by the name of the program (a link) or as `bench NAME`, in
 * upper case too: IOR's manual calls ./IOR. */
#include "common/crowd.h"
#include "common/die.h"
#include "common/emit.h"
#include "common/run.h"
#include "common/version.h"

#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define APPLET(name, threads, summary) int app_##name(int argc, char **argv);
#include "applets.def"
#undef APPLET

static const struct applet {
    const char *name;
    int threads;
    const char *summary;
    int (*run)(int argc, char **argv);
} applets[] = {
#define APPLET(name, threads, summary) {#name, threads, summary, app_##name},
#include "applets.def"
#undef APPLET
};

static const struct applet *find_applet(const char *name)
{
    for (size_t i = 0; i < sizeof applets / sizeof applets[0]; i++)
        if (strcasecmp(applets[i].name, name) == 0)
            return &applets[i];
    return NULL;
}

static int print_help(void)
{
    emit_text("usage: bench APPLET [options]     (or call a link named after the applet)\n"
              "       bench APPLET -h | --help | --version\n\napplets:\n");
    for (size_t i = 0; i < sizeof applets / sizeof applets[0]; i++)
        emit_text("  %-12s %s\n", applets[i].name, applets[i].summary);
    return EXIT_CODE_OK;
}

static int print_version(void)
{
    emit_text("bench %s\ncompiler: %s\nflags: %s\n", version_number, version_compiler, version_flags);
    return EXIT_CODE_OK;
}

/* Do all ranks have the same arguments? If not, some would wait for ever for the others. The path of the program may
 * differ (/tmp/1/mdtest, /tmp/2/mdtest), its name may not. */
static bool same_arguments(const char *name, int argc, char **argv)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (int i = 0; i < argc; i++) {
        const char *text = i == 0 ? name : argv[i];
        for (size_t at = 0; at <= strlen(text); at++)
            hash = (hash ^ (unsigned char)text[at]) * 0x100000001b3u;
    }
    uint64_t own[2] = {hash, ~hash}, most[2];
    MPI_Allreduce(own, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == ~most[1];
}

static int dispatch(const struct applet *applet, const char *name, int argc, char **argv)
{
    if (applet != NULL) {
        argv[0] = (char *)applet->name;
        return applet->run(argc, argv);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_help();
    if (strcmp(name, "--version") == 0)
        return print_version();
    if (name[0] == '\0')
        return usage_error("no applet named (bench --help lists them)");
    return usage_error("unknown applet '%s' (bench --help lists them)", name);
}

static void end_ranks(int status)
{
    int started = 0, ended = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (started && !ended)
        MPI_Abort(MPI_COMM_WORLD, status);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash == NULL ? argv[0] : slash + 1;
    char *as_executed[argc];
    memcpy(as_executed, argv, (size_t)argc * sizeof argv[0]);
    run_command_line(argc, as_executed);
    const struct applet *applet = find_applet(name);
    if (applet == NULL) {
        name = argc > 1 ? argv[1] : "";
        applet = find_applet(name);
        if (applet != NULL) {
            argc--;
            argv++;
        }
    }

    /* A file that may not become that long is an error of its write (EFBIG), and not the end of the process. */
    signal(SIGXFSZ, SIG_IGN);
    int wanted = applet != NULL ? applet->threads : MPI_THREAD_SINGLE, provided, rank;
    crowd_sleeps_longer(true); /* run_begin ends it */
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    emit_init(rank == 0);
    die_identify(applet != NULL ? applet->name : "bench", rank, "");
    die_together(end_ranks);

    int status;
    if (!same_arguments(name, argc, argv))
        status = usage_error("ranks were started with different command lines: give all of them the same");
    else if (provided < wanted)
        status = usage_error("MPI library gives thread level %d, %s needs %d", provided, name, wanted);
    else
        status = dispatch(applet, name, argc, argv);
    if (emit_flush_text() != 0 && status == EXIT_CODE_OK) {
        warn("cannot write the text output");
        status = EXIT_CODE_FAILED;
    }
    crowd_sleeps_longer(true);
    MPI_Finalize();
    return status;
}
