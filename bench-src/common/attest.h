/* attest: what the processes of a run are made of, seen from inside of them before anything is timed: the program and all
 * that it has loaded, hashed once on each machine; which files the measuring functions are in; the variables that decide what
 * is loaded and how MPI and the network are tuned; and what is mounted at the directory that is measured.
 *
 * A preloaded library can lie to all of it in its own process. docs/evidence.md says what it proves. */
#pragma once

#include "common/objects.h"
#include "common/place.h"
#include "common/sha256.h"

struct attest {
    unsigned char binary[SHA256_BYTES]; /* of the file that this rank executes */
    struct facts facts;
    struct objects objects; /* that were loaded then */
};

/* Collective. directory: where the run writes, which need not exist yet; NULL where it writes nothing. */
void attest_look(struct attest *attest, const struct place *place, const char *directory);

/* Collective: an `attestation` line for each group of ranks that say the same. */
void attest_emit(const struct attest *attest, const struct place *place);

/* Emits the member "loaded_later": what this rank has loaded since, with its hashes. */
void attest_emit_later(const struct attest *attest);

void attest_free(struct attest *attest);
