/* mount: what is mounted at a directory, by this process's own mount table. */
#pragma once

#include "common/objects.h"

/* Kind "mount": directory (the nearest one that exists), point, type, source. Nothing where the table cannot be read. */
void mount_find(const char *directory, struct facts *facts);
