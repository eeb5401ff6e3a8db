/* opt: option table to parsing, range checks and help text. */
#include "common/opt.h"

#include "common/die.h"
#include "common/emit.h"
#include "common/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where an error message goes, the name the user gave the option, and which rows were met (or NULL). */
struct context {
    struct refusal *why;
    char name[64];
    bool *given;
};

static void note_given(const struct context *context, size_t row)
{
    if (context->given != NULL)
        context->given[row] = true;
}

/* Its value is attached or is not there. */
static bool may_be_alone(const struct opt *option)
{
    return option->type == OPT_MAYBE_INT || option->type == OPT_MAYBE_TEXT;
}

static bool takes_value(const struct opt *option)
{
    return option->type != OPT_FLAG && option->type != OPT_COUNT && option->type != OPT_REFUSED;
}

static int check_range(const struct opt *option, double value, const char *text, struct context *context)
{
    if (option->min == 0 && option->max == 0)
        return 0;
    if (value >= (double)option->min && value <= (double)option->max)
        return 0;
    if (option->max == INT64_MAX)
        return refuse(context->why, "option %s: '%s' is too small: at least %" PRId64 " is allowed", context->name,
                      text, option->min);
    return refuse(context->why, "option %s: '%s' is out of range: %" PRId64 " to %" PRId64 " is allowed", context->name,
                  text, option->min, option->max);
}

static int set_int(const struct opt *option, const char *text, struct context *context)
{
    static const struct {
        enum units_suffix suffix;
        const char *allowed;
    } kinds[] = {
        [OPT_INT] = {UNITS_PLAIN, "a whole number"},
        [OPT_MAYBE_INT] = {UNITS_PLAIN, "a whole number"},
        [OPT_SIZE] = {UNITS_BINARY, "a whole number, with k, m, g, t, p or e for powers of 1024"},
        [OPT_SIZE_MIXED] = {UNITS_MIXED, "a whole number, with k, m, … for powers of 1000 or K, M, … for powers of 1024"},
    };
    int64_t value = 0;
    int error = units_parse_int(text, kinds[option->type].suffix, &value);
    if (error == -ERANGE)
        return refuse(context->why, "option %s: '%s' is beyond 64 bits", context->name, text);
    if (error != 0)
        return refuse(context->why, "option %s: '%s' is not %s", context->name, text, kinds[option->type].allowed);
    if (check_range(option, (double)value, text, context) != 0)
        return -1;
    *(int64_t *)option->value = value;
    return 0;
}

static int set_real(const struct opt *option, const char *text, struct context *context)
{
    double value = 0;
    if (units_parse_real(text, &value) != 0)
        return refuse(context->why, "option %s: '%s' is not a decimal number", context->name, text);
    if (check_range(option, value, text, context) != 0)
        return -1;
    *(double *)option->value = value;
    return 0;
}

static int call_with(const struct opt *option, const char *text, struct context *context)
{
    const struct opt_call *call = option->value;
    struct refusal wrong;
    if (call->use(call->data, text, &wrong) != 0)
        return refuse(context->why, "option %s: %s", context->name, wrong.text);
    return 0;
}

/* -F=0, -v=2: what IOR and mdtest take for options that need no value. */
static int set_switch(const struct opt *option, const char *text, struct context *context)
{
    int64_t value, most = option->type == OPT_FLAG ? 1 : option->max;
    if (units_parse_int(text, UNITS_PLAIN, &value) != 0 || value < 0 || (most > 0 && value > most))
        return refuse(context->why, "option %s: '%s' is not a number from 0 to %" PRId64, context->name, text,
                      most > 0 ? most : INT64_MAX);
    if (option->type == OPT_FLAG)
        *(bool *)option->value = value == 1;
    else
        *(int64_t *)option->value = value;
    return 0;
}

/* text is NULL where the option came without a value. */
static int set_value(const struct opt *option, const char *text, struct context *context)
{
    switch (option->type) {
    case OPT_FLAG:
        return set_switch(option, text == NULL ? "1" : text, context);
    case OPT_COUNT:
        if (text != NULL)
            return set_switch(option, text, context);
        ++*(int64_t *)option->value;
        return 0;
    case OPT_REAL:
        return set_real(option, text, context);
    case OPT_TEXT:
    case OPT_CALL:
        if (text[0] == '\0')
            return refuse(context->why, "option %s: its value (%s) is empty", context->name, option->argument);
        if (option->type == OPT_CALL)
            return call_with(option, text, context);
        *(const char **)option->value = text;
        return 0;
    case OPT_REFUSED:
        return refuse(context->why, "option %s is not offered: %s", context->name, option->help);
    case OPT_MAYBE_TEXT:
        *(const char **)option->value = text == NULL ? "" : text;
        return 0;
    case OPT_MAYBE_INT:
        if (text == NULL) {
            *(int64_t *)option->value = option->implied;
            return 0;
        }
        return set_int(option, text, context);
    case OPT_INT:
    case OPT_SIZE:
    case OPT_SIZE_MIXED:
        return set_int(option, text, context);
    }
    bug("option %s has the unknown type %d", context->name, (int)option->type);
}

/* The value after the option: attached, or the next argument, which is then used up. */
static int take_value(const struct opt *option, const char *attached, int argc, char **argv, int *at,
                      struct context *context)
{
    if (attached != NULL || may_be_alone(option))
        return set_value(option, attached, context);
    if (*at + 1 >= argc)
        return refuse(context->why, "option %s needs a value (%s)", context->name, option->argument);
    return set_value(option, argv[++*at], context);
}

