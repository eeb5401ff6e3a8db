/* store: the table of back ends. */
#include "store/contract.h"

#include <strings.h>

static const struct store *const stores[] = {&store_posix, &store_mpiio, &store_mmap, &store_uring, &store_aio, &store_null};

const struct store *store_at(size_t index)
{
    return index < sizeof stores / sizeof stores[0] ? stores[index] : NULL;
}

const struct store *store_find(const char *name)
{
    if (strcasecmp(name, "NULL") == 0)
        name = store_null.name;
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++)
        if (strcasecmp(stores[i]->name, name) == 0)
            return stores[i];
    return NULL;
}
