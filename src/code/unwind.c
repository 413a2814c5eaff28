/* Steps from a frame to its caller, by the rules of a row or by the frame pointer. SAFETY: rows,
 * stack and registers come from the workload and may contain anything. */
#include "unwind.h"

#include <dwarf.h>
#include <string.h>

/* The bit of each register in perf's mask (asm/perf_regs.h), in the order of DWARF's numbers. */
#ifdef __x86_64__
static const unsigned char perf_bit[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
enum { pc_bit = 8 };
#else
static const unsigned char perf_bit[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                         11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                         22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
enum { pc_bit = 32 };
#endif

enum {
    register_count = RPS_UNWIND_REGISTERS,
    frame_pointer = RPS_UNWIND_FRAME_POINTER,
    stack_pointer = RPS_UNWIND_STACK_POINTER,
};

#define STACK_MAX 64 /* Maximum stack depth of an expression. */

/* --- rows ------------------------------------------------------------------------------------- */

static int is_sound_rule(const struct rps_unwind_row *row, const struct rps_unwind_rule *rule)
{
    return rule->how != RPS_UNWIND_COMPUTED ||
           (rule->first <= row->op_count && rule->count <= row->op_count - rule->first);
}

int rps_unwind_row_is_sound(const struct rps_unwind_row *row, size_t bytes, uint64_t offset)
{
    int is_sound = bytes >= RPS_UNWIND_ROW_BYTES(0) &&
                   bytes == RPS_UNWIND_ROW_BYTES(row->op_count) && row->start <= offset &&
                   offset < row->end && row->function <= offset &&
                   row->return_register < register_count && is_sound_rule(row, &row->cfa);

    for (int i = 0; is_sound && i < register_count; i++)
        is_sound = is_sound_rule(row, &row->value[i]);
    return is_sound;
}

/* --- frames ----------------------------------------------------------------------------------- */

static int read_stack(const struct rps_unwind *unwind, uint64_t address, uint64_t *ret)
{
    uint64_t at = address - unwind->stack_start;

    if (address < unwind->stack_start || at > unwind->stack_bytes ||
        unwind->stack_bytes - at < sizeof(*ret))
        return -1;
    memcpy(ret, unwind->stack + at, sizeof(*ret));
    return 0;
}

static int read_register(const struct rps_unwind *unwind, uint64_t number, uint64_t *ret)
{
    if (number >= register_count || !(unwind->known >> number & 1))
        return -1;
    *ret = unwind->value[number];
    return 0;
}

/* Apply an operation to the two top values. Return -1 if the operation does not take two values. */
static int compute(unsigned atom, uint64_t a, uint64_t b, uint64_t *ret)
{
    switch (atom) {
    case DW_OP_plus:
        *ret = a + b;
        return 0;
    case DW_OP_minus:
        *ret = a - b;
        return 0;
    case DW_OP_mul:
        *ret = a * b;
        return 0;
    case DW_OP_and:
        *ret = a & b;
        return 0;
    case DW_OP_or:
        *ret = a | b;
        return 0;
    case DW_OP_shl:
        *ret = b < 64 ? a << b : 0;
        return 0;
    case DW_OP_shr:
        *ret = b < 64 ? a >> b : 0;
        return 0;
    case DW_OP_ge:
        *ret = (int64_t)a >= (int64_t)b;
        return 0;
    default:
        return -1;
    }
}

/* The stack of values of an expression. */
struct values {
    uint64_t value[STACK_MAX];
    size_t count;
};

static int is_register(const struct rps_unwind_op *op)
{
    return op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31;
}

/* Push a value. Return -1 if the operation does not push a value, or the value is unknown. */
static int push_value(const struct rps_unwind *unwind, const struct rps_unwind_op *op, uint64_t cfa,
                      uint64_t *ret)
{
    unsigned atom = op->atom;

    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
        *ret = atom - DW_OP_lit0;
        return 0;
    }
    if ((atom >= DW_OP_const1u && atom <= DW_OP_consts) || atom == DW_OP_addr) {
        *ret = op->number;
        return 0;
    }
    if (atom == DW_OP_call_frame_cfa) {
        *ret = cfa;
        return 0;
    }
    if (is_register(op))
        return read_register(unwind, atom - DW_OP_reg0, ret);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        if (read_register(unwind, atom - DW_OP_breg0, ret) < 0)
            return -1;
        *ret += op->number;
        return 0;
    }
    return -1;
}

