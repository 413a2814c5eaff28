/* Finds functions, files and lines by debug information (DWARF).
 *
 * The file's index (.debug_aranges) shows which units contain the addresses. If there is no index,
 * as in files from clang, each unit is searched. A unit's tree is walked once for all addresses in
 * the unit. The walk enters only functions that contain at least one of these addresses.
 * dwarf_getscopes would walk the tree again for every address. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize_child.h"

/* Maximum depth of the tree of functions, blocks and name spaces. */
#define WALK_MAX 256

/* An address, and the functions around it, outermost first. */
struct place {
    uint64_t address; /* Address as in the debug information; places are in order of address. */
    size_t frame;
    size_t index;        /* Index of the address in the request. */
    Dwarf_Die *function; /* owned; RPS_SYMBOLIZE_DEPTH_MAX elements */
    size_t count;
};

/* The places of one unit, and the addresses of these places. */
struct places {
    struct place **place;
    uint64_t *address;
    size_t count;
};

static void enter_function(struct place *place, Dwarf_Die *die, int tag)
{
    if (!place->function)
        place->function = calloc(RPS_SYMBOLIZE_DEPTH_MAX, sizeof(*place->function));
    if (!place->function)
        return;
    if (tag == DW_TAG_subprogram)
        place->count = 0; /* A nested function is separate, so drop functions around it. */
    if (place->count < RPS_SYMBOLIZE_DEPTH_MAX)
        place->count++;
    place->function[place->count - 1] = *die;
}

/* Note the function at each place whose address is in the function. Return 1 if there is such a
 * place. */
static int note_function(const struct places *places, Dwarf_Die *die, int tag)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    int is_any = 0;

    while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        for (size_t i = rps_symbolize_lower_bound(places->address, places->count, start);
             i < places->count && places->address[i] < end; i++) {
            is_any = 1;
            if (tag != DW_TAG_lexical_block)
                enter_function(places->place[i], die, tag);
        }
    }
    return is_any;
}

/* Walk the tree below `parent`. is_all: also search functions that contain no addresses. They may
 * contain local classes whose functions have some of the addresses. */
static void walk(const struct places *places, Dwarf_Die *parent, int is_all, int depth)
{
    Dwarf_Die die;

    if (depth > WALK_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);

        switch (tag) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
            if (note_function(places, &die, tag) || is_all)
                walk(places, &die, is_all, depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type:
            walk(places, &die, is_all, depth + 1);
            break;
        default:
            break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* Return the full name in C++ or Rust, if known, and otherwise the plain name. A C function's
 * linker name, "__GI_strlen", does not help users. The caller frees the result. NULL: the function
 * has no name. */
static char *function_name(Dwarf_Die *die)
{
    Dwarf_Attribute memory;
    const char *linkage = NULL, *name = dwarf_diename(die);
    char *demangled = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &memory) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory))
        linkage = dwarf_formstring(&memory);
    if (linkage)
        demangled = rps_symbolize_demangled(linkage, strlen(linkage));
    if (demangled && strcmp(demangled, linkage) != 0)
        return demangled;
    free(demangled);
    return name && name[0] ? strdup(name) : NULL;
}

static void find_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct rps_location *ret)
{
    Dwarf_Attribute memory;
    Dwarf_Word line = 0, file = 0;
    Dwarf_Files *files;
    size_t count;
    const char *path = NULL;

    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &memory), &file) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
        path = dwarf_filesrc(files, file, NULL, NULL);
    if (path && dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &memory), &line) == 0)
        ret->line = line <= INT32_MAX ? (int)line : 0;
    ret->file = path ? path : "";
}

static void find_line(Dwarf_Die *unit, uint64_t address, struct rps_location *ret)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number;

    ret->file = path ? path : "";
    if (path && dwarf_lineno(line, &number) == 0 && number > 0)
        ret->line = number;
}

/* Return 1 if the frame represents a whole function (rpistat/code.h): its address is the beginning
 * of a function. For whole functions, inlined functions are ignored, and the line is the line of
 * the function's declaration. */
static int is_function(struct place *place)
{
    Dwarf_Addr start;

    return place->count > 0 && dwarf_entrypc(&place->function[0], &start) == 0 &&
           start == place->address;
}

static void find_declaration(Dwarf_Die *function, struct rps_location *ret)
{
    const char *path = dwarf_decl_file(function);
    int number;

    ret->file = path ? path : "";
    if (path && dwarf_decl_line(function, &number) == 0 && number > 0)
        ret->line = number;
}

