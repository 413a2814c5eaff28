/*
 * Functions by the symbols of an ELF file: one table in order of address, of all that the file, its
 * debug file and .gnu_debugdata have. dwfl_module_addrinfo searches all symbols for each address.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>

#include "naming_child.h"

#include "rpistat/array.h"

struct symbol {
    uint64_t start;
    uint64_t end;
    uint64_t reach; /* the largest end of this and those before */
    const char *name;
    int is_sized, is_strong, is_global, is_plt, underscores;
};

struct rps_symbols {
    size_t count;
    struct symbol *symbol;
};

static int add(struct rps_symbols *symbols, const struct symbol *symbol)
{
    struct symbol *grown = rps_array_grow(symbols->symbol, symbols->count, sizeof(*grown));

    if (!grown)
        return -1;
    symbols->symbol = grown;
    symbols->symbol[symbols->count++] = *symbol;
    return 0;
}

/* In order of address; of several names for one place, which are many in a C library, first the one
 * that perf takes too. */
static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->is_sized != b->is_sized)
        return b->is_sized - a->is_sized;
    if (a->is_strong != b->is_strong)
        return b->is_strong - a->is_strong;
    if (a->is_global != b->is_global)
        return b->is_global - a->is_global;
    if (a->underscores != b->underscores)
        return a->underscores - b->underscores;
    if (strlen(a->name) != strlen(b->name))
        return strlen(a->name) > strlen(b->name) ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Put one symbol of the file into the table, when it is a function in a section of code. */
static int add_function(struct rps_symbols *symbols, Elf *elf, const GElf_Sym *sym, GElf_Word index,
                        uint64_t address, const char *name)
{
    int type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
    GElf_Shdr section_memory, *section;
    GElf_Ehdr header;
    struct symbol symbol = {.start = address, .name = name};

    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !name[0] ||
        index == SHN_UNDEF || (index >= SHN_LORESERVE && index == sym->st_shndx))
        return 0;
    section = gelf_getshdr(elf_getscn(elf, index), &section_memory);
    if (!section || !(section->sh_flags & SHF_EXECINSTR) || !gelf_getehdr(elf, &header))
        return 0;
    if (header.e_machine == EM_ARM && type == STT_FUNC)
        symbol.start &= ~(uint64_t)1; /* Thumb */
    if (type == STT_NOTYPE && name[0] == '$')
        return 0; /* ARM's marks of what is data */
    symbol.is_sized = sym->st_size > 0;
    symbol.end = symbol.start + sym->st_size;
    if (!symbol.is_sized || symbol.end < symbol.start) /* until the next, within its section */
        symbol.end = symbol.start - sym->st_value + section->sh_addr + section->sh_size;
    symbol.is_strong = bind != STB_WEAK;
    symbol.is_global = bind == STB_GLOBAL;
    symbol.underscores = (int)strspn(name, "_");
    return add(symbols, &symbol);
}

/* Where entries of the table of linkage stand: a header, then one for each relocation. */
static const struct plt {
    int machine;
    const char *section;
    unsigned header, entry;
} plts[] = {
    {EM_X86_64, ".plt.sec", 0, 16}, {EM_386, ".plt.sec", 0, 16},  {EM_X86_64, ".plt", 16, 16},
    {EM_386, ".plt", 16, 16},       {EM_AARCH64, ".plt", 32, 16}, {EM_ARM, ".plt", 20, 12},
};

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *ret)
{
    Elf_Scn *section = NULL;
    size_t names;

    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        const char *name;

        if (gelf_getshdr(section, ret) && (name = elf_strptr(elf, names, ret->sh_name)) &&
            strcmp(name, wanted) == 0)
            return section;
    }
    return NULL;
}

/* The symbol of a relocation of section `table`. */
static const char *relocated(Elf *elf, Elf_Data *data, const GElf_Shdr *table, int index)
{
    Elf_Scn *symbols = elf_getscn(elf, table->sh_link);
    GElf_Shdr header;
    GElf_Rela rela;
    GElf_Rel rel;
    GElf_Sym sym;
    GElf_Xword info;

    if (table->sh_type == SHT_RELA && gelf_getrela(data, index, &rela))
        info = rela.r_info;
    else if (table->sh_type == SHT_REL && gelf_getrel(data, index, &rel))
        info = rel.r_info;
    else
        return NULL;
    if (!gelf_getshdr(symbols, &header) ||
        !gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(info), &sym))
        return NULL;
    return elf_strptr(elf, header.sh_link, sym.st_name);
}

