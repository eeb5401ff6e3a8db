/* watch: looks from outside which files the ranks of the job's runs execute on this node, as standard input tells it:
 *
 *   run NUMBER <tab> FOLDER <tab> LAUNCHER <tab> DIRECTORY
 *                                              a run is about to begin, which is to work there; answered by the fact "ready"
 *   phase                                      a phase of it is about to begin
 *   end                                        it has ended; answered by all that was seen of it, after a moment for the next launch
 *   now                                        the job waits for that answer
 *
 * It adds nothing to the ranks, and while they run it starts no process and reads nothing of the target but which directory it is,
 * once, where the kernel has another name for it. Where the kernel says
 * which processes execute something (events.h), it looks at those, at once. Elsewhere it looks at what is new every few
 * milliseconds while ranks start, and then ever more rarely, up to every 5 s: what ran between two looks it did not see.
 * docs/evidence.md says so. */
#pragma once

/* Until the end of standard input. `declared`: the programs that the ranks may execute, NULL at the end. Returns the exit status. */
int watch_runs(char *const declared[]);
