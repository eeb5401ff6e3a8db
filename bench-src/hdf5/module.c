/* store_hdf5: parallel HDF5, in the layout of IOR: a dataset for each segment of the file, "Dataset-0000.SEGMENT", of 8-byte
 * integers, which holds the blocks of all ranks one after the other, or those of one rank in a file of its own.
 *
 * A dataset is created or opened when the first transfer of its segment begins: that is collective in a shared file, so that
 * all ranks go from segment to segment at the same transfer. This file is a module (see store/module.c), of which only
 * store_hdf5_module is used. */
#include "store/info.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ELEMENT_BYTES = 8 };

struct store_file {
    hid_t handle, dataset, transfer; /* transfer: properties of reading and writing */
    hid_t space, memory;             /* of a dataset; of what one call moves */
    int64_t segment, created;        /* of the open dataset, or -1; how many this opening has made */
    int64_t segment_bytes, memory_bytes;
    struct store_hdf5 how;
    bool writes, collective;
};

/* HDF5 says nothing that could be an errno; the system call that failed may have left its own. */
static int failure(void)
{
    return errno != 0 ? -errno : -EIO;
}

/* How a file is opened. */
static hid_t access_list(const struct store_options *options)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    MPI_Info info = store_info_of(options->hints);
    H5Pset_fapl_mpio(list, options->comm, info);
    MPI_Info_free(&info);
    H5Pset_alignment(list, (hsize_t)options->hdf5.alignment, (hsize_t)options->hdf5.alignment);
#if H5_VERSION_GE(1, 10, 0)
    H5Pset_all_coll_metadata_ops(list, options->hdf5.collective_metadata);
    H5Pset_coll_metadata_write(list, options->hdf5.collective_metadata);
#endif
    return list;
}

/* As in the file: created with sizes of 8 bytes. */
static hid_t open_handle(const char *path, const struct store_options *options, hid_t way)
{
    if (!options->writes)
        return H5Fopen(path, H5F_ACC_RDONLY, way);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_sizes(creation, 8, 8);
    hid_t handle = H5Fcreate(path, H5F_ACC_TRUNC, creation, way);
    H5Pclose(creation);
    return handle;
}

/* Of at least one element. */
static hid_t space_of(int64_t bytes)
{
    hsize_t elements = bytes > 0 ? (hsize_t)(bytes / ELEMENT_BYTES) : 1;
    return H5Screate_simple(1, &elements, NULL);
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    const struct store_shape *shape = &options->shape;
    char full[PATH_MAX];
    if (!options->writes && access(path, R_OK) != 0)
        return -errno;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* what fails is reported by its caller */
    struct store_file *made = calloc(1, sizeof *made);
    if (made == NULL)
        return -ENOMEM;
    hid_t way = access_list(options);
    errno = 0;
    made->handle = open_handle(store_info_path(path, full), options, way);
    int error = made->handle < 0 ? failure() : 0;
    H5Pclose(way);
    if (error != 0) {
        free(made);
        return error;
    }
    made->segment_bytes = shape->block * shape->ranks;
    made->segment = -1;
    made->how = options->hdf5;
    made->writes = options->writes;
    made->collective = options->collective;
    made->space = space_of(made->segment_bytes);
    made->memory_bytes = shape->transfer;
    made->memory = space_of(made->memory_bytes);
    made->transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(made->transfer, options->collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    *file = made;
    return 0;
}

static hid_t create_dataset(const struct store_file *file, const char *name)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk = (hsize_t)file->how.chunk;
    if (chunk > 0)
        H5Pset_chunk(properties, 1, &chunk);
    if (file->how.no_fill)
        H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    hid_t dataset = H5Dcreate2(file->handle, name, H5T_NATIVE_LLONG, file->space, H5P_DEFAULT, properties, H5P_DEFAULT);
    H5Pclose(properties);
    return dataset;
}

