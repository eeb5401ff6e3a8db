/* without_calls: runs a command for which system calls do not exist: without_calls NUMBER… -- COMMAND ARGUMENT… */
#include "test/without.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (without_call(atoi(argv[at])) != 0) {
            perror("without_calls");
            return 125;
        }
    if (at + 1 >= argc)
        return 125;
    execvp(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 127;
}
