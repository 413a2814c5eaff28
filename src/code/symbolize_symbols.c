/* Finds functions by the symbols of an ELF file. Only the symbols of the requested addresses are
 * kept, in one pass over the symbols of the file, its debug file and .gnu_debugdata.
 * dwfl_module_addrinfo would search all symbols for each address. */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>

#include "symbolize_child.h"

struct symbol {
    uint64_t start;
    uint64_t end;
    const char *name; /* NULL if there is no symbol. */
    int is_sized, is_strong, is_global, is_plt, underscores;
};

/* The symbols of a requested address. */
struct place {
    struct symbol nearest;  /* Symbol with the highest start at or before the address. */
    struct symbol covering; /* Symbol whose size includes the address. If there are several, the
                               symbol with the highest start. */
};

struct rps_symbols {
    const uint64_t *address; /* Addresses in ascending order. */
    size_t count;
    struct place *place; /* Symbols of each address. Before finish() is called, `nearest` is set
                            only if the symbol begins after the previous address. */
};

/* Return 1 if symbol a is preferable to symbol b: a begins later, or both begin at one address and
 * perf would choose the name of a. A C library has many names for one address. */
static int is_better(const struct symbol *a, const struct symbol *b)
{
    if (!b->name || a->start != b->start)
        return !b->name || a->start > b->start;
    if (a->is_sized != b->is_sized)
        return a->is_sized;
    if (a->is_strong != b->is_strong)
        return a->is_strong;
    if (a->is_global != b->is_global)
        return a->is_global;
    if (a->underscores != b->underscores)
        return a->underscores < b->underscores;
    if (strlen(a->name) != strlen(b->name))
        return strlen(a->name) < strlen(b->name);
    return strcmp(a->name, b->name) < 0;
}

/* Return 1 if a symbol from `start` to `end` (if it has a size) may contain a requested address.
 * *ret_first: the first address at or after the symbol's start. */
static int is_wanted(const struct rps_symbols *symbols, uint64_t start, uint64_t end,
                     size_t *ret_first)
{
    size_t first = rps_symbolize_lower_bound(symbols->address, symbols->count, start);
    const struct symbol *nearest = &symbols->place[first].nearest;

    *ret_first = first;
    return first < symbols->count &&
           (!nearest->name || start >= nearest->start || symbols->address[first] < end);
}

static void add(struct rps_symbols *symbols, size_t first, const struct symbol *symbol)
{
    if (is_better(symbol, &symbols->place[first].nearest))
        symbols->place[first].nearest = *symbol;
    for (size_t i = first;
         symbol->is_sized && i < symbols->count && symbols->address[i] < symbol->end; i++) {
        if (is_better(symbol, &symbols->place[i].covering))
            symbols->place[i].covering = *symbol;
    }
}

/* Add a symbol of the file, if it is a function in a section of code. */
static void add_function(struct rps_symbols *symbols, Elf *elf, const GElf_Sym *sym,
                         GElf_Word index, uint64_t address, const char *name)
{
    int type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
    GElf_Shdr section_memory, *section;
    GElf_Ehdr header;
    struct symbol symbol = {.start = address, .name = name};
    size_t first;

    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !name[0] ||
        index == SHN_UNDEF || (index >= SHN_LORESERVE && index == sym->st_shndx) ||
        !is_wanted(symbols, address & ~(uint64_t)1, address + sym->st_size, &first))
        return;
    section = gelf_getshdr(elf_getscn(elf, index), &section_memory);
    if (!section || !(section->sh_flags & SHF_EXECINSTR) || !gelf_getehdr(elf, &header))
        return;
    if (header.e_machine == EM_ARM && type == STT_FUNC)
        symbol.start &= ~(uint64_t)1;             /* Clear the lowest bit, which marks Thumb
                                                     code. */
    if ((type == STT_NOTYPE && name[0] == '$') || /* ARM marks data with names that begin with $. */
        !is_wanted(symbols, symbol.start, symbol.start + sym->st_size, &first))
        return;
    symbol.is_sized = sym->st_size > 0;
    symbol.end = symbol.start + sym->st_size;
    if (!symbol.is_sized || symbol.end < symbol.start) /* The symbol reaches to the end of its
                                                          section. */
        symbol.end = symbol.start - sym->st_value + section->sh_addr + section->sh_size;
    symbol.is_strong = bind != STB_WEAK;
    symbol.is_global = bind == STB_GLOBAL;
    symbol.underscores = (int)strspn(name, "_");
    add(symbols, first, &symbol);
}

