/*
 * The legend of a picture that says in words what its labels are like: an entry a label, those in
 * which most time was spent, in rows below the title. An entry that has no room is cut.
 */
#include <math.h>
#include <string.h>

#include "rpistat/picture_kinds.h"

#define WORDS_ENTRY  520 /* width from which on two entries stand side by side */
#define WORDS_SWATCH 14  /* before the text of an entry */
#define WORDS_ROWS   (RPS_PICTURE_WORDS_MOST / 2)
#define WORDS_EACH   150 /* height of a picture for each row, where it was given */
#define WORDS_LEAST  24  /* characters: less says nothing */

/* Labels of which there is more. */
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
    words->rows = words->room < WORDS_LEAST ? 0 : rows;
}

void rps_picture_choose_words(struct rps_picture *picture, const struct rps_profile *profile,
                              const struct rps_plot_options *options)
{
    struct rps_picture_words *words = &picture->words;
    char text[RPS_PROFILE_WORDS_SIZE], name[RPS_PHASE_LABEL_SIZE];
    int labels = 0;

    lay_out(picture, options);
    for (int l = 0; l < profile->label_count; l++) {
        struct rps_picture_word *word = &words->word[words->count];

        if (profile->label[l].periods == 0)
            continue;
        labels++;
        rps_phase_label(l, name);
        if (longer_ones(profile, l) >= words->rows * words->columns ||
            !rps_profile_words(text, profile, l, words->room - (int)strlen(name) - 2)[0])
            continue;
        word->label = l;
        snprintf(word->text, sizeof(word->text), "%s: %s", name, text);
        rps_picture_cut_text(word->text, words->room);
        words->count++;
    }
    words->all = words->count == labels;
    words->rows = (words->count + words->columns - 1) / words->columns;
}

void rps_picture_write_words(const struct rps_picture *picture, FILE *file)
{
    const struct rps_picture_words *words = &picture->words;

    fprintf(file,
            "words = %d\nwords_rows = %d\nwords_columns = %d\nwords_left = %.6g\n"
            "words_entry = %.6g\n",
            words->count, words->rows, words->columns, words->left, words->entry);
    if (words->count > 0)
        fprintf(file, "array words_label[%d] = [", words->count);
    for (int i = 0; i < words->count; i++)
        fprintf(file, "%s%d%s", i ? ", " : "", words->word[i].label,
                i + 1 < words->count ? "" : "]\n");
}

void rps_picture_write_words_texts(const struct rps_picture *picture, FILE *file)
{
    for (int i = 0; i < picture->words.count; i++)
        rps_picture_write_line(picture, file, picture->words.word[i].text);
}
