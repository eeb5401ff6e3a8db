/* memory: /proc and cgroups. */
#include "witness/memory.h"

#include "common/raw.h"
#include "witness/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned long long memory_of_process(pid_t pid)
{
    char *path = text_of("/proc/%d/status", (int)pid), *text = raw_text(path), *line = strstr(text, "\nVmHWM:");
    unsigned long long peak_kb = line == NULL ? 0 : strtoull(line + strlen("\nVmHWM:"), NULL, 10);
    free(text);
    free(path);
    return peak_kb;
}

char *memory_step_file(const char *cgroups)
{
    char *copy = text_of("%s", cgroups), *file = NULL;
    for (char *rest = copy, *line; file == NULL && (line = text_part(&rest, '\n')) != NULL;) {
        char *controllers = strchr(line, ':'), *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        char *step = path == NULL ? NULL : strstr(path, "/step_");
        if (step == NULL)
            continue;
        step[1 + strcspn(step + 1, "/")] = '\0';
        *path++ = '\0';
        if (controllers[1] == '\0')
            file = text_of("/sys/fs/cgroup%s/memory.peak", path);
        else if (strcmp(controllers + 1, "memory") == 0)
            file = text_of("/sys/fs/cgroup/memory%s/memory.max_usage_in_bytes", path);
    }
    free(copy);
    return file;
}

unsigned long long memory_of_step(const char *file)
{
    char *line = text_line("%s", file);
    unsigned long long peak_kb = line == NULL ? 0 : strtoull(line, NULL, 10) >> 10;
    free(line);
    return peak_kb;
}
