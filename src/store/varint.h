/* Numbers of the SQLite file format: https://www.sqlite.org/fileformat2.html */
#ifndef RPISTAT_STORE_VARINT_H
#define RPISTAT_STORE_VARINT_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t rps_big16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static inline uint32_t rps_big32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t rps_big64(const uint8_t *at)
{
    return (uint64_t)rps_big32(at) << 32 | rps_big32(at + 4);
}

/* The number that starts at `at`, at most `room` bytes of it; the bytes it takes, 0 when cut off.
 */
static inline size_t rps_varint_read(const uint8_t *at, size_t room, uint64_t *ret)
{
    uint64_t value = 0;

    for (size_t i = 0; i < room && i < 9; i++) {
        if (i == 8) {
            *ret = value << 8 | at[i];
            return 9;
        }
        value = value << 7 | (at[i] & 0x7f);
        if (!(at[i] & 0x80)) {
            *ret = value;
            return i + 1;
        }
    }
    return 0;
}

#endif
