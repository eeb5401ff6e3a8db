/* mount: what is mounted at a directory, by this process's own mount table. */
#pragma once

#include "common/objects.h"

#include <stdbool.h>

/* A line of a mount table; names with spaces are as they are on the disk. */
struct mounted {
    const char *device, *inside, *point, *options, *type, *source, *super_options;
};

/* Finds what is mounted at a directory (the nearest one that exists, which is written into path) in the text of a table as
 * /proc/self/mountinfo has it. The text is cut up: what is found points into it. */
enum { MOUNT_PATH_BYTES = 4096 };
bool mount_look(char *table, const char *directory, char path[MOUNT_PATH_BYTES], struct mounted *found);

/* Kind "mount": directory (the nearest one that exists), point, type, source. Nothing where the table cannot be read. */
void mount_find(const char *directory, struct facts *facts);
