/* nfstest_report: nfstest's text, on stdout or in the file of parameter o, and its JSON lines. */
#pragma once

#include "common/place.h"
#include "common/rank_rates.h"
#include "nfstest/plan.h"

#include <stdbool.h>

enum nfstest_operation { NFSTEST_WRITE, NFSTEST_READ, NFSTEST_OPERATIONS };

/* One timed phase, the same on every rank. */
struct nfstest_result {
    double elapsed_s; /* WTT, RTT: slowest rank from the opening to the closing barrier */
    double check_s;   /* of it, the most that a rank spent checking */
    struct rank_rates rank_rates_mib_s;
    double foreign_share, remote_share; /* of the reads: files of another process, of another node */
};

/* By rank 0: opens the output file, if there is one. 0 or -errno; report_close likewise, for all that was written. */
int nfstest_report_open(const struct nfstest_config *config);
int nfstest_report_close(void);

/* Collective: the header, where v1 asks for it. */
void nfstest_report_header(const struct nfstest_config *config, const struct place *place);
void nfstest_report_start(const struct nfstest_config *config, int64_t repeat, int64_t size);

/* One phase. size is in units. Returns the total rate in MiB/s. */
double nfstest_report_phase(const struct nfstest_config *config, const struct place *place,
                            enum nfstest_operation operation, int64_t repeat, int64_t size,
                            const struct nfstest_result *result);

/* Where the total rate was highest. */
struct nfstest_best {
    double rate_mib_s;
    int64_t size;
    struct nfstest_result result;
};

void nfstest_report_end(const struct nfstest_config *config, const struct place *place, double elapsed_s,
                        const struct nfstest_best best[NFSTEST_OPERATIONS]);
