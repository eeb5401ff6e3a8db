/* mdtest_report: mdtest's text, in the layout of its 4.x releases, and the JSON lines of docs/bench-jsonl.md. */
#pragma once

#include "mdtest/model.h"

/* "-- started at …" down to the file system; stamps and names. Collective. */
void mdtest_report_header(const struct mdtest_config *config, const struct place *place);
void mdtest_report_footer(void);

/* The shift and the number of items of one test, and the JSON `shift` line. Collective. */
void mdtest_report_plan(const struct mdtest_test *test);

/* A phase's JSON line, its text where -v asks for it, and its place in the rows. */
void mdtest_report_phase(const struct mdtest_test *test, const struct mdtest_phase *phase,
                         const struct mdtest_result *result, struct mdtest_rows *rows);

/* The summary tables, the JSON `result` lines, and what makes the numbers invalid. */
void mdtest_report_summary(const struct mdtest_test *test, const struct mdtest_rows *rows);
