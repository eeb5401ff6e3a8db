/* mount: what is mounted at a directory. */
#include "common/mount.h"

#include "common/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The nearest directory at or above the path that exists, without links; "" if there is none. MPI-IO may name a file
 * system before the path ("ufs:/scratch"). */
static void existing(const char *path, char found[MOUNT_PATH_BYTES])
{
    char rest[MOUNT_PATH_BYTES];
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

/* "ID PARENT DEVICE INSIDE POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS" */
static bool take_apart(char *line, struct mounted *found)
{
    char *dash = strstr(line, " - "), *first[6], *behind[3], *at = NULL;
    if (dash == NULL)
        return false;
    *dash = '\0';
    for (int i = 0; i < 6; i++)
        if ((first[i] = strtok_r(i == 0 ? line : NULL, " ", &at)) == NULL)
            return false;
    for (int i = 0; i < 3; i++)
        if ((behind[i] = strtok_r(i == 0 ? dash + 3 : NULL, " ", &at)) == NULL)
            return false;
    unescape(first[4]);
    unescape(behind[1]);
    *found = (struct mounted){first[2], first[3], first[4], first[5], behind[0], behind[1], behind[2]};
    return true;
}

bool mount_look(char *table, const char *directory, char path[MOUNT_PATH_BYTES], struct mounted *found)
{
    *found = (struct mounted){0};
    existing(directory, path);
    for (char *line = table, *end; path[0] != '\0' && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        struct mounted each;
        *end = '\0';
        /* Of two at one point the later one lies on top. */
        if (take_apart(line, &each) && lies_below(path, each.point) &&
            (found->point == NULL || strlen(each.point) >= strlen(found->point)))
            *found = each;
    }
    return found->point != NULL;
}

void mount_find(const char *directory, struct facts *facts)
{
    char path[MOUNT_PATH_BYTES], *table = raw_text("/proc/self/mountinfo");
    struct mounted found;
    if (mount_look(table, directory, path, &found)) {
        facts_add(facts, "mount", "directory", path);
        facts_add(facts, "mount", "point", found.point);
        facts_add(facts, "mount", "type", found.type);
        facts_add(facts, "mount", "source", found.source);
    }
    free(table);
}
