/* Blocks of the same number of ranks on each node, or of one more on the first; ranks as facts. */
#include "common/emit.h"
#include "test/check.h"
#include "witness/gather.h"

#include <stdlib.h>
#include <unistd.h>

#define PLACED(expected, phase, nodes, per_node, ...)                                                             \
    do {                                                                                                          \
        char *ranks[] = {__VA_ARGS__};                                                                            \
        gather_sort(ranks, sizeof ranks / sizeof *ranks);                                                         \
        CHECK_INT(gather_placed(ranks, sizeof ranks / sizeof *ranks, phase, nodes, per_node), expected);          \
    } while (0)

static void parts(void)
{
    char whole[] = "3\t0\tname\t.\tn4", more[] = "3\t12\tname\t+\ta\tb", odd[] = "3\t0\tname\t!\tn4", few[] = "3\t0\tname\t.";
    struct told told;
    CHECK(gather_parse(whole, &told) && told.ends);
    CHECK_INT(told.node, 3);
    CHECK_TEXT(told.name, "name");
    CHECK_TEXT(told.piece, "n4");
    CHECK(gather_parse(more, &told) && !told.ends);
    CHECK_INT(told.run, 12);
    CHECK_TEXT(told.piece, "a\tb");
    CHECK(!gather_parse(odd, &told));
    CHECK(!gather_parse(few, &told));
}

/* The lines that the ranks of a phase become, but for the first one, the format. */
#define EMITTED(expected, phase_name, ...)                                                                        \
    do {                                                                                                          \
        char *ranks[] = {__VA_ARGS__}, folder[] = "/tmp/test_gather.XXXXXX";                                      \
        gather_sort(ranks, sizeof ranks / sizeof *ranks);                                                         \
        CHECK(mkdtemp(folder) != NULL && facts_open(folder, true) == 0);                                          \
        gather_emit_ranks(ranks, sizeof ranks / sizeof *ranks, phase_name, (struct fact){.name = "executed"});    \
        check_facts(__LINE__, folder, expected);                                                                  \
    } while (0)

static void check_facts(int line, const char *folder, const char *expected)
{
    char *path = text_of("%s/facts.jsonl.new", folder);
    struct text facts = {0};
    check_int(__FILE__, line, "facts_close", facts_close(false), 0);
    text_file(&facts, path);
    check_text(__FILE__, line, "the facts", strchr(facts.bytes, '\n') + 1, expected);
    text_free(&facts);
    unlink(path);
    rmdir(folder);
    free(path);
}

#define FACT(node, rank, value) \
    "{\"node\": \"" node "\", \"rank\": \"" rank "\", \"name\": \"executed\", \"value\": " value "}\n"

static void facts_of_ranks(void)
{
    EMITTED(FACT("n1", "0", "\"aa\""), "", "0 n1 aa");
    EMITTED(FACT("n1", "0-2", "\"aa\""), "", "2 n1 aa", "0 n1 aa", "1 n1 aa");
    EMITTED(FACT("n1", "0-1", "\"aa\"") FACT("n2", "2-3", "\"aa\""), "", "0 n1 aa", "1 n1 aa", "2 n2 aa", "3 n2 aa");
    EMITTED(FACT("n1", "0", "\"aa\"") FACT("n1", "1", "\"bb\""), "", "0 n1 aa", "1 n1 bb");
    EMITTED(FACT("n1", "0", "\"aa\"") FACT("n1", "2", "\"aa\""), "", "0 n1 aa", "2 n1 aa"); /* rank 1 was not seen */
    EMITTED(FACT("n1", "9-10", "\"aa\""), "", "10 n1 aa", "9 n1 aa");
    EMITTED(FACT("n1", "0-1", "null"), "", "0 n1", "1 n1");
    EMITTED(FACT("n1", "0-1", "\"aa\""), "read", "0 n1 aa write", "0 n1 aa read", "1 n1 aa write", "1 n1 aa read", "2 n1 aa");
    EMITTED("", "read", "0 n1 aa write", "1 n1 aa");
    EMITTED("", "", "5");
}

int main(void)
{
    emit_init(true);
    parts();
    facts_of_ranks();
    PLACED(PLACED_EVENLY, "", 1, "1", "0 n1 aa");
    PLACED(PLACED_EVENLY, "", 2, "2", "3 n2 aa", "0 n1 aa", "1 n1 aa", "2 n2 aa");
    PLACED(PLACED_EVENLY, "", 2, "1", "0 n1", "1 n10");
    PLACED(PLACED_EVENLY, "", 2, "1+1", "0 n1", "1 n1", "2 n2");
    PLACED(PLACED_OTHERWISE, "", 2, "1+1", "0 n1", "1 n2", "2 n2");
    PLACED(PLACED_IN_PART, "", 2, "1+1", "0 n1", "1 n1");
    PLACED(PLACED_OTHERWISE, "", 2, "2", "0 n1 aa", "1 n2 aa", "2 n1 aa", "3 n2 aa");
    PLACED(PLACED_OTHERWISE, "", 2, "2", "0 n1 aa", "1 n1 aa", "2 n1 aa", "3 n2 aa");
    PLACED(PLACED_OTHERWISE, "", 2, "2", "0 n1 aa", "1 n1 aa", "2 n1 aa", "3 n1 aa");
    PLACED(PLACED_OTHERWISE, "", 3, "1", "0 n1 aa", "1 n2 aa", "2 n1 aa");
    PLACED(PLACED_IN_PART, "", 2, "2", "0 n1 aa", "1 n1 aa", "2 n2 aa");
    PLACED(PLACED_EVENLY, "write", 1, "2", "0 n1 aa write", "1 n1 aa write", "0 n1 aa read");
    PLACED(PLACED_IN_PART, "read", 1, "2", "0 n1 aa write", "1 n1 aa write", "0 n1 aa read");
    return CHECK_REPORT();
}