static int read_long(const struct opt *options, size_t count, int argc, char **argv, int *at, struct context *context)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '=');
    int length = equals == NULL ? (int)strlen(name) : (int)(equals - name);
    snprintf(context->name, sizeof context->name, "--%.*s", length, name);
    for (size_t i = 0; i < count; i++) {
        if (options[i].name == NULL || (int)strlen(options[i].name) != length || strncmp(options[i].name, name, (size_t)length))
            continue;
        note_given(context, i);
        if (takes_value(&options[i]))
            return take_value(&options[i], equals == NULL ? NULL : equals + 1, argc, argv, at, context);
        return set_value(&options[i], equals == NULL ? NULL : equals + 1, context);
    }
    return refuse(context->why, "unknown option '%s'", context->name);
}

static int read_letters(const struct opt *options, size_t count, int argc, char **argv, int *at,
                        struct context *context)
{
    for (const char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
        const struct opt *option = NULL;
        for (size_t i = 0; i < count; i++)
            if (options[i].letter == *letter)
                option = &options[i];
        snprintf(context->name, sizeof context->name, "-%c", *letter);
        if (*letter == '-' && letter != argv[*at] + 1 && letter[1] != '\0')
            continue; /* -z-k is -z -k, as IOR's own tests have it */
        if (option == NULL && strcmp(argv[*at] + 1, letter) == 0)
            return refuse(context->why, "unknown option '%s'", context->name);
        if (option == NULL)
            return refuse(context->why, "unknown option '%s' in '%s'", context->name, argv[*at]);
        note_given(context, (size_t)(option - options));
        if (takes_value(option)) {
            const char *attached = letter[1] == '\0' ? NULL : letter[1] == '=' ? letter + 2 : letter + 1;
            return take_value(option, attached, argc, argv, at, context);
        }
        bool last = letter[1] == '=' && option->type != OPT_REFUSED;
        if (last && letter != argv[*at] + 1)
            return refuse(context->why, "'%s': give an option with a value by itself (%s%s)", argv[*at], context->name,
                          letter + 1);
        if (set_value(option, last ? letter + 2 : NULL, context) != 0)
            return -1;
        if (last)
            return 0;
    }
    return 0;
}

int opt_read(const struct opt *options, size_t option_count, int argc, char **argv, bool *help, bool *given,
             struct refusal *why)
{
    struct context context = {why, "", given};
    *help = false;
    for (int at = 1; at < argc; at++) {
        const char *text = argv[at];
        int error = 0;
        if (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0)
            *help = true;
        else if (strncmp(text, "--", 2) == 0 && text[2] != '\0')
            error = read_long(options, option_count, argc, argv, &at, &context);
        else if (text[0] == '-' && text[1] != '\0' && text[1] != '-')
            error = read_letters(options, option_count, argc, argv, &at, &context);
        else
            error = refuse(why, "unexpected argument '%s': every argument is an option or its value", text);
        if (error != 0)
            return -1;
    }
    return 0;
}

static void print_rows(const struct opt *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct opt *option = &options[i];
        char left[64];
        int used = 0;
        if (option->type == OPT_REFUSED)
            continue;
        if (option->letter != 0 && option->name != NULL)
            used = snprintf(left, sizeof left, "-%c, --%s", option->letter, option->name);
        else if (option->letter != 0)
            used = snprintf(left, sizeof left, "-%c", option->letter);
        else
            used = snprintf(left, sizeof left, "--%s", option->name);
        if (may_be_alone(option))
            snprintf(left + used, sizeof left - (size_t)used, "[%s]", option->argument);
        else if (takes_value(option))
            snprintf(left + used, sizeof left - (size_t)used, " %s", option->argument);
        emit_text("  %-18s  %s\n", left, option->help);
    }
}

bool opt_parse(const struct opt_applet *applet, int argc, char **argv, struct opt_common *common, int *status)
{
    bool help = false;
    common->json = getenv("BENCH_JSON");
    if (common->json != NULL && common->json[0] == '\0')
        common->json = NULL;
    const struct opt shared[] = {
        {'h', "help", OPT_FLAG, &help, NULL, "print this text and stop", 0, 0, 0},
        {0, "json", OPT_TEXT, &common->json, "FILE", "write the results as JSON lines too (also: BENCH_JSON=FILE)", 0, 0, 0},
    };
    size_t shared_count = sizeof shared / sizeof shared[0], own_count = applet->option_count;
    struct opt *all = die_alloc(sizeof(void *), (own_count + shared_count) * sizeof *all);
    bool given[OPT_MOST + sizeof shared / sizeof shared[0]] = {false};
    if (own_count > OPT_MOST)
        bug("%s has more than %d options", applet->name, OPT_MOST);
    memcpy(all, applet->options, own_count * sizeof *all);
    memcpy(all + own_count, shared, sizeof shared);

    struct refusal why;
    bool go_on = false;
    if (opt_read(all, own_count + shared_count, argc, argv, &help, given, &why) != 0) {
        *status = usage_error("%s (%s -h lists the options)", why.text, applet->name);
    } else if (help) {
        emit_text("usage: %s %s\n%s\n", applet->name, applet->synopsis, applet->intro);
        print_rows(all, own_count + shared_count);
        *status = EXIT_CODE_OK;
    } else {
        go_on = true;
    }
    memcpy(common->given, given, sizeof common->given);
    free(all);
    return go_on;
}