/* The entries of one table of linkage, "puts@plt": a program's calls of its libraries. */
static int add_plt(struct rps_symbols *symbols, Elf *elf, const struct plt *plt, GElf_Addr bias)
{
    GElf_Shdr section, table;
    Elf_Scn *relocations;
    Elf_Data *data;
    int count;

    if (!find_section(elf, plt->section, &section) ||
        !((relocations = find_section(elf, ".rela.plt", &table)) ||
          (relocations = find_section(elf, ".rel.plt", &table))) ||
        !(data = elf_getdata(relocations, NULL)) || table.sh_entsize == 0)
        return 0;
    count = (int)(data->d_size / table.sh_entsize);
    for (int i = 0; i < count; i++) {
        uint64_t offset = plt->header + (uint64_t)i * plt->entry;
        const char *name = relocated(elf, data, &table, i);
        struct symbol symbol = {.name = name, .is_sized = 1, .is_plt = 1};

        if (offset + plt->entry > section.sh_size)
            break;
        if (!name || !name[0])
            continue;
        symbol.start = bias + section.sh_addr + offset;
        symbol.end = symbol.start + plt->entry;
        if (add(symbols, &symbol) < 0)
            return -1;
    }
    return 1;
}

static int add_plts(struct rps_symbols *symbols, Elf *elf, GElf_Addr bias)
{
    GElf_Ehdr header;
    int rc = 0;

    if (!gelf_getehdr(elf, &header))
        return 0;
    for (size_t i = 0; i < sizeof(plts) / sizeof(plts[0]) && rc == 0; i++) {
        if (plts[i].machine == header.e_machine)
            rc = add_plt(symbols, elf, &plts[i], bias);
    }
    return rc < 0 ? rc : 0;
}

static int has_symtab(Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(elf, section))) {
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
            return 1;
    }
    return 0;
}

/* Of several symbols at one address the first; those without a size end where the next begins. */
static void finish(struct rps_symbols *symbols)
{
    struct symbol *symbol = symbols->symbol;
    size_t kept = 0;
    uint64_t reach = 0;

    if (symbols->count > 0)
        qsort(symbol, symbols->count, sizeof(*symbol), compare_symbols);
    for (size_t i = 0; i < symbols->count; i++) {
        if (kept == 0 || symbol[kept - 1].start != symbol[i].start)
            symbol[kept++] = symbol[i];
    }
    symbols->count = kept;
    for (size_t i = 0; i < kept; i++) {
        if (!symbol[i].is_sized && i + 1 < kept && symbol[i].end > symbol[i + 1].start)
            symbol[i].end = symbol[i + 1].start;
        reach = symbol[i].end > reach ? symbol[i].end : reach;
        symbol[i].reach = reach;
    }
}

struct rps_symbols *rps_symbols_read(Dwfl_Module *module, const char **ret_reason)
{
    struct rps_symbols *symbols = calloc(1, sizeof(*symbols));
    int count = dwfl_module_getsymtab(module), rc = symbols ? 0 : -1;
    GElf_Addr bias;
    Elf *main_elf = dwfl_module_getelf(module, &bias);
    int is_whole = has_symtab(main_elf);

    for (int i = 1; i < count && rc == 0; i++) {
        GElf_Sym sym;
        GElf_Addr address;
        GElf_Word index;
        Elf *elf;
        const char *name = dwfl_module_getsym_info(module, i, &sym, &address, &index, &elf, NULL);

        if (!name || !elf)
            continue;
        is_whole |= elf != main_elf;
        rc = add_function(symbols, elf, &sym, index, address, name);
    }
    *ret_reason = is_whole && count < 0 ? "its symbols could not be read: too large, or damaged"
                  : is_whole            ? "no function is there"
                                        : "stripped";
    if (rc == 0)
        rc = add_plts(symbols, main_elf, bias);
    if (rc < 0) {
        rps_symbols_free(symbols);
        return NULL;
    }
    finish(symbols);
    return symbols;
}

/* The name without the version that shared libraries put behind it. */
static char *make_name(const struct symbol *symbol)
{
    char *name = rps_naming_demangled(symbol->name, strcspn(symbol->name, "@")), *plt = NULL;

    if (!name || !symbol->is_plt)
        return name;
    if (asprintf(&plt, "%s@plt", name) < 0)
        plt = NULL;
    free(name);
    return plt;
}

static int begins_by(const void *symbol, const void *address)
{
    return ((const struct symbol *)symbol)->start <= *(const uint64_t *)address;
}

char *rps_symbols_find(const struct rps_symbols *symbols, uint64_t address)
{
    size_t at = rps_array_find(symbols->symbol, symbols->count, sizeof(*symbols->symbol), begins_by,
                               &address);

    while (at-- > 0 && symbols->symbol[at].reach > address) {
        if (symbols->symbol[at].end > address)
            return make_name(&symbols->symbol[at]);
    }
    return NULL;
}

void rps_symbols_free(struct rps_symbols *symbols)
{
    if (symbols)
        free(symbols->symbol);
    free(symbols);
}

char *rps_naming_demangled(const char *name, size_t length)
{
    char *own = strndup(name, length), *demangled = NULL;

    if (own && (strncmp(own, "_Z", 2) == 0 || strncmp(own, "_R", 2) == 0))
        demangled = cplus_demangle(own, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    if (demangled && demangled[0]) {
        free(own);
        return demangled;
    }
    free(demangled);
    return own;
}
