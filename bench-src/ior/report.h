/* ior_report: what the applet says, in three forms: text in the form of IOR 4, JSON lines, and IOR's summary files in
 * JSON and CSV. Numbers that stand in several have the same value. */
#pragma once

#include "common/cache.h"
#include "common/stats.h"
#include "ior/model.h"

#include <time.h>

/* A test and what came of it, kept for the summaries: rank 0 has the results, the others none. */
struct ior_record {
    struct ior_config config;
    int number, ranks, nodes, ranks_per_node;
    const char *api;       /* that was really used */
    char path[PATH_MAX];   /* of rank 0's first file */
    char directory[PATH_MAX]; /* that the files are in */
    struct cache_space space; /* of the file system, seen by rank 0 */
    time_t started;
    struct ior_result *results;
    int count, room;
};

void ior_record_add(struct ior_record *record, const struct ior_result *result);

/* Numbers of one operation over the repetitions of a test; n is 0 where it was not done. StdDev divides by n, as IOR's. */
struct ior_statistics {
    int n;
    struct stats mib_s, ops_s;
    double mean_s, mib;          /* of a repetition */
    double stonewall_s, stonewall_mib; /* means of the repetitions that met the deadline; -1: none */
};
void ior_record_statistics(const struct ior_record *record, enum ior_operation operation,
                           struct ior_statistics *statistics);

/* --- text (text.c); all are silent after ior_text_silence */
void ior_text_silence(void);
bool ior_text_is_silent(void);
void ior_text_header(int argc, char **argv);
void ior_text_test(const struct ior_test *test, const struct ior_record *record);
void ior_text_columns(void);
void ior_text_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ior_text_share(const struct ior_test *test, const struct ior_result *result); /* before a read: what is cached */
void ior_text_row(const struct ior_test *test, const struct ior_result *result);
void ior_text_watch(const struct ior_test *test, const struct ior_result *result); /* of --latency */
void ior_text_invalid(const struct ior_test *test, enum ior_operation operation, int64_t failed); /* in place of a row */
void ior_text_removed(const struct ior_test *test, double elapsed_s);
void ior_text_best(const struct ior_record *record);
void ior_text_summary(const struct ior_record *records, int count, int64_t failed);

/* --- JSON lines (lines.c) */
void ior_lines_test(const struct ior_test *test, const struct ior_record *record, int64_t memory_bytes);
void ior_lines_phase(const struct ior_test *test, const struct ior_result *result);
void ior_lines_verdict(const struct ior_test *test, const struct ior_verdict *verdict);
void ior_lines_result(const struct ior_record *record);

/* --- warnings, in the text (or on stderr where that is silent) and as JSON lines, by rank 0 */
void ior_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often ior_warn was called. */
int ior_warned(void);

/* What holds for the whole test. */
void ior_warn_test(const struct ior_test *test);

/* A number that measures memory: with what to do about it the first time in a test. */
void ior_warn_result(const struct ior_test *test, const struct ior_result *result);

/* --- summary files (summary.c): 0 or -errno */
int ior_summary_json(const char *path, const struct ior_record *records, int count, time_t began, int argc, char **argv);
int ior_summary_csv(const char *path, const struct ior_record *records, int count);

/* "16 MiB", "31.25 GiB", "4096 bytes". */
void ior_format_size(char *out, size_t out_bytes, double bytes);

/* "Sat Nov 21 02:03:50 2026", local time. */
void ior_format_time(char *out, size_t out_bytes, time_t when);

/* Of IOR's summary: by how many nodes readers are shifted, as asked for. */
const char *ior_order_name(const struct ior_config *config);
const char *ior_reorder_name(const struct ior_config *config);
