/* die: the verbs for errors, and the only place that ends the program. */
#include "common/die.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    const char *program;
    int rank;
    char node[128];
    void (*end_ranks)(int status);
} self = {"bench", 0, "", NULL};

void die_identify(const char *program, int rank, const char *node)
{
    self.program = program;
    self.rank = rank;
    snprintf(self.node, sizeof self.node, "%s", node);
}

void die_together(void (*end_ranks)(int status))
{
    self.end_ranks = end_ranks;
}

const char *die_program(void)
{
    return self.program;
}

/* One write a message, so that lines of several ranks do not mix. */
static void print_message(const char *kind, int with_rank, const char *format, va_list args)
{
    char line[8192], who[192] = "";
    if (with_rank && self.node[0] != '\0')
        snprintf(who, sizeof who, "rank %d on %s: ", self.rank, self.node);
    else if (with_rank)
        snprintf(who, sizeof who, "rank %d: ", self.rank);
    int used = snprintf(line, sizeof line, "%s: %s%s", self.program, who, kind);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    fflush(stdout);
    fprintf(stderr, "%s\n", line);
}

int usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (self.rank == 0)
        print_message("", 0, format, args);
    va_end(args);
    return EXIT_CODE_USAGE;
}

void warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message("warning: ", self.rank != 0, format, args);
    va_end(args);
}

static void end_all_ranks(const char *kind, const char *format, va_list args) __attribute__((noreturn));
static void end_all_ranks(const char *kind, const char *format, va_list args)
{
    print_message(kind, 1, format, args);
    if (self.end_ranks != NULL)
        self.end_ranks(EXIT_CODE_FAILED);
    exit(EXIT_CODE_FAILED);
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_all_ranks("", format, args);
}

void bug(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_all_ranks("bug: ", format, args);
}

const char *die_errno_name(int error)
{
    /* Own table: strerrorname_np is missing from the glibc of many clusters in service. */
    static const struct {
        int error;
        const char *name;
    } names[] = {
        {EACCES, "EACCES"}, {EAGAIN, "EAGAIN"}, {EBADF, "EBADF"}, {EBUSY, "EBUSY"},
        {ECOMM, "ECOMM"}, {ECONNRESET, "ECONNRESET"}, {EDQUOT, "EDQUOT"}, {EEXIST, "EEXIST"},
        {EFAULT, "EFAULT"}, {EFBIG, "EFBIG"}, {EHOSTDOWN, "EHOSTDOWN"}, {EINTR, "EINTR"},
        {EINVAL, "EINVAL"}, {EIO, "EIO"}, {EISDIR, "EISDIR"}, {ELOOP, "ELOOP"},
        {EMFILE, "EMFILE"}, {EMLINK, "EMLINK"}, {ENAMETOOLONG, "ENAMETOOLONG"}, {ENFILE, "ENFILE"},
        {ENODATA, "ENODATA"}, {ENODEV, "ENODEV"}, {ENOENT, "ENOENT"}, {ENOLCK, "ENOLCK"},
        {ENOMEM, "ENOMEM"}, {ENOSPC, "ENOSPC"}, {ENOSYS, "ENOSYS"}, {ENOTCONN, "ENOTCONN"},
        {ENOTDIR, "ENOTDIR"}, {ENOTEMPTY, "ENOTEMPTY"}, {ENXIO, "ENXIO"}, {EOPNOTSUPP, "EOPNOTSUPP"},
        {EOVERFLOW, "EOVERFLOW"}, {EPERM, "EPERM"}, {EPIPE, "EPIPE"}, {EREMOTEIO, "EREMOTEIO"},
        {EROFS, "EROFS"}, {ESHUTDOWN, "ESHUTDOWN"}, {ESTALE, "ESTALE"}, {ETIMEDOUT, "ETIMEDOUT"},
        {ETXTBSY, "ETXTBSY"}, {EUCLEAN, "EUCLEAN"}, {EXDEV, "EXDEV"},
    };
    static char other[16];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].error == error)
            return names[i].name;
    snprintf(other, sizeof other, "E%d", error);
    return other;
}

void *die_alloc(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    int error = posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1);
    if (error != 0)
        die("out of memory: %zu bytes asked for", bytes);
    if (alignment == DIE_HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE); /* may be refused */
    memset(memory, 0, bytes);
    return memory;
}
