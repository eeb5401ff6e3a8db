/* events: the kernel says which process executes a program, where it permits that: to root of the machine, from Linux 6.6 on to
 * everybody, and not within a container that numbers its processes itself. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A socket that tells of them from now on; -1 where they are not permitted. */
int events_open(void);

/* Calls for each process that has executed a program; false where the kernel could not keep all of them. */
bool events_take(int socket, void (*with)(void *to, pid_t pid), void *to);
