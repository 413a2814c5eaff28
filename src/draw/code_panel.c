/* The panel "Code" of a picture, whose shares a wing reads: its legend, and what gnuplot draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/picture_kinds.h"
#include "rpistat/text.h"
#include "rpistat/wing.h"

#define CODE_CUT    32 /* characters of a name in a legend */
#define CODE_SWATCH 14

/* The legend: entries as wide as the longest name. */
static void lay_out(struct rps_picture *picture)
{
    struct rps_picture_code *code = &picture->code;
    double across = picture->width / picture->scale - picture->left - picture->right;
    int longest = 1;

    for (int line = 0; line < code->line_count; line++) {
        int width = rps_text_width(code->name[line]);

        longest = width > longest ? width : longest;
    }
    longest = longest < CODE_CUT ? longest : CODE_CUT;
    code->entry = longest * RPS_PICTURE_CHARACTER + CODE_SWATCH + 24;
    code->columns = across > 2 * code->entry ? (int)(across / code->entry) : 1;
    code->columns = code->columns < code->line_count ? code->columns : code->line_count;
    code->rows = code->line_count > 0 ? (code->line_count + code->columns - 1) / code->columns : 0;
}

int rps_picture_read_code(struct rps_picture *picture, const struct rps_plot_options *options,
                          struct rps_error *err)
{
    const struct rps_wing *wing = rps_reader_wing(picture->cpu_series.reader);
    int result;

    if (!wing || !wing->panel || options->code == RPS_PLOT_CODE_NONE ||
        (options->code == RPS_PLOT_CODE_CHOSEN && picture->named))
        return 0;
    result = wing->panel(picture, options, err);
    lay_out(picture);
    return result;
}

void rps_picture_code_free(struct rps_picture_code *code)
{
    free(code->at);
    free(code->share);
    memset(code, 0, sizeof(*code));
}

double rps_picture_code_height(const struct rps_picture *picture)
{
    return picture->code.line_count > 0
               ? RPS_PICTURE_CODE_HEIGHT + RPS_PICTURE_LEGEND_HEIGHT * picture->code.rows
               : 0;
}

/* --- for gnuplot ------------------------------------------------------------------------------ */

/* A row a side of each step: its place, 0, and the tops of the lines, one on another. */
static int write_steps(const struct rps_picture_code *code, int folder_fd, struct rps_error *err)
{
    static const char name[] = "code.dat";
    FILE *file = rps_picture_file(folder_fd, name, err);

    if (!file)
        return RPS_FAILED;
    fprintf(file, "# position 0 tops\n");
    for (size_t i = 0; i < 2 * code->step_count; i++) {
        double top = 0;

        fprintf(file, "%.12g 0", code->at[(i + 1) / 2]);
        for (int line = 0; line < code->line_count; line++) {
            top += code->share[i / 2 * RPS_PICTURE_CODE_LINES + (size_t)line];
            fprintf(file, " %.5g", fmin(top, 100));
        }
        fputc('\n', file);
    }
    return rps_picture_file_close(file, name, err);
}

int rps_picture_write_code(const struct rps_picture *picture, int folder_fd, FILE *file,
                           struct rps_error *err)
{
    const struct rps_picture_code *code = &picture->code;

    fprintf(file, "code_lines = %d\ncode_px = %g\n", code->line_count,
            rps_picture_code_height(picture));
    if (code->line_count == 0)
        return 0;
    fprintf(file, "code_columns = %d\ncode_rows = %d\ncode_entry = %.6g\n", code->columns,
            code->rows, code->entry);
    fprintf(file, "array code_colour[%d] = [", code->line_count);
    for (int line = 0; line < code->line_count; line++)
        fprintf(file, "%s\"#%s\"", line ? ", " : "",
                code->colour[line] < 0 ? picture->palette->grid
                                       : picture->palette->line[code->colour[line]]);
    fprintf(file, "]\n");
    return write_steps(code, folder_fd, err);
}

void rps_picture_write_code_texts(const struct rps_picture *picture, FILE *file)
{
    const struct rps_picture_code *code = &picture->code;
    char text[RPS_PICTURE_CODE_NAME];

    for (int line = -1; line < code->line_count && code->line_count > 0; line++) {
        snprintf(text, sizeof(text), "%s", line < 0 ? code->title : code->name[line]);
        if (line >= 0)
            rps_picture_cut_text(text, CODE_CUT);
        rps_picture_write_line(picture, file, text);
    }
}
