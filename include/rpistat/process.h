/* Functions for work in child processes, signals, libraries, and faults in shared memory. `watch`
 * and `push` do work in a child, so that these commands continue if the child crashes or runs out
 * of memory (rpistat/arena.h). No database may be open at the fork, because SQLite's connections do
 * not survive a fork. */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "rpistat/error.h"

/* The work of a subprocess. The work writes its result for the caller to `out`. */
typedef int rps_subprocess_work(void *context, FILE *out, struct rps_error *err);

/* Run the work in a new process and wait for its end. Return the work's result with its error, or
 * RPS_FAILED if the process ended early. *ret (may be NULL) receives the *ret_size bytes that the
 * work wrote, and a 0 byte, for free(). `name` is the name of the new process, at most 15 bytes. */
int rps_subprocess_run(const char *name, rps_subprocess_work *work, void *context, char **ret,
                       size_t *ret_size, struct rps_error *err);

/* Functions for signals. The process changes its signal settings, and restores the old settings for
 * the commands that it executes. Some signals are read from a descriptor. */

/* Signal settings that the process had at its start. */
struct rps_signals_before {
    sigset_t mask;
    int ignores_children; /* 1 if SIGCHLD was ignored */
};

/* Set up the signals of this process. Call this function before anything else. SIGCHLD is set to
 * its default action, because Linux keeps no exit status of a child if the parent ignores SIGCHLD.
 * SIGXFSZ is blocked, so that a write beyond the file-size limit (ulimit -f) returns an error, as
 * on a full disk. */
void rps_signals_begin(struct rps_signals_before *ret);

/* Restore the signal settings that the process had at its start. A child calls this function before
 * it executes a command of the user. */
void rps_signals_restore(const struct rps_signals_before *before);

/* Block the given signals. Signals that the process ignores are not blocked. *ret_fd becomes
 * readable when a signal has arrived. *ret_before (may be NULL) is the previous mask. If no
 * descriptor is available, return RPS_FAILED and do not change the mask. */
int rps_signals_take(const int *number, size_t count, int *ret_fd, sigset_t *ret_before,
                     struct rps_error *err);

/* Functions for libraries that only few commands need. It is opened on first use, and never closed.
 * If libcurl were linked in, every start of the program would take 6 ms and 6 MiB more. */

/* A function of a library, and the pointer that receives its address. */
struct rps_library_function {
    const char *name;
    void *pointer; /* address of a pointer to a function */
};

/* Open the library `file` ("libcurl.so.4") and fill the pointers of its functions. The last row of
 * `function` has no name. Return 1, or 0 if the library or a function is missing. The library is
 * never closed. */
int rps_library_open(const char *file, const struct rps_library_function *function);

/* Survive faults in the memory that SQLite shares between the processes that use a store, the file
 * STORE-shm. If another program truncates the file, the next access raises SIGBUS. */

/* Handle SIGBUS from now on, unless the signal is ignored. After a fault in a mapped file *-shm,
 * the innermost rps_fault_guard of the thread returns RPS_FAILED. If the main thread has no guard,
 * the program ends with a message (rpistat/arena.h). Any other SIGBUS ends the process as usual. */
void rps_fault_begin(void);

/* Call work(context). Return 0, or RPS_FAILED if a fault interrupted the work. After a fault, do
 * not use or close any connection to the store. */
int rps_fault_guard(void (*work)(void *context), void *context);
