/* checkpoint_image: one process's memory image on its way to a file and back. */
#pragma once

#include "common/faults.h"

#include <stdbool.h>
#include <stdint.h>

/* Seconds of the steps. sync_s stays 0 for reading. */
struct image_times {
    double open_s, transfer_s, sync_s, close_s;
};

/* Writes a new file, as `transfer_bytes` a call, fsyncs and closes it; or reads it back. False with a fault where that
 * failed or the file is shorter. */
bool image_move(bool writes, const char *path, unsigned char *image, int64_t bytes, int64_t transfer_bytes,
                struct image_times *times, struct faults *faults);

/* Writes the file's pages back and asks this node's page cache to give them up. A hint: image_cached tells what came of
 * it. */
void image_forget(const char *path);

/* Pages of the file in this node's page cache, and all of it, in *cached and *all; both 0 if unknown. */
void image_cached(const char *path, int64_t bytes, int64_t *cached, int64_t *all);
