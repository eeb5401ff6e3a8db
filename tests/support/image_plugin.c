/* A plugin of Slurm with the option --container-image of Pyxis: the tasks of a step see the files of an image that is a directory,
 * with these folders of the node in it. */
#include <sched.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

SPANK_PLUGIN(image, 1)

static char image[4096];

static int take_image(int value, const char *text, int remote)
{
    (void)value;
    (void)remote;
    return snprintf(image, sizeof image, "%s", text) < (int)sizeof image ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

struct spank_option spank_options[] = {
    {"container-image", "IMAGE", "[image] the directory whose files the tasks see", 1, 0, take_image}, SPANK_OPTIONS_TABLE_END};

int slurm_spank_task_init_privileged(spank_t spank, int argc, char **argv)
{
    static const char *const folders[] = {"usr", "dev", "proc", "sys", "tmp", "run"};
    char directory[4096], path[4200];
    (void)spank;
    (void)argc;
    (void)argv;
    if (image[0] == '\0')
        return ESPANK_SUCCESS;
    if (getcwd(directory, sizeof directory) == NULL || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return ESPANK_ERROR;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char from[16];
        snprintf(from, sizeof from, "/%s", folders[i]);
        snprintf(path, sizeof path, "%s/%s", image, folders[i]);
        if (mount(from, path, NULL, MS_BIND | MS_REC, NULL) != 0)
            return ESPANK_ERROR;
    }
    return chroot(image) == 0 && chdir(directory) == 0 ? ESPANK_SUCCESS : ESPANK_ERROR;
}
