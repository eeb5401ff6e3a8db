/* Blocks of the same number of ranks on each node, or of one more on the first. */
#include "test/check.h"
#include "witness/gather.h"

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

int main(void)
{
    parts();
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
