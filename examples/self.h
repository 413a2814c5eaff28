/* What the examples do with --self: count their own critical sections with rpistat/region.h. */
#ifndef EXAMPLES_SELF_H
#define EXAMPLES_SELF_H

/*
 * Begin with what rpistat would choose here. When nothing can be counted, a sentence on standard
 * error says why; the example goes on.
 */
void self_open(void);

/* An event that an example wants counted: by role, with the name under which it asks for it. */
struct self_event {
    const char *role;
    int group; /* events of a group are only of use together */
};

/*
 * Begin with as many groups of the example's own events, from `group` on, as the counters can hold
 * at once; `instructions` is always the first event. Returns the first group that must wait for the
 * next pass; -1 when there is none left. A group that cannot be counted at all is passed over.
 */
int self_open_events(const struct self_event *event, int event_count, int group);

/* What a region counted of an event; NaN when it was not counted. */
double self_count(const char *region, const char *role);

/* Forget what was counted, for the next pass. */
void self_close(void);

/* The report of all regions on standard error; then everything is closed. */
void self_report(void);

#endif
