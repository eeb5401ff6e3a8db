/* mbw_point: one measurement of mbw_mr. */
#include "mbw_mr/point.h"

#include "common/buf.h"
#include "common/die.h"
#include "common/timer.h"
#include "common/totals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DATA_TAG = 100,
    ACK_TAG = 101,
    ACK_BYTES = 4,
    CHECK_BYTES = 64 << 20, /* most that the untimed check of a whole window has under way at once */
};

/* From one message of a window to the next. */
static int64_t stride_of(const struct mbw_load *load)
{
    return load->many_buffers ? (load->size_bytes + 7) / 8 * 8 : 0;
}

void mbw_room_make(struct mbw_room *room, int64_t size_bytes, int64_t window, bool many_buffers)
{
    size_t bytes = (size_t)(size_bytes < ACK_BYTES ? ACK_BYTES : size_bytes + 7);
    bytes *= many_buffers ? (size_t)window : 1;
    room->out = buf_alloc(bytes);
    room->in = buf_alloc(bytes);
    room->requests = die_alloc(sizeof(void *), (size_t)window * sizeof *room->requests);
    room->windows_ns = NULL;
    buf_fill(room->out, bytes, 1, 0);
}

void mbw_room_free(struct mbw_room *room)
{
    free(room->out);
    free(room->in);
    free(room->requests);
    free(room->windows_ns);
}

/* The messages of a measurement as a window's loop needs them: all by value, or each call of MPI would make the processor load
 * them again. */
struct messages {
    unsigned char *out, *in;
    MPI_Request *requests;
    int64_t stride;
    int count, window, peer;
    MPI_Datatype type;
    MPI_Comm comm;
};

static struct messages messages_of(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_room *room)
{
    int type_bytes;
    MPI_Type_size(load->type, &type_bytes);
    return (struct messages){
        .out = room->out,
        .in = room->in,
        .requests = room->requests,
        .stride = stride_of(load),
        .count = (int)(load->size_bytes / type_bytes),
        .window = (int)load->window,
        .peer = team->peer,
        .type = load->type,
        .comm = team->comm,
    };
}

static void send_window(const struct messages m)
{
    unsigned char *data = m.out;
    for (int j = 0; j < m.window; j++, data += m.stride)
        MPI_Isend(data, m.count, m.type, m.peer, DATA_TAG, m.comm, &m.requests[j]);
    MPI_Waitall(m.window, m.requests, MPI_STATUSES_IGNORE);
    MPI_Recv(m.in, ACK_BYTES, MPI_CHAR, m.peer, ACK_TAG, m.comm, MPI_STATUS_IGNORE);
}

/* All receives of a window share one place, as those of the tests that the numbers are compared with, unless many buffers are
 * asked for. */
static void receive_window(const struct messages m)
{
    unsigned char *data = m.in;
    for (int j = 0; j < m.window; j++, data += m.stride)
        MPI_Irecv(data, m.count, m.type, m.peer, DATA_TAG, m.comm, &m.requests[j]);
    MPI_Waitall(m.window, m.requests, MPI_STATUSES_IGNORE);
    MPI_Send(m.out, ACK_BYTES, MPI_CHAR, m.peer, ACK_TAG, m.comm);
}

/* The windows' own time, where they are timed one by one or a list is kept; else 0, and no clock is read. Two loops are made of
 * this one, each with one of the functions above in it. */
static inline uint64_t __attribute__((always_inline))
run_windows(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room, int64_t iterations, uint64_t *list,
            void (*window)(struct messages))
{
    const struct messages messages = messages_of(team, load, room);
    uint64_t own_ns = 0;
    for (int64_t i = 0; i < iterations; i++) {
        for (int64_t k = 0; load->each_window && k < load->before_each; k++) {
            MPI_Barrier(team->comm);
            window(messages);
        }
        if (load->each_window)
            MPI_Barrier(team->comm);
        uint64_t start_ns = load->each_window || list != NULL ? timer_ns() : 0;
        window(messages);
        if (load->each_window || list != NULL) {
            uint64_t elapsed_ns = timer_ns() - start_ns;
            own_ns += elapsed_ns;
            if (list != NULL)
                list[i] = elapsed_ns;
        }
    }
    return own_ns;
}

static uint64_t run_iterations(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room, int64_t iterations,
                               uint64_t *list)
{
    return team->sends ? run_windows(team, load, room, iterations, list, send_window)
                       : run_windows(team, load, room, iterations, list, receive_window);
}

