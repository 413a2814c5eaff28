/* Replaces unwind_cfi.c and unwind.c if unwinding is not possible: without elfutils, or for a
 * processor with unknown registers. */
#include "unwind.h"

struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd)
{
    (void)kind;
    (void)fd;
    return NULL;
}

void rps_cfi_close(struct rps_cfi *cfi)
{
    (void)cfi;
}

size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret)
{
    (void)cfi;
    (void)offset;
    (void)ret;
    return 0;
}

int rps_unwind_row_is_sound(const struct rps_unwind_row *row, size_t bytes, uint64_t offset)
{
    return bytes == RPS_UNWIND_ROW_BYTES(0) && !row->is_known && row->start <= offset &&
           offset < row->end && row->function <= offset;
}

int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers)
{
    (void)ret;
    (void)registers;
    return -1;
}

enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, const struct rps_unwind_row *row)
{
    (void)unwind;
    (void)row;
    return RPS_UNWIND_LOST;
}

struct rps_unwind_chain rps_unwind_chain(const struct rps_unwind *unwind)
{
    (void)unwind;
    return (struct rps_unwind_chain){.next = 1};
}

size_t rps_unwind_find_in_chain(struct rps_unwind_chain *chain, const struct rps_unwind *unwind)
{
    (void)chain;
    (void)unwind;
    return 0;
}

int rps_unwind_makes_frame(const struct rps_unwind_row *row)
{
    (void)row;
    return 1;
}

int rps_unwind_is_possible(void)
{
    return 0;
}
