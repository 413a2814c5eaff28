/* Unwinding: finds the callers of a frame. Sources are the call frame information of files, a copy
 * of the stack, and the kernel's chain of frame pointers. The call frame information of a file is
 * read one row at a time; a row has the rules for one place in the code. Without elfutils, or for a
 * processor with unknown registers, no callers are found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpistat/code.h"

/* Registers by their numbers in DWARF. */
enum {
#if defined(__x86_64__)
    RPS_UNWIND_FRAME_POINTER = 6,
    RPS_UNWIND_STACK_POINTER = 7,
    RPS_UNWIND_REGISTERS = 17,
#else /* 64-bit ARM */
    RPS_UNWIND_FRAME_POINTER = 29,
    RPS_UNWIND_STACK_POINTER = 31,
    RPS_UNWIND_REGISTERS = 33,
#endif
};

/* Return 1 if this build can unwind. */
int rps_unwind_is_possible(void);

/* --- rows ------------------------------------------------------------------------------------- */

#define RPS_UNWIND_OPS_MAX 255 /* Maximum operations in all expressions of a row. */

/* An operation of a DWARF expression. The atom includes the register number, if there is one. */
struct rps_unwind_op {
    uint64_t number;
    uint8_t atom;
};

/* A rule that finds the value of a register in the caller. */
struct rps_unwind_rule {
    uint8_t how;          /* A value of enum rps_unwind_how. */
    uint8_t first, count; /* Only for COMPUTED: which of the row's operations belong to the rule. */
};

enum rps_unwind_how {
    RPS_UNWIND_UNDEFINED, /* The register has no value in the caller. */
    RPS_UNWIND_SAME,
    RPS_UNWIND_COMPUTED,
    RPS_UNWIND_UNREADABLE, /* The file is malformed at this place. */
};

struct rps_unwind_row {
    uint64_t start, end; /* File offsets to which the row applies. */
    uint64_t function;   /* Offset of the start of the function; 0: unknown. */
    uint8_t is_known;    /* 0: the file does not describe this place, and all other members are
                            zero. */
    uint8_t is_signal;   /* 1 if a signal interrupted the caller, which made no call. */
    uint8_t return_register;
    uint8_t op_count;
    struct rps_unwind_rule cfa, value[RPS_UNWIND_REGISTERS];
    struct rps_unwind_op op[RPS_UNWIND_OPS_MAX]; /* The first op_count elements are used. */
};

/* Size in bytes of a row with `count` operations. */
#define RPS_UNWIND_ROW_BYTES(count)                                                                \
    (offsetof(struct rps_unwind_row, op) + (count) * sizeof(struct rps_unwind_op))

/* A file's call frame information. */
struct rps_cfi;

/* Read the call frame information of an open file. kind: FILE for a module, or VDSO for the vdso of
 * rpistat. NULL: no information, or no memory. The caller keeps the descriptor. */
struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd);
void rps_cfi_close(struct rps_cfi *cfi); /* `cfi` may be NULL. */

/* Find the row for an offset in the file. Returns the size of the row in bytes. */
size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret);

/* Return 1 if the bytes, from any source, are a usable row for the offset. */
int rps_unwind_row_is_sound(const struct rps_unwind_row *row, size_t bytes, uint64_t offset);

/* --- frames ----------------------------------------------------------------------------------- */

/* A frame: its registers and the stack. */
struct rps_unwind {
    uint64_t value[RPS_UNWIND_REGISTERS];
    uint64_t known; /* Bits of the registers with known values. */
    uint64_t pc;
    int is_exact; /* 1 if pc is the instruction itself, not the return address of a call. */
    const unsigned char *stack;
    uint64_t stack_start, stack_bytes; /* Address and size of the copied stack in the process. */
    uint64_t slot; /* Address of the stack slot from which the last step read the return address;
                      0: unknown. */
};

enum rps_unwind_step {
    RPS_UNWIND_LOST,   /* The caller cannot be found. */
    RPS_UNWIND_CALLER, /* The frame is now that of the caller. */
    RPS_UNWIND_END,    /* The thread began in this frame, so there is no caller. */
};

/* Bits of the registers that a place of waiting needs, in perf's mask: stack pointer and
 * instruction, in this order. */
#define RPS_UNWIND_PLACE (UINT64_C(3) << RPS_UNWIND_STACK_POINTER)

/* Set the innermost frame. Returns a negative value if needed registers are missing. */
int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers);

/* Step to the caller. row: the row of pc, or of pc - 1 if is_exact is 0. If the row is unknown, the
 * frame pointer is used. */
enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, const struct rps_unwind_row *row);

/* --- the chain of frame pointers -------------------------------------------------------------- */

/* The position in the kernel's call chain of a sample. The chain lacks the callers of functions
 * that make no frame, or have not yet made a frame. */
struct rps_unwind_chain {
    uint64_t frame; /* Frame pointer of the frame whose return address is at `next`; 0: unknown. */
    size_t next;    /* Index of the next address in the chain. */
};

/* Return the start of the chain. unwind: the innermost frame. */
struct rps_unwind_chain rps_unwind_chain(const struct rps_unwind *unwind);

/* Return the index of the last step's return address in the chain. The step found this address, or
 * the address lies beyond the copied stack. Returns 0 if the chain does not have the address. */
size_t rps_unwind_find_in_chain(struct rps_unwind_chain *chain, const struct rps_unwind *unwind);

/* Return 1 if a function makes a frame, so that its caller is the next address of the chain. If
 * nothing is known, the function is assumed to make a frame. row: the row for the place in the
 * function where it makes the call. */
int rps_unwind_makes_frame(const struct rps_unwind_row *row);
