/* store: storage back ends behind one contract. An applet finds one by name, opens files with it and moves bytes.
 *
 * To add one: write store/NAME.c with a `const struct store store_NAME`, and add it to the table in store/table.c.
 * Every hook returns 0 (or a count) when it worked and -errno when not; none prints, none ends the program. */
#pragma once

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long calls without a storage take, in microseconds. */
struct store_delays {
    int64_t create_us, transfer_us, sync_us, close_us;
};

/* What an HDF5 file is like. */
struct store_hdf5 {
    int64_t chunk;     /* elements of 8 bytes; 0: datasets are contiguous */
    int64_t alignment; /* bytes; 1: none */
    bool no_fill, collective_metadata;
};

/* What an MPI-IO library is told of a file; see store/info.h. */
struct store_hint {
    const char *name, *value;
};
struct store_hints {
    const struct store_hint *list;
    int count;
};

/* A shared file in segments, each with a block of every rank; or the file of one rank with blocks of its own alone. */
struct store_shape {
    int64_t transfer, block, segments;
    int ranks;
    int rank; /* whose data is moved */
};

/* Memory that transfers come from and go to. */
struct store_memory {
    void *start;
    int64_t bytes;
};
enum { STORE_MEMORIES = 2 };

/* Bytes that one call of MPI, which counts in int, or of Linux moves at most. */
enum { STORE_MOST_AT_ONCE = INT_MAX & ~4095 };

/* How a file is opened. */
struct store_options {
    MPI_Comm comm;       /* the ranks that open this file, all at the same time; MPI_COMM_SELF for a file of one's own */
    bool writes;         /* write, and make the file where it is absent; else read */
    bool direct;         /* past the page cache (O_DIRECT) */
    bool collective;     /* all ranks of comm move their bytes together */
    bool one_attempt;    /* a transfer that was cut short is not continued */
    int64_t reserve_bytes; /* with writes: size up to which the file gets its blocks when it is opened; 0: none */
    bool must_reserve;     /* -EOPNOTSUPP where the file system cannot; else it is done without */
    int64_t file_bytes;    /* with writes: its length in the end, for a store that needs_length */
    struct store_shape shape;
    const struct store_hints *hints; /* MPIIO, HDF5; NULL: none */
    bool file_view;        /* MPIIO: through a view of the rank's blocks */
    bool range_locks;      /* POSIX: the bytes of each transfer are locked meanwhile */
    struct store_hdf5 hdf5;
    bool map_drops;        /* MMAP: pages leave the mapping after each transfer */
    int map_advice;        /* MMAP: of madvise */
    struct store_delays delays; /* DUMMY */
    int depth;           /* outstanding transfers at the same time, for submit and reap; at least 1 */
    struct store_memory memory[STORE_MEMORIES]; /* where the buffers of most of them lie; 0 bytes: not known */
};

struct store_file; /* each back end has its own */

/* A transfer that ended. */
struct store_done {
    int slot;       /* as given to submit */
    int64_t result; /* bytes moved, or -errno */
};

struct store {
    const char *name;
    bool uses_page_cache;  /* without `direct`, the files' bytes lie in the page cache of this node */
    bool keeps_bytes;      /* what was written can be read */
    bool can_direct, can_collective;
    bool segments_together; /* all ranks of a shared file go from segment to segment at the same transfer */
    bool own_layout;       /* offsets of the file are not those of the transfers */
    bool needs_length;     /* options->file_bytes has to be known at the opening */
    bool syncs_together;   /* sync is collective over options->comm */
    const char *fallback;  /* name of the back end to take where probe says no, or NULL */

    /* Optional. Called once before anything is opened: 0, or -errno where this machine cannot do it. */
    int (*probe)(void);

    /* Required. Called by every rank of options->comm, inside the timed part. On 0 *file is to be closed; on an error
     * there is nothing to close. */
    int (*open)(struct store_file **file, const char *path, const struct store_options *options);

    /* Required. Called by a rank for each transfer, in the timed part: moves `bytes` from or to `offset` and returns how
     * many came across, which is less only at the end of the file or with one_attempt; or -errno. With
     * options->collective every rank of comm calls it equally often, if need be for 0 bytes. */
    int64_t (*write)(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset);
    int64_t (*read)(struct store_file *file, void *buffer, int64_t bytes, int64_t offset);

    /* Optional, both or none: transfers that overlap, of the thread that opened the file. submit starts one, or keeps it
     * until the next reap; slot is a number below options->depth that is free, and the buffer belongs to the back end
     * until reap names the slot. reap starts what was kept, waits for at least one transfer and returns how many it
     * stored in done. A result may be less than was asked for: the caller submits the rest again. -errno means that no
     * transfer can be waited for. */
    int (*submit)(struct store_file *file, int slot, bool writes, void *buffer, int64_t bytes, int64_t offset);
    int (*reap)(struct store_file *file, struct store_done *done, int most);

    /* Required. Called after the writes where the bytes must reach the storage, in the timed part; where syncs_together,
     * by every rank of comm equally often. */
    int (*sync)(struct store_file *file);

    /* Required. Called by every rank that opened, in the timed part, with no outstanding transfer. The file is gone
     * afterwards, whatever it returns. */
    int (*close)(struct store_file *file);

    /* Required. Called by one rank, outside the timed part: deletes the file. */
    int (*remove)(const char *path);

    /* Optional. Called while the file is open, outside the loop over the transfers: the descriptor on which pwrite and
     * pread do what write and read do. See store/way.h. */
    int (*descriptor)(struct store_file *file);

    /* Optional. Called while the file is open: passes each "name = value" that the library was told or has chosen, and
     * returns how many there are. */
    int (*hints)(struct store_file *file, void (*use)(const char *name, const char *value));

    /* Optional: version of its library, for people. */
    const char *(*version)(void);
};

/* The back end of that name (upper and lower case are the same), or NULL. */
const struct store *store_find(const char *name);

/* The index'th back end, or NULL after the last. */
const struct store *store_at(size_t index);

/* HDF5, which is a module beside the program: loaded with its library at the first call, for good, so that nobody else needs
 * that library; call this before anything is recorded of the process. NULL with what is lacking here in *lacks. */
#define STORE_HDF5_NAME "HDF5"
const struct store *store_hdf5(const char **lacks);

extern const struct store store_posix, store_uring, store_aio, store_mpiio, store_mmap, store_null;
