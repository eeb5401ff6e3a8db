/* For LD_PRELOAD: others on the target of a job.
 *
 * Once a directory named OTHERS_NAME has been created, the shell command OTHERS_DO is executed with it in $1. OTHERS_KEEP is a
 * file name that cannot be removed. With OTHERS_OWN everything has the owner nobody, as where a server takes root for nobody. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static void execute(const char *command, const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("LD_PRELOAD");
        execl("/bin/bash", "bash", "-c", command, "bash", path, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

int mkdir(const char *path, mode_t mode)
{
    int (*real)(const char *, mode_t) = (int (*)(const char *, mode_t))next("mkdir");
    const char *name = getenv("OTHERS_NAME"), *command = getenv("OTHERS_DO"), *slash = strrchr(path, '/');
    int status = real(path, mode);
    if (status == 0 && name != NULL && command != NULL && strcmp(slash == NULL ? path : slash + 1, name) == 0)
        execute(command, path);
    return status;
}

int unlinkat(int fd, const char *path, int flags)
{
    int (*real)(int, const char *, int) = (int (*)(int, const char *, int))next("unlinkat");
    const char *kept = getenv("OTHERS_KEEP");
    if (kept != NULL && strcmp(path, kept) == 0) {
        errno = EPERM;
        return -1;
    }
    return real(fd, path, flags);
}

int fstat(int fd, struct stat *found)
{
    int (*real)(int, struct stat *) = (int (*)(int, struct stat *))next("fstat");
    int status = real(fd, found);
    if (getenv("OTHERS_OWN") != NULL)
        found->st_uid = NOBODY;
    return status;
}
