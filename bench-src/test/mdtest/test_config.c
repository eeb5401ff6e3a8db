/* mdtest_config: options, and what they may not be together. */
#include "mdtest/config.h"
#include "test/check.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The words of a command line, cut at blanks, for one process. */
static int read_words(struct mdtest_config *config, const char *text)
{
    static char copy[256];
    static char *words[32];
    struct opt_common common;
    struct mdtest_tree tree;
    int count = 1, status = 0;
    snprintf(copy, sizeof copy, "-d /tmp/mdtest-config %s", text);
    words[0] = "mdtest";
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            words[count++] = word;
    if (mdtest_config_read(config, count, words, &common, &status))
        status = mdtest_config_check(config, &tree, 1);
    mdtest_config_free(config);
    return status;
}

static struct mdtest_config config_of(const char *text)
{
    struct mdtest_config config;
    CHECK_INT(read_words(&config, text), 0);
    return config;
}

/* Without the message. */
static void check_refused(const char *text)
{
    struct mdtest_config config;
    int told = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    int status = read_words(&config, text);
    dup2(told, STDERR_FILENO);
    close(told);
    close(nowhere);
    CHECK_INT(status, 2);
}

static void test_options_of_mdtest_4(void)
{
    CHECK_INT(config_of("-F -n 3 -R --random-seed=5").seed, 5);
    CHECK_INT(config_of("-F -n 3 -R").seed, MDTEST_SEED_TO_CHOOSE);
    CHECK_INT(config_of("-F -n 3 -R7").seed, 7);
    CHECK_INT(config_of("-F -n 3 -w 8 --verify-write").verify_writes, 1);
    CHECK_INT(config_of("-F -n 3 -k").make_nodes, 1);
    CHECK_INT(config_of("-F -n 3 -B=1").no_barriers, 1); /* 4.1 wants a value */
    CHECK_INT(config_of("-F -n 3 -B=0").no_barriers, 0);
    CHECK_INT(config_of("-F -n 3 --warningAsErrors").warnings_are_errors, 1);
    CHECK_INT(config_of("-F -n 3 --dataPacketType=o").data, PATTERN_OFFSET);
    CHECK_INT(config_of("-F -n 3 --dataPacketType timestamp").data, PATTERN_TIMESTAMP);
    CHECK_INT(config_of("-F -n 3 --dataPacketType=i").data, PATTERN_UNIQUE);
}

static void check_unused(const char *text, int expected)
{
    const char *unused[MDTEST_MOST_UNUSED];
    struct mdtest_config config = config_of(text);
    CHECK_INT(mdtest_config_unused(&config, unused), expected);
}

static void test_what_has_no_effect_is_named(void)
{
    check_unused("-F -n 3 -R --random-seed=5 -u -t -w 8 --verify-write", 0);
    check_unused("-F -n 3 -t -U --random-seed=5 --verify-write", 4);
    check_unused("-D -n 3 -k", 1);
}

static void test_contradictions_and_what_is_not_offered_are_refused(void)
{
    static const char *const wrong[] = {
        "-n 3 -F -k -w 8",          "-n 3 -F -k -y",           "-n 3 -R3 --random-seed=4",  "-n 3 --dataPacketType=x",
        "-n 3 --print-all-procs",   "-n 3 --showRankStatistics", "-n 3 --posix.rangelocks", "-n 3 --hdf5.noFill",
        "-n 3 --savePerOpDataCSV=x", "-n 3 --run-cmd-before-phase=x", "-n 3 --mpiio.useFileView", "-n 3 -g",
        "-n 3 --posix.lustre.stripecount=4", "-n 3 --posix.gpfs.hintaccess", "-n 3 --GPUid=1", "-n 3 --aio.granularity=1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        check_refused(wrong[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_options_of_mdtest_4();
    test_what_has_no_effect_is_named();
    test_contradictions_and_what_is_not_offered_are_refused();
    MPI_Finalize();
    return CHECK_REPORT();
}
