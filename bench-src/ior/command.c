/* ior_command: the command line, and the files that it names. */
#include "ior/command.h"

#include "common/die.h"
#include "ior/hints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char intro[] =
    "Measures the bandwidth of parallel writes and reads of files.\n"
    "\n"
    "A file is COUNT segments (-s), a segment is a block (-b) of each process, a block is\n"
    "moved in transfers (-t). API (-a) is one of\n"
    "  POSIX   pwrite and pread\n"
    "  MPIIO   MPI-IO, with -c collective\n"
    "  MMAP    copies to and from a mapping of the file\n"
    "  URING   io_uring, --queue-depth transfers at a time (POSIX AIO where the kernel has none)\n"
    "  AIO     POSIX AIO, --queue-depth transfers at a time\n"
    "  DUMMY   no storage at all (also: NULL)\n"
    "  HDF5    parallel HDF5, with -c collective, where it was there at the build\n"
    "A script (-f) has the settings' long names, which -O takes too, in any case; options of\n"
    "the command line are its defaults. -O alone takes stoneWallingWearOut=1 (all processes go\n"
    "on to the largest amount that one reached by -D), summaryFormat=JSON or CSV (on stdout\n"
    "instead of the text, or in the file that summaryFile=PATH names after it; both may be\n"
    "given) and more. The names stand in docs/ior.md.\n";

/* A file of hintsFileName. */
struct ior_hints_file {
    const char *path;
    char *text;
    struct store_hints hints;
};

static int take_script(void *data, const char *text, struct refusal *why)
{
    struct ior_command *command = data;
    if (command->script != NULL)
        return refuse(why, "'%s': one script can be run, '%s' was given before", text, command->script);
    command->script = text;
    return 0;
}

/* The content of a file of rank 0, on every rank: NULL after an error that was printed. */
static char *read_for_all(const char *path, const char *what)
{
    int rank;
    int64_t length = -1;
    char *text = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        size_t bytes = 0;
        FILE *file = fopen(path, "re");
        errno = file == NULL ? errno : 0;
        if (file != NULL) {
            if (getdelim(&text, &bytes, '\0', file) < 0 && !ferror(file))
                errno = 0; /* an empty file */
            fclose(file);
        }
        if (errno != 0)
            usage_error("cannot read the %s '%s': %s (%s)", what, path, strerror(errno), die_errno_name(errno));
        else
            length = text == NULL ? 0 : (int64_t)strlen(text);
    }
    MPI_Bcast(&length, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    char *copy = length < 0 ? NULL : die_alloc(sizeof(void *), (size_t)length + 1);
    if (copy != NULL && rank == 0)
        memcpy(copy, text == NULL ? "" : text, (size_t)length);
    free(text);
    if (copy != NULL)
        MPI_Bcast(copy, (int)length, MPI_CHAR, 0, MPI_COMM_WORLD);
    return copy;
}

static bool read_options(struct ior_command *command, int argc, char **argv, struct opt_common *common, int *status)
{
    struct opt options[IOR_CONFIG_OPTIONS + 1];
    struct opt_call directives = {ior_config_directives, &command->config}, script = {take_script, command};
    memset(command, 0, sizeof *command);
    ior_config_default(&command->config);
    size_t count = ior_config_options(&command->config, &directives, options);
    options[count++] = (struct opt){'f', NULL, OPT_CALL, &script, "SCRIPT", "run the tests of a script, whose defaults are the other options",
                                    0, 0, 0};
    const struct opt_applet applet = {"ior", "[options]", intro, options, count};
    bool go_on = opt_parse(&applet, argc, argv, common, status);
    ior_config_note_given(&command->config, common->given);
    return go_on;
}

/* Reads the hints of a test, or finds them at a test before it. */
static int plan_hints(struct ior_command *command, int test)
{
    struct ior_config *config = &command->tests.tests[test];
    struct ior_hints_file *own = &command->hints_files[test];
    struct refusal why;
    if (config->hints_file == NULL)
        return EXIT_CODE_OK;
    for (int i = 0; i < test; i++)
        if (command->hints_files[i].path != NULL && strcmp(command->hints_files[i].path, config->hints_file) == 0) {
            config->hints = &command->hints_files[i].hints;
            return EXIT_CODE_OK;
        }
    own->path = config->hints_file;
    own->text = read_for_all(own->path, "hints file");
    if (own->text == NULL)
        return EXIT_CODE_USAGE;
    if (ior_hints_parse(&own->hints, own->text, own->path, &why) != 0)
        return usage_error("%s%s", config->where, why.text);
    config->hints = &own->hints;
    return EXIT_CODE_OK;
}

/* The tests to run: those of the script, or the one of the command line. */
static int plan_tests(struct ior_command *command)
{
    struct refusal why;
    struct ior_script *tests = &command->tests;
    int ranks, status = EXIT_CODE_OK;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (command->script == NULL) {
        tests->tests = die_alloc(sizeof(void *), sizeof *tests->tests);
        tests->tests[0] = command->config;
        tests->count = 1;
    } else {
        command->script_text = read_for_all(command->script, "script");
        if (command->script_text == NULL)
            return EXIT_CODE_USAGE;
        if (ior_script_parse(tests, command->script_text, command->script, &command->config, &why) != 0)
            return usage_error("%s", why.text);
    }
    command->hints_files = die_alloc(sizeof(void *), (size_t)tests->count * sizeof *command->hints_files);
    for (int i = 0; i < tests->count && status == EXIT_CODE_OK; i++) {
        if (ior_config_check(&tests->tests[i], ranks, &why) != 0)
            status = usage_error("%s%s", tests->tests[i].where, why.text);
        if (status == EXIT_CODE_OK)
            status = plan_hints(command, i);
    }
    return status;
}

void ior_command_free(struct ior_command *command)
{
    for (int i = 0; command->hints_files != NULL && i < command->tests.count; i++) {
        ior_hints_free(&command->hints_files[i].hints);
        free(command->hints_files[i].text);
    }
    free(command->hints_files);
    ior_script_free(&command->tests);
    free(command->script_text);
    ior_config_free();
}

bool ior_command_read(struct ior_command *command, int argc, char **argv, struct opt_common *common, int *status)
{
    if (!read_options(command, argc, argv, common, status))
        return false;
    *status = plan_tests(command);
    return *status == EXIT_CODE_OK;
}
