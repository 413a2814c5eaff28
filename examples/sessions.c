/* sessions: a server that becomes slow after a while, to find out why.
 *
 * The server answers requests of sessions, and prints their number once per second. Sessions arrive
 * all the time, and expire an hour after their last request. When the table of sessions is full,
 * the server checks all of them before each new session, and finds none that has expired. With
 * --fixed it checks only the oldest session. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "options.h"

#define NS_PER_S     INT64_C(1000000000)
#define HOUR_NS      (3600 * NS_PER_S)
#define SESSIONS_MAX 30000
#define BUCKETS      65536
#define REQUESTS     4 /* number of requests between two new sessions */
#define ANSWER_BYTES 512

#define OWN_FUNCTION __attribute__((noinline))

struct session {
    uint64_t key;
    int64_t last_ns; /* time of the last request of the session */
    struct session *next_in_bucket;
};

struct server {
    struct session session[SESSIONS_MAX]; /* sessions in order of their arrival */
    struct session *bucket[BUCKETS];
    size_t count;
    int is_fixed;
    int64_t now_ns;
    uint64_t random;
    char answer[ANSWER_BYTES];
    uint64_t sum; /* sum of all answers, so that no work can be optimized away */
};

static int64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Return a random number by xorshift64* (Vigna 2016). */
static uint64_t draw(struct server *server)
{
    server->random ^= server->random >> 12;
    server->random ^= server->random << 25;
    server->random ^= server->random >> 27;
    return server->random * UINT64_C(2685821657736338717);
}

OWN_FUNCTION static struct session *find_session(struct server *server, uint64_t key)
{
    struct session *session = server->bucket[key % BUCKETS];

    while (session && session->key != key)
        session = session->next_in_bucket;
    return session;
}

OWN_FUNCTION static void write_answer(struct server *server, struct session *session)
{
    uint64_t value = session->key;

    for (int i = 0; i < ANSWER_BYTES; i++) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        server->answer[i] = (char)('a' + (value >> 33) % 26);
    }
    for (int i = 0; i < ANSWER_BYTES; i++)
        server->sum = server->sum * 31 + (unsigned char)server->answer[i];
    session->last_ns = server->now_ns;
}

static int is_over(const struct server *server, const struct session *session)
{
    return session->last_ns < server->now_ns - HOUR_NS;
}

OWN_FUNCTION static size_t count_over(const struct server *server)
{
    size_t over = 0;

    for (size_t i = 0; i < server->count; i++)
        over += is_over(server, &server->session[i]);
    return over;
}

static void put_in_bucket(struct server *server, struct session *session)
{
    session->next_in_bucket = server->bucket[session->key % BUCKETS];
    server->bucket[session->key % BUCKETS] = session;
}

static void drop_over(struct server *server)
{
    size_t kept = 0;

    memset(server->bucket, 0, sizeof(server->bucket));
    for (size_t i = 0; i < server->count; i++) {
        if (is_over(server, &server->session[i]))
            continue;
        server->session[kept] = server->session[i];
        put_in_bucket(server, &server->session[kept++]);
    }
    server->count = kept;
}

/* Add a session. If the table is full, the session is rejected. */
static void add_session(struct server *server)
{
    if (server->count == SESSIONS_MAX) {
        if (server->is_fixed ? is_over(server, &server->session[0]) : count_over(server) > 0)
            drop_over(server);
        else
            return;
    }
    server->session[server->count] = (struct session){draw(server), server->now_ns, NULL};
    put_in_bucket(server, &server->session[server->count++]);
}

OWN_FUNCTION static void answer_request(struct server *server)
{
    uint64_t key = server->session[draw(server) % server->count].key;
    struct session *session = find_session(server, key);

    if (session)
        write_answer(server, session);
}

/* Run the server. Sessions arrive evenly, so that SESSIONS_MAX are reached after after_ns. A
 * rejected session arrives again at once. */
static void serve(struct server *server, int64_t length_ns, int64_t after_ns)
{
    int64_t start_ns = clock_ns(), told_ns = 0;
    uint64_t requests = 0, told = 0;

    while (server->now_ns < length_ns) {
        server->now_ns = clock_ns() - start_ns;
        if ((double)server->count <= (double)server->now_ns / (double)after_ns * SESSIONS_MAX)
            add_session(server);
        for (int i = 0; i < REQUESTS; i++, requests++)
            answer_request(server);
        if (server->now_ns - told_ns >= NS_PER_S) {
            printf("%3.0f s: %6.0f requests a second\n", (double)server->now_ns / NS_PER_S,
                   (double)(requests - told) * NS_PER_S / (double)(server->now_ns - told_ns));
            fflush(stdout);
            told_ns = server->now_ns;
            told = requests;
        }
    }
}

int main(int argc, char *argv[])
{
    const char *length = "4m", *after = "2m";
    int is_fixed = 0;
    const struct example_option options[] = {
        {.name = "length", .argument = "LENGTH", .text = &length, .help = "how long, as 4m, 20s"},
        {.name = "after",
         .argument = "LENGTH",
         .text = &after,
         .help = "when there are as many sessions as it keeps"},
        {.name = "fixed", .flag = &is_fixed, .help = "look at the oldest session alone"},
        {.name = NULL},
    };
    struct server *server;
    int64_t length_ns, after_ns;
    int status = example_options(argc, argv, "A server that is slow after a while.", options);

    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    if (example_length(argv[0], length, &length_ns) < 0 ||
        example_length(argv[0], after, &after_ns) < 0)
        return 2;
    server = calloc(1, sizeof(*server));
    if (!server) {
        fprintf(stderr, "sessions: no memory\n");
        return EXIT_FAILURE;
    }
    server->is_fixed = is_fixed;
    server->random = 1;
    serve(server, length_ns, after_ns);
    free(server);
    return EXIT_SUCCESS;
}
