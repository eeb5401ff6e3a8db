/* Description: the words of nfstest's command line, and the file sizes that follow from them. */
#include "nfstest/plan.h"
#include "test/check.h"

#include <stdlib.h>

static struct nfstest_config config;
static struct refusal why;

/* Reads words parted by blanks, for so many processes. */
static int read_words(const char *text, int ranks)
{
    static char copy[512];
    char *words[64];
    int count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    why.text[0] = '\0';
    return nfstest_read_words(&config, count, words, ranks, &why);
}

static void refuses(const char *text, const char *expected)
{
    CHECK_INT(read_words(text, 4), -1);
    CHECK_TEXT(why.text, expected);
}

static void sizes_are(const char *text, const char *expected)
{
    char found[256] = "";
    CHECK_INT(read_words(text, 4), 0);
    for (int64_t size = config.min; size != 0; size = nfstest_next_size(&config, size))
        snprintf(found + strlen(found), sizeof found - strlen(found), "%" PRId64 " ", size);
    CHECK_TEXT(found, expected);
}

static void the_example_of_the_test_description_is_read(void)
{
    CHECK_INT(read_words("n3 uK m256 M1024 b256 K2 f/home/tmp onfstest.res d1 c1 v1 R3", 4), 0);
    CHECK_INT(config.files, 3);
    CHECK_INT(config.unit_bytes, 1024);
    CHECK_TEXT(config.unit_name, "Kb");
    CHECK_INT(config.min, 256);
    CHECK_INT(config.max, 1024);
    CHECK_INT(config.buffer, 256);
    CHECK_INT(config.factor, 2);
    CHECK_INT(config.repeats, 3);
    CHECK_TEXT(config.folder, "/home/tmp");
    CHECK_TEXT(config.output, "nfstest.res");
    CHECK(config.direct && config.check && config.verbose);
    CHECK_INT(nfstest_total(&config, 256, 4), 3072);
}

static void what_is_not_given_has_a_default(void)
{
    CHECK_INT(read_words("", 6), 0);
    CHECK_INT(config.files, 6);
    CHECK_INT(config.unit_bytes, 1024);
    CHECK_INT(config.min, 1024);
    CHECK_INT(config.max, 1024);
    CHECK_INT(config.buffer, 0);
    CHECK_INT(config.repeats, 1);
    CHECK_TEXT(config.folder, ".");
    CHECK(config.output == NULL && !config.direct && !config.check && !config.verbose);
    CHECK_INT(read_words("uM M8", 6), 0);
    CHECK_INT(config.min, 8);
    CHECK_INT(read_words("ub m8", 6), 0);
    CHECK_INT(config.max, 8);
    CHECK_INT(config.unit_bytes, 1);
}

static void sizes_grow_by_the_factor_or_by_the_step(void)
{
    sizes_are("m256 M1024 K2", "256 512 1024 ");
    sizes_are("m3 M100 K10", "3 30 ");
    sizes_are("m1 M10 s4", "1 5 9 ");
    sizes_are("m1 M10 s4 K3", "1 3 9 ");
    sizes_are("m5 M20", "5 10 20 ");
    sizes_are("m5", "5 ");
}

static void the_quota_leaves_out_what_does_not_fit(void)
{
    sizes_are("n3 m1 M8 S24", "1 2 ");
    sizes_are("n3 m1 M8 S96", "1 2 4 8 ");
    refuses("n3 m4 M8 S47", "quota S47 is below what the smallest files need: 48Kb");
}

static void mistakes_are_named(void)
{
    refuses("x5", "unknown parameter 'x5'");
    refuses("n", "parameter n needs its number in the same word, as in n3");
    refuses("n0", "parameter n: '0' is not a whole number from 1 to 1073741824");
    refuses("m12q", "parameter m: '12q' is not a whole number from 1 to 9223372036854775807");
    refuses("d2", "parameter d: '2' is not a whole number from 0 to 1");
    refuses("K1", "parameter K: '1' is not a whole number from 2 to 9223372036854775807");
    refuses("uG", "parameter u: 'G' is not b, K or M");
    refuses("f", "parameter f needs its value in the same word, as in f/scratch");
    refuses("m1 m2", "parameter m is given twice: 'm2' is the second");
    refuses("fa fb", "parameter f is given twice: 'fb' is the second");
    refuses("m9 M8", "smallest file size m9 is above the largest M8");
    refuses("m9223372036854775807", "all files together are beyond 64 bits: M9223372036854775807 n4 with 4 processes");
    refuses("m1 M100000 s1", "more than 10000 file sizes from 1 to 100000Kb: use a larger step");
}

int main(void)
{
    the_example_of_the_test_description_is_read();
    what_is_not_given_has_a_default();
    sizes_grow_by_the_factor_or_by_the_step();
    the_quota_leaves_out_what_does_not_fit();
    mistakes_are_named();
    return CHECK_REPORT();
}
