/*
 * Unwinding with libdw's reading of .eh_frame. A file is read once for all processes that have it:
 * libdwfl, which knows how to unwind as well, wants its modules anew for each process.
 *
 * The files are the workload's, and may change at any time: they are read, not mapped, so that one
 * that is cut short makes an error and not a SIGBUS.
 */
#include "unwind.h"

#if defined(RPS_HAS_ELFUTILS) && (defined(__x86_64__) || defined(__aarch64__))

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
/* The bit of each register in perf's mask (asm/perf_regs.h), in the order of DWARF's numbers. */
static const unsigned char perf_bit[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
enum { frame_pointer = 6, stack_pointer = 7, pc_bit = 8, machine = EM_X86_64 };
#else
static const unsigned char perf_bit[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                         11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                         22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
enum { frame_pointer = 29, stack_pointer = 31, pc_bit = 32, machine = EM_AARCH64 };
#endif

enum { register_count = sizeof(perf_bit) / sizeof(perf_bit[0]) };

#define STACK_MAX 64 /* of an expression */

struct rps_cfi {
    Elf *elf;
    Dwarf_CFI *cfi;
};

/* --- files ------------------------------------------------------------------------------------ */

/* The vdso has its section headers at its end. */
static Elf *open_vdso(void)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

    return header ? elf_memory((char *)header,
                               header->e_shoff + (size_t)header->e_shnum * header->e_shentsize)
                  : NULL;
}

static int has_build_id(Elf *elf, const char *build_id)
{
    const unsigned char *bytes;
    const void *id;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &id);

    if (build_id[0] == '\0')
        return 1;
    bytes = id;
    for (ssize_t i = 0; i < length; i++) {
        char hex[3];

        snprintf(hex, sizeof(hex), "%02x", bytes[i]);
        if (strncmp(build_id + 2 * i, hex, 2) != 0)
            return 0;
    }
    return length > 0 && build_id[2 * length] == '\0';
}

/* What is wanted of it is read at once, its program headers too; the descriptor is closed. */
static void read_file(struct rps_cfi *cfi, const char *path, const char *build_id)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    GElf_Phdr phdr;

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        cfi->elf = elf_begin(fd, ELF_C_READ, NULL);
    if (cfi->elf && gelf_getphdr(cfi->elf, 0, &phdr) && has_build_id(cfi->elf, build_id))
        cfi->cfi = dwarf_getcfi_elf(cfi->elf);
    if (cfi->elf)
        elf_cntl(cfi->elf, ELF_C_FDDONE);
    close(fd);
}

struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, const char *path, const char *build_id)
{
    struct rps_cfi *cfi = calloc(1, sizeof(*cfi));
    GElf_Ehdr header;

    if (!cfi)
        return NULL;
    elf_version(EV_CURRENT);
    if (kind == RPS_MODULE_FILE) {
        read_file(cfi, path, build_id);
    } else if (kind == RPS_MODULE_VDSO) {
        cfi->elf = open_vdso();
        cfi->cfi = cfi->elf ? dwarf_getcfi_elf(cfi->elf) : NULL;
    }
    if (!cfi->cfi || !gelf_getehdr(cfi->elf, &header) || header.e_machine != machine ||
        header.e_ident[EI_CLASS] != ELFCLASS64) {
        rps_cfi_close(cfi);
        return NULL;
    }
    return cfi;
}

void rps_cfi_close(struct rps_cfi *cfi)
{
    if (!cfi)
        return;
    if (cfi->cfi)
        dwarf_cfi_end(cfi->cfi);
    elf_end(cfi->elf);
    free(cfi);
}

