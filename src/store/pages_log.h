/* The write-ahead log of an SQLite file: which pages it holds in a newer state. */
#ifndef RPISTAT_STORE_PAGES_LOG_H
#define RPISTAT_STORE_PAGES_LOG_H

#include <stddef.h>
#include <stdint.h>

struct rps_log_frame {
    uint32_t page;
    int64_t offset; /* of the page's content in the log */
};

struct rps_log {
    int fd;              /* -1: there is no log, or nothing valid in it */
    uint32_t page_size;  /* 0: there is no log */
    uint32_t page_count; /* of the database after the last transaction; 0: not known */
    size_t count;
    struct rps_log_frame *frame; /* owned; by page, a page once */
};

/* Read the log beside the file at path, up to its last complete transaction. 0, or -1 without
 * memory; a log that is not there or not valid is an empty one. */
int rps_log_load(struct rps_log *ret, const char *path);
void rps_log_free(struct rps_log *log);

/* Where the log holds a page; -1: it does not. */
int64_t rps_log_find(const struct rps_log *log, uint32_t page);

#endif
