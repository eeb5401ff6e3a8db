/* job: on the job's first node, between its script and the witnesses on its nodes. It starts them by srun once, puts together what
 * they say, and writes environment.json and ran.txt. It obeys its standard input, in words with tabs between, and answers on
 * its standard output, a line to each of those that ask something:
 *
 *   around                                 why nothing may be measured on the target, or nothing: the job's environment is recorded
 *   open FOLDER DIRECTORY                  an attempt begins, which will work in the directory
 *   watch LAUNCHER                         its ranks will be looked at
 *   ready                                  once they are; why they are not, or nothing
 *   phase                                  a phase of it begins
 *   close MADE [NODES:RANKS:PHASE ...]     it has ended; which of its phases have to be seen as placed so. Where all are,
 *                                          completion.json.new becomes completion.json once all else is written
 *   closed                                 once all of that is: nothing; "other" where ranks were elsewhere, "part" where not all
 *                                          were seen. completion.json is the script's then
 *   over                                   the job is ending: nothing is waited for any more
 */
#pragma once

struct job_limits { /* seconds */
    int answer, ready, end;
};

struct job {
    const char *folder, *directory, *executable;
    const char *mark; /* a file that the job has just created in the directory; "" where it has not */
    int watches;      /* whether runs are looked at */
    struct job_limits limits;
    char **independent; /* comments of jobs on other storage */
    int independent_count;
    char **prefix; /* NULL at the end */
};

/* Until the end of standard input. Returns the exit status. */
int job_serve(const struct job *job);
