/* Description: lists and ranges of sizes and counts on checkpoint's command line. */
#include "checkpoint/plan.h"
#include "test/check.h"

static struct checkpoint_list list;
static struct refusal why;

static void list_is(const char *text, enum units_suffix suffix, const char *expected)
{
    char found[512] = "";
    CHECK_INT(checkpoint_read_list(&list, "option -m", text, suffix, 1 << 20, &why), 0);
    for (int i = 0; i < list.count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%" PRId64 " ", list.values[i]);
    CHECK_TEXT(found, expected);
}

static void refuses(const char *text, const char *expected)
{
    CHECK_INT(checkpoint_read_list(&list, "option -p", text, UNITS_PLAIN, 8, &why), -1);
    CHECK_TEXT(why.text, expected);
}

static void lists_and_ranges_are_read(void)
{
    list_is("4", UNITS_PLAIN, "4 ");
    list_is("1,2,8", UNITS_PLAIN, "1 2 8 ");
    list_is("1:8", UNITS_PLAIN, "1 2 4 8 ");
    list_is("1:6", UNITS_PLAIN, "1 2 4 6 ");
    list_is("3:3", UNITS_PLAIN, "3 ");
    list_is("5:6,1", UNITS_PLAIN, "5 6 1 ");
    list_is("1k:3k,1m", UNITS_BINARY, "1024 2048 3072 1048576 ");
}

static void mistakes_are_named(void)
{
    refuses("x", "option -p: 'x' is not a whole number");
    refuses("1,", "option -p: '' is not a whole number");
    refuses("0", "option -p: '0' is out of range: 1 to 8 is allowed");
    refuses("1:9", "option -p: '9' is out of range: 1 to 8 is allowed");
    refuses("4:2", "option -p: '4:2' goes downwards");
    refuses("1:2:4", "option -p: '1:2:4' is not a list (4,8) or a range (1:8)");
    refuses("1k", "option -p: '1k' is not a whole number");
}

int main(void)
{
    lists_and_ranges_are_read();
    mistakes_are_named();
    return CHECK_REPORT();
}
