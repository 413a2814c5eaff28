/* Files for a test, below a new folder. */
#ifndef RPISTAT_TEST_EVENTS_TREE_H
#define RPISTAT_TEST_EVENTS_TREE_H

#include <stddef.h>

struct tree_entry {
    const char *path, *text;
};

/* A new folder under $TMPDIR, or /tmp, for tree_remove(); fails the test when there can be none.
 * The name is in a static buffer: one tree at a time. */
const char *tree_new(void);

/* Write a file below root, with the folders it is in. */
void tree_file(const char *root, const char *path, const char *text);

/* For the set-up and tear-down of a group of tests: a new tree of these files, whose root is *state. */
int tree_set_up(void **state, const struct tree_entry *entry, size_t count);
int tree_tear_down(void **state);

/* Remove a file, or a folder with all that is in it; there may be none. */
void tree_remove(const char *path);

#endif
