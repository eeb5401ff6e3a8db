/* nodes: the witnesses on the job's nodes, which srun starts in one step. */
#pragma once

#include "witness/gather.h"
#include "witness/job.h"

#include <stdint.h>

/* Before all else. What a node says is given to `keep`. */
void nodes_open(const struct job *job, void (*keep)(const struct told *told));
int nodes_count(void);

void nodes_start(bool with_facts);
bool nodes_run(void);    /* the step runs */
bool nodes_listen(void); /* and can be told something */
void nodes_stop(void);

/* No run follows: what they still have to say is waited for. */
void nodes_dismiss(void);

void nodes_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes lines of a node. */
void nodes_take(struct text *said);

/* Waits for the script or a witness; not beyond that time, -1 being none. */
void nodes_wait(int64_t until_us);

/* Waits until all nodes have said it; false where they will not, or not in time. */
bool nodes_await(const struct gathered *gathered, const char *fact, int64_t until_us);

/* The last line of what srun has complained, "" for nothing, and the status with which it ended. The text is to be freed. */
char *nodes_complaint(void);
int nodes_status(void);

/* The nodes of the job that have not said a fact, the first ones by name. To be freed. */
char *nodes_silent(const struct gathered *gathered, const char *fact);
