/* checkpoint_point: the clock of a checkpoint and of a restart, and what happens around it. */
#include "checkpoint/point.h"

#include "checkpoint/report.h"
#include "common/buf.h"
#include "common/die.h"
#include "common/emit.h"
#include "common/timer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void image_path(const struct checkpoint_point *point, int rank, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/image.%d", point->directory, rank) >= PATH_MAX)
        bug("path '%s' does not fit", path);
}

/* What the image of a rank holds in this iteration: never what an earlier one left in a file or in memory. */
static uint64_t image_seed(const struct checkpoint_point *point, int rank)
{
    return (uint64_t)point->bytes * 0x9e3779b97f4a7c15u ^ (uint64_t)point->iteration << 24 ^ (uint64_t)rank;
}

static void verify(struct checkpoint_point *point, const char *path)
{
    unsigned char expected, found;
    char detail[128];
    int64_t at = buf_check(point->image, (size_t)point->bytes, image_seed(point, point->partner.rank), 0, &expected, &found);
    if (at < 0)
        return;
    snprintf(detail, sizeof detail, "byte %" PRId64 " is 0x%02x, 0x%02x was written", at, found, expected);
    faults_add(&point->faults, "verify", path, 0, detail);
}

/* Collective over the point's processes. */
static void run_clock(struct checkpoint_point *point, enum checkpoint_operation operation, const char *path, struct totals *totals)
{
    const struct place *place = &point->place;
    struct image_times times = {0};
    MPI_Barrier(place->comm);
    uint64_t start_ns = timer_ns();
    bool right = image_move(operation == CHECKPOINT, path, point->image, point->bytes, point->transfer_bytes, &times,
                            &point->faults);
    double own_s = timer_s(start_ns, timer_ns());
    MPI_Barrier(place->comm);
    totals->most[CHECKPOINT_ELAPSED] = timer_s(start_ns, timer_ns());
    totals->most[CHECKPOINT_OPEN] = times.open_s;
    totals->most[CHECKPOINT_TRANSFER] = times.transfer_s;
    totals->most[CHECKPOINT_SYNC] = times.sync_s;
    totals->most[CHECKPOINT_CLOSE] = times.close_s;
    totals_rate(totals, (double)point->bytes / 1048576 / own_s, place->rank, place->node);
    if (operation == RESTART && right)
        verify(point, path);
    totals->counts[CHECKPOINT_FAILED] = point->faults.count;
}

/* This node's cache is asked about the image that it reads. Examining opens the file, which brings its metadata here: of an
 * image that another machine made, nothing can be in this one's cache. */
static void ask_cache(const struct checkpoint_point *point, const char *path, struct totals *totals)
{
    if (point->partner.machine == place_machine())
        image_cached(path, point->bytes, &totals->counts[CHECKPOINT_CACHED], &totals->counts[CHECKPOINT_PAGES]);
    else
        totals->counts[CHECKPOINT_PAGES] = (point->bytes + 4095) / 4096;
}

static void take_cached_share(struct checkpoint_point *point, const struct totals *totals)
{
    static bool warned;
    const int64_t *counts = totals->counts;
    point->cached_share = counts[CHECKPOINT_PAGES] > 0 ? (double)counts[CHECKPOINT_CACHED] / (double)counts[CHECKPOINT_PAGES] : -1;
    if (point->cached_share > 0.01 && !warned)
        emit_warning("%.1f%% of the images are in the page cache of the nodes that read them back: the restart's rate is in "
                     "part one of memory (said once, cached_share in the JSON for each)",
                     100 * point->cached_share);
    warned = warned || point->cached_share > 0.01;
}

/* Collective over the point's processes. False where an operation failed. */
static bool measure(struct checkpoint_point *point, enum checkpoint_operation operation)
{
    char path[PATH_MAX];
    struct totals totals = {0};
    image_path(point, operation == CHECKPOINT ? point->place.rank : point->partner.rank, path);
    if (operation == RESTART)
        ask_cache(point, path, &totals);
    run_clock(point, operation, path, &totals);
    if (operation == CHECKPOINT && point->restart)
        image_forget(path);
    totals_of(&totals, 1, point->place.comm); /* and all nodes have given up what they wrote */
    if (operation == RESTART)
        take_cached_share(point, &totals);
    bool right = totals.counts[CHECKPOINT_FAILED] == 0;
    if (right)
        checkpoint_report_phase(point, operation, &totals);
    return right;
}

/* Collective over the point's processes: one checkpoint, one restart. False where something failed. */
static bool iterate(struct checkpoint_point *point)
{
    char path[PATH_MAX];
    image_path(point, point->place.rank, path);
    buf_fill(point->image, (size_t)point->bytes, image_seed(point, point->place.rank), 0);
    bool right = measure(point, CHECKPOINT);
    if (right && point->restart) {
        memset(point->image, 0, (size_t)point->bytes);
        right = measure(point, RESTART);
    }
    MPI_Barrier(point->place.comm); /* no rank removes files that another still reads */
    if (unlink(path) != 0 && (right || errno != ENOENT))
        faults_add(&point->faults, "unlink", path, errno, NULL);
    return right;
}

int64_t checkpoint_point_run(struct checkpoint_point *point, MPI_Comm comm)
{
    place_init(&point->place, comm);
    elsewhere_find(&point->place, 1, &point->partner);
    int64_t remote = point->partner.node_index != point->place.node_index;
    MPI_Allreduce(MPI_IN_PLACE, &remote, 1, MPI_INT64_T, MPI_SUM, comm);
    point->remote_share = (double)remote / point->place.ranks;
    point->image = buf_alloc((size_t)point->bytes);
    bool right = true;
    for (; point->iteration < point->iterations && right; point->iteration++)
        right = iterate(point);
    int64_t failed = faults_report(&point->faults, &point->place);
    free(point->image);
    return failed;
}
