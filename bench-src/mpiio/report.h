/* mpiio_report: mpiio's text and JSON lines. */
#pragma once

#include "mpiio/model.h"

/* By every rank; rank 0 speaks. total_bytes and chunks are those of the phase. */
void mpiio_report_plan(const struct mpiio_config *config, const struct place *place, bool writes, int64_t total_bytes,
                       int64_t chunks);

/* Collective: what each process did, with its timeline, and the sum of all. agent is this rank's. */
void mpiio_report_phase(const struct mpiio_config *config, const struct place *place, const struct mpiio_agent *agent,
                        const struct mpiio_result *result);
