/* mdtest_phase: one timed phase of mdtest.
 *
 * Every rank: barrier, clock, its operations, clock (its own time), barrier, clock (the phase's time). The phase took as
 * long as on the slowest rank; rate = operations / that time, in operations per second. */
#pragma once

#include "mdtest/model.h"

/* Collective. Performs and times one operation on the items of one kind, and adds it to the phases of the test.
 * first_object and last_object: are there no items of another kind before, after them in this iteration? (-t) */
void mdtest_phase_items(struct mdtest_test *test, enum mdtest_operation operation, enum mdtest_object object,
                        bool first_object, bool last_object);

/* Collective. Makes or removes the trees, likewise. Returns the number of operations that failed. */
int64_t mdtest_phase_tree(struct mdtest_test *test, bool make);

/* Collective, after the last phase of an iteration. What the phases of the test came to over all ranks, all at once. */
void mdtest_phases_reduce(struct mdtest_test *test, struct mdtest_result results[MDTEST_PHASES]);

/* Collective. With --latency rank 0 has those of all ranks. */
void mdtest_phase_latencies(const struct mdtest_test *test, struct mdtest_phase *phase, struct mdtest_result *result);
