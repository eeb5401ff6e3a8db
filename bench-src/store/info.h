/* store_info: what an MPI-IO library is told of a file, and says of it. */
#pragma once

#include "store/contract.h"

#include <limits.h>

/* The library's own name of the hint IOR_HINT__MPI__NAME; NULL for one of another layer, which the library is not told. */
const char *store_info_name(const char *hint);

/* The hints that are given in the environment (IOR_HINT__MPI__NAME=VALUE), and those of the list, which come after them. To be
 * freed with MPI_Info_free. */
MPI_Info store_info_of(const struct store_hints *hints);

/* The hook `hints`, of the file. */
int store_info_show(MPI_File handle, void (*use)(const char *name, const char *value));

/* Open MPI cannot open a name without a directory on several processes. Returns `path`, or `full` with such a name in it. */
const char *store_info_path(const char *path, char full[PATH_MAX]);
