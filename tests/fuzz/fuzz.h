/* Functions that the fuzzers share. Each fuzz_NAME.c has one function that receives bytes and must
 * return whatever they are. The sanitizers detect errors. With libFuzzer (clang) the fuzzer
 * searches for new inputs. With replay.c the fuzzer reads the inputs kept in corpus/NAME. */
#ifndef RPISTAT_FUZZ_H
#define RPISTAT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpistat/error.h"

/* The function under test, with the name that libFuzzer requires. The function returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Return the bytes as a separate string. Users of the string stop at the first NUL. The caller
 * calls free(). */
char *fuzz_text(const uint8_t *data, size_t size);

/* Check a condition that must hold for all inputs. If the condition is false, end the program with
 * the sentence. */
void fuzz_expect(int condition, const char *sentence);

/* Expect that a refusal has a message. */
void fuzz_expect_sentence(const struct rps_error *err);

/* Return 1 if text printed for users is harmless to a terminal: valid UTF-8 without control
 * characters other than newlines. */
int fuzz_is_printable(const char *text);
void fuzz_expect_printable(const char *text);

/* Return the path of a file in this process's own directory, which is removed at the end of the
 * process. The path is in a static buffer. */
const char *fuzz_path(const char *name);

/* Write the bytes to the file of this name, and return its path. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Return a stream that discards everything. The caller must not close the stream. */
FILE *fuzz_sink(void);

/* A source of numbers made from the input bytes. The numbers are 0 when the bytes are used up. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

uint64_t fuzz_take(struct fuzz_bytes *bytes, unsigned count);

#endif
