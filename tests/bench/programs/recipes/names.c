/* A name server with four threads, asked by a process of clients over a socket: zones are loaded, and names looked up,
 * resolved (the threads wait for servers above, and the cache grows), signed, transferred; it is quiet at times. Fixed
 * numbers of queries. */
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "program.h"

#define BUCKETS 65536
#define WINDOW  12

struct record {
    struct record *next;
    char name[40], data[24];
    unsigned ttl;
};
struct query {
    int kind, number;
};
enum { LOOKUP, RESOLVE, SIGNED, TRANSFER, QUIET };

static struct record *zone[BUCKETS], *cache[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queries[2], control[2], done[2], names;
static char *text;
static volatile unsigned sink;

static unsigned hash_of(const char *name)
{
    unsigned hash = 2166136261U;

    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 16777619U;
    return hash >> 4 & (BUCKETS - 1);
}

static void add(struct record **table, const char *name, const char *data, unsigned ttl)
{
    struct record *one = malloc(sizeof *one);
    unsigned place = hash_of(name);

    snprintf(one->name, sizeof one->name, "%s", name);
    snprintf(one->data, sizeof one->data, "%s", data);
    one->ttl = ttl;
    one->next = table[place];
    table[place] = one;
}

static struct record *find(struct record **table, const char *name)
{
    struct record *one = table[hash_of(name)];

    while (one && strcmp(one->name, name))
        one = one->next;
    return one;
}

static void empty(struct record **table)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct record *one = table[i], *next; one; one = next) {
            next = one->next;
            free(one);
            table[i] = NULL;
        }
}

WORK load(int count)
{
    char *end = text, name[40], data[24], kind[8];
    unsigned ttl;

    mark("load", NULL);
    for (int i = 0; i < count; i++)
        end += sprintf(end, "host%d.zone%d.example. %u IN A 10.%d.%d.%d\n", i, i % 61, 300U + (unsigned)i % 900, i >> 16,
                       i >> 8 & 255, i & 255);
    empty(zone);
    for (char *at = text, *line; at < end; at = line + 1) {
        line = strchr(at, '\n');
        *line = 0;
        if (sscanf(at, "%39s %u IN %7s %23s", name, &ttl, kind, data) != 4)
            exit(8);
        add(zone, name, data, ttl);
    }
    names = count;
}

/* Write a name as labels, and as a pointer where the rest of it was written before. */
static int encode(unsigned char *to, int at, const char *name)
{
    while (*name) {
        const char *dot = strchr(name, '.');
        int size = dot ? (int)(dot - name) : (int)strlen(name), back;

        for (back = 12; back + size < at; back++)
            if (to[back] == size && memcmp(to + back + 1, name, (size_t)size) == 0)
                break;
        if (back + size < at) {
            to[at++] = 0xc0;
            to[at++] = (unsigned char)back;
            return at;
        }
        to[at++] = (unsigned char)size;
        memcpy(to + at, name, (size_t)size);
        at += size;
        name += size + (dot != NULL);
    }
    to[at++] = 0;
    return at;
}

WORK look_up(struct query *query, unsigned char *answer)
{
    char name[40];
    int at = 12;

    for (int i = 0; i < 14; i++) {
        int host = (query->number * 31 + i * 977) % names;
        snprintf(name, sizeof name, "host%d.zone%d.example.", host, host % 61);
        struct record *one = find(zone, name);
        if (one) {
            at = encode(answer, at, one->name);
            memcpy(answer + at, one->data, 16);
            at += 16;
        }
    }
}

WORK resolve(struct query *query)
{
    char name[40], data[24], reply[600];
    unsigned ttl;
    int size = 0, used;

    usleep(700);
    for (int i = 0; i < 12; i++)
        size += sprintf(reply + size, "n%dx%d.far.test. %d 10.%d.0.1\n", query->number, i, 60 + i, i);
    for (int at = 0; at < size; at += used) {
        if (sscanf(reply + at, "%39s %u %23s\n%n", name, &ttl, data, &used) != 3)
            exit(7);
        pthread_mutex_lock(&lock);
        add(cache, name, data, ttl);
        pthread_mutex_unlock(&lock);
    }
}

