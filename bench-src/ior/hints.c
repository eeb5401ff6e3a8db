/* ior_hints: the file of hintsFileName. Pure. */
#include "ior/hints.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r", prefix[] = "IOR_HINT__";

/* The next word up to a blank or a character of `ends`, which is cut off there; "" at the end. */
static char *next_word(char **text, const char *ends)
{
    char *word = *text + strspn(*text, blanks);
    char *end = word + strcspn(word, ends);
    *text = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

/* IOR_HINT__LAYER__NAME, whatever the layer (MPI, GPFS). */
static bool is_hint(const char *name)
{
    const char *layer = name + sizeof prefix - 1;
    const char *end = strncmp(name, prefix, sizeof prefix - 1) == 0 ? strstr(layer, "__") : NULL;
    return end != NULL && end > layer && end[2] != '\0';
}

/* As a shell or IOR has it: [setenv | export] NAME = VALUE, the sign or a blank between them. */
static int add_hint(struct store_hints *hints, char *line, const char *file, int number, struct refusal *why)
{
    struct store_hint *list = (struct store_hint *)hints->list, *grown;
    char *name = next_word(&line, " \t\r=");
    if (strcmp(name, "setenv") == 0 || strcmp(name, "export") == 0)
        name = next_word(&line, " \t\r=");
    line += strspn(line, " \t\r=");
    char *value = next_word(&line, blanks);
    if (!is_hint(name) || value[0] == '\0' || line[strspn(line, blanks)] != '\0')
        return refuse(why, "hints file '%s' line %d is not IOR_HINT__MPI__NAME=VALUE", file, number);
    grown = realloc(list, (size_t)(hints->count + 1) * sizeof *grown);
    if (grown == NULL)
        return refuse(why, "out of memory");
    grown[hints->count++] = (struct store_hint){name, value};
    hints->list = grown;
    return 0;
}

int ior_hints_parse(struct store_hints *hints, char *text, const char *name, struct refusal *why)
{
    char *line;
    *hints = (struct store_hints){NULL, 0};
    for (int number = 1; (line = strsep(&text, "\n")) != NULL; number++) {
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, blanks)] != '\0' && add_hint(hints, line, name, number, why) != 0)
            return -1;
    }
    return 0;
}

void ior_hints_free(struct store_hints *hints)
{
    free((void *)hints->list);
    *hints = (struct store_hints){NULL, 0};
}
