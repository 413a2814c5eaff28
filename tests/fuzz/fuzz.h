/*
 * What the fuzzers share. Each fuzz_NAME.c is one function that is given bytes, and must come back
 * whatever they are: the sanitizers see whether it hurt anything. Linked with libFuzzer (clang) it
 * looks for new bytes, with replay.c it is given those that are kept in corpus/NAME.
 */
#ifndef RPISTAT_FUZZ_H
#define RPISTAT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"

/* The function under test; the name is libFuzzer's. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a text of their own, cut at the first NUL by whoever reads it; free(). */
char *fuzz_text(const uint8_t *data, size_t size);

/* Something that must hold whatever the bytes are: ends the program with the sentence if not. */
void fuzz_expect(int condition, const char *sentence);

/* Whoever refuses something says why. */
void fuzz_expect_sentence(const struct rps_error *err);

/* What was printed for people must be harmless to a terminal: no control characters but newlines,
 * and UTF-8. */
int fuzz_is_printable(const char *text);
void fuzz_expect_printable(const char *text);

/* The name of a file in a folder of this process's own, which is removed at its end. Static. */
const char *fuzz_path(const char *name);

/* Make that file hold the bytes. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* A stream that takes everything; never closed. */
FILE *fuzz_sink(void);

/* Numbers from the bytes, for fuzzers that do something with them: 0 when they are used up. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

uint64_t fuzz_take(struct fuzz_bytes *bytes, unsigned count);

#endif
