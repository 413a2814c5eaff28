/* Character cells of a drawing. */
#include "raster.h"

#include <math.h>
#include <stdlib.h>
#include <wchar.h>

#include "rpistat/text.h"

#define BRAILLE 0x2800U

/* The bits of a cell's dots, row by row; in each row, the left dot comes first. */
static const uint8_t dot_bit[RPS_RASTER_DOWN][RPS_RASTER_ACROSS] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

/* The colours that every terminal has; the terminal's theme determines their appearance. */
static const int inks[] = {36, 33, 35, 32, 34, 31, 37};
static const int backgrounds[] = {46, 43, 45, 42, 47, 41, 44};

struct rps_raster rps_raster_new(struct rps_arena *arena, int columns, int rows)
{
    struct rps_raster raster = {.columns = columns > 1 ? columns : 1, .rows = rows > 1 ? rows : 1};

    raster.cell =
        rps_arena_get(arena, (size_t)raster.columns * (size_t)raster.rows, sizeof(*raster.cell));
    return raster;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static struct rps_raster_cell *cell_at(const struct rps_raster *raster, int column, int row)
{
    if (column < 0 || row < 0 || column >= raster->columns || row >= raster->rows)
        return NULL;
    return &raster->cell[(size_t)row * (size_t)raster->columns + (size_t)column];
}

int rps_raster_text(struct rps_raster *raster, int column, int row, const char *text,
                    enum rps_raster_colour colour)
{
    uint32_t code = 0;
    int length;

    for (; *text; text += length > 0 ? length : 1) {
        struct rps_raster_cell *cell = cell_at(raster, column, row);
        int width;

        length = rps_text_decode(text, &code);
        width = length > 0 ? wcwidth((wchar_t)code) : 1;
        if (width == 0)
            continue; /* skip an accent without a letter */
        width = width == 2 ? 2 : 1;
        if (!cell || (width == 2 && !cell_at(raster, column + 1, row)))
            break;
        *cell =
            (struct rps_raster_cell){.code = length > 0 ? code : '?', .colour = (uint8_t)colour};
        if (width == 2)
            cell[1] = (struct rps_raster_cell){.covered = 1, .colour = (uint8_t)colour};
        column += width;
    }
    return column;
}

int rps_raster_is_free(const struct rps_raster *raster, int column, int row)
{
    const struct rps_raster_cell *cell = cell_at(raster, column, row);

    return cell && !cell->code;
}

void rps_raster_dot(struct rps_raster *raster, int x, int y, enum rps_raster_colour colour)
{
    struct rps_raster_cell *cell =
        x < 0 || y < 0 ? NULL : cell_at(raster, x / RPS_RASTER_ACROSS, y / RPS_RASTER_DOWN);

    if (!cell || cell->code)
        return;
    cell->dots |= dot_bit[y % RPS_RASTER_DOWN][x % RPS_RASTER_ACROSS];
    cell->colour = (uint8_t)colour;
}

void rps_raster_line(struct rps_raster *raster, int x, int y, int to_x, int to_y,
                     struct rps_raster_dash *dash, enum rps_raster_colour colour)
{
    int across = abs(to_x - x), down = abs(to_y - y), steps = across > down ? across : down;

