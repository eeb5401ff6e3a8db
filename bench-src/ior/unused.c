/* ior_unused: settings that were given and have no effect in a test. Nothing that was asked for is ignored without a word. */
#include "ior/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(member) offsetof(struct ior_config, member)

const char *ior_config_name(size_t row, char *name, size_t name_bytes)
{
    const struct ior_setting *setting = &ior_settings[row];
    if (setting->letter != 0 && setting->directive != NULL)
        snprintf(name, name_bytes, "-%c (%s)", setting->letter, setting->directive);
    else if (setting->letter != 0)
        snprintf(name, name_bytes, "-%c", setting->letter);
    else if (setting->directive != NULL)
        snprintf(name, name_bytes, "%s", setting->directive);
    else
        snprintf(name, name_bytes, "--%s", setting->name);
    return name;
}

/* What settings need to have an effect. */
enum need { OF_MMAP, OF_DUMMY, OF_HDF5, OF_MPIIO, OF_MPI, OF_POSIX, READERS, RANDOM_READERS, RANDOM_OFFSETS, READ_AFTER_WRITE };

static bool is_api(const struct ior_config *c, const char *name)
{
    return strcmp(c->store->name, name) == 0;
}

/* Reads another's data, or checks it. */
static bool reads(const struct ior_config *c)
{
    return c->read || c->mixed > 0 || c->check_read || c->check_write;
}

static bool is_met(const struct ior_config *c, enum need need)
{
    switch (need) {
    case OF_MMAP:
        return is_api(c, "MMAP");
    case OF_DUMMY:
        return is_api(c, "DUMMY");
    case OF_HDF5:
        return is_api(c, STORE_HDF5_NAME);
    case OF_MPIIO:
        return is_api(c, "MPIIO");
    case OF_MPI:
        return is_api(c, "MPIIO") || is_api(c, STORE_HDF5_NAME);
    case OF_POSIX:
        return is_api(c, "POSIX");
    case READERS:
        return (c->reorder || c->random_tasks > 0) && reads(c);
    case RANDOM_READERS:
        return c->random_tasks > 0 && reads(c);
    case RANDOM_OFFSETS:
        return c->random_offset > 0;
    case READ_AFTER_WRITE:
        return !(c->write && c->read);
    }
    return true;
}

/* What follows "NAME is not used". */
static const char *const reasons[] = {
    [OF_MMAP] = ": it is of the API MMAP",
    [OF_DUMMY] = ": it is of the API DUMMY",
    [OF_HDF5] = ": it is of the API HDF5",
    [OF_MPIIO] = ": it is of the API MPIIO",
    [OF_MPI] = ": it is of the APIs MPIIO and HDF5",
    [OF_POSIX] = ": it is of the API POSIX",
    [READERS] = ": nobody reads other data than its own: -C and -Z do",
    [RANDOM_READERS] = ": nobody reads at random: -Z does",
    [RANDOM_OFFSETS] = ": transfers are in order: -z shuffles them",
    [READ_AFTER_WRITE] = " for writes: the read of the same repetition has the same file names, and replaces them",
};

void ior_config_unused(const struct ior_config *config, void (*say)(const char *what, const char *why))
{
    static const struct {
        size_t at;
        enum need need;
    } needs[] = {
        {AT(map_drops), OF_MMAP},
        {AT(map_pattern), OF_MMAP},
        {AT(delays.create_us), OF_DUMMY},
        {AT(delays.transfer_us), OF_DUMMY},
        {AT(delays.sync_us), OF_DUMMY},
        {AT(delays.close_us), OF_DUMMY},
        {AT(delays_of_rank_0), OF_DUMMY},
        {AT(hdf5.chunk), OF_HDF5},
        {AT(hdf5.alignment), OF_HDF5},
        {AT(hdf5.no_fill), OF_HDF5},
        {AT(hdf5.collective_metadata), OF_HDF5},
        {AT(file_view), OF_MPIIO},
        {AT(hints_file), OF_MPI},
        {AT(range_locks), OF_POSIX},
        {AT(node_offset), READERS},
        {AT(reorder_seed), RANDOM_READERS},
        {AT(offset_seed), RANDOM_OFFSETS},
        {AT(transfers_file), READ_AFTER_WRITE},
    };
    struct ior_config untouched;
    char name[64];
    ior_config_default(&untouched);
    for (size_t i = 0; i < ior_setting_count; i++) {
        const struct ior_setting *row = &ior_settings[i];
        size_t bytes = row->type == OPT_FLAG ? sizeof(bool) : row->type == OPT_TEXT ? sizeof(char *) : sizeof(int64_t);
        if (!config->given[i] || memcmp((const char *)config + row->at, (const char *)&untouched + row->at, bytes) == 0)
            continue; /* what asks for nothing has no effect anywhere */
        for (size_t k = 0; k < sizeof needs / sizeof needs[0]; k++)
            if (needs[k].at == row->at && !is_met(config, needs[k].need))
                say(ior_config_name(i, name, sizeof name), reasons[needs[k].need]);
    }
}
