/* place: rank → node map by reductions. Nodes are found one after the other: the lowest rank that has no node yet says
 * its name, and every rank with that name joins. Costs three small collectives a node, once, before anything is timed. */
#include "common/place.h"

#include "common/emit.h"
#include "common/quiet.h"
#include "common/timer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_BYTES = 2 * PLACE_NAME_BYTES, ASK_TAG = 2, ANSWER_TAG = 3 };

static int lowest(MPI_Comm comm, int value)
{
    int result;
    MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_MIN, comm);
    return result;
}

/* Fills the displayed name and the key that decides what a node is. */
static void own_name(char name[PLACE_NAME_BYTES], char key[KEY_BYTES])
{
    char host[PLACE_NAME_BYTES] = "";
    gethostname(host, sizeof host - 1);
    const char *slurm = getenv("SLURMD_NODENAME");
    bool from_slurm = slurm != NULL && slurm[0] != '\0';
    snprintf(name, PLACE_NAME_BYTES, "%s", from_slurm ? slurm : host);
    memset(key, 0, KEY_BYTES);
    snprintf(key, KEY_BYTES, "%.255s/%s", name, host);
}

/* Sets node_index, nodes, ranks_on_node and ranks_per_node. */
static void find_nodes(struct place *place, const char *key)
{
    int fewest = INT_MAX, most = 0, found = 0;
    place->node_index = -1;
    for (place->nodes = 0; found < place->ranks; place->nodes++) {
        int leader = found == 0 ? 0 : lowest(place->comm, place->node_index < 0 ? place->rank : INT_MAX);
        char leader_key[KEY_BYTES];
        memcpy(leader_key, key, KEY_BYTES);
        MPI_Bcast(leader_key, KEY_BYTES, MPI_CHAR, leader, place->comm);
        bool joins = place->node_index < 0 && memcmp(leader_key, key, KEY_BYTES) == 0;
        if (joins)
            place->node_index = place->nodes;
        int joined = joins, members;
        MPI_Allreduce(&joined, &members, 1, MPI_INT, MPI_SUM, place->comm);
        if (joins)
            place->ranks_on_node = members;
        found += members;
        fewest = members < fewest ? members : fewest;
        most = members > most ? members : most;
    }
    place->ranks_per_node = fewest == most ? most : 0;
}

int place_peer_value(const struct place *place, int value, long long distance)
{
    int np = place->ranks, step = (int)(((distance % np) + np) % np), peer_value;
    MPI_Sendrecv(&value, 1, MPI_INT, (place->rank - step + np) % np, 0, &peer_value, 1, MPI_INT,
                 (place->rank + step) % np, 0, place->comm, MPI_STATUS_IGNORE);
    return peer_value;
}

int place_peer_node(const struct place *place, long long distance)
{
    return place_peer_value(place, place->node_index, distance);
}

void place_init(struct place *place, MPI_Comm comm)
{
    char key[KEY_BYTES];
    place->comm = comm;
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->ranks);
    own_name(place->node, key);
    find_nodes(place, key);
    int before = place_peer_node(place, -1), after = place_peer_node(place, 1);
    place->starts_range = place->rank == 0 || before != place->node_index;
    place->ends_range = place->rank == place->ranks - 1 || after != place->node_index;

    int own[2] = {place->starts_range, place->node_index != place->rank % place->nodes}, all[2];
    MPI_Allreduce(own, all, 2, MPI_INT, MPI_SUM, comm);
    if (all[0] == place->nodes)
        place->order = PLACE_BLOCK;
    else if (all[1] == 0)
        place->order = PLACE_CYCLIC;
    else
        place->order = PLACE_IRREGULAR;
}

static void read_boot(char id[64])
{
    id[0] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(id, 64, file) == NULL)
            id[0] = '\0';
        fclose(file);
    }
}

int place_machine(void)
{
    char id[64];
    read_boot(id);
    unsigned int color = 0;
    for (const char *at = id; *at != '\0'; at++)
        color = color * 31 + (unsigned char)*at;
    return (int)(color & INT_MAX);
}

