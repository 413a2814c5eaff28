/* Reads the call frame information of files: libdw reads .eh_frame, row by row.
 *
 * SAFETY: the files belong to the workload and may change at any time. The files are read, not
 * mapped, so that a truncated file causes an error and not a SIGBUS. */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "unwind.h"

#ifdef __x86_64__
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

struct rps_cfi {
    Elf *elf;
    Dwarf *dwarf; /* Debug information, if it is the source; NULL: .eh_frame is the source. */
    Dwarf_CFI *cfi;
};

/* --- files ------------------------------------------------------------------------------------ */

/* The vdso's size is computed from the section headers, which are at its end. */
static Elf *open_vdso(void)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

    return header ? elf_memory((char *)header,
                               header->e_shoff + (size_t)header->e_shnum * header->e_shentsize)
                  : NULL;
}

/* Read everything needed at once, including program headers; the descriptor is not used again. */
static void read_file(struct rps_cfi *cfi, int fd)
{
    GElf_Phdr phdr;

    cfi->elf = elf_begin(fd, ELF_C_READ, NULL);
    /* Files from Go store call frame information with debug information. */
    if (cfi->elf && gelf_getphdr(cfi->elf, 0, &phdr)) {
        cfi->cfi = dwarf_getcfi_elf(cfi->elf);
        if (!cfi->cfi && (cfi->dwarf = dwarf_begin_elf(cfi->elf, DWARF_C_READ, NULL)))
            cfi->cfi = dwarf_getcfi(cfi->dwarf);
    }
    if (cfi->elf)
        elf_cntl(cfi->elf, ELF_C_FDDONE);
}

struct rps_cfi *rps_cfi_open(enum rps_module_kind kind, int fd)
{
    struct rps_cfi *cfi = calloc(1, sizeof(*cfi));
    GElf_Ehdr header;

    if (!cfi)
        return NULL;
    elf_version(EV_CURRENT);
    if (kind == RPS_MODULE_FILE) {
        read_file(cfi, fd);
    } else if (kind == RPS_MODULE_VDSO) {
        cfi->elf = open_vdso();
        cfi->cfi = cfi->elf ? dwarf_getcfi_elf(cfi->elf) : NULL;
    }
    if (!cfi->cfi || !gelf_getehdr(cfi->elf, &header) || header.e_machine != MACHINE ||
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
    if (cfi->cfi && !cfi->dwarf)
        dwarf_cfi_end(cfi->cfi);
    dwarf_end(cfi->dwarf);
    elf_end(cfi->elf);
    free(cfi);
}

/* Find the loaded segment of the file that has the offset. */
static int find_segment(const struct rps_cfi *cfi, uint64_t offset, GElf_Phdr *ret)
{
    size_t count;

    if (elf_getphdrnum(cfi->elf, &count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(cfi->elf, (int)i, ret) && ret->p_type == PT_LOAD &&
            offset >= ret->p_offset && offset - ret->p_offset < ret->p_filesz)
            return 0;
    }
    return -1;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Convert an operation. A register number in the opcode becomes part of the operation. */
static struct rps_unwind_op make_op(const Dwarf_Op *op)
{
    struct rps_unwind_op ret = {op->number, op->atom};

    if (op->atom == DW_OP_regx && op->number < 32)
        ret.atom = (uint8_t)(DW_OP_reg0 + op->number);
    if (op->atom == DW_OP_bregx && op->number < 32)
        ret = (struct rps_unwind_op){op->number2, (uint8_t)(DW_OP_breg0 + op->number)};
    return ret;
}

static void add_rule(struct rps_unwind_row *row, struct rps_unwind_rule *ret, const Dwarf_Op *op,
                     size_t count)
{
    if (count > (size_t)(RPS_UNWIND_OPS_MAX - row->op_count)) {
        ret->how = RPS_UNWIND_UNREADABLE;
        return;
    }
    *ret = (struct rps_unwind_rule){RPS_UNWIND_COMPUTED, (uint8_t)row->op_count, (uint8_t)count};
    for (size_t i = 0; i < count; i++)
        row->op[row->op_count++] = make_op(&op[i]);
}

static void fill_row(Dwarf_Frame *frame, struct rps_unwind_row *ret)
{
    Dwarf_Op memory[3], *op;
    bool is_signal;
    size_t count;
    int number = dwarf_frame_info(frame, NULL, NULL, &is_signal);

    if (number < 0 || number >= RPS_UNWIND_REGISTERS || dwarf_frame_cfa(frame, &op, &count) < 0)
        return;
    ret->return_register = (uint8_t)number;
    ret->is_signal = is_signal;
    add_rule(ret, &ret->cfa, op, count);
    for (int i = 0; i < RPS_UNWIND_REGISTERS; i++) {
        struct rps_unwind_rule *rule = &ret->value[i];

        if (dwarf_frame_register(frame, i, memory, &op, &count) < 0)
            rule->how = RPS_UNWIND_UNREADABLE;
        else if (count > 0)
            add_rule(ret, rule, op, count);
        else
            rule->how = op == memory ? RPS_UNWIND_UNDEFINED : RPS_UNWIND_SAME;
    }
    ret->is_known = ret->cfa.how == RPS_UNWIND_COMPUTED;
}

/* Convert the row's addresses to offsets in the file, limited to the segment. */
static void set_range(Dwarf_Frame *frame, const GElf_Phdr *segment, uint64_t offset,
                      struct rps_unwind_row *ret)
{
    Dwarf_Addr start, end;

    if (dwarf_frame_info(frame, &start, &end, NULL) < 0)
        return;
    start = start > segment->p_vaddr ? start - segment->p_vaddr : 0;
    end = end > segment->p_vaddr ? end - segment->p_vaddr : 0;
    if (end > segment->p_filesz)
        end = segment->p_filesz;
    if (start + segment->p_offset > offset || end + segment->p_offset <= offset)
        return;
    ret->start = segment->p_offset + start;
    ret->end = segment->p_offset + end;
}

size_t rps_cfi_find(struct rps_cfi *cfi, uint64_t offset, struct rps_unwind_row *ret)
{
    GElf_Phdr segment;
    Dwarf_Frame *frame;

    memset(ret, 0, sizeof(*ret));
    ret->start = offset;
    ret->end = offset + 1;
    if (find_segment(cfi, offset, &segment) < 0 ||
        dwarf_cfi_addrframe(cfi->cfi, offset - segment.p_offset + segment.p_vaddr, &frame) != 0)
        return RPS_UNWIND_ROW_BYTES(0);
    fill_row(frame, ret);
    set_range(frame, &segment, offset, ret);
    free(frame);
    return RPS_UNWIND_ROW_BYTES(ret->op_count);
}
