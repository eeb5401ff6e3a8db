/* checkpoint_report: the text and the JSON lines of checkpoint. */
#pragma once

#include "checkpoint/point.h"

void checkpoint_report_header(const char *directory);

/* Collective over the point's processes: puts together and reports what the ranks measured. */
void checkpoint_report_phase(struct checkpoint_point *point, enum checkpoint_operation operation,
                             const struct checkpoint_times *times);
