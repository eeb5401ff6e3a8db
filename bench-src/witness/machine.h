/* machine: what a node is made of and how it is set, as facts. root is "" but for tests: where /proc, /sys and /etc are. */
#pragma once

struct processors {
    char model[256]; /* "unknown" where the kernel does not say */
    int sockets, cores, threads; /* 0: unknown */
};

/* Pure: from the text of /proc/cpuinfo, which is cut up. */
void machine_processors(char *cpuinfo, struct processors *found);

/* Pure: those of the boot command line that decide how fast a node is, to be freed. The text is cut up. */
char *machine_parameters(char *cmdline);

void machine_say(const char *root);
