/* store_mpiio: MPI_File_write_at and MPI_File_read_at, or their collective forms. */
#include "store/contract.h"

#include "common/die.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct store_file {
    MPI_File handle;
    bool collective;
    bool one_attempt;
};

/* MPI says less than errno does. */
static int to_errno(int code)
{
    static const struct {
        int class;
        int error;
    } known[] = {
        {MPI_ERR_NO_SUCH_FILE, ENOENT}, {MPI_ERR_FILE_EXISTS, EEXIST}, {MPI_ERR_ACCESS, EACCES},
        {MPI_ERR_NO_SPACE, ENOSPC},     {MPI_ERR_QUOTA, EDQUOT},       {MPI_ERR_READ_ONLY, EROFS},
        {MPI_ERR_FILE_IN_USE, EBUSY},   {MPI_ERR_BAD_FILE, EINVAL},    {MPI_ERR_AMODE, EINVAL},
        {MPI_ERR_NO_MEM, ENOMEM},       {MPI_ERR_COUNT, EOVERFLOW},
    };
    int class;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_class(code, &class);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].class == class)
            return -known[i].error;
    return -EIO;
}

/* Open MPI cannot open a name without a directory on several processes. A colon may end ROMIO's name of a file system. */
static const char *with_directory(const char *path, char full[PATH_MAX])
{
    if (strpbrk(path, "/:") != NULL || snprintf(full, PATH_MAX, "./%s", path) >= PATH_MAX)
        return path;
    return full;
}

/* IOR's way to give hints: IOR_HINT__MPI__NAME=VALUE in the environment. To be freed. */
static MPI_Info given_hints(void)
{
    static const char prefix[] = "IOR_HINT__MPI__";
    MPI_Info info;
    MPI_Info_create(&info);
    for (char **variable = environ; *variable != NULL; variable++) {
        const char *start = *variable + sizeof prefix - 1, *end = strchr(*variable, '=');
        char name[MPI_MAX_INFO_KEY];
        if (end == NULL || end <= start || strncmp(*variable, prefix, sizeof prefix - 1) != 0)
            continue;
        if (end - start < MPI_MAX_INFO_KEY && strlen(end + 1) < MPI_MAX_INFO_VAL && end[1] != '\0') {
            snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
            MPI_Info_set(info, name, end + 1);
        }
    }
    return info;
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    MPI_File handle;
    MPI_Info info = given_hints();
    char full[PATH_MAX];
    int mode = options->writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    int error = to_errno(MPI_File_open(options->comm, with_directory(path, full), mode, info, &handle));
    MPI_Info_free(&info);
    /* A file that only some ranks have open cannot be closed, as closing is collective: it is given up by all. */
    int worst;
    MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, options->comm);
    if (worst != 0)
        return worst;
    *file = die_alloc(sizeof(void *), sizeof **file);
    (*file)->handle = handle;
    if (options->writes && options->reserve_bytes > 0) {
        error = to_errno(MPI_File_preallocate(handle, options->reserve_bytes));
        MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, options->comm);
        if (worst != 0) {
            MPI_File_close(&handle);
            free(*file);
            return worst;
        }
    }
    (*file)->collective = options->collective;
    (*file)->one_attempt = options->one_attempt;
    return 0;
}

/* After a system call that failed, Open MPI 4 returns as if fewer bytes had been asked for, and Open MPI 5 an error that
 * says nothing; errno still says why. */
static int64_t cut_short(int64_t done)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO ? -errno : done;
}

/* MPI counts in int. */
static int piece(int64_t bytes)
{
    return bytes > INT_MAX ? INT_MAX & ~4095 : (int)bytes;
}

/* One call of MPI. */
static int move_piece(struct store_file *file, bool writes, void *buffer, int count, int64_t offset, MPI_Status *status)
{
    if (writes)
        return file->collective ? MPI_File_write_at_all(file->handle, offset, buffer, count, MPI_BYTE, status)
                                : MPI_File_write_at(file->handle, offset, buffer, count, MPI_BYTE, status);
    return file->collective ? MPI_File_read_at_all(file->handle, offset, buffer, count, MPI_BYTE, status)
                            : MPI_File_read_at(file->handle, offset, buffer, count, MPI_BYTE, status);
}

static int64_t move(struct store_file *file, bool writes, char *buffer, int64_t bytes, int64_t offset)
{
    int64_t done = 0;
    do {
        MPI_Status status;
        int moved;
        errno = 0;
        int error = move_piece(file, writes, buffer + done, piece(bytes - done), offset + done, &status);
        if (error != MPI_SUCCESS)
            return to_errno(error) == -EIO ? cut_short(-EIO) : to_errno(error);
        MPI_Get_count(&status, MPI_BYTE, &moved);
        if (moved <= 0)
            return cut_short(done);
        done += moved;
    } while (done < bytes && !file->one_attempt && !file->collective);
    return done;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    return move(file, true, (char *)buffer, bytes, offset);
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    return move(file, false, buffer, bytes, offset);
}

static int sync_file(struct store_file *file)
{
    return to_errno(MPI_File_sync(file->handle));
}

static int close_file(struct store_file *file)
{
    int error = to_errno(MPI_File_close(&file->handle));
    free(file);
    return error;
}

static int remove_file(const char *path)
{
    char full[PATH_MAX];
    return to_errno(MPI_File_delete(with_directory(path, full), MPI_INFO_NULL));
}

static int hints(struct store_file *file, void (*use)(const char *name, const char *value))
{
    MPI_Info info;
    int count = 0;
    if (MPI_File_get_info(file->handle, &info) != MPI_SUCCESS || info == MPI_INFO_NULL)
        return 0;
    MPI_Info_get_nkeys(info, &count);
    for (int i = 0; i < count; i++) {
        char name[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found;
        MPI_Info_get_nthkey(info, i, name);
#if MPI_VERSION >= 4 /* which deprecates the other */
        int bytes = sizeof value;
        MPI_Info_get_string(info, name, &bytes, value, &found);
#else
        MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value, &found);
#endif
        if (found)
            use(name, value);
    }
    MPI_Info_free(&info);
    return count;
}

const struct store store_mpiio = {
    .name = "MPIIO",
    .uses_page_cache = true,
    .keeps_bytes = true,
    .can_collective = true,
    .syncs_together = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .sync = sync_file,
    .close = close_file,
    .remove = remove_file,
    .hints = hints,
};
