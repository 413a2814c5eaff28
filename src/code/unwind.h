/*
 * Unwinding: the callers of a frame, by the call frame information of the files and a copy of the
 * stack. Built without elfutils, or for a processor whose registers it does not know, there are
 * none.
 */
#ifndef RPISTAT_CODE_UNWIND_H
#define RPISTAT_CODE_UNWIND_H

#include <stdint.h>

#include "rpistat/code.h"

#define RPS_UNWIND_REGISTERS 33 /* of one processor at most */

/* A frame: its registers, by their numbers in DWARF, and the stack. */
struct rps_unwind {
    uint64_t value[RPS_UNWIND_REGISTERS];
    uint64_t known; /* bits of the registers whose value is known */
    uint64_t pc;
    int is_exact; /* pc is the instruction itself, not the one behind a call */
    const unsigned char *stack;
    uint64_t stack_start, stack_bytes; /* where the copy was in the process */
};

/* Where a step came to. */
enum rps_unwind_step {
    RPS_UNWIND_LOST,   /* the caller cannot be found */
    RPS_UNWIND_CALLER, /* it is the caller's now */
    RPS_UNWIND_END,    /* there is no caller: the thread began here */
};

/* A file's call frame information. */
struct rps_cfi;

/* Read that of the file of a module of kind FILE, if it is a regular file with this build-id, or
 * that of our own vdso; NULL when there is none, or no memory. */
struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, const char *path, const char *build_id);
void rps_cfi_close(struct rps_cfi *cfi); /* NULL is harmless */

/* The innermost frame. Negative when the registers that are needed are not among them. */
int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers);

/* Go on to the caller. offset: that of pc, less one if it is not exact, in the file. Without cfi,
 * or where it has nothing, by the frame pointer. */
enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, struct rps_cfi *cfi,
                                     uint64_t offset);

#endif
