/*
 * Unwinding: the callers of a frame, by the call frame information of the files and a copy of the
 * stack, and where these join the kernel's chain of frame pointers. A file's information is read
 * row by row: a row is what holds in one place of the code. Built without elfutils, or for a
 * processor whose registers it does not know, there are no callers.
 */
#ifndef RPISTAT_CODE_UNWIND_H
#define RPISTAT_CODE_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"

/* Registers by their numbers in DWARF. */
enum {
#if defined(__x86_64__)
    RPS_UNWIND_FRAME_POINTER = 6,
    RPS_UNWIND_STACK_POINTER = 7,
    RPS_UNWIND_REGISTERS = 17,
#else /* 64-bit ARM's */
    RPS_UNWIND_FRAME_POINTER = 29,
    RPS_UNWIND_STACK_POINTER = 31,
    RPS_UNWIND_REGISTERS = 33,
#endif
};

/* Whether there is any here. */
int rps_unwind_is_possible(void);

/* --- rows ------------------------------------------------------------------------------------- */

#define RPS_UNWIND_OPS_MAX 255 /* of a row's expressions together */

/* An operation of DWARF's expressions; a register that it is about is in the atom. */
struct rps_unwind_op {
    uint64_t number;
    uint8_t atom;
};

/* How a register's value in the caller is found. */
struct rps_unwind_rule {
    uint8_t how;          /* enum rps_unwind_how */
    uint8_t first, count; /* COMPUTED: the row's operations that do */
};

enum rps_unwind_how {
    RPS_UNWIND_UNDEFINED, /* it has none */
    RPS_UNWIND_SAME,
    RPS_UNWIND_COMPUTED,
    RPS_UNWIND_UNREADABLE, /* the file does not make sense here */
};

struct rps_unwind_row {
    uint64_t start, end; /* offsets in the file between which it holds */
    uint64_t function;   /* offset at which the function begins; 0: not known */
    uint8_t is_known;    /* 0: the file says nothing of this place, and the rest is zero */
    uint8_t is_signal;   /* the caller was interrupted, and did not call */
    uint8_t return_register;
    uint8_t op_count;
    struct rps_unwind_rule cfa, value[RPS_UNWIND_REGISTERS];
    struct rps_unwind_op op[RPS_UNWIND_OPS_MAX]; /* op_count of them */
};

/* Bytes of a row with so many operations. */
#define RPS_UNWIND_ROW_BYTES(count)                                                                \
    (offsetof(struct rps_unwind_row, op) + (count) * sizeof(struct rps_unwind_op))

/* A file's call frame information. */
struct rps_cfi;

/* Read that of an open file, of a module of kind FILE, or that of our own vdso; NULL when there is
 * none, or no memory. The descriptor stays the caller's. */
struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd);
void rps_cfi_close(struct rps_cfi *cfi); /* NULL is harmless */

/* The row of that offset. Returns its bytes. */
size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret);

/* Whether these bytes are a row of that offset, wherever they come from: it can be used. */
int rps_unwind_row_is_sound(const struct rps_unwind_row *row, size_t bytes, uint64_t offset);

/* --- frames ----------------------------------------------------------------------------------- */

/* A frame: its registers and the stack. */
struct rps_unwind {
    uint64_t value[RPS_UNWIND_REGISTERS];
    uint64_t known; /* bits of the registers whose value is known */
    uint64_t pc;
    int is_exact; /* pc is the instruction itself, not the one behind a call */
    const unsigned char *stack;
    uint64_t stack_start, stack_bytes; /* where the copy was in the process */
    uint64_t slot; /* of the last step: where on the stack the return address is; 0: not known */
};

/* Where a step came to. */
enum rps_unwind_step {
    RPS_UNWIND_LOST,   /* the caller cannot be found */
    RPS_UNWIND_CALLER, /* it is the caller's now */
    RPS_UNWIND_END,    /* there is no caller: the thread began here */
};

/* The registers that are needed, in perf's mask: stack pointer and instruction, in this order. */
#define RPS_UNWIND_PLACE (UINT64_C(3) << RPS_UNWIND_STACK_POINTER)

/* The innermost frame. Negative when the registers that are needed are not among them. */
int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers);

/* Go on to the caller. row: that of pc, less one if it is not exact. Where nothing is known of it,
 * by the frame pointer. */
enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, const struct rps_unwind_row *row);

/* --- the chain of frame pointers -------------------------------------------------------------- */

/* How far the kernel's chain of the same sample was followed. It leaves out the callers of
 * functions that make no frame, or not yet. */
struct rps_unwind_chain {
    uint64_t frame; /* where the frame pointer points to whose return address is the next, 0: not
                       known */
    size_t next;    /* of the chain's addresses */
};

/* unwind: the innermost frame. */
struct rps_unwind_chain rps_unwind_chain(const struct rps_unwind *unwind);

/* Which address of the chain is the return address of the last step, that was found or lies behind
 * the copy; 0: none. */
size_t rps_unwind_find_in_chain(struct rps_unwind_chain *chain, const struct rps_unwind *unwind);

/* Whether a function makes a frame, so that its caller is the next address of the chain; of those
 * of which nothing is known it is supposed. row: of the place from which it calls. */
int rps_unwind_makes_frame(const struct rps_unwind_row *row);

#endif