WORK sign(struct query *query)
{
    uint32_t state[8] = {(uint32_t)query->number, 2, 3, 4, 5, 6, 7, 8};

    for (int round = 0; round < 60000; round++) {
        uint32_t a = state[round & 7], e = state[(round + 4) & 7];
        state[(round + 1) & 7] += ((a >> 2 | a << 30) ^ (a >> 13 | a << 19)) + ((e & a) ^ (~e & state[(round + 2) & 7])) + 0x428a2f98U;
    }
    sink = state[0];
}

WORK transfer(void)
{
    static __thread unsigned char packet[65536];
    int at = 12;

    for (int i = 0; i < BUCKETS; i++)
        for (struct record *one = zone[i]; one; one = one->next) {
            if (at > 65000)
                at = 12;
            strcpy((char *)packet + at, one->name);
            at += (int)strlen(one->name) + 1;
            at += sprintf((char *)packet + at, "%u %s", one->ttl, one->data);
        }
    sink = packet[100];
}

static void *serve(void *unused)
{
    unsigned char answer[1024];
    struct query query;

    while (recv(queries[0], &query, sizeof query, 0) == sizeof query) {
        switch (query.kind) {
        case RESOLVE: resolve(&query); break;
        case SIGNED: sign(&query); break;
        case TRANSFER: transfer(); break;
        default: look_up(&query, answer);
        }
        if (send(queries[0], &query, sizeof query, 0) < 0)
            break;
    }
    return unused;
}

static void clients(void)
{
    struct query plan, query;

    while (read(control[0], &plan, sizeof plan) == sizeof plan) {
        for (int sent = 0, got = 0; got < plan.number;) {
            while (sent < plan.number && sent - got < (plan.kind == QUIET ? 1 : WINDOW)) {
                query = (struct query){plan.kind, sent++ + rand() % 9};
                if (send(queries[1], &query, sizeof query, 0) < 0)
                    _exit(1);
            }
            if (recv(queries[1], &query, sizeof query, 0) < 0)
                _exit(1);
            got++;
            if (plan.kind == QUIET)
                usleep(25000);
        }
        if (write(done[1], "", 1) < 0)
            _exit(1);
    }
    _exit(0);
}

static void asked(const char *label, int kind, int count)
{
    struct query plan = {kind, count};
    char byte;

    mark(label, NULL);
    if (write(control[1], &plan, sizeof plan) < 0 || read(done[0], &byte, 1) != 1)
        exit(6);
}

WORK expire(int times)
{
    mark("expire", NULL);
    while (times--)
        for (int i = 0; i < BUCKETS; i++)
            for (struct record *one = cache[i]; one; one = one->next)
                if (one->ttl > (unsigned)times % 60)
                    one->ttl--;
    empty(cache);
}

int main(void)
{
    pthread_t thread;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, queries) || pipe(control) || pipe(done))
        return 1;
    if (fork() == 0) {
        close(control[1]);
        clients();
    }
    close(queries[1]);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, serve, NULL);
    text = malloc(32 << 20);
    load(300000);
    asked("lookups", LOOKUP, 30000);
    asked("resolve", RESOLVE, 9000);
    asked("signed", SIGNED, 3000);
    asked("quiet", QUIET, 70);
    asked("lookups", LOOKUP, 45000);
    asked("transfer", TRANSFER, 8);
    load(340000);
    asked("signed", SIGNED, 5000);
    asked("resolve", RESOLVE, 14000);
    expire(12);
    asked("quiet", QUIET, 60);
    asked("transfer", TRANSFER, 10);
    asked("lookups", LOOKUP, 35000);
    asked("resolve", RESOLVE, 10000);
    asked("signed", SIGNED, 4000);
    close(control[1]);
    wait(NULL);
    return 0;
}
