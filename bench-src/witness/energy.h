/* energy: readings of a node's meters around a run, and at long intervals in between. They are kept, and said when the run has
 * ended. A reading is a line:
 *   TIME rapl ZONE=NAME=MICROJOULES=RANGE ...   of Linux's powercap: packages, and memory that has a zone of its own
 *   TIME command TEXT                           the last line that the site's command printed
 *   TIME problem TEXT                           why there is none */
#pragma once

#include <stddef.h>

/* $CAMPAIGN_ENERGY is "SECONDS rapl", "SECONDS command TEXT", or "SECONDS once TEXT": the shell's command on the job's first node alone.
 * Nothing is read where it is not set. `root`: where /sys is. */
void energy_open(const char *root);

struct energy_readings {
    char **lines;
    size_t count;
};

void energy_begin(void);

/* The readings of the run that ends. */
struct energy_readings energy_end(void);

/* Says them and frees them. */
void energy_say(int run, struct energy_readings *readings);
