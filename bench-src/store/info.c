/* store_info: what an MPI-IO library is told of a file, and says of it. */
#include "store/info.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set(MPI_Info info, const char *name, size_t length, const char *value)
{
    char key[MPI_MAX_INFO_KEY];
    if (length == 0 || length >= MPI_MAX_INFO_KEY || value[0] == '\0' || strlen(value) >= MPI_MAX_INFO_VAL)
        return;
    snprintf(key, sizeof key, "%.*s", (int)length, name);
    MPI_Info_set(info, key, value);
}

const char *store_info_name(const char *hint)
{
    static const char prefix[] = "IOR_HINT__MPI__";
    return strncmp(hint, prefix, sizeof prefix - 1) == 0 ? hint + sizeof prefix - 1 : NULL;
}

MPI_Info store_info_of(const struct store_hints *hints)
{
    const char *name;
    MPI_Info info;
    MPI_Info_create(&info);
    for (char **variable = environ; *variable != NULL; variable++) {
        const char *end = strchr(*variable, '=');
        if (end != NULL && (name = store_info_name(*variable)) != NULL && end > name)
            set(info, name, (size_t)(end - name), end + 1);
    }
    for (int i = 0; hints != NULL && i < hints->count; i++)
        if ((name = store_info_name(hints->list[i].name)) != NULL)
            set(info, name, strlen(name), hints->list[i].value);
    return info;
}

int store_info_show(MPI_File handle, void (*use)(const char *name, const char *value))
{
    MPI_Info info;
    int count = 0;
    if (MPI_File_get_info(handle, &info) != MPI_SUCCESS || info == MPI_INFO_NULL)
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

/* A colon may end ROMIO's name of a file system. */
const char *store_info_path(const char *path, char full[PATH_MAX])
{
    if (strpbrk(path, "/:") != NULL || snprintf(full, PATH_MAX, "./%s", path) >= PATH_MAX)
        return path;
    return full;
}
