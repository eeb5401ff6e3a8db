/* hog: takes part of a node's memory and holds it. */
#include "common/hog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int64_t hog_share_of_node(double percent)
{
    return (int64_t)(percent / 100 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
}

int64_t hog_available(void)
{
    char line[128];
    int64_t kib = INT64_MAX / 1024;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return INT64_MAX;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1)
            break;
    fclose(file);
    return kib * 1024;
}

int hog_take(struct hog *hog, const struct place *place, int64_t node_bytes)
{
    *hog = (struct hog){0};
    int error = hog_available() < node_bytes ? -ENOMEM : 0, worst;
    /* All look before one takes. */
    MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, place->comm);
    if (worst != 0)
        return worst;
    int64_t page = sysconf(_SC_PAGESIZE), bytes = (node_bytes / place->ranks_on_node / page + 1) * page;
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    error = memory == MAP_FAILED ? -errno : 0;
    MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, place->comm);
    if (error == 0) {
        hog->memory = memory;
        hog->bytes = bytes;
    }
    if (worst != 0) {
        hog_release(hog);
        return worst;
    }
    for (int64_t at = 0; at < bytes; at += page)
        ((volatile char *)memory)[at] = 1;
    MPI_Barrier(place->comm);
    return 0;
}

void hog_release(struct hog *hog)
{
    if (hog->memory != NULL)
        munmap(hog->memory, (size_t)hog->bytes);
    *hog = (struct hog){0};
}
