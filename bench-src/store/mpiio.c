/* store_mpiio: MPI_File_write_at and MPI_File_read_at, or their collective forms; with a file view MPI_File_write and
 * MPI_File_read at the file pointer. */
#include "store/info.h"

#include "common/die.h"

#include <errno.h>
#include <stdlib.h>

struct store_file {
    MPI_File handle;
    bool collective;
    bool one_attempt;
    bool has_view;
    MPI_Datatype transfer; /* of a view */
    struct store_shape shape;
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

static int close_file(struct store_file *file)
{
    int error = to_errno(MPI_File_close(&file->handle));
    if (file->has_view)
        MPI_Type_free(&file->transfer);
    free(file);
    return error;
}

/* A view of the rank's blocks, whose positions count transfers. */
static int set_view(struct store_file *file, const struct store_shape *shape)
{
    MPI_Datatype block, strided;
    MPI_Type_contiguous((int)shape->transfer, MPI_BYTE, &file->transfer);
    MPI_Type_contiguous((int)(shape->block / shape->transfer), file->transfer, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)shape->block * shape->ranks, &strided);
    MPI_Type_commit(&file->transfer);
    MPI_Type_commit(&strided);
    int error = to_errno(MPI_File_set_view(file->handle, (MPI_Offset)shape->block * shape->rank, file->transfer, strided,
                                           "native", MPI_INFO_NULL));
    MPI_Type_free(&block);
    MPI_Type_free(&strided);
    file->has_view = true;
    file->shape = *shape;
    return error;
}

static int worst_of(MPI_Comm comm, int error)
{
    int worst;
    MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MIN, comm);
    return worst;
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    struct store_file opened = {.collective = options->collective, .one_attempt = options->one_attempt};
    MPI_Info info = store_info_of(options->hints);
    char full[PATH_MAX];
    int mode = options->writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    int error = to_errno(MPI_File_open(options->comm, store_info_path(path, full), mode, info, &opened.handle));
    MPI_Info_free(&info);
    /* A file that only some ranks have open cannot be closed, as closing is collective: it is given up by all. */
    error = worst_of(options->comm, error);
    if (error != 0)
        return error;
    *file = die_alloc(sizeof(void *), sizeof **file);
    **file = opened;
    if (options->writes && options->reserve_bytes > 0)
        error = worst_of(options->comm, to_errno(MPI_File_preallocate(opened.handle, options->reserve_bytes)));
    if (error == 0 && options->file_view)
        error = worst_of(options->comm, set_view(*file, &options->shape));
    if (error != 0)
        close_file(*file);
    return error;
}

/* After a system call that failed, Open MPI 4 returns as if fewer bytes had been asked for, and Open MPI 5 an error that
 * says nothing; errno still says why. */
static int64_t cut_short(int64_t done)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO ? -errno : done;
}

/* One transfer, or nothing, at the file pointer of the view. */
static int move_in_view(struct store_file *file, bool writes, void *buffer, int64_t bytes, int64_t offset, MPI_Status *status)
{
    const struct store_shape *shape = &file->shape;
    int64_t segment = shape->block * shape->ranks, per_block = shape->block / shape->transfer;
    int64_t position = offset / segment * per_block + offset % shape->block / shape->transfer;
    int count = bytes > 0, error = MPI_File_seek(file->handle, position, MPI_SEEK_SET);
    if (error != MPI_SUCCESS)
        return error;
    if (writes)
        return file->collective ? MPI_File_write_all(file->handle, buffer, count, file->transfer, status)
                                : MPI_File_write(file->handle, buffer, count, file->transfer, status);
    return file->collective ? MPI_File_read_all(file->handle, buffer, count, file->transfer, status)
                            : MPI_File_read(file->handle, buffer, count, file->transfer, status);
}

static int piece(int64_t bytes)
{
    return bytes > STORE_MOST_AT_ONCE ? STORE_MOST_AT_ONCE : (int)bytes;
}

/* One call of MPI. */
static int move_piece(struct store_file *file, bool writes, void *buffer, int count, int64_t offset, MPI_Status *status)
{
    if (file->has_view)
        return move_in_view(file, writes, buffer, count, offset, status);
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
    } while (done < bytes && !file->one_attempt && !file->collective && !file->has_view);
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

static int remove_file(const char *path)
{
    char full[PATH_MAX];
    return to_errno(MPI_File_delete(store_info_path(path, full), MPI_INFO_NULL));
}

static int hints(struct store_file *file, void (*use)(const char *name, const char *value))
{
    return store_info_show(file->handle, use);
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