/* The procedure linkage tables of a file. A table has a header, then one entry per relocation. */
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

/* Return the name of the symbol that a relocation in the section `table` refers to. */
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

/* Add the entries of one procedure linkage table, "puts@plt": calls into libraries. Return 1 if the
 * file has the table. */
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
        struct symbol symbol = {.is_sized = 1, .is_plt = 1};
        size_t first;

        if (offset + plt->entry > section.sh_size)
            break;
        symbol.start = bias + section.sh_addr + offset;
        symbol.end = symbol.start + plt->entry;
        if (!is_wanted(symbols, symbol.start, symbol.end, &first))
            continue;
        symbol.name = relocated(elf, data, &table, i);
        if (symbol.name && symbol.name[0])
            add(symbols, first, &symbol);
    }
    return 1;
}

static void add_plts(struct rps_symbols *symbols, Elf *elf, GElf_Addr bias)
{
    GElf_Ehdr header;
    int is_added = 0;

    if (!gelf_getehdr(elf, &header))
        return;
    for (size_t i = 0; i < RPS_COUNT(plts) && !is_added; i++) {
        if (plts[i].machine == header.e_machine)
            is_added = add_plt(symbols, elf, &plts[i], bias);
    }
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

struct rps_symbols *rps_symbols_read(Dwfl_Module *module, const uint64_t *address, size_t count,
                                     const char **ret_reason)
{
    struct rps_symbols *symbols = calloc(1, sizeof(*symbols));
    int found = dwfl_module_getsymtab(module);
    GElf_Addr bias;
    Elf *main_elf = dwfl_module_getelf(module, &bias);
    int is_whole = has_symtab(main_elf);

    if (!symbols || !(symbols->place = calloc(count + 1, sizeof(*symbols->place)))) {
        free(symbols);
        return NULL;
    }
    symbols->address = address;
    symbols->count = count;
    for (int i = 1; i < found; i++) {
        GElf_Sym sym;
        GElf_Addr value;
        GElf_Word index;
        Elf *elf;
        const char *name = dwfl_module_getsym_info(module, i, &sym, &value, &index, &elf, NULL);

        if (!name || !elf)
            continue;
        is_whole |= elf != main_elf;
        add_function(symbols, elf, &sym, index, value, name);
    }
    *ret_reason = is_whole && found < 0 ? "its symbols could not be read: too large, or damaged"
                  : is_whole            ? "no function is there"
                                        : "stripped";
    add_plts(symbols, main_elf, bias);
    /* If an address has no nearest symbol, use the nearest symbol of the previous address. */
    for (size_t i = 1; i < symbols->count; i++) {
        if (!symbols->place[i].nearest.name)
            symbols->place[i].nearest = symbols->place[i - 1].nearest;
    }
    return symbols;
}

/* Copy the name without the version that shared libraries append. */
static char *make_name(const struct symbol *symbol)
{
    char *name = rps_symbolize_demangled(symbol->name, strcspn(symbol->name, "@")), *plt = NULL;

    if (!name || !symbol->is_plt)
        return name;
    if (asprintf(&plt, "%s@plt", name) < 0)
        plt = NULL;
    free(name);
    return plt;
}

/* A symbol without a size ends where the next symbol begins. So if the nearest symbol has no size,
 * it is the right symbol. */
char *rps_symbols_find(const struct rps_symbols *symbols, size_t i)
{
    const struct place *place = &symbols->place[i];

    if (place->nearest.name && symbols->address[i] < place->nearest.end)
        return make_name(&place->nearest);
    return place->covering.name ? make_name(&place->covering) : NULL;
}

void rps_symbols_free(struct rps_symbols *symbols)
{
    if (symbols)
        free(symbols->place);
    free(symbols);
}

char *rps_symbolize_demangled(const char *name, size_t length)
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
