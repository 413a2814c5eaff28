/* Colours of pictures. */
#include "rpistat/palette.h"

#define PALETTE_BANDS                                                                              \
    {                                                                                              \
        "77AADD", "EEDD88", "EE8866", "99DDFF", "44BB99", "FFAABB", "BBCC33", "DDDDDD", "AAAA00"   \
    }

static const struct rps_palette light = {
    .name = "light",
    .background = "FFFFFF",
    .text = "202020",
    .quiet = "5C5C5C",
    .axis = "707070",
    .grid = "DCDCDC",
    .faint = "A4A9AE",
    .band = PALETTE_BANDS,
    .ink = {"2F6DB5", "C79A00", "C8441B", "1AA3C9", "11806A", "D6427A", "7D8C00", "707070",
            "5E5E00"},
    .band_veil = 0xac,
    .tint_veil = {0x60, 0xc0, 0x90, 0xa8, 0x78},
    .line = {"0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9", "000000", "8C8C8C"},
    .area = {"4B2E83", "C27BD4", "7A3B12", "D9B8EC", "5A0F3A", "A9826A", "101840", "8C8C8C"},
    .low = "2166AC",
    .middle = "F7F7F7",
    .high = "B2182B",
};

/* Areas have the same colours on black, with less transparency; lines and text are lighter. */
static const struct rps_palette dark = {
    .name = "dark",
    .background = "14171A",
    .text = "E6E6E6",
    .quiet = "A6ABB0",
    .axis = "80868C",
    .grid = "363C42",
    .faint = "6A7178",
    .band = PALETTE_BANDS,
    .ink = PALETTE_BANDS,
    .band_veil = 0xa0,
    .tint_veil = {0x60, 0xc0, 0x90, 0xa8, 0x78},
    .line = {"56B4E9", "F5874A", "2FD0A0", "E3A0C8", "F0B840", "8CA8FF", "FFFFFF", "A0A0A0"},
    .area = {"8055D8", "D58CEB", "A5622B", "E3CCF7", "B03A86", "C9A38B", "5560A8", "A0A0A0"},
    .low = "5AA5F0",
    .middle = "262B30",
    .high = "F2705A",
};

const struct rps_palette *rps_palette(enum rps_theme theme)
{
    return theme == RPS_THEME_DARK ? &dark : &light;
}