/* Tells every rank that asks what this one has, until the request is complete. */
static void answer_until(const struct place *place, const void *own, int bytes, MPI_Request *request)
{
    struct quiet_pause pause = {0};
    MPI_Status status;
    for (int asked, complete = 0; !complete;) {
        MPI_Iprobe(MPI_ANY_SOURCE, ASK_TAG, place->comm, &asked, &status);
        if (asked) {
            MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, ASK_TAG, place->comm, MPI_STATUS_IGNORE);
            MPI_Send(own, bytes, MPI_BYTE, status.MPI_SOURCE, ANSWER_TAG, place->comm);
        }
        MPI_Test(request, &complete, MPI_STATUS_IGNORE);
        if (!asked && !complete)
            quiet_sleep_ns(quiet_next_ns(&pause));
    }
}

/* No rank knows how many will ask it: all answer until everybody has an answer. */
void place_ask(const struct place *place, int rank, const void *own, void *reply, int bytes)
{
    MPI_Request request;
    memcpy(reply, own, (size_t)bytes);
    if (rank != place->rank) {
        MPI_Irecv(reply, bytes, MPI_BYTE, rank, ANSWER_TAG, place->comm, &request);
        MPI_Send(NULL, 0, MPI_BYTE, rank, ASK_TAG, place->comm);
        answer_until(place, own, bytes, &request);
    }
    MPI_Ibarrier(place->comm, &request);
    answer_until(place, own, bytes, &request);
    quiet_barrier(place->comm); /* who asks for something else is not given this */
}

const char *place_order_name(enum place_order order)
{
    static const char *const names[] = {
        [PLACE_BLOCK] = "block", [PLACE_CYCLIC] = "cyclic", [PLACE_IRREGULAR] = "irregular"};
    return names[order];
}

/* Of a node. Collective in irregular orders alone. */
static int first_rank(const struct place *place, int node_index)
{
    if (place->order == PLACE_CYCLIC)
        return node_index;
    if (place->order == PLACE_BLOCK && place->ranks_per_node > 0)
        return node_index * place->ranks_per_node;
    return lowest(place->comm, place->node_index == node_index ? place->rank : INT_MAX);
}

void place_each_range(const struct place *place, int node_index, void (*use)(int first, int last, void *data),
                      void *data)
{
    /* In the regular orders, known without a collective for each. */
    if (place->order == PLACE_CYCLIC) {
        for (int rank = node_index; rank < place->ranks; rank += place->nodes)
            use(rank, rank, data);
        return;
    }
    if (place->order == PLACE_BLOCK && place->ranks_per_node > 0) {
        int first = first_rank(place, node_index);
        use(first, first + place->ranks_per_node - 1, data);
        return;
    }
    bool here = place->node_index == node_index;
    for (int last = -1;;) {
        bool starts = here && place->starts_range && place->rank > last;
        int first = lowest(place->comm, starts ? place->rank : INT_MAX);
        if (first == INT_MAX)
            return;
        last = lowest(place->comm, here && place->ends_range && place->rank >= first ? place->rank : INT_MAX);
        use(first, last, data);
    }
}

void place_node_name(const struct place *place, int rank, char name[PLACE_NAME_BYTES])
{
    memcpy(name, place->node, PLACE_NAME_BYTES);
    if (place->nodes > 1)
        MPI_Bcast(name, PLACE_NAME_BYTES, MPI_CHAR, rank, place->comm);
}

static void emit_range(int first, int last, void *data)
{
    bool *is_first = data;
    char text[32];
    if (first == last)
        snprintf(text, sizeof text, "%s%d", *is_first ? "" : ",", first);
    else
        snprintf(text, sizeof text, "%s%d-%d", *is_first ? "" : ",", first, last);
    emit_string_part(text);
    *is_first = false;
}

void place_emit_map(const struct place *place)
{
    struct {
        char name[PLACE_NAME_BYTES], boot[64];
        double unix_s;
    } own, told;
    memcpy(own.name, place->node, sizeof own.name);
    read_boot(own.boot);
    own.boot[strcspn(own.boot, "-\n")] = '\0';
    MPI_Barrier(place->comm);
    own.unix_s = timer_unix_s();
    emit_group("rank_to_node", '[');
    for (int node = 0; node < place->nodes; node++) {
        told = own;
        MPI_Bcast(&told, sizeof told, MPI_BYTE, first_rank(place, node), place->comm);
        emit_group(NULL, '{');
        emit_string("node", told.name);
        emit_string("boot", told.boot[0] == '\0' ? NULL : told.boot);
        emit_real("unix_time", told.unix_s, 6);
        emit_open_string("ranks");
        bool is_first = true;
        place_each_range(place, node, emit_range, &is_first);
        emit_close_string();
        emit_group_end('}');
    }
    emit_group_end(']');
}
