/* objects: the files whose code this process has in its memory, and which of them the functions are in that a benchmark
 * measures with. Only the calling process is examined, by /proc/self/maps. */
#pragma once

#include "common/sha256.h"

#include <stddef.h>
#include <stdint.h>

/* Text that grows: facts of three strings (kind, name, value), each with a zero byte behind it. */
struct facts {
    char *text;
    size_t bytes, room;
};

void facts_add(struct facts *facts, const char *kind, const char *name, const char *value);

/* Memory with code: its addresses, "DEVICE INODE" of what is mapped there, and its path: "" without a file. */
struct mapping {
    uint64_t first, end;
    const char *place, *path;
};

/* In the order of their paths. */
struct objects {
    struct mapping *list;
    size_t count;
    char *maps; /* what the list points into */
};

void objects_read(struct objects *objects);
void objects_free(struct objects *objects);

/* The first mapping of the next file, of the first one where last is NULL; NULL at the end. */
const struct mapping *objects_next(const struct objects *objects, const struct mapping *last);

/* The SHA-256 of its file; "" where the file is gone, or another one by now. */
void objects_hash(const struct mapping *object, char hex[SHA256_HEX_BYTES]);

/* Kind "functions": the file of each function that operations, clock and messages go through. */
void objects_functions(const struct objects *objects, struct facts *facts);

/* Kind "functions", with no value: those of them that an open ELF file defines, for itself and for others. */
void objects_definitions(int fd, struct facts *facts);
