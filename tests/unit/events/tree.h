/* Files for a test, in a new directory. */
#ifndef RPISTAT_TEST_EVENTS_TREE_H
#define RPISTAT_TEST_EVENTS_TREE_H

#include <stddef.h>

struct tree_entry {
    const char *path, *text;
};

/* Make a new directory in $TMPDIR or /tmp, for tree_remove(). Fails the test on errors. The name is
 * in a static buffer, so only one tree may exist. */
const char *tree_new(void);

/* Write a file below root. Makes the file's directories. */
void tree_file(const char *root, const char *path, const char *text);

/* Set up a tree with these files for a group of tests. *state gets the tree's root. */
int tree_set_up(void **state, const struct tree_entry *entry, size_t count);
int tree_tear_down(void **state);

/* Remove a file, or a directory with its contents. The path may be missing. */
void tree_remove(const char *path);

#endif
