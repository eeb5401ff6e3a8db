/* completion: the record of a run that has ended, which says how. The driver takes an attempt for ended once it is there. */
#pragma once

/* Writes FOLDER/completion.json.new, all of which is on the disk then, of the words that completion.c lists; job, nodes and restarts
 * are of Slurm's variables. It takes its name once all else of the attempt is written (job.h). Where it cannot be written, or a
 * word is no number that should be one, there is none. Returns the exit status. */
int completion_write(const char *folder, char **words);
