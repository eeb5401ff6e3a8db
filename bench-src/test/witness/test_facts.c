/* Lists of nodes, as Slurm writes them. */
#include "test/check.h"
#include "witness/facts.h"

#include <stdlib.h>

#define LISTED(expected, ...)                                            \
    do {                                                                 \
        const char *names[] = {__VA_ARGS__};                             \
        struct node_list list = {0};                                     \
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)        \
            node_list_add(&list, names[i]);                              \
        char *text = node_list_end(&list);                               \
        CHECK_TEXT(text, expected);                                      \
        free(text);                                                      \
        text = node_list_end(&list); /* nothing of it is left */         \
        CHECK_TEXT(text, "");                                            \
        free(text);                                                      \
    } while (0)

int main(void)
{
    LISTED("n1", "n1");
    LISTED("n[1-2]", "n1", "n2");
    LISTED("n[1-3,7]", "n1", "n2", "n3", "n7");
    LISTED("n[1,3,5-6]", "n1", "n3", "n5", "n6");
    LISTED("n[1-3,7],x1", "n1", "n2", "n3", "n7", "x1");
    LISTED("n[2,1]", "n2", "n1"); /* in the order in which they come */
    LISTED("n1,x1,n2", "n1", "x1", "n2");
    LISTED("n[08-11]", "n08", "n09", "n10", "n11");
    LISTED("n[9-10]", "n9", "n10");
    LISTED("n[9,010]", "n9", "n010"); /* n010 does not follow n9 */
    LISTED("login,n1", "login", "n1");
    LISTED("login,login", "login", "login");
    LISTED("r1n[1-2],r2n1", "r1n1", "r1n2", "r2n1");
    LISTED("[1-2]", "1", "2");
    LISTED("n1234567890123[000000001-000000002]", "n1234567890123000000001", "n1234567890123000000002");
    struct node_list none = {0};
    char *text = node_list_end(&none);
    CHECK_TEXT(text, "");
    free(text);
    return CHECK_REPORT();
}
