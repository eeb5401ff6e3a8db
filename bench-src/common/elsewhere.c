/* elsewhere: whose data a process reads back. */
#include "common/elsewhere.h"

/* The shifts that keep every process off its own node; if there are none, the one that comes nearest to it. */
static void shift_range(int ranks, int nodes, int most_on_a_node, int *first, int *last)
{
    if (ranks == 1) {
        *first = *last = 0;
    } else if (nodes == 1) {
        *first = 1;
        *last = ranks - 1;
    } else {
        *first = most_on_a_node;
        *last = ranks - most_on_a_node >= most_on_a_node ? ranks - most_on_a_node : most_on_a_node;
    }
}

int elsewhere_shifts(int ranks, int nodes, int most_on_a_node)
{
    int first, last;
    shift_range(ranks, nodes, most_on_a_node, &first, &last);
    return last - first + 1;
}

int elsewhere_shift(int64_t i, int ranks, int nodes, int most_on_a_node)
{
    int first, last;
    shift_range(ranks, nodes, most_on_a_node, &first, &last);
    return first + (int)(i % (last - first + 1));
}

static int most_on_a_node(const struct place *place)
{
    int most;
    MPI_Allreduce(&place->ranks_on_node, &most, 1, MPI_INT, MPI_MAX, place->comm);
    return most;
}

int elsewhere_choices(const struct place *place)
{
    return elsewhere_shifts(place->ranks, place->nodes, most_on_a_node(place));
}

void elsewhere_find(const struct place *place, int count, struct elsewhere *choices)
{
    MPI_Comm grouped; /* its ranks are the positions */
    int most = most_on_a_node(place), ranks = place->ranks, machine = place_machine(), position;
    MPI_Comm_split(place->comm, 0, place->node_index, &grouped);
    MPI_Comm_rank(grouped, &position);
    for (int i = 0; i < count; i++) {
        int shift = elsewhere_shift(i, ranks, place->nodes, most), own[3] = {place->rank, place->node_index, machine}, other[3];
        MPI_Sendrecv(own, 3, MPI_INT, (position - shift + ranks) % ranks, 0, other, 3, MPI_INT,
                     (position + shift) % ranks, 0, grouped, MPI_STATUS_IGNORE);
        choices[i] = (struct elsewhere){other[0], other[1], other[2]};
    }
    MPI_Comm_free(&grouped);
}
