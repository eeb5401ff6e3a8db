/* completion: the record of a run that has ended, which says how. The driver takes an attempt for ended once facts.jsonl is there. */
#pragma once

/* Adds the facts of the words that completion.c lists, all of which are on the disk then; job, nodes and restarts are of Slurm's
 * variables. facts.jsonl takes its name once all else of the attempt is written (job.h). Where they cannot be written, or a word
 * is no number that should be one, there are none. Returns the exit status. */
int completion_write(const char *folder, char **words);
