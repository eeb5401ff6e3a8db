/* Description: whose data a process reads back, so that it does not come from its own memory or its own node's. */
#include "common/elsewhere.h"
#include "test/check.h"

enum { MOST = 64 };

/* Nodes of positions: sizes[node] processes each. Returns how many of (position, i) pairs stay on their node. */
static int stays(const int *sizes, int nodes, int *own)
{
    int node_of[MOST], ranks = 0, most = 0, same_node = 0;
    for (int node = 0; node < nodes; node++) {
        most = sizes[node] > most ? sizes[node] : most;
        for (int i = 0; i < sizes[node]; i++)
            node_of[ranks++] = node;
    }
    *own = 0;
    int shifts = elsewhere_shifts(ranks, nodes, most);
    CHECK(shifts >= 1);
    for (int i = 0; i < shifts; i++)
        for (int position = 0; position < ranks; position++) {
            int other = (position + elsewhere_shift(i, ranks, nodes, most)) % ranks;
            *own += other == position;
            same_node += node_of[other] == node_of[position];
        }
    return same_node;
}

static void nobody_reads_on_its_own_node_where_no_node_is_too_large(void)
{
    const int layouts[][4] = {{2, 2, 2, 2}, {1, 1, 1, 1}, {3, 2, 2, 1}, {4, 3, 1, 0}, {2, 2, 0, 0}, {16, 16, 16, 16}};
    const int nodes[] = {4, 4, 4, 3, 2, 4};
    for (int i = 0; i < 6; i++) {
        int own;
        CHECK_INT(stays(layouts[i], nodes[i], &own), 0);
        CHECK_INT(own, 0);
    }
}

static void with_a_large_node_as_many_as_can_be_read_elsewhere(void)
{
    int own;
    /* 6 of 8 on one node: 4 of a permutation's 8 must stay there. */
    CHECK_INT(stays((const int[]){6, 2}, 2, &own), 4);
    CHECK_INT(own, 0);
    CHECK_INT(stays((const int[]){5, 1, 1}, 3, &own), 3);
    CHECK_INT(own, 0);
}

static void on_one_node_nobody_reads_its_own(void)
{
    int own;
    stays((const int[]){4}, 1, &own);
    CHECK_INT(own, 0);
    CHECK_INT(elsewhere_shifts(4, 1, 4), 3);
}

static void one_process_alone_has_only_itself(void)
{
    CHECK_INT(elsewhere_shifts(1, 1, 1), 1);
    CHECK_INT(elsewhere_shift(5, 1, 1, 1), 0);
}

static void the_shifts_of_the_example_of_nfstest(void)
{
    /* 4 processes on 4 nodes, 3 files: each reads one of every other process. */
    for (int i = 0; i < 3; i++)
        CHECK_INT(elsewhere_shift(i, 4, 4, 1), i + 1);
    CHECK_INT(elsewhere_shift(3, 4, 4, 1), 1);
}

int main(void)
{
    nobody_reads_on_its_own_node_where_no_node_is_too_large();
    with_a_large_node_as_many_as_can_be_read_elsewhere();
    on_one_node_nobody_reads_its_own();
    one_process_alone_has_only_itself();
    the_shifts_of_the_example_of_nfstest();
    return CHECK_REPORT();
}
