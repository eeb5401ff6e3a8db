/* ior_session: what one test needs before its first and after its last repetition, and between them. */
#pragma once

#include "ior/pages.h"
#include "ior/phase.h"
#include "ior/report.h"
#include "ior/script.h"

/* Collective over comm: the index'th test. Returns EXIT_CODE_OK, or what to exit with after an error that was printed;
 * ior_session_end is called in both cases. */
int ior_session_begin(struct ior_test *test, const struct ior_script *tests, int index, MPI_Comm comm,
                      struct ior_record *record);
void ior_session_end(struct ior_test *test);

/* Collective: seeds of the repetition that begins, and whose data is read in it. */
void ior_session_next(struct ior_test *test);

/* -d */
void ior_session_pause(const struct ior_test *test);

/* -T: may another phase start? Collective, rank 0 decides. */
bool ior_session_has_time(const struct ior_test *test);
