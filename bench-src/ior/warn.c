/* ior_warn: when a number measures memory, or an option that was given has no effect. */
#include "ior/report.h"

#include "common/emit.h"
#include "store/info.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Shares below this are noise: a page or two of a file's ends. */
#define WORTH_SAYING 0.01

/* Below it a side's rate is not that of a mixed load. */
#define MOSTLY 0.9

/* Advice is given once for each operation of a test. */
static bool advice_given[IOR_OPERATIONS];

static int warned;

static void warn(const char *format, va_list args)
{
    char message[PATH_MAX + 512];
    vsnprintf(message, sizeof message, format, args);
    if (ior_text_is_silent()) {
        emit_warning("%s", message);
        return;
    }
    emit_text("WARNING: %s\n", message);
    emit_line("warning");
    emit_string("message", message);
    emit_line_end();
}

void ior_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(format, args);
    va_end(args);
    warned++;
}

/* The same, about what a number measures: IOR has no such warnings, and --warningAsErrors leaves them what they are. */
static void __attribute__((format(printf, 1, 2))) caution(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(format, args);
    va_end(args);
}

int ior_warned(void)
{
    return warned;
}

static void warn_unused(const char *what, const char *why)
{
    ior_warn("%s is not used%s", what, why);
}

static void warn_hints(const struct store_hints *hints)
{
    for (int i = 0; hints != NULL && i < hints->count; i++)
        if (store_info_name(hints->list[i].name) == NULL)
            ior_warn("hint %s is not used: only IOR_HINT__MPI__NAME reaches the library", hints->list[i].name);
}

void ior_warn_test(const struct ior_test *test)
{
    const struct ior_config *c = test->config;
    memset(advice_given, 0, sizeof advice_given);
    if (test->store != c->store)
        ior_warn("this machine has no %s: api %s is used", c->store->name, test->store->name);
    ior_config_unused(c, warn_unused);
    warn_hints(c->hints);
    if (!test->store->keeps_bytes)
        caution("api %s moves no bytes: the numbers measure this program alone", test->store->name);
    else if (test->in_memory)
        caution("'%s' is on %s, which has no storage behind it: all numbers measure memory", c->test_file,
                test->file_system);
    if ((c->reorder || c->random_tasks == 1) && (c->read || c->mixed > 0) && test->place.nodes == 1)
        caution("-%s has no effect on the page cache: all %d processes are on one node, which wrote what they read",
                c->reorder ? "C" : "Z", test->place.ranks);
}

static void warn_memory(const struct ior_result *result, double share, const char *what, const char *advice)
{
    bool *given = &advice_given[result->operation];
    caution("%s %" PRId64 ": %.1f%% of the bytes %s: %s measures memory%s", ior_operation_name(result->operation),
            result->iteration, 100 * share, what, share > 0.5 ? "the number" : "part of the number", *given ? "" : advice);
    *given = true;
}

static void warn_unknown(const struct ior_result *result, const char *what, const char *advice)
{
    bool *given = &advice_given[result->operation];
    if (!*given)
        caution("%s: how many of the bytes %s is unknown%s", ior_operation_name(result->operation), what, advice);
    *given = true;
}

void ior_warn_result(const struct ior_test *test, const struct ior_result *result)
{
    const struct ior_share *share = &result->share;
    const struct ior_config *c = test->config;
    if (result->outliers > 0)
        ior_warn("%s %" PRId64 ": %" PRId64 " processes took more than %" PRId64 " s (-j) more or less than the mean of %.3f s; "
                 "the furthest: rank %d, %.3f s", ior_operation_name(result->operation), result->iteration,
                 result->outliers, c->outlier_s, result->mean_s, result->outlier_rank, result->outlier_s);
    if (result->beside_share >= 0 && result->beside_share < MOSTLY)
        caution("%s %" PRId64 ": for %.1f%% of its time the other side was at work too; -D SECONDS keeps both at it",
                ior_operation_name(result->operation), result->iteration, 100 * result->beside_share);
    if (!test->store->uses_page_cache || test->in_memory || c->direct)
        return;
    if (ior_writes(result->operation)) {
        const char *what = "were still only in memory when the clock stopped";
        if (share->dirty >= WORTH_SAYING)
            warn_memory(result, share->dirty, what, " (-e counts the way to storage too, --posix.odirect goes past memory)");
        else if (share->dirty < 0 && !c->fsync && !c->fsync_each)
            warn_unknown(result, what, "");
    } else {
        const char *what = "were in the page cache of the node that read them";
        if (share->cached >= WORTH_SAYING)
            warn_memory(result, share->cached, what, " (--drop-cache, --posix.odirect, -M, and -C on several nodes go round it)");
        else if (share->cached < 0)
            warn_unknown(result, what, " (--cache-check looks, and so opens the files before the clock starts)");
    }
}
