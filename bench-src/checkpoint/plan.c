/* checkpoint_plan: lists of sizes and counts on the command line. Pure. */
#include "checkpoint/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One value from the start of text. Returns its length, or -1 with a message. */
static int read_value(const char *what, const char *text, enum units_suffix suffix, int64_t most, int64_t *value,
                      struct refusal *why)
{
    char word[64];
    int length = (int)strcspn(text, ",:");
    snprintf(word, sizeof word, "%.*s", length, text);
    if (length >= (int)sizeof word || units_parse_int(word, suffix, value) != 0)
        return refuse(why, "%s: '%s' is not a whole number%s", what, word,
                      suffix == UNITS_PLAIN ? "" : ", with k, m, g or t");
    if (*value < 1 || *value > most)
        return refuse(why, "%s: '%s' is out of range: 1 to %" PRId64 " is allowed", what, word, most);
    return length;
}

static int add(struct checkpoint_list *list, const char *what, int64_t value, struct refusal *why)
{
    if (list->count == CHECKPOINT_MOST_POINTS)
        return refuse(why, "%s: more than %d values", what, CHECKPOINT_MOST_POINTS);
    list->values[list->count++] = value;
    return 0;
}

/* Rows of two values that the text prints alike could not be told apart. */
static int check_apart(const struct checkpoint_list *list, const char *what, double unit, struct refusal *why)
{
    char texts[CHECKPOINT_MOST_POINTS][32];
    for (int i = 0; i < list->count; i++) {
        snprintf(texts[i], sizeof texts[i], "%.3f", (double)list->values[i] / unit);
        for (int j = 0; j < i; j++)
            if (strcmp(texts[i], texts[j]) == 0)
                return list->values[i] == list->values[j]
                           ? refuse(why, "%s: %" PRId64 " is in the list twice", what, list->values[i])
                           : refuse(why, "%s: %" PRId64 " and %" PRId64 " bytes are both printed as %s MiB", what,
                                    list->values[j], list->values[i], texts[i]);
    }
    return 0;
}

int checkpoint_read_list(struct checkpoint_list *list, const char *what, const char *text, enum units_suffix suffix,
                         int64_t most, struct refusal *why)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        int64_t value, last;
        int length = read_value(what, at, suffix, most, &value, why);
        if (length < 0)
            return -1;
        at += length;
        last = value;
        if (*at == ':') {
            length = read_value(what, at + 1, suffix, most, &last, why);
            if (length < 0)
                return -1;
            if (last < value)
                return refuse(why, "%s: '%s' goes downwards", what, text);
            at += 1 + length;
        }
        for (; value < last; value = value > last / 2 ? last : 2 * value)
            if (add(list, what, value, why) != 0)
                return -1;
        if (add(list, what, last, why) != 0)
            return -1;
        if (*at == '\0')
            return check_apart(list, what, suffix == UNITS_PLAIN ? 1 : 1 << 20, why);
        if (*at != ',')
            return refuse(why, "%s: '%s' is not a list (4,8) or a range (1:8)", what, text);
    }
}
