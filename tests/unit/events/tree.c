#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *tree_new(void)
{
    static char root[512];
    const char *folder = getenv("TMPDIR");

    snprintf(root, sizeof(root), "%s/rpistat-sys-XXXXXX", folder ? folder : "/tmp");
    if (!mkdtemp(root) || chmod(root, 0755) != 0)
        fail_msg("%s: %s", root, strerror(errno));
    return root;
}

/* Make a directory below root, with the directories above it. */
static void make_folders(const char *root, const char *path)
{
    char folder[1024];

    snprintf(folder, sizeof(folder), "%s/%s", root, path);
    for (char *at = folder + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        if (mkdir(folder, 0755) != 0 && errno != EEXIST)
            fail_msg("%s: %s", folder, strerror(errno));
        *at = '/';
    }
}

void tree_file(const char *root, const char *path, const char *text)
{
    char name[1024];
    FILE *file;

    make_folders(root, path);
    snprintf(name, sizeof(name), "%s/%s", root, path);
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

void tree_remove(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char name[1024];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_true(snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) < 1024);
        tree_remove(name);
    }
    if (folder)
        closedir(folder);
    remove(path);
}

int tree_set_up(void **state, const struct tree_entry *entry, size_t count)
{
    const char *root = tree_new();

    for (size_t i = 0; i < count; i++)
        tree_file(root, entry[i].path, entry[i].text);
    *state = (void *)(uintptr_t)root;
    return 0;
}

int tree_tear_down(void **state)
{
    tree_remove(*state);
    return 0;
}
