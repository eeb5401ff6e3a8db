/* variables: which of the environment's are told: those that say how a run is launched and what it loads; never a secret's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether only the job tells it: it is the same on all nodes, or says nothing of what a node loads. */
bool variables_of_job(const char *name);

/* Calls for each that is told, in the order of their names; name and value live until it returns. */
void variables_each(void (*with)(const char *name, const char *value));

/* Calls for each that is told, has the value that it had in the first environment of the job's script, and that the submitter
 * had none of, whose variables are named in a text: Slurm has set it, or the site for each job. Nothing without that text. */
void variables_set_by_slurm(const char *first, size_t bytes, const char *submitters, void (*with)(const char *name));