static int operate(const struct rps_unwind *unwind, const struct rps_unwind_op *op, uint64_t cfa,
                   struct values *values)
{
    uint64_t *top = values->value + values->count - 1; /* Valid only if count > 0. */

    if (op->atom == DW_OP_nop)
        return 0;
    if (op->atom == DW_OP_deref && values->count > 0)
        return read_stack(unwind, *top, top);
    if (op->atom == DW_OP_plus_uconst && values->count > 0) {
        *top += op->number;
        return 0;
    }
    if (values->count > 1 && compute(op->atom, top[-1], top[0], &top[-1]) == 0) {
        values->count--;
        return 0;
    }
    if (values->count == STACK_MAX ||
        push_value(unwind, op, cfa, &values->value[values->count]) < 0)
        return -1;
    values->count++;
    return 0;
}

/* *ret_is_value: 1 if the result is the register's value, 0 if it is the address of the value. */
static int evaluate(const struct rps_unwind *unwind, const struct rps_unwind_row *row,
                    const struct rps_unwind_rule *rule, uint64_t cfa, uint64_t *ret,
                    int *ret_is_value)
{
    const struct rps_unwind_op *op = row->op + rule->first;
    struct values values = {.count = 0};

    *ret_is_value = 0;
    for (size_t i = 0; i < rule->count; i++) {
        if (op[i].atom == DW_OP_stack_value) {
            *ret_is_value = 1;
            break;
        }
        if (operate(unwind, &op[i], cfa, &values) < 0)
            return -1;
        if (is_register(&op[i]))
            *ret_is_value = 1;
    }
    if (values.count == 0)
        return -1;
    *ret = values.value[values.count - 1];
    return 0;
}

/* Find the caller's value of register `number`. Return 0 if the value is found, 1 if no rule
 * defines it, and -1 if it cannot be read. *ret_slot: address of the value on the stack, even if
 * unreadable; 0: none. */
static int find_register(const struct rps_unwind *unwind, const struct rps_unwind_row *row,
                         uint64_t number, uint64_t cfa, uint64_t *ret, uint64_t *ret_slot)
{
    const struct rps_unwind_rule *rule = &row->value[number];
    int is_value;

    *ret_slot = 0;
    if (rule->how == RPS_UNWIND_UNDEFINED)
        return 1;
    if (rule->how == RPS_UNWIND_SAME)
        return read_register(unwind, number, ret);
    if (rule->how != RPS_UNWIND_COMPUTED || evaluate(unwind, row, rule, cfa, ret, &is_value) < 0)
        return -1;
    if (is_value)
        return 0;
    *ret_slot = *ret;
    return read_stack(unwind, *ret, ret);
}

static enum rps_unwind_step step_by_row(struct rps_unwind *unwind, const struct rps_unwind_row *row)
{
    struct rps_unwind caller = *unwind;
    int is_value, is_found;
    uint64_t cfa, slot;

