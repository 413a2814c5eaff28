/*
 * Libraries that few calls of the program need: they are opened on first use, and stay open. Linked
 * in, libcurl alone would cost every start of the program 6 ms and 6 MiB.
 */
#ifndef RPISTAT_LIBRARY_H
#define RPISTAT_LIBRARY_H

/* A function of a library, and the pointer that receives its address. */
struct rps_library_function {
    const char *name;
    void *pointer; /* to a pointer to a function */
};

/* Open the library `file` ("libcurl.so.4") and fill the pointers of its functions, whose last row
 * has no name. Return 1, or 0 if the library or a function is missing. It is never closed. */
int rps_library_open(const char *file, const struct rps_library_function *function);

#endif
