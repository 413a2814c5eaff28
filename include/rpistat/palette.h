/*
 * Colours of pictures, for both themes: distinct for colour-blind readers, and in grey.
 *
 * Lines have Okabe and Ito's colours. Phases have Paul Tol's light scheme, which is made for areas
 * under dark text. Its order alternates light and dark colours, so that neighbours differ on paper
 * too. A point of a phase has a stronger ink of the same hue. Areas of functions are violet and
 * brown, hues that no phase has, so that a colour in a picture means one thing.
 */
#ifndef RPISTAT_PALETTE_H
#define RPISTAT_PALETTE_H

#define RPS_PALETTE_LINES  8
#define RPS_PALETTE_AREAS  8 /* of functions, programs and threads: unlike all colours of phases */
#define RPS_PALETTE_LABELS 9 /* further areas are hatched, further points have other shapes */
#define RPS_PALETTE_TINTS  5 /* of a label's ink, for finer phases; further ones repeat */

enum rps_theme {
    RPS_THEME_CHOSEN, /* light; a page follows the reader's browser */
    RPS_THEME_LIGHT,
    RPS_THEME_DARK,
};

/* Six hexadecimal digits each. */
struct rps_palette {
    const char *name; /* "light", "dark" */
    const char *background, *text, *quiet, *axis, *grid;
    const char *faint;                    /* hatching over areas */
    const char *band[RPS_PALETTE_LABELS]; /* areas of phases */
    const char *ink[RPS_PALETTE_LABELS];  /* points of phases */
    int band_veil;                        /* 0 ... 255: transparency of areas under lines */
    int tint_veil[RPS_PALETTE_TINTS];     /* ... of a label's ink; neighbours differ most */
    const char *line[RPS_PALETTE_LINES];
    const char *area[RPS_PALETTE_AREAS];
    const char *low, *middle, *high; /* below, at and above the mean */
};

const struct rps_palette *rps_palette(enum rps_theme theme);

#endif
