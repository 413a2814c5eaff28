/* Fuzz rows of call frame information received from the process that reads files, even if that
 * process is compromised. Any accepted row can be applied to any stack. */
#include "fuzz.h"

#include <string.h>

#include "code/unwind.h"

#define STEPS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rps_unwind_row row = {0};
    struct rps_unwind unwind = {.stack = data, .stack_start = 0x1000, .stack_bytes = size};
    size_t bytes = size < sizeof(row) ? size : sizeof(row);
    struct rps_unwind_chain chain;

    memcpy(&row, data, bytes);
    fuzz_expect(!rps_unwind_row_is_sound(&row, RPS_UNWIND_ROW_BYTES(row.op_count) - 1, row.start),
                "a row that is cut short is sound");
    if (!rps_unwind_row_is_sound(&row, RPS_UNWIND_ROW_BYTES(row.op_count), row.start))
        return 0;
    for (int i = 0; i < RPS_UNWIND_REGISTERS; i++)
        unwind.value[i] = unwind.stack_start + 8 * (uint64_t)i;
    unwind.known = UINT64_MAX;
    chain = rps_unwind_chain(&unwind);
    rps_unwind_makes_frame(&row);
    for (int i = 0; i < STEPS && rps_unwind_step(&unwind, &row) == RPS_UNWIND_CALLER; i++)
        rps_unwind_find_in_chain(&chain, &unwind);
    return 0;
}
