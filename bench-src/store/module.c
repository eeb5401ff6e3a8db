/* store_module: loads the back end that is a shared library of its own, hdf5.so beside the program. */
#include "store/contract.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_HDF5
/* The directory of the program, with a slash at its end; or nothing, which leaves the search to the loader. */
static void find_directory(char directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    directory[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(directory, '/');
    directory[slash == NULL ? 0 : slash + 1 - directory] = '\0';
}

const struct store *store_hdf5(const char **lacks)
{
    static const struct store *found;
    static char wrong[PATH_MAX + 256];
    char directory[PATH_MAX], path[PATH_MAX + 16];
    *lacks = NULL;
    if (found != NULL)
        return found;
    find_directory(directory);
    snprintf(path, sizeof path, "%shdf5.so", directory);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    found = module == NULL ? NULL : dlsym(module, "store_hdf5_module");
    if (found == NULL) {
        snprintf(wrong, sizeof wrong, "its module cannot be loaded: %s", dlerror());
        *lacks = wrong;
    }
    return found;
}
#else
const struct store *store_hdf5(const char **lacks)
{
    *lacks = "this program was built without it, as the build found no parallel HDF5 for its MPI: " NO_HDF5
             " (install one, in Debian libhdf5-openmpi-dev or libhdf5-mpich-dev, and build again)";
    return NULL;
}
#endif