static int enter_segment(struct store_file *file, int64_t segment)
{
    char name[48];
    if (file->segment == segment)
        return 0;
    if (file->segment >= 0)
        H5Dclose(file->dataset);
    file->segment = -1;
    snprintf(name, sizeof name, "Dataset-%04d.%04lld", 0, (long long)segment);
    errno = 0;
    file->dataset = file->writes && segment >= file->created ? create_dataset(file, name)
                                                             : H5Dopen2(file->handle, name, H5P_DEFAULT);
    if (file->dataset < 0)
        return failure();
    file->segment = segment;
    if (file->writes && segment >= file->created)
        file->created = segment + 1;
    return 0;
}

/* The elements at `offset` of the segment, on both sides; none where bytes is 0. The memory's side is kept for the next
 * call, which as a rule moves as many. */
static void select_elements(struct store_file *file, int64_t bytes, int64_t offset)
{
    hsize_t start = (hsize_t)(offset % file->segment_bytes / ELEMENT_BYTES), count = (hsize_t)(bytes / ELEMENT_BYTES);
    if (file->memory_bytes != bytes) {
        H5Sclose(file->memory);
        file->memory = space_of(bytes);
        file->memory_bytes = bytes;
    }
    if (count == 0) {
        H5Sselect_none(file->memory);
        H5Sselect_none(file->space);
    } else {
        H5Sselect_hyperslab(file->space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    }
}

/* One call of HDF5: 0, or -errno. */
static int move_piece(struct store_file *file, bool writes, void *buffer, int64_t bytes, int64_t offset)
{
    select_elements(file, bytes, offset);
    errno = 0;
    herr_t moved = writes
                       ? H5Dwrite(file->dataset, H5T_NATIVE_LLONG, file->memory, file->space, file->transfer, buffer)
                       : H5Dread(file->dataset, H5T_NATIVE_LLONG, file->memory, file->space, file->transfer, buffer);
    return moved < 0 ? failure() : 0;
}

/* Independent transfers are cut: HDF5 hands each to MPI as a whole, which fails where Linux takes only a part of it. */
static int64_t move(struct store_file *file, bool writes, char *buffer, int64_t bytes, int64_t offset)
{
    int error = enter_segment(file, offset / file->segment_bytes);
    int64_t done = 0, most = file->collective ? bytes : STORE_MOST_AT_ONCE;
    do {
        int64_t part = bytes - done < most ? bytes - done : most;
        if (error == 0)
            error = move_piece(file, writes, buffer + done, part, offset + done);
        done += part;
    } while (error == 0 && done < bytes);
    return error != 0 ? error : bytes;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    return move(file, true, (void *)buffer, bytes, offset);
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    return move(file, false, buffer, bytes, offset);
}

static int sync_file(struct store_file *file)
{
    errno = 0;
    return H5Fflush(file->handle, H5F_SCOPE_LOCAL) < 0 ? failure() : 0;
}

static int close_file(struct store_file *file)
{
    errno = 0;
    bool failed = file->segment >= 0 && H5Dclose(file->dataset) < 0;
    H5Sclose(file->space);
    H5Sclose(file->memory);
    H5Pclose(file->transfer);
    failed = H5Fclose(file->handle) < 0 || failed;
    free(file);
    return failed ? failure() : 0;
}

static int remove_file(const char *path)
{
    return unlink(path) != 0 ? -errno : 0;
}

static int hints(struct store_file *file, void (*use)(const char *name, const char *value))
{
    void *handle = NULL;
    if (H5Fget_vfd_handle(file->handle, H5P_DEFAULT, &handle) < 0 || handle == NULL)
        return 0;
    return store_info_show(*(MPI_File *)handle, use);
}

static const char *version(void)
{
    static char text[48];
    unsigned major, minor, release;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "%u.%u.%u (Parallel)", major, minor, release);
    return text;
}

extern const struct store store_hdf5_module;
const struct store store_hdf5_module = {
    .name = STORE_HDF5_NAME,
    .uses_page_cache = true,
    .keeps_bytes = true,
    .can_collective = true,
    .syncs_together = true,
    .segments_together = true,
    .own_layout = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .sync = sync_file,
    .close = close_file,
    .remove = remove_file,
    .hints = hints,
    .version = version,
};
