/* mbw_config: OSU's options, read and checked. */
#include "mbw_mr/config.h"
#include "test/check.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The words of a command line, cut at blanks, for 4 processes. */
static int read_words(struct mbw_config *config, const char *text)
{
    static char copy[256];
    static char *words[32];
    struct opt_common common;
    int count = 1, status = 0;
    snprintf(copy, sizeof copy, "%s", text);
    words[0] = "mbw_mr";
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL;)
        if (word[0] != '\0')
            words[count++] = word;
    return mbw_config_read(config, count, words, &common, &status) ? mbw_config_check(config, &common, 4) : status;
}

static struct mbw_config config_of(const char *text)
{
    struct mbw_config config;
    CHECK_INT(read_words(&config, text), 0);
    return config;
}

/* Without the message. */
static void check_refused(const char *text)
{
    struct mbw_config config;
    int told = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    int status = read_words(&config, text);
    dup2(told, STDERR_FILENO);
    close(told);
    close(nowhere);
    CHECK_INT(status, 2);
}

static void test_what_nobody_asked_for_is_the_default(void)
{
    struct mbw_config c = config_of("");
    CHECK_INT(c.pairs, 2);
    CHECK_INT(c.window, 64);
    CHECK_INT(c.size_min, 1);
    CHECK_INT(c.size_max, 4 << 20);
    CHECK_INT(c.print_rate, 1);
    CHECK_INT(c.each_window, 1);
    CHECK_INT(c.many_buffers || c.before_each > 0 || c.percentile_count > 0, 0);
    CHECK_TEXT(c.type_name, "MPI_CHAR");
    CHECK(c.unused == NULL);
}

static void test_options_of_osu(void)
{
    struct mbw_config c = config_of("-R 0 -b multiple --num-pairs 1 -c -u 3");
    CHECK_INT(c.print_rate, 0);
    CHECK_INT(c.many_buffers, 1);
    CHECK_INT(c.pairs, 1);
    CHECK_INT(c.before_each, 3);
    CHECK_INT(c.each_window, 1);
    CHECK_INT(config_of("-v").version, 1);
    c = config_of("-z");
    CHECK_INT(c.percentile_count, 3);
    CHECK_INT(c.percentiles[0], 50);
    CHECK_INT(c.percentiles[2], 99);
    c = config_of("--tail-lat=75,1,100");
    CHECK_INT(c.percentile_count, 3);
    CHECK_INT(c.percentiles[1], 1);
    c = config_of("-T mpi_int -m :1k");
    CHECK_TEXT(c.type_name, "MPI_INT");
    CHECK_INT(c.size_min, 4); /* smaller messages have no element */
    CHECK_INT(c.size_max, 1024);
    CHECK_INT(config_of("-m 2:").size_min, 2);
    CHECK_INT(config_of("-m 2:").size_max, 4 << 20);
}

static void test_what_has_no_effect_is_named(void)
{
    CHECK_TEXT(config_of("-u 3").unused, "option -u is not used: it is for the validation (-c)");
    CHECK_TEXT(config_of("-z -V").unused, "option -z is not used: the table of -V has no percentiles");
}

static void test_each_window_has_its_clock_except_in_a_sweep(void)
{
    CHECK_INT(config_of("--time-windows").each_window, 1);
    CHECK_INT(config_of("--one-clock").each_window, 0);
    CHECK_INT(config_of("--sweep-pairs").each_window, 0);
    CHECK_INT(config_of("--sweep-pairs --one-clock").each_window, 0);
    CHECK_INT(config_of("--sweep-pairs --time-windows").each_window, 1);
    CHECK_INT(config_of("--sweep-pairs -c -u 1").each_window, 1);
}

static void test_contradictions_and_what_is_not_offered_are_refused(void)
{
    static const char *const wrong[] = {
        "-R 2",    "-b both", "-u 11 -c", "-z 50",   "-z0",         "-z101",          "-z1,2,3,4,5,6", "-z50,",
        "-T all",  "-T int",  "-m 0:8",   "-m 8:4",  "-m 3 -T mpi_int", "-T mpi_float -m 6:24", "-V -W 4", "-V --sweep-pairs",
        "--one-clock --time-windows", "--one-clock -c -u 1",
        "-p 3",    "-R 0 --sweep-pairs",  "-z --sweep-pairs", "-G tty", "-D cont", "-P x", "-I", "-d cuda", "-M 1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        check_refused(wrong[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    test_what_nobody_asked_for_is_the_default();
    test_options_of_osu();
    test_what_has_no_effect_is_named();
    test_each_window_has_its_clock_except_in_a_sweep();
    test_contradictions_and_what_is_not_offered_are_refused();
    MPI_Finalize();
    return CHECK_REPORT();
}
