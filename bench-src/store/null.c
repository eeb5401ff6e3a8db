/* store_null: storage that takes everything at once and keeps nothing, so that the harness itself can be measured. */
#include "store/contract.h"

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    (void)path, (void)options;
    *file = NULL;
    return 0;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    (void)file, (void)buffer, (void)offset;
    return bytes;
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    (void)file, (void)buffer, (void)offset;
    return bytes;
}

static int nothing(struct store_file *file)
{
    (void)file;
    return 0;
}

static int remove_file(const char *path)
{
    (void)path;
    return 0;
}

const struct store store_null = {
    .name = "DUMMY",
    .can_direct = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .sync = nothing,
    .close = nothing,
    .remove = remove_file,
};