    for (int i = 0; i <= steps; i++) {
        double share = steps > 0 ? (double)i / steps : 0;

        if (dash->drawn % dash->period < dash->on)
            rps_raster_dot(raster, x + (int)lround(share * (to_x - x)),
                           y + (int)lround(share * (to_y - y)), colour);
        dash->drawn += i < steps; /* the last dot is also the next line's first dot */
    }
}

int rps_raster_level(double value, double from, double to, int rows)
{
    double share = to > from ? (value - from) / (to - from) : 0;

    share = share > 0 ? share < 1 ? share : 1 : 0;
    return (int)lround((1 - share) * (rows - 1));
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Return the ASCII character that looks most like the dots of a cell. */
static char ascii_dots(uint8_t dots)
{
    static const char shape[] = " '--" /* dots in no row, the first row, the second row, both */
                                "-:-|" /* dots also in the third row */
                                "_:::" /* dots also in the fourth row */
                                "_:||";
    int rows = 0;

    for (int row = 0; row < RPS_RASTER_DOWN; row++)
        rows |= dots & (dot_bit[row][0] | dot_bit[row][1]) ? 1 << row : 0;
    return shape[rows];
}

/* Return the nearest ASCII character. */
static char ascii_code(uint32_t code)
{
    static const struct {
        uint32_t code;
        char ascii;
    } known[] = {{0x2500, '-'}, {0x2502, '|'}, {0x2514, '+'}, {0x251c, '|'},
                 {0x2524, '+'}, {0x252c, '+'}, {0x00b7, '-'}, {0x2026, '~'}};

    for (size_t i = 0; code >= 0x80 && i < RPS_COUNT(known); i++) {
        if (known[i].code == code)
            return known[i].ascii;
    }
    return code < 0x80 ? (char)code : '?';
}

static void put_utf8(uint32_t code, FILE *file)
{
    static const int first[] = {0, 0xc0, 0xe0, 0xf0};
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

    fputc(first[more] | (int)(code >> 6 * more), file);
    while (more-- > 0)
        fputc(0x80 | (int)(code >> 6 * more & 0x3f), file);
}

static void put_colour(int colour, FILE *file)
{
    static const int other[] = {[RPS_RASTER_QUIET] = 2, [RPS_RASTER_STRONG] = 1};

    if (colour >= RPS_RASTER_BACKGROUND)
        fprintf(file, "\033[0;30;%dm",
                backgrounds[(size_t)(colour - RPS_RASTER_BACKGROUND) % RPS_COUNT(backgrounds)]);
    else if (colour >= RPS_RASTER_INK)
        fprintf(file, "\033[0;%dm", inks[(size_t)(colour - RPS_RASTER_INK) % RPS_COUNT(inks)]);
    else if (colour != RPS_RASTER_PLAIN)
        fprintf(file, "\033[0;%dm", other[colour]);
    else
        fputs("\033[0m", file);
}

static int is_blank(const struct rps_raster_cell *cell, unsigned flags)
{
    return (cell->code == 0 || cell->code == ' ') && !cell->dots && !cell->covered &&
           !(flags & RPS_RASTER_COLOUR && cell->colour >= RPS_RASTER_BACKGROUND);
}

static void put_cell(const struct rps_raster_cell *cell, unsigned flags, FILE *file)
{
    uint32_t code = cell->code ? cell->code : cell->dots ? BRAILLE + cell->dots : ' ';

    if (flags & RPS_RASTER_ASCII)
        fputc(!cell->code && cell->dots ? ascii_dots(cell->dots) : ascii_code(code), file);
    else if (!cell->covered)
        put_utf8(code, file);
}

void rps_raster_write(const struct rps_raster *raster, unsigned flags, FILE *file)
{
    for (int row = 0; row < raster->rows; row++) {
        const struct rps_raster_cell *cell = cell_at(raster, 0, row);
        int colour = RPS_RASTER_PLAIN, columns = raster->columns;

        while (columns > 0 && is_blank(&cell[columns - 1], flags))
            columns--;
        for (int i = 0; i < columns; i++) {
            int next = is_blank(&cell[i], flags) ? colour : cell[i].colour;

            if (colour >= RPS_RASTER_BACKGROUND)
                next = cell[i].colour; /* a background colour is visible behind a blank */
            if (flags & RPS_RASTER_COLOUR && next != colour)
                put_colour(next, file);
            colour = next;
            put_cell(&cell[i], flags, file);
        }
        if (flags & RPS_RASTER_COLOUR && colour != RPS_RASTER_PLAIN)
            put_colour(RPS_RASTER_PLAIN, file);
        fputc('\n', file);
    }
}
