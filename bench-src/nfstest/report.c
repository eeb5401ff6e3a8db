/* nfstest_report: nfstest's text and JSON lines. The text has the form of the program that the test describes, the
 * spelling TWR and TRR for the total rates included. */
#include "nfstest/report.h"

#include "common/emit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const operation_names[NFSTEST_OPERATIONS] = {"write", "read"};
static const double MIB = 1048576;

static FILE *output; /* NULL: stdout */
static int output_error;

int nfstest_report_open(const struct nfstest_config *config)
{
    output = NULL;
    output_error = 0;
    if (config->output == NULL)
        return 0;
    output = fopen(config->output, "we");
    return output == NULL ? -errno : 0;
}

static void note_failure(bool failed)
{
    if (failed && output_error == 0)
        output_error = errno != 0 ? errno : EIO;
}

int nfstest_report_close(void)
{
    if (output == NULL)
        return 0;
    note_failure(fclose(output) != 0);
    output = NULL;
    return -output_error;
}

static void print_part(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print_part(const char *format, ...)
{
    char text[PATH_MAX + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (output == NULL) {
        emit_text("%s", text);
        return;
    }
    errno = 0;
    note_failure(fputs(text, output) < 0);
}

/* A line of the table at least reaches the reader before the next phase starts. */
static void flush(void)
{
    if (output == NULL)
        emit_flush_text();
    else
        note_failure(fflush(output) != 0);
}

static void print_nodes(const struct place *place)
{
    print_part("        Nodes:");
    for (int node = 0; node < place->nodes; node++) {
        int first = place->node_index == node ? place->rank : INT_MAX;
        MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, place->comm);
        char name[PLACE_NAME_BYTES];
        place_node_name(place, first, name);
        print_part(" %s", name);
    }
    print_part("\n");
}

void nfstest_report_header(const struct nfstest_config *config, const struct place *place)
{
    const char *unit = config->unit_name;
    if (!config->verbose)
        return;
    print_part("FILETEST/NFS/MPI of 2003/07/04 is running with following parameters:\n");
    print_part("        Unit is 1%s = %" PRId64 " bytes\n", unit, config->unit_bytes);
    print_part("        File size: %" PRId64 "%s to %" PRId64 "%s, buffer size: ", config->min, unit, config->max, unit);
    if (config->buffer > 0)
        print_part("%" PRId64 "%s\n", config->buffer, unit);
    else
        print_part("file size\n");
    print_part("        Number of processes: %d, number of files: %" PRId64 ", total: %" PRId64 "\n", place->ranks, config->files,
        config->files * place->ranks);
    if (config->quota > 0)
        print_part("        Quota for all files: %" PRId64 "%s\n", config->quota, unit);
    if (config->check)
        print_part("        Checking correctness of read buffer.\n");
    if (config->direct)
        print_part("        Using direct I/O calls (read/write).\n");
    else
        print_part("        Using stdio calls (fread/fwrite).\n");
    print_part("        Number of iterations for whole test: %" PRId64 "\n", config->repeats);
    print_part("        Testing file system: %s\n", config->folder);
    print_nodes(place);
    print_part("\n");
}

void nfstest_report_start(const struct nfstest_config *config, int64_t repeat, int64_t size)
{
    if (config->verbose)
        print_part("Starting test iteration = %" PRId64 " for FS = %" PRId64 "%s.\n", repeat, size, config->unit_name);
    flush();
}

/* Blanks up to the next multiple of 8 columns, one at least. */
static void pad(char *text, size_t bytes)
{
    size_t length = strlen(text), wanted = (length / 8 + 1) * 8;
    if (wanted >= bytes)
        return;
    memset(text + length, ' ', wanted - length);
    text[wanted] = '\0';
}

static void print_phase(const struct nfstest_config *config, enum nfstest_operation operation, int64_t total,
                        double elapsed_s, double local_rate, double total_rate)
{
    char letter = operation == NFSTEST_WRITE ? 'W' : 'R';
    const char *unit = config->unit_name;
    char line[256];
    snprintf(line, sizeof line, "--- TFS=%" PRId64 "%s", total, unit);
    pad(line, sizeof line);
    size_t used = strlen(line);
    snprintf(line + used, sizeof line - used, "%cTT=%4.1fs A%cT=%4.1fs", letter, elapsed_s, letter,
             elapsed_s / (double)config->files);
    pad(line, sizeof line);
    print_part("%sL%cR=%.1f%s/s T%cR=%.1f%s/s\n", line, letter, local_rate, unit, letter, total_rate, unit);
}

static void emit_phase(const struct nfstest_config *config, const struct place *place,
                       enum nfstest_operation operation, int64_t repeat, int64_t size,
                       const struct nfstest_result *result, double local_rate, double total_rate)
{
    int64_t total = nfstest_total(config, size, place->ranks);
    double per_mib = (double)config->unit_bytes / MIB;
    emit_line("phase");
    emit_int("iteration", repeat);
    emit_string("operation", operation_names[operation]);
    emit_string("object", "file");
    emit_int("file_bytes", size * config->unit_bytes);
    emit_int("total_bytes", total * config->unit_bytes);
    emit_int("files_per_process", config->files);
    emit_int("buffer_bytes", (config->buffer > 0 && config->buffer < size ? config->buffer : size) * config->unit_bytes);
    emit_seconds("elapsed_s", result->elapsed_s);
    emit_seconds("file_s", result->elapsed_s / (double)config->files);
    emit_seconds("check_s", result->check_s);
    emit_rate("rate_mib_s", total_rate * per_mib);
    emit_rate("local_rate_mib_s", local_rate * per_mib);
    emit_group("text", '{');
    emit_string("unit", config->unit_name);
    emit_real("local_rate", local_rate, 1);
    emit_real("total_rate", total_rate, 1);
    emit_group_end('}');
    rank_rates_emit(&result->rank_rates_mib_s, "rank_rate_mib_s");
    if (operation == NFSTEST_READ) {
        emit_share("foreign_share", result->foreign_share);
        emit_share("remote_share", result->remote_share);
    }
    emit_line_end();
}

/* A number under its name, in the unit of the text. */
static void emit_result(const struct nfstest_config *config, enum nfstest_operation operation,
                        const struct nfstest_result *result, double total_rate, const char *name)
{
    const char *unit = config->unit_bytes == 1 ? "B/s" : config->unit_bytes == 1024 ? "KiB/s" : "MiB/s";
    double per_unit = MIB / (double)config->unit_bytes;
    struct rank_rates rates = result->rank_rates_mib_s;
    rates.fastest *= per_unit;
    rates.median *= per_unit;
    rates.slowest *= per_unit;
    emit_record(total_rate, 1, unit, "%s", name);
    emit_seconds("elapsed_s", result->elapsed_s);
    if (operation == NFSTEST_READ)
        emit_share("remote_share", result->remote_share);
    rank_rates_emit(&rates, "ranks");
    emit_line_end();
}

/* Without the header the text has the size of all files alone: write-256kb, write-of-3072kb. */
static void emit_size(const struct nfstest_config *config, enum nfstest_operation operation, int64_t size, int64_t total,
                      const struct nfstest_result *result, double total_rate)
{
    char name[64];
    int length = snprintf(name, sizeof name, "%s-%s%" PRId64 "%s", operation_names[operation], config->verbose ? "" : "of-",
                          config->verbose ? size : total, config->unit_name);
    for (int i = 0; i < length; i++)
        name[i] = (char)tolower((unsigned char)name[i]);
    emit_result(config, operation, result, total_rate, name);
}

double nfstest_report_phase(const struct nfstest_config *config, const struct place *place,
                            enum nfstest_operation operation, int64_t repeat, int64_t size,
                            const struct nfstest_result *result)
{
    int64_t total = nfstest_total(config, size, place->ranks);
    double local_rate = (double)(config->files * size) / result->elapsed_s, total_rate = (double)total / result->elapsed_s;
    print_phase(config, operation, total, result->elapsed_s, local_rate, total_rate);
    emit_phase(config, place, operation, repeat, size, result, local_rate, total_rate);
    emit_size(config, operation, size, total, result, total_rate);
    if (config->verbose && operation == NFSTEST_READ)
        print_part("\n");
    flush();
    return total_rate * (double)config->unit_bytes / MIB;
}

void nfstest_report_end(const struct nfstest_config *config, const struct place *place, double elapsed_s,
                        const struct nfstest_best best[NFSTEST_OPERATIONS])
{
    static const char *const words[NFSTEST_OPERATIONS] = {"writing", "reading"};
    const char *unit = config->unit_name;
    if (config->verbose)
        print_part("Testing complete in %5.1f seconds\n", elapsed_s);
    for (int operation = 0; operation < NFSTEST_OPERATIONS; operation++) {
        int64_t total = nfstest_total(config, best[operation].size, place->ranks);
        print_part("--- Best %s rate achieved: T%cR=%.1f %s/s (at TFS=%" PRId64 "%s)\n", words[operation],
            operation == NFSTEST_WRITE ? 'W' : 'R', best[operation].rate_mib_s * MIB / (double)config->unit_bytes, unit,
            total, unit);
        emit_result(config, operation, &best[operation].result,
                    best[operation].rate_mib_s * MIB / (double)config->unit_bytes,
                    operation == NFSTEST_WRITE ? "best-write" : "best-read");
    }
}
