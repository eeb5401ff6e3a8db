/* cache: pages of a file that are in the page cache, by cachestat and by mincore, and dropping them. */
#include "common/cache.h"
#include "test/check.h"
#include "test/without.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 100 };

static int fd;
static int64_t page;
static int in_memory;

static struct cache_pages ask(int64_t offset, int64_t bytes)
{
    struct cache_pages pages = {0};
    CHECK_INT(cache_ask(fd, offset, bytes, &pages), 0);
    return pages;
}

static void test_written_pages_are_cached(void)
{
    CHECK_INT(ask(0, PAGES * page).cached, PAGES);
    CHECK_INT(ask(0, PAGES * page).asked, PAGES);
}

static void test_a_range_is_whole_pages(void)
{
    struct cache_pages pages = ask(page + 1, page);
    CHECK_INT(pages.asked, 2);
    CHECK_INT(pages.cached, 2);
}

static void test_dropped_pages_have_left(void)
{
    if (in_memory)
        return; /* they have nowhere to go to */
    for (int try = 0; try < 50 && ask(0, PAGES * page).cached > 0; try++) {
        CHECK_INT(cache_drop(fd), 0);
        usleep(20000);
    }
    CHECK_INT(ask(0, PAGES * page).cached, 0);
    /* One read brings its page back, whatever read-ahead does. */
    char byte;
    CHECK_INT(pread(fd, &byte, 1, 0), 1);
    CHECK(ask(0, PAGES * page).cached >= 1);
}

static void make_file(const char *path)
{
    char *data = calloc(PAGES, (size_t)page);
    fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    CHECK_INT(write(fd, data, (size_t)(PAGES * page)), PAGES * page);
    free(data);
}

static void all_tests(const char *path)
{
    make_file(path);
    test_written_pages_are_cached();
    test_a_range_is_whole_pages();
    test_dropped_pages_have_left();
    close(fd);
}

/* The same on a kernel without cachestat. */
static int test_mincore_says_the_same(const char *path)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        CHECK_INT(without_call(451), 0);
        CHECK_TEXT(cache_method(), "mincore");
        all_tests(path);
        _exit(CHECK_REPORT());
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(void)
{
    char directory[] = "/tmp/test_cache.XXXXXX", path[64];
    page = sysconf(_SC_PAGESIZE);
    CHECK(mkdtemp(directory) != NULL);
    CHECK(cache_file_system(directory, &in_memory) != NULL);
    CHECK(cache_file_system("/nowhere/at/all", &(int){0}) == NULL);
    snprintf(path, sizeof path, "%s/file", directory);
    CHECK_INT(test_mincore_says_the_same(path), 0);
    all_tests(path);
    unlink(path);
    rmdir(directory);
    return CHECK_REPORT();
}
