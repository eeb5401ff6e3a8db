/* store_null: storage that takes everything at once and keeps nothing, so that the harness itself can be measured. On request
 * its calls take some time. */
#include "store/contract.h"

#include "common/die.h"
#include "common/quiet.h"

#include <stdlib.h>

struct store_file {
    struct store_delays delays;
};

static void take_time(int64_t us)
{
    if (us > 0)
        quiet_sleep_ns((uint64_t)us * 1000);
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    (void)path;
    *file = die_alloc(sizeof(void *), sizeof **file);
    (*file)->delays = options->delays;
    take_time(options->writes ? options->delays.create_us : 0);
    return 0;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    (void)buffer, (void)offset;
    take_time(file->delays.transfer_us);
    return bytes;
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    (void)buffer, (void)offset;
    take_time(file->delays.transfer_us);
    return bytes;
}

static int sync_file(struct store_file *file)
{
    take_time(file->delays.sync_us);
    return 0;
}

static int close_file(struct store_file *file)
{
    take_time(file->delays.close_us);
    free(file);
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
    .sync = sync_file,
    .close = close_file,
    .remove = remove_file,
};
