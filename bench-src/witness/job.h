/* job: on the job's first node, between its script and the witnesses on its nodes. It takes the target for the job, starts the
 * witnesses by srun once, puts together what they say, and writes the facts of the job and of its attempts. It obeys its standard input, in
 * words with tabs between, and answers on its standard output, a line to each of those that ask something, and to each that it
 * does not know. A line that begins with a tab is for the job's own output, and no answer.
 *
 *   lock                                   why nothing may be measured on the target, "itself" where this very job holds it already,
 *                                          or nothing: it is this job's now. The nodes are asked from then on
 *   around                                 the same of all nodes: the job's environment is recorded
 *   begin FOLDER DIRECTORY                 nothing, once the facts of an attempt are begun, which will work in the directory;
 *                                          or what was unknown of the words before
 *   inputs FILE ...                        what the benchmark reads
 *   hash FOLDER                            nothing, once all nodes have hashed it
 *   watch LAUNCHER DIRECTORY               its ranks will be looked at; they are to work in the directory
 *   ready                                  once they are; why they are not, or nothing
 *   phase                                  a phase of it begins
 *   close MADE ENDED [NODES:RANKS:PHASE ...]
 *                                          it has ended; which of its phases have to be seen as placed so. Where all are, and
 *                                          how it ended is recorded (completion.h), facts.jsonl.new becomes facts.jsonl
 *   closed                                 once all of that is: nothing; "other" where ranks were elsewhere, "part" where not all
 *                                          were seen. The script gives facts.jsonl its name then
 *   over                                   the job is ending: nothing is waited for any more
 *   leave                                  the job has ended: the target is given up. A script that was killed does not say so;
 *                                          its lock stays until Slurm says that the job has ended
 */
#pragma once

struct job_limits { /* seconds */
    int answer, ready, end;
    int lock; /* between two questions to Slurm whether a lock is stale: every waiting job asks the one slurmctld */
};

struct job {
    const char *folder, *directory, *executable;
    const char *mark; /* the name of a file that the job has just created in the directory; "" where it has not */
    const char *boot, *seen; /* of the machine that submitted the job: its boot, NULL where that is not known, and DEVICE:INODE of the
                                directory, "" where it does not see it */
    int watches;      /* whether runs are looked at */
    int shares;       /* whether it measures nothing on the target, which other jobs may use meanwhile: it takes no lock */
    struct job_limits limits;
    char **independent; /* parts of the names of jobs on other storage */
    int independent_count;
    char **prefix; /* NULL at the end */
};

/* Until the end of standard input. Returns the exit status. */
int job_serve(struct job *job);