/* Send the locations of one place. If debug information has no name, the name of the symbol is
 * used. If debug information adds nothing, nothing is sent. */
static void send_place(Dwarf_Die *unit, struct place *place, const struct rps_symbols *symbols,
                       FILE *out)
{
    struct rps_location location[RPS_SYMBOLIZE_DEPTH_MAX] = {{0}};
    char *name[RPS_SYMBOLIZE_DEPTH_MAX] = {NULL};
    int is_all = is_function(place);
    size_t count = place->count > 0 && !is_all ? place->count : 1;

    for (size_t depth = 0; depth < count; depth++) {
        if (place->count > 0)
            name[depth] = function_name(&place->function[count - 1 - depth]);
        if (!name[depth] && depth == count - 1)
            name[depth] = rps_symbols_find(symbols, place->index);
        location[depth].function = name[depth] ? name[depth] : "(no name)";
        location[depth].how = RPS_LOCATION_DEBUG;
        if (is_all)
            find_declaration(&place->function[0], &location[depth]);
        else if (depth == 0)
            find_line(unit, place->address, &location[depth]);
        else
            find_call(unit, &place->function[count - depth], &location[depth]);
    }
    if (count > 1 || (name[0] && (place->count > 0 || location[0].file[0])))
        rps_symbolize_send(out, place->frame, location, count);
    for (size_t depth = 0; depth < count; depth++)
        free(name[depth]);
}

/* Give to the unit all places whose addresses are in the unit's ranges, if no earlier unit has
 * these places. `count` is the number of all places. */
static void take_places(Dwarf_Die *unit, struct place *all, const uint64_t *address, size_t count,
                        char *is_taken, struct places *ret)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;

    ret->count = 0;
    while ((offset = dwarf_ranges(unit, offset, &base, &start, &end)) > 0) {
        for (size_t i = rps_symbolize_lower_bound(address, count, start);
             i < count && address[i] < end; i++) {
            if (!is_taken[i])
                ret->place[ret->count++] = &all[i];
            is_taken[i] = 1;
        }
    }
}

static int by_address(const void *left, const void *right)
{
    const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;

    return (a->address > b->address) - (a->address < b->address);
}

static void name_unit(Dwarf_Die *unit, struct places *places, const struct rps_symbols *symbols,
                      FILE *out)
{
    int is_whole = 1;

    qsort(places->place, places->count, sizeof(struct place *), by_address);
    for (size_t i = 0; i < places->count; i++)
        places->address[i] = places->place[i]->address;
    walk(places, unit, 0, 0);
    for (size_t i = 0; i < places->count; i++)
        is_whole &= places->place[i]->count > 0;
    if (!is_whole)
        walk(places, unit, 1, 0);
    for (size_t i = 0; i < places->count; i++) {
        struct place *place = places->place[i];

        send_place(unit, place, symbols, out);
        free(place->function);
        place->function = NULL;
    }
}

void rps_symbolize_read_debug(Dwfl_Module *module, const uint64_t *address, const size_t *frame,
                              size_t count, const struct rps_symbols *symbols, FILE *out)
{
    struct place *place = calloc(count + 1, sizeof(*place));
    uint64_t *own = calloc(count + 1, sizeof(*own));
    char *is_taken = calloc(count + 1, 1);
    struct places places = {calloc(count + 1, sizeof(struct place *)),
                            calloc(count + 1, sizeof(uint64_t)), 0};
    Dwarf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;

    if (dwarf && place && own && is_taken && places.place && places.address) {
        for (size_t i = 0; i < count; i++) {
            own[i] = address[i] - bias;
            place[i] = (struct place){.address = own[i], .frame = frame[i], .index = i};
        }
        for (size_t i = 0; i < count; i++) {
            if (is_taken[i] || !dwarf_addrdie(dwarf, own[i], &die))
                continue;
            take_places(&die, place, own, count, is_taken, &places);
            name_unit(&die, &places, symbols, out);
        }
        while (memchr(is_taken, 0, count) &&
               dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
            take_places(&die, place, own, count, is_taken, &places);
            if (places.count > 0)
                name_unit(&die, &places, symbols, out);
        }
    }
    free(place);
    free(own);
    free(is_taken);
    free(places.place);
    free(places.address);
}
