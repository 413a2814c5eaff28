/*
 * Unwinding: finds the callers of a frame. Sources are the files' call frame information, a copy of
 * the stack, and the kernel's chain of frame pointers where it joins. A file's information is read
 * by row; a row has the rules for one place in the code. Without elfutils, or for a processor with
 * unknown registers, no callers are found.
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

/* Return 1 if this build can unwind. */
int rps_unwind_is_possible(void);

/* --- rows ------------------------------------------------------------------------------------- */

#define RPS_UNWIND_OPS_MAX 255 /* of a row's expressions together */

/* An operation of DWARF's expressions. The atom includes the register, if there is one. */
struct rps_unwind_op {
    uint64_t number;
    uint8_t atom;
};

/* How to find a register's value in the caller. */
struct rps_unwind_rule {
    uint8_t how;          /* enum rps_unwind_how */
    uint8_t first, count; /* COMPUTED: the row's operations for it */
};

enum rps_unwind_how {
    RPS_UNWIND_UNDEFINED, /* no value */
    RPS_UNWIND_SAME,
    RPS_UNWIND_COMPUTED,
    RPS_UNWIND_UNREADABLE, /* the file is malformed here */
};

struct rps_unwind_row {
    uint64_t start, end; /* offsets in the file where it applies */
    uint64_t function;   /* offset at which the function begins; 0: not known */
    uint8_t is_known;    /* 0: the file has no information on this place, and the rest is zero */
    uint8_t is_signal;   /* the caller was interrupted, and did not call */
    uint8_t return_register;
    uint8_t op_count;
    struct rps_unwind_rule cfa, value[RPS_UNWIND_REGISTERS];
    struct rps_unwind_op op[RPS_UNWIND_OPS_MAX]; /* op_count of them */
};

/* The size of a row with that many operations, bytes. */
#define RPS_UNWIND_ROW_BYTES(count)                                                                \
    (offsetof(struct rps_unwind_row, op) + (count) * sizeof(struct rps_unwind_op))

/* A file's call frame information. */
struct rps_cfi;

/* Read the information of an open file, of a module of kind FILE, or of our own vdso. NULL: none,
 * or no memory. The caller keeps the descriptor. */
struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd);
void rps_cfi_close(struct rps_cfi *cfi); /* NULL is harmless */

/* Find the row of that offset. Returns its size in bytes. */
size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret);

/* Return 1 if these bytes, from any source, are a row of that offset that can be used. */
int rps_unwind_row_is_sound(const struct rps_unwind_row *row, size_t bytes, uint64_t offset);

/* --- frames ----------------------------------------------------------------------------------- */

/* A frame: its registers and the stack. */
struct rps_unwind {
    uint64_t value[RPS_UNWIND_REGISTERS];
    uint64_t known; /* bits of the registers whose value is known */
    uint64_t pc;
    int is_exact; /* pc is the instruction itself, not the one after a call */
    const unsigned char *stack;
    uint64_t stack_start, stack_bytes; /* where the copy was in the process */
    uint64_t slot; /* of the last step: where the return address is on the stack; 0: not known */
};

/* The result of a step. */
enum rps_unwind_step {
    RPS_UNWIND_LOST,   /* the caller cannot be found */
    RPS_UNWIND_CALLER, /* the frame is now the caller's */
    RPS_UNWIND_END,    /* the thread began here, without a caller */
};

/* The registers that are needed, in perf's mask: stack pointer and instruction, in this order. */
#define RPS_UNWIND_PLACE (UINT64_C(3) << RPS_UNWIND_STACK_POINTER)

/* Set the innermost frame. Negative: registers that are needed are missing. */
int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers);

/* Step to the caller. row: that of pc, less one if it is not exact. If the row is not known, the
 * frame pointer is used. */
enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, const struct rps_unwind_row *row);

/* --- the chain of frame pointers -------------------------------------------------------------- */

/* How far the kernel's chain of the same sample was followed. It lacks the callers of functions
 * that make no frame, or not yet. */
struct rps_unwind_chain {
    uint64_t frame; /* where the frame pointer points whose return address is next; 0: not known */
    size_t next;    /* of the chain's addresses */
};

/* Return the start of the chain. unwind: the innermost frame. */
struct rps_unwind_chain rps_unwind_chain(const struct rps_unwind *unwind);

/* Return which address of the chain is the return address of the last step, which was found or is
 * beyond the copy; 0: none. */
size_t rps_unwind_find_in_chain(struct rps_unwind_chain *chain, const struct rps_unwind *unwind);

/* Return 1 if a function makes a frame, so that its caller is the next address of the chain. This
 * is assumed if nothing is known. row: of the place from which it calls. */
int rps_unwind_makes_frame(const struct rps_unwind_row *row);

#endif
