/* inputs: hashes of what the benchmark reads. */
#include "witness/inputs.h"

#include "common/die.h"
#include "common/sha256.h"
#include "witness/ask.h"
#include "witness/facts.h"
#include "witness/nodes.h"
#include "witness/say.h"
#include "witness/script.h"
#include "witness/text.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAKE_MS = 1000 };

static char *given; /* NULL where there are none */

void inputs_are(const char *paths)
{
    free(given);
    given = text_of("%s", paths);
}

/* Waits for all that the step prints, unless the job is ending. */
static void take_all(struct asked *step)
{
    while (step->out >= 0 && !script_over() && !script_ended()) {
        struct pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {step->out, POLLIN, 0}};
        if (poll(ready, 2, WAKE_MS) == 0)
            script_wake();
        if (ready[0].revents != 0)
            script_hear();
        if (ready[1].revents != 0)
            ask_take(step);
    }
}

/* Of lines "NODE SHA-256 SIZE PATH". */
static void record_hashes(const char *folder, char *lines)
{
    int error = facts_open(folder, false);
    for (char *rest = lines, *line; error == 0 && (line = text_part(&rest, '\n')) != NULL;) {
        char *path = line, *node = text_part(&path, ' '), *hash = text_part(&path, ' '), *size = text_part(&path, ' ');
        if (path == NULL)
            continue;
        facts_text((struct fact){.source = "inputs", .node = node, .name = path}, hash);
        facts_int((struct fact){.source = "inputs", .node = node, .name = path, .unit = "bytes"}, atoll(size));
    }
    if (error == 0)
        error = facts_close(false);
    if (error != 0)
        warn("cannot write '%s/facts.jsonl': %s", folder, strerror(-error));
}

void inputs_hash(const char *folder)
{
    char own[4096], *nodes = text_of("--nodes=%d", nodes_count()), *tasks = text_of("--ntasks=%d", nodes_count());
    char *paths = given == NULL ? NULL : text_of("%s", given), *rest = paths, *path;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length < 0 ? 0 : length] = '\0';
    const char *step_words[] = {"srun", "--overlap", nodes, tasks, "--ntasks-per-node=1", "--job-name=witness",
                                "--mpi=none", "--cpu-bind=none", own, "hash"};
    char **words = NULL;
    size_t used = 0;
    for (size_t i = 0; i < sizeof step_words / sizeof *step_words; i++) {
        words = text_grow(words, used, sizeof *words);
        words[used++] = (char *)step_words[i];
    }
    while ((path = text_part(&rest, '\t')) != NULL) {
        words = text_grow(words, used, sizeof *words);
        words[used++] = path;
    }
    words = text_grow(words, used, sizeof *words);
    words[used] = NULL;
    if (paths != NULL) {
        struct asked step;
        ask_start(&step, words, NULL, false, NULL);
        take_all(&step);
        ask_end(&step);
        record_hashes(folder, step.said.bytes);
        text_free(&step.said);
    }
    free(words);
    free(paths);
    free(nodes);
    free(tasks);
}

int inputs_say(char *const paths[], int count)
{
    for (int i = 0; i < count; i++) {
        unsigned char digest[SHA256_BYTES];
        char hex[SHA256_HEX_BYTES];
        struct stat file;
        bool is = stat(paths[i], &file) == 0 && S_ISREG(file.st_mode) && sha256_file(paths[i], digest) == 0;
        if (is)
            sha256_hex(digest, hex);
        printf("%s %s %lld %s\n", say_node(), is ? hex : "unread", is ? (long long)file.st_size : 0, paths[i]);
        int fd = is ? open(paths[i], O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0) { /* the benchmark finds no more of it in memory than without this */
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            close(fd);
        }
    }
    return fflush(stdout) == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
