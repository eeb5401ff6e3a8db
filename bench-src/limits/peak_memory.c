/* peak_memory: runs a program and then prints "peak_kib N", the most memory it had resident at a time.
 *
 * usage: peak_memory PROGRAM [ARGUMENT…]    Exit status: the program's. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: peak_memory PROGRAM [ARGUMENT…]\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execv(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("peak_memory");
        return 1;
    }
    printf("peak_kib %ld\n", usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
