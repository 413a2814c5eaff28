/* The legend of a picture that describes its labels in words. The labels with most time have
 * entries, in rows below the title. An entry that does not fit is cut. */
#include <math.h>
#include <string.h>

#include "rpistat/picture.h"
#include "rpistat/profile.h"

#define WORDS_ENTRY  520 /* minimum width for two entries side by side */
#define WORDS_SWATCH 14  /* space before the text of an entry */
#define WORDS_ROWS   (RPS_PICTURE_WORDS_MAX / 2)
#define WORDS_EACH   150 /* height of a picture per row of words, if the height is given */
#define WORDS_MIN    24  /* minimum characters of a useful entry */

static int longer_ones(const struct rps_profile *profile, int label)
{
    int longer = 0;

    for (int l = 0; l < profile->label_count; l++)
        longer += profile->label[l].periods > profile->label[label].periods ||
                  (profile->label[l].periods == profile->label[label].periods && l < label);
    return longer;
}

static void lay_out(struct rps_picture *picture, const struct rps_plot_options *options)
{
    struct rps_picture_words *words = &picture->words;
    double width = picture->width / picture->scale, across;
    int rows = WORDS_ROWS;

    if (options->height > 0 && options->height / picture->scale < WORDS_ROWS * WORDS_EACH)
        rows = (int)(options->height / picture->scale / WORDS_EACH);
    words->left = fmin(picture->left, RPS_PICTURE_LEFT);
    across = width - words->left - picture->right;
    words->columns = across >= 2 * WORDS_ENTRY ? 2 : 1;
    words->entry = across / words->columns;
    words->room = (int)((words->entry - WORDS_SWATCH) / RPS_PICTURE_CHARACTER);
    words->rows = words->room < WORDS_MIN ? 0 : rows;
}

void rps_picture_choose_words(struct rps_picture *picture, const struct rps_profile *profile,
                              const struct rps_plot_options *options)
{
    struct rps_picture_words *words = &picture->words;
    char text[RPS_PROFILE_WORDS_SIZE], letter[RPS_PHASE_LABEL_SIZE], name[64];
    const char *code;
    int labels = 0;

    lay_out(picture, options);
    for (int l = 0; l < profile->label_count; l++) {
        struct rps_picture_word *word = &words->word[words->count];

        if (profile->label[l].periods == 0)
            continue;
        labels++;
        rps_phase_label(l, letter);
        /* If the description of the place already contains the code, do not repeat the code. */
        code = strstr(profile->label[l].place, profile->label[l].code) ||
                       strstr(profile->label[l].place, ", called by ")
                   ? ""
                   : profile->label[l].code;
        snprintf(name, sizeof(name), "%s%s%s", letter, code[0] ? " " : "", code);
        if (longer_ones(profile, l) >= words->rows * words->columns ||
            !rps_profile_words(text, profile, l, words->room - (int)strlen(name) - 2)[0])
            continue;
        word->label = l;
        snprintf(word->text, sizeof(word->text), "%s: %s", name, text);
        rps_picture_cut_text(word->text, words->room);
        words->count++;
    }
    words->left_out = words->count > 0 ? labels - words->count : 0;
    words->all = words->count == labels;
    words->rows = (words->count + (words->left_out > 0) + words->columns - 1) / words->columns;
}

double rps_picture_add_words(struct rps_chart *chart, const struct rps_picture *picture, double top)
{
    const struct rps_picture_words *words = &picture->words;
    struct rps_layer like = {.kind = RPS_LAYER_BOXES};

    for (int i = 0; i < words->count; i++) {
        like.ink = RPS_INK_BAND + (rps_ink)words->word[i].label;
        rps_chart_entry(chart, words->left + i % words->columns * words->entry,
                        top + i / words->columns * RPS_PICTURE_LEGEND_HEIGHT + 8, &like,
                        words->word[i].text);
    }
    if (words->left_out > 0)
        rps_chart_text(chart, words->left + words->count % words->columns * words->entry,
                       top + words->count / words->columns * RPS_PICTURE_LEGEND_HEIGHT + 8,
                       RPS_LOOK_PLAIN, RPS_TEXT_NORMAL, RPS_INK_QUIET,
                       rps_arena_print(chart->arena, "%d more class%s (see `rpistat phases`)",
                                       words->left_out, words->left_out == 1 ? "" : "es"));
    return words->rows * RPS_PICTURE_LEGEND_HEIGHT;
}
