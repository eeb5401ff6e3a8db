/* ior_prefill: randomPrefill. */
#include "ior/prefill.h"

#include "common/buf.h"
#include "ior/access.h"

#include <stdlib.h>

/* Random bytes, none of them twice, which no check takes for those of the test. */
static void write_pieces(struct ior_test *test, struct store_file *file, const char *path)
{
    const struct ior_plan *plan = &test->plan;
    const int64_t bytes = test->config->prefill, own = plan->block * plan->segments;
    const uint64_t stream = ~(uint64_t)test->signature - (uint64_t)test->place.rank;
    unsigned char *buffer = buf_alloc_io((size_t)bytes);
    for (int64_t done = 0; done < own; done += bytes) {
        int64_t offset = ior_plan_offset(plan, test->place.rank, done / plan->transfer) + done % plan->transfer;
        buf_fill(buffer, (size_t)bytes, stream, (uint64_t)done);
        int64_t moved = test->store->write(file, buffer, bytes, offset);
        if (moved == bytes)
            continue;
        faults_add(&test->faults, "prefill", path, moved < 0 ? (int)-moved : 0, moved < 0 ? NULL : "a piece was cut short");
        if (!test->config->collective)
            break;
    }
    free(buffer);
}

void ior_prefill(struct ior_test *test, const char *path)
{
    struct store_options options;
    struct store_file *file;
    ior_access_options(test, test->place.rank, true, &options);
    int error = test->store->open(&file, path, &options);
    if (error == 0) {
        write_pieces(test, file, path);
        error = test->store->close(file);
    }
    if (error != 0)
        faults_add(&test->faults, "prefill", path, -error, NULL);
    MPI_Barrier(test->place.comm);
}