/* The address in the ELF file of what is at the offset. */
static int find_address(const struct rps_cfi *cfi, uint64_t offset, uint64_t *ret)
{
    size_t count;

    if (elf_getphdrnum(cfi->elf, &count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr phdr;

        if (gelf_getphdr(cfi->elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
            offset >= phdr.p_offset && offset - phdr.p_offset < phdr.p_filesz) {
            *ret = offset - phdr.p_offset + phdr.p_vaddr;
            return 0;
        }
    }
    return -1;
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

/* What the operation makes of the two values at the top; -1: it is none of those. */
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

/* The values of an expression. */
struct values {
    uint64_t value[STACK_MAX];
    size_t count;
};

/* An operation that pushes a value; -1: it is none, or the value is not known. */
static int push_value(const struct rps_unwind *unwind, const Dwarf_Op *op, uint64_t cfa,
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
    if (atom == DW_OP_regx)
        return read_register(unwind, op->number, ret);
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
        return read_register(unwind, atom - DW_OP_reg0, ret);
    if (atom == DW_OP_bregx || (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)) {
        uint64_t number = atom == DW_OP_bregx ? op->number : atom - DW_OP_breg0;

        if (read_register(unwind, number, ret) < 0)
            return -1;
        *ret += atom == DW_OP_bregx ? op->number2 : op->number;
        return 0;
    }
    return -1;
}

static int operate(const struct rps_unwind *unwind, const Dwarf_Op *op, uint64_t cfa,
                   struct values *values)
{
    uint64_t *top = values->value + values->count - 1; /* where count > 0 */

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

/* The value of an expression. *ret_is_value: it is that of a register itself, not where in memory
 * it is. */
static int evaluate(const struct rps_unwind *unwind, const Dwarf_Op *op, size_t count, uint64_t cfa,
                    uint64_t *ret, int *ret_is_value)
{
    struct values values = {.count = 0};

    *ret_is_value = 0;
    for (size_t i = 0; i < count; i++) {
        if (op[i].atom == DW_OP_stack_value) {
            *ret_is_value = 1;
            break;
        }
        if (operate(unwind, &op[i], cfa, &values) < 0)
            return -1;
        if (op[i].atom == DW_OP_regx || (op[i].atom >= DW_OP_reg0 && op[i].atom <= DW_OP_reg31))
            *ret_is_value = 1;
    }
    if (values.count == 0)
        return -1;
    *ret = values.value[values.count - 1];
    return 0;
}

/* What register `number` was in the caller: 0, 1 when there is nothing that says so, -1 when it
 * cannot be read. */
static int find_register(const struct rps_unwind *unwind, Dwarf_Frame *frame, int number,
                         uint64_t cfa, uint64_t *ret)
{
    Dwarf_Op memory[3], *op;
    int is_value;
    size_t count;

    if (dwarf_frame_register(frame, number, memory, &op, &count) < 0)
        return -1;
    if (count == 0 && op == memory)
        return 1;
    if (count == 0)
        return read_register(unwind, (uint64_t)number, ret);
    if (evaluate(unwind, op, count, cfa, ret, &is_value) < 0)
        return -1;
    return is_value ? 0 : read_stack(unwind, *ret, ret);
}

static enum rps_unwind_step step_by_frame(struct rps_unwind *unwind, Dwarf_Frame *frame)
{
    struct rps_unwind caller = *unwind;
    int is_value, is_found, number;
    bool is_signal;
    uint64_t cfa;
    Dwarf_Op *op;
    size_t count;

    number = dwarf_frame_info(frame, NULL, NULL, &is_signal);
    if (number < 0 || dwarf_frame_cfa(frame, &op, &count) < 0 ||
        evaluate(unwind, op, count, 0, &cfa, &is_value) < 0)
        return RPS_UNWIND_LOST;
    is_found = find_register(unwind, frame, number, cfa, &caller.pc);
    if (is_found != 0)
        return is_found > 0 ? RPS_UNWIND_END : RPS_UNWIND_LOST;
    caller.known = 0;
    for (int i = 0; i < register_count; i++) {
        if (find_register(unwind, frame, i, cfa, &caller.value[i]) == 0)
            caller.known |= UINT64_C(1) << i;
    }
    caller.value[stack_pointer] = cfa;
    caller.known |= UINT64_C(1) << stack_pointer;
    caller.is_exact = is_signal;
    *unwind = caller;
    return caller.pc ? RPS_UNWIND_CALLER : RPS_UNWIND_END;
}

static enum rps_unwind_step step_by_pointer(struct rps_unwind *unwind)
{
    uint64_t at, next, pc;

    if (read_register(unwind, frame_pointer, &at) < 0 || at < unwind->value[stack_pointer] ||
        read_stack(unwind, at, &next) < 0 || read_stack(unwind, at + 8, &pc) < 0)
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

enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, struct rps_cfi *cfi,
                                     uint64_t offset)
{
    enum rps_unwind_step step;
    Dwarf_Frame *frame;
    uint64_t address;

    if (!cfi || find_address(cfi, offset, &address) < 0 ||
        dwarf_cfi_addrframe(cfi->cfi, address, &frame) != 0)
        return step_by_pointer(unwind);
    step = step_by_frame(unwind, frame);
    free(frame);
    return step;
}

#else

#include <stddef.h>

struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, const char *path, const char *build_id)
{
    (void)kind;
    (void)path;
    (void)build_id;
    return NULL;
}

void rps_cfi_close(struct rps_cfi *cfi)
{
    (void)cfi;
}

int rps_unwind_start(struct rps_unwind *ret, const struct rps_sample_registers *registers)
{
    (void)ret;
    (void)registers;
    return -1;
}

enum rps_unwind_step rps_unwind_step(struct rps_unwind *unwind, struct rps_cfi *cfi,
                                     uint64_t offset)
{
    (void)unwind;
    (void)cfi;
    (void)offset;
    return RPS_UNWIND_LOST;
}

#endif
