/* ior_config: options, directives and their values, from the table of settings. */
#include "ior/config.h"

#include "common/units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Copies of directives. */
static struct text {
    struct text *next;
    char characters[];
} *texts;

void ior_config_default(struct ior_config *config)
{
    memset(config, 0, sizeof *config);
    config->api = "POSIX";
    config->test_file = "testFile";
    config->packet = "unique";
    config->block = 1 << 20;
    config->transfer = 1 << 18;
    config->segments = config->repetitions = config->node_offset = config->hdf5.alignment = 1;
    config->offset_seed = -1;
}

/* Is this row an option? */
static bool is_option(const struct ior_setting *setting)
{
    return setting->letter != 0 || setting->name != NULL;
}

size_t ior_config_options(struct ior_config *config, struct opt_call *directives, struct opt *options)
{
    size_t count = 0;
    for (size_t i = 0; i < ior_setting_count; i++) {
        const struct ior_setting *row = &ior_settings[i];
        if (is_option(row))
            options[count++] = (struct opt){row->letter, row->name, row->type, (char *)config + row->at,
                                            row->argument, row->help, row->min, row->max, 0};
    }
    for (size_t i = 0; i < ior_refusal_count; i++) {
        const struct ior_refusal *row = &ior_refusals[i];
        if (row->letter != 0 || row->name != NULL)
            options[count++] = (struct opt){row->letter, row->name, OPT_REFUSED, NULL, NULL, row->why, 0, 0, 0};
    }
    options[count++] = (struct opt){'O', NULL, OPT_CALL, directives, "NAME=VALUE,…", "settings by name, see above", 0, 0, 0};
    return count;
}

void ior_config_note_given(struct ior_config *config, const bool *given)
{
    size_t option = 0;
    for (size_t i = 0; i < ior_setting_count; i++)
        if (is_option(&ior_settings[i]) && given[option++])
            config->given[i] = true;
}

static int set_summary_format(struct ior_config *config, const char *value, struct refusal *why)
{
    config->summary_format = strcasecmp(value, "JSON") == 0 ? 'J' : strcasecmp(value, "CSV") == 0 ? 'C' : 0;
    if (config->summary_format == 0 && strcasecmp(value, "default") != 0)
        return refuse(why, "summaryFormat: '%s' is not known: default, JSON or CSV", value);
    config->json = config->json || config->summary_format == 'J';
    config->csv = config->csv || config->summary_format == 'C';
    return 0;
}

static int set_summary_file(struct ior_config *config, const char *value, struct refusal *why)
{
    if (config->summary_format == 0)
        return refuse(why, "summaryFile '%s': give summaryFormat=JSON or summaryFormat=CSV before it", value);
    if (value[0] == '\0')
        return refuse(why, "summaryFile has no value");
    *(config->summary_format == 'J' ? &config->json_file : &config->csv_file) = value;
    return 0;
}

/* Flags and counts, which take no value on the command line. */
static int set_number(struct ior_config *config, const struct ior_setting *row, const char *value, struct refusal *why)
{
    int64_t number, most = row->type == OPT_FLAG ? 1 : row->max;
    if (units_parse_int(value, UNITS_PLAIN, &number) != 0 || number < 0 || number > most)
        return refuse(why, "%s: '%s' is not a number from 0 to %" PRId64,
                      row->directive != NULL ? row->directive : row->name, value, most);
    if (row->type == OPT_FLAG)
        *(bool *)((char *)config + row->at) = number == 1;
    else
        *(int64_t *)((char *)config + row->at) = number;
    return 0;
}

/* The option of the same value, so that both have one parser. */
static int set_as_option(struct ior_config *config, const struct ior_setting *row, const char *value, struct refusal *why)
{
    const char letter[] = {row->letter, '\0'}, *own = row->directive != NULL ? row->directive : row->name;
    own = own != NULL ? own : letter;
    struct opt option = {0, own, row->type, (char *)config + row->at, row->argument, row->help,
                         row->min, row->max, 0};
    char name[64];
    snprintf(name, sizeof name, "--%s", own);
    char *arguments[] = {"", name, (char *)value};
    bool help;
    return opt_read(&option, 1, 3, arguments, &help, NULL, why);
}

/* By its directive, or by the option as scripts of IOR 4 may have it: --posix.odirect=1, -c=1. */
static bool is_named(const char *directive, char letter, const char *option, const char *name)
{
    if (directive != NULL && strcasecmp(directive, name) == 0)
        return true;
    if (name[0] != '-')
        return false;
    if (name[1] == '-')
        return option != NULL && strcasecmp(option, name + 2) == 0;
    return letter != 0 && name[1] == letter && name[2] == '\0';
}

static int refuse_setting(const struct ior_refusal *row, const char *name, const char *value, struct refusal *why)
{
    if (row->allowed != NULL && strcmp(row->allowed, value) == 0)
        return 0;
    if (row->allowed == NULL)
        return refuse(why, "%s is not offered here: %s", name, row->why);
    return refuse(why, "%s is not offered here: '%s' was given, only '%s' is allowed; %s", name, value, row->allowed, row->why);
}

int ior_config_set(struct ior_config *config, const char *name, const char *value, struct refusal *why)
{
    if (strcasecmp(name, "summaryFormat") == 0)
        return set_summary_format(config, value, why);
    if (strcasecmp(name, "summaryFile") == 0)
        return set_summary_file(config, value, why);
    for (size_t i = 0; i < ior_setting_count; i++) {
        const struct ior_setting *row = &ior_settings[i];
        if (!is_named(row->directive, row->letter, row->name, name))
            continue;
        config->given[i] = true;
        if (value[0] == '\0' && row->at == offsetof(struct ior_config, hints_file)) {
            config->hints_file = NULL; /* as scripts of today have it */
            return 0;
        }
        if (row->type == OPT_FLAG || row->type == OPT_COUNT)
            return set_number(config, row, value, why);
        return set_as_option(config, row, value, why);
    }
    for (size_t i = 0; i < ior_refusal_count; i++) {
        const struct ior_refusal *row = &ior_refusals[i];
        if (is_named(row->directive, row->letter, row->name, name))
            return refuse_setting(row, row->directive != NULL ? row->directive : row->name, value, why);
    }
    return refuse(why, "unknown setting '%s' (the names stand in docs/ior.md)", name);
}

int ior_config_directives(void *data, const char *text, struct refusal *why)
{
    size_t bytes = strlen(text) + 1;
    struct text *copy = malloc(sizeof *copy + bytes);
    if (copy == NULL)
        return refuse(why, "out of memory");
    memcpy(copy->characters, text, bytes);
    copy->next = texts;
    texts = copy;
    char *rest = copy->characters, *setting;
    while ((setting = strsep(&rest, ",")) != NULL) {
        char *value = strchr(setting, '=');
        if (value == NULL)
            return refuse(why, "'%s' is not NAME=VALUE", setting);
        *value++ = '\0';
        if (ior_config_set(data, setting, value, why) != 0)
            return -1;
    }
    return 0;
}

void ior_config_free(void)
{
    while (texts != NULL) {
        struct text *next = texts->next;
        free(texts);
        texts = next;
    }
}
