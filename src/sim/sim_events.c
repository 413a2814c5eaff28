/* The events of the ARM1176: their names in scripts, and other names that users request. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim_script.h"

static const struct {
    const char *name;
    int code;
} event_names[] = {
    {"icache_miss", 0x00},
    {"ibuf_stall", 0x01},
    {"data_stall", 0x02},
    {"imicro_tlb_miss", 0x03},
    {"micro_tlb_miss", 0x04},
    {"branches", 0x05},
    {"branch_miss", 0x06},
    {"instructions", 0x07},
    {"dc_access", 0x09},
    {"dc_access_all", 0x0a},
    {"dc_miss", 0x0b},
    {"dc_writeback", 0x0c},
    {"pc_change", 0x0d},
    {"main_tlb_miss", 0x0f},
    {"external_access", 0x10},
    {"lsu_stall", 0x11},
    {"write_buffer_drain", 0x12},
    {"etm0", 0x20},
    {"etm1", 0x21},
    {"etm0_etm1", 0x22},
    {"call", 0x23},
    {"return", 0x24},
    {"return_predicted", 0x25},
    {"return_mispredicted", 0x26},
};

int rps_sim_event(const char *name)
{
    size_t count = RPS_COUNT(event_names);
    char *end;
    unsigned long code;

    for (size_t i = 0; i < count; i++)
        if (strcmp(event_names[i].name, name) == 0)
            return event_names[i].code;
    if (name[0] != 'r' || !isxdigit((unsigned char)name[1]))
        return -1;
    code = strtoul(name + 1, &end, 16);
    for (size_t i = 0; i < count && !*end; i++)
        if ((unsigned long)event_names[i].code == code)
            return (int)code;
    return -1;
}

int rps_sim_event_asked(const char *spec)
{
    static const struct {
        const char *spec;
        int code;
    } generic[] = {
        {"cycles", SIM_CYCLES},
        {"cpu-cycles", SIM_CYCLES},
        {"instructions", 0x07},
        {"branches", 0x05},
        {"branch-instructions", 0x05},
        {"branch-misses", 0x06},
        {"stalled-cycles-frontend", 0x01},
        {"L1-dcache-loads", 0x09},
        {"L1-dcache-load-misses", 0x0b},
        {"dTLB-load-misses", 0x0f},
        {"frontend_stall", 0x01}, /* the names from here on are roles */
        {"l1d_access", 0x09},
        {"l1d_miss", 0x0b},
        {"dtlb_l1_miss", 0x04},
        {"dtlb_miss", 0x0f},
        {"branch_misses", 0x06},
    };

    for (size_t i = 0; i < RPS_COUNT(generic); i++)
        if (strcmp(generic[i].spec, spec) == 0)
            return generic[i].code;
    return rps_sim_event(spec);
}
