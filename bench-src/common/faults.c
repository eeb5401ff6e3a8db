/* faults: operations that failed. Ranks without any send nothing; the others are asked one after the other. */
#include "common/faults.h"

#include "common/die.h"
#include "common/emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void faults_add(struct faults *faults, const char *operation, const char *path, int error, const char *detail)
{
    if (faults->count < FAULTS_KEPT) {
        struct fault *fault = &faults->kept[faults->count];
        fault->error = error;
        snprintf(fault->operation, sizeof fault->operation, "%s", operation);
        snprintf(fault->detail, sizeof fault->detail, "%s", detail == NULL ? "" : detail);
        snprintf(fault->path, sizeof fault->path, "%s", path);
    }
    faults->count++;
}

static void print_fault(const struct fault *fault, int rank, const char *node)
{
    char cause[256];
    if (fault->error == 0)
        snprintf(cause, sizeof cause, "%s", fault->detail);
    else
        snprintf(cause, sizeof cause, "%s (%s)%s%s", strerror(fault->error), die_errno_name(fault->error),
                 fault->detail[0] == '\0' ? "" : ", ", fault->detail);
    fprintf(stderr, "%s: rank %d on %s: %s '%s' failed: %s\n", die_program(), rank, node, fault->operation, fault->path,
            cause);
    emit_line("error");
    emit_string("message", cause);
    emit_int("rank", rank);
    emit_string("node", node);
    emit_string("path", fault->path);
    emit_string("operation", fault->operation);
    if (fault->error == 0) {
        emit_null("errno");
        emit_null("errno_name");
    } else {
        emit_int("errno", fault->error);
        emit_string("errno_name", die_errno_name(fault->error));
    }
    emit_line_end();
}

/* Rank 0 gets and says what `rank` kept. */
static void pass_on(const struct faults *faults, const struct place *place, int rank)
{
    struct faults got = *faults;
    char node[PLACE_NAME_BYTES];
    memcpy(node, place->node, sizeof node);
    if (rank != 0 && place->rank == rank) {
        MPI_Send(faults, sizeof *faults, MPI_BYTE, 0, 1, place->comm);
        MPI_Send(node, sizeof node, MPI_CHAR, 0, 1, place->comm);
    }
    if (place->rank != 0)
        return;
    if (rank != 0) {
        MPI_Recv(&got, sizeof got, MPI_BYTE, rank, 1, place->comm, MPI_STATUS_IGNORE);
        MPI_Recv(node, sizeof node, MPI_CHAR, rank, 1, place->comm, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < got.count && i < FAULTS_KEPT; i++)
        print_fault(&got.kept[i], rank, node);
    if (got.count > FAULTS_KEPT)
        fprintf(stderr, "%s: rank %d on %s: %" PRId64 " more failed operations\n", die_program(), rank, node,
                got.count - FAULTS_KEPT);
}

int64_t faults_report(struct faults *faults, const struct place *place)
{
    int64_t total;
    MPI_Allreduce(&faults->count, &total, 1, MPI_INT64_T, MPI_SUM, place->comm);
    faults_list(faults, place, total);
    return total;
}

void faults_list(struct faults *faults, const struct place *place, int64_t total)
{
    if (total == 0)
        return;
    emit_flush_text();
    int listed = 0;
    for (int last = -1;; listed++) {
        int mine = faults->count > 0 && place->rank > last ? place->rank : INT_MAX, next;
        MPI_Allreduce(&mine, &next, 1, MPI_INT, MPI_MIN, place->comm);
        if (next == INT_MAX)
            break;
        if (listed == FAULTS_RANKS_LISTED) {
            if (place->rank == 0)
                fprintf(stderr, "%s: rank %d and ranks after it failed too: %" PRId64 " failed operations in all\n",
                        die_program(), next, total);
            break;
        }
        pass_on(faults, place, next);
        last = next;
    }
    faults->count = 0;
}

void faults_error(const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    usage_error("%s", message);
    emit_line("error");
    emit_string("message", message);
    emit_line_end();
}
