/* asked: names in CAMPAIGN_VARIABLES. */
#include "common/asked.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool asked_next(const char **rest, char name[ASKED_BYTES])
{
    while (*rest != NULL && **rest != '\0') {
        size_t length = strcspn(*rest, ":");
        const char *from = *rest;
        *rest += length + (from[length] == ':');
        if (length > 0 && length + 1 < ASKED_BYTES) {
            snprintf(name, ASKED_BYTES, "%.*s=", (int)length, from);
            return true;
        }
    }
    return false;
}

bool asked_is(const char *variable)
{
    char name[ASKED_BYTES];
    for (const char *rest = getenv(ASKED_NAMES); asked_next(&rest, name);)
        if (strncmp(variable, name, strlen(name)) == 0)
            return true;
    return false;
}
