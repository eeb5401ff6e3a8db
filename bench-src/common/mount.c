/* mount: what is mounted at a directory. */
#include "common/mount.h"

#include "common/raw.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The nearest directory at or above the path that exists, without links; "" if there is none. MPI-IO may name a file
 * system before the path ("ufs:/scratch"). */
static void existing(const char *path, char found[PATH_MAX])
{
    char rest[PATH_MAX];
    const char *colon = strchr(path, ':'), *slash = strchr(path, '/');
    if (colon != NULL && slash == colon + 1)
        path = slash;
    snprintf(rest, sizeof rest, "%s%s", path[0] == '/' ? "" : "./", path);
    while (realpath(rest, found) == NULL) {
        char *last = strrchr(rest, '/');
        if (last == NULL) {
            found[0] = '\0';
            return;
        }
        last[last == rest] = '\0';
        if (last == rest && realpath(rest, found) == NULL)
            found[0] = '\0';
        if (last == rest)
            return;
    }
}

/* The table writes spaces and the like as \040. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        unsigned int code;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool lies_below(const char *path, const char *point)
{
    size_t length = strlen(point);
    return strcmp(point, "/") == 0 || (strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0'));
}

void mount_find(const char *directory, struct facts *facts)
{
    static const char *const names[] = {"point", "type", "source"};
    char path[PATH_MAX], *best[3] = {NULL, NULL, NULL};
    existing(directory, path);
    char *table = raw_text("/proc/self/mountinfo");
    for (char *line = table, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        char *dash = strstr(line, " - "), *words[3] = {line, NULL, NULL}, *at = NULL;
        if (dash == NULL)
            continue;
        *dash = '\0';
        strtok_r(line, " ", &at); /* id, parent, device, root, point */
        for (int skipped = 0; skipped < 4; skipped++)
            words[0] = strtok_r(NULL, " ", &at);
        words[1] = strtok_r(dash + 3, " ", &at);
        words[2] = strtok_r(NULL, " ", &at);
        if (words[0] == NULL || words[1] == NULL || words[2] == NULL)
            continue;
        unescape(words[0]);
        unescape(words[2]);
        /* Of two at one point the later one lies on top. */
        if (lies_below(path, words[0]) && (best[0] == NULL || strlen(words[0]) >= strlen(best[0])))
            memcpy(best, words, sizeof best);
    }
    if (best[0] != NULL && path[0] != '\0') {
        facts_add(facts, "mount", "directory", path);
        for (int i = 0; i < 3; i++)
            facts_add(facts, "mount", names[i], best[i]);
    }
    free(table);
}
