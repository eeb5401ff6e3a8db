/* ior_script: IOR's script files. Pure. */
#include "ior/script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum stage { BEFORE_START, IN_SCRIPT, AFTER_STOP };

struct reader {
    struct ior_script *script;
    const struct ior_config *defaults;
    struct ior_config current;
    const char *name;
    int line;
    enum stage stage;
    bool phases_named; /* the script says itself which of writing, reading and checking a test does */
    bool pending; /* settings since the last RUN: a test too, as in IOR, where the last RUN may be left out */
};

/* Without the blanks at both ends. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Is the line this keyword of two words, however many blanks are between them? */
static bool is_keyword(const char *line, const char *first, const char *second)
{
    size_t length = strlen(first);
    if (strncasecmp(line, first, length) != 0 || !isspace((unsigned char)line[length]))
        return false;
    line += length;
    while (isspace((unsigned char)*line))
        line++;
    return strcasecmp(line, second) == 0;
}

/* -W and -R on the command line add a check to the tests of the script, as IOR's tutorial has it: a test that names no phase
 * still writes and reads. With -G the data of files from another run is known, and the check may be all that is asked for. */
static void add_phases(const struct reader *reader, struct ior_config *test)
{
    bool only_checks = (test->check_write || test->check_read) && !test->write && !test->read;
    if (only_checks && !reader->phases_named && test->signature == 0)
        test->write = test->read = true;
}

static bool is_same(const struct ior_setting *row, const struct ior_config *a, const struct ior_config *b)
{
    const char *left = (const char *)a + row->at, *right = (const char *)b + row->at;
    if (row->type == OPT_TEXT) {
        const char *one = *(const char *const *)left, *other = *(const char *const *)right;
        return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
    }
    return memcmp(left, right, row->type == OPT_FLAG ? sizeof(bool) : sizeof(int64_t)) == 0;
}

/* What the command line asked for and no test does. */
static void find_overridden(struct reader *reader)
{
    for (size_t i = 0; i < ior_setting_count; i++) {
        const struct ior_setting *row = &ior_settings[i];
        if (reader->defaults->given[i] && !is_same(row, reader->defaults, &reader->current))
            reader->script->overridden[i] = true;
    }
}

static int add_test(struct reader *reader, struct refusal *why)
{
    struct ior_script *script = reader->script;
    if (script->count == 0)
        find_overridden(reader);
    size_t bytes = (size_t)(script->count + 1) * sizeof *script->tests;
    struct ior_config *grown = realloc(script->tests, bytes);
    if (grown == NULL)
        return refuse(why, "out of memory");
    script->tests = grown;
    script->tests[script->count] = reader->current;
    add_phases(reader, &script->tests[script->count]);
    snprintf(script->tests[script->count].where, sizeof reader->current.where, "script '%s' line %d: ", reader->name,
             reader->line);
    script->count++;
    reader->pending = false;
    return 0;
}

static bool names_phase(const char *name)
{
    static const char *const phases[] = {"writeFile", "readFile", "mixed", "checkWrite", "checkRead"};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
        if (strcasecmp(name, phases[i]) == 0)
            return true;
    return false;
}

static int take_settings(struct reader *reader, char *line, struct refusal *why)
{
    char *setting;
    while ((setting = strsep(&line, ",")) != NULL) {
        struct refusal wrong;
        char *name = trim(setting), *value = strchr(name, '=');
        if (*name == '\0')
            continue;
        if (value == NULL)
            return refuse(why, "script '%s' line %d: '%s' is neither NAME=VALUE nor RUN nor IOR STOP", reader->name,
                          reader->line, name);
        *value = '\0';
        if (ior_config_set(&reader->current, trim(name), trim(value + 1), &wrong) != 0)
            return refuse(why, "script '%s' line %d: %s", reader->name, reader->line, wrong.text);
        reader->phases_named |= names_phase(name);
        reader->pending = true;
    }
    return 0;
}

static int take_line(struct reader *reader, char *line, struct refusal *why)
{
    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (*line == '\0')
        return 0;
    if (reader->stage == BEFORE_START) {
        if (!is_keyword(line, "IOR", "START"))
            return refuse(why, "script '%s' line %d: '%s' stands where IOR START is expected", reader->name,
                          reader->line, line);
        reader->stage = IN_SCRIPT;
        return 0;
    }
    if (is_keyword(line, "IOR", "STOP")) {
        reader->stage = AFTER_STOP;
        return 0;
    }
    if (strcasecmp(line, "RUN") == 0)
        return add_test(reader, why);
    return take_settings(reader, line, why);
}

int ior_script_parse(struct ior_script *script, char *text, const char *name, const struct ior_config *defaults,
                     struct refusal *why)
{
    struct reader reader = {.script = script, .defaults = defaults, .current = *defaults, .name = name};
    *script = (struct ior_script){0};
    while (reader.stage != AFTER_STOP && text != NULL && *text != '\0') { /* the file's end is an IOR STOP too */
        reader.line++;
        if (take_line(&reader, strsep(&text, "\n"), why) != 0)
            return -1;
    }
    if (reader.stage == BEFORE_START)
        return refuse(why, "script '%s' has no IOR START", name);
    if (reader.pending && add_test(&reader, why) != 0)
        return -1;
    if (script->count == 0)
        return refuse(why, "script '%s' has no RUN: there is nothing to test", name);
    return 0;
}

void ior_script_free(struct ior_script *script)
{
    free(script->tests);
    *script = (struct ior_script){0};
}