    unwind->slot = 0;
    if (evaluate(unwind, row, &row->cfa, 0, &cfa, &is_value) < 0)
        return RPS_UNWIND_LOST;
    is_found = find_register(unwind, row, row->return_register, cfa, &caller.pc, &unwind->slot);
    if (is_found != 0)
        return is_found > 0 ? RPS_UNWIND_END : RPS_UNWIND_LOST;
    caller.slot = unwind->slot;
    caller.known = 0;
    for (unsigned i = 0; i < register_count; i++) {
        if (find_register(unwind, row, i, cfa, &caller.value[i], &slot) == 0)
            caller.known |= UINT64_C(1) << i;
    }
    caller.value[stack_pointer] = cfa;
    caller.known |= UINT64_C(1) << stack_pointer;
    caller.is_exact = row->is_signal;
    *unwind = caller;
    return caller.pc ? RPS_UNWIND_CALLER : RPS_UNWIND_END;
}

static enum rps_unwind_step step_by_pointer(struct rps_unwind *unwind)
{
    uint64_t at, next, pc;

    unwind->slot = 0;
    if (read_register(unwind, frame_pointer, &at) < 0 || at < unwind->value[stack_pointer])
        return RPS_UNWIND_LOST;
    unwind->slot = at + 8;
    if (read_stack(unwind, at, &next) < 0 || read_stack(unwind, at + 8, &pc) < 0)
        return RPS_UNWIND_LOST;
    unwind->value[frame_pointer] = next;
    unwind->value[stack_pointer] = at + 16;
    unwind->known = UINT64_C(1) << frame_pointer | UINT64_C(1) << stack_pointer;
    unwind->pc = pc;
    unwind->is_exact = 0;
    return pc ? RPS_UNWIND_CALLER : RPS_UNWIND_END;
}

int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers)
{
    uint64_t needed = UINT64_C(1) << perf_bit[stack_pointer] | UINT64_C(1) << pc_bit;
    uint64_t value[64] = {0};

    if ((registers->mask & needed) != needed)
        return -1;
    for (int bit = 0, i = 0; bit < 64; bit++) {
        if (registers->mask >> bit & 1)
            value[bit] = registers->value[i++];
    }
    *ret = (struct rps_unwind){.pc = value[pc_bit], .is_exact = 1};
    for (int i = 0; i < register_count; i++) {
        ret->value[i] = value[perf_bit[i]];
        ret->known |= (registers->mask >> perf_bit[i] & 1) << i;
    }
    ret->stack = registers->stack;
    ret->stack_start = ret->value[stack_pointer];
    ret->stack_bytes = registers->stack_bytes;
    return 0;
}

enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, const struct rps_unwind_row *row)
{
    return row->is_known ? step_by_row(unwind, row) : step_by_pointer(unwind);
}

/* --- the chain of frame pointers -------------------------------------------------------------- */

struct rps_unwind_chain rps_unwind_chain(const struct rps_unwind *unwind)
{
    struct rps_unwind_chain chain = {.next = 1};

    if (read_register(unwind, frame_pointer, &chain.frame) < 0)
        chain.frame = 0;
    return chain;
}

size_t rps_unwind_find_in_chain(struct rps_unwind_chain *chain, const struct rps_unwind *unwind)
{
    while (chain->frame != 0 && chain->frame + 8 < unwind->slot) {
        uint64_t above = chain->frame;

        if (read_stack(unwind, above, &chain->frame) < 0 || chain->frame <= above)
            chain->frame = 0;
        chain->next++;
    }
    return chain->frame != 0 && chain->frame + 8 == unwind->slot ? chain->next : 0;
}

/* On x86, a function makes a frame if the frame pointer defines the frame. On ARM, the frame
 * pointer and the return register are saved in the frame. */
int rps_unwind_makes_frame(const struct rps_unwind_row *row)
{
    if (!row->is_known)
        return 1;
#ifdef __x86_64__
    return row->cfa.count == 1 && row->op[row->cfa.first].atom == DW_OP_breg0 + frame_pointer;
#else
    return row->value[frame_pointer].how == RPS_UNWIND_COMPUTED &&
           row->value[row->return_register].how == RPS_UNWIND_COMPUTED;
#endif
}

int rps_unwind_is_possible(void)
{
    return 1;
}