static void check_message(const unsigned char *data, int64_t size, uint64_t seed, uint64_t offset, const char *what,
                          struct faults *faults)
{
    unsigned char expected, found;
    char detail[128];
    int64_t at = buf_check(data, (size_t)size, seed, offset, &expected, &found);
    if (at < 0)
        return;
    snprintf(detail, sizeof detail, "byte %" PRId64 " is 0x%02x, 0x%02x was sent", at, found, expected);
    faults_add(faults, "receive", what, 0, detail);
}

/* One whole window more, every message with its own content and its own place. Untimed. */
static void check_window(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room,
                         uint64_t seed, struct faults *faults)
{
    int64_t stride = (load->size_bytes + 7) / 8 * 8, at_once = CHECK_BYTES / stride;
    at_once = at_once < 1 ? 1 : at_once > load->window ? load->window : at_once;
    unsigned char *place = buf_alloc((size_t)(at_once * stride));
    for (int64_t first = 0; first < load->window; first += at_once) {
        int count = (int)(load->window - first < at_once ? load->window - first : at_once);
        if (team->sends)
            buf_fill(place, (size_t)(count * stride), seed, (uint64_t)(first * stride));
        else
            memset(place, 0, (size_t)(count * stride));
        for (int j = 0; j < count; j++) {
            if (team->sends)
                MPI_Isend(place + j * stride, (int)load->size_bytes, MPI_CHAR, team->peer, DATA_TAG, team->comm,
                          &room->requests[j]);
            else
                MPI_Irecv(place + j * stride, (int)load->size_bytes, MPI_CHAR, team->peer, DATA_TAG, team->comm,
                          &room->requests[j]);
        }
        MPI_Waitall(count, room->requests, MPI_STATUSES_IGNORE);
        for (int j = 0; j < count && !team->sends; j++) {
            char what[96];
            snprintf(what, sizeof what, "message %" PRId64 " of %" PRId64 " bytes", first + j, load->size_bytes);
            check_message(place + j * stride, load->size_bytes, seed, (uint64_t)((first + j) * stride), what, faults);
        }
    }
    free(place);
}

/* Seconds that the timed iterations took on this process, and with the barriers between them into phase_s. */
static double run_clock(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room, double *phase_s)
{
    uint64_t *list = load->list && team->sends ? room->windows_ns : NULL;
    run_iterations(team, load, room, load->warmup, NULL);
    MPI_Barrier(team->comm);
    uint64_t start_ns = timer_ns();
    uint64_t own_ns = run_iterations(team, load, room, load->iterations, list);
    *phase_s = timer_s(start_ns, timer_ns());
    return load->each_window ? timer_s(0, own_ns) : *phase_s;
}

void mbw_point_measure(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room,
                       struct mbw_result *result, struct faults *faults)
{
    int64_t wrong_before = faults->count;
    /* Content that no earlier point had, or what was left of that one would pass for what this one should bring. */
    uint64_t seed = (uint64_t)load->size_bytes << 20 ^ (uint64_t)load->window;
    const int64_t stride = stride_of(load), places = load->many_buffers ? load->window : 1;
    const int64_t used = load->many_buffers ? stride * load->window : load->size_bytes;
    if (load->list) {
        free(room->windows_ns);
        room->windows_ns = die_alloc(sizeof(uint64_t), (size_t)load->iterations * sizeof *room->windows_ns);
    }
    if (load->validate) {
        buf_fill(room->out, (size_t)used, seed, 0);
        memset(room->in, 0, (size_t)used);
    }
    double phase_s, own_s = run_clock(team, load, room, &phase_s);
    for (int64_t j = 0; load->validate && !team->sends && j < places; j++) {
        char what[96];
        snprintf(what, sizeof what, "timed message of %" PRId64 " bytes", load->size_bytes);
        check_message(room->in + j * stride, load->size_bytes, seed, (uint64_t)(j * stride), what, faults);
    }
    if (load->validate)
        check_window(team, load, room, ~seed, faults);
    double messages = (double)load->iterations * (double)load->window, size_bytes = (double)load->size_bytes;
    struct totals totals = {.sums = {team->sends ? own_s : 0, team->sends ? phase_s : 0}, .counts = {faults->count - wrong_before}};
    totals_rate(&totals, team->sends ? size_bytes * messages / 1e6 / own_s : -1, team->world_rank, "");
    totals_of(&totals, 1, team->comm);
    result->wrong_messages = totals.counts[0];
    result->elapsed_s = totals.sums[0] / team->pairs;
    result->phase_s = totals.sums[1] / team->pairs;
    result->messages_s = messages * team->pairs / result->elapsed_s;
    result->rate_mb_s = size_bytes * result->messages_s / 1e6;
    result->pair_rate_mb_s = totals.rates;
    if (result->wrong_messages > 0) /* no number for what was not moved as it should */
        result->rate_mb_s = result->messages_s = NAN;
}
