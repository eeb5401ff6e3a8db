/* checkpoint_report: the text and the JSON lines of checkpoint. */
#pragma once

#include "checkpoint/point.h"
#include "common/totals.h"

void checkpoint_report_header(const char *directory);

void checkpoint_report_phase(const struct checkpoint_point *point, enum checkpoint_operation operation,
                             const struct totals *totals);
