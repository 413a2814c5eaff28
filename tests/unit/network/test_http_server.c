/* Tests of the HTTP server: the time limit of a client, and that one client cannot lock out others.
 */
#include "network/http_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpistat/clock.h"

#define SHORT_NS (50 * RPS_NS_PER_MS)
#define LONG_NS  (3600 * RPS_NS_PER_S)
#define BIG      ((size_t)64 << 20) /* more than the kernel buffers between two sockets */

static struct rps_http_server *server;
static int port;
static size_t answer_size;

static void answer(void *context, const char *path, const char *after, const char *accept,
                   struct rps_http_page *ret)
{
    (void)context;
    (void)path;
    (void)after;
    (void)accept;
    *ret = (struct rps_http_page){200, "text/plain", calloc(1, answer_size + 1), answer_size};
}

/* Open the HTTP server. Return 0 if libmicrohttpd is missing. */
static int open_server(struct rps_http_server_options *options)
{
    struct rps_error err;
    const char *url;

    options->answer = answer;
    if (rps_http_server_open(&server, options, &err) < 0) {
        assert_non_null(strstr(err.message, "libmicrohttpd"));
        return 0;
    }
    url = rps_http_server_url(server);
    assert_int_equal(sscanf(url, "http://127.0.0.1:%d/#", &port), 1);
    return 1;
}

static int connect_client(void)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    (void)!connect(fd, (const struct sockaddr *)&address, sizeof(address));
    return fd;
}

/* Connect a client that has sent its request, with or without the token. */
static int ask(const char *token)
{
    char text[256];
    int fd = connect_client();
    struct pollfd wait = {.fd = fd, .events = POLLOUT};

    assert_int_equal(poll(&wait, 1, -1), 1);
    snprintf(text, sizeof(text),
             "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n", port,
             token);
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    return fd;
}

/* Run the server until a client's connection is closed, and return the number of bytes the client
 * received. If `drip` is set, the client sends one byte at a time. */
static size_t until_closed(int fd, int drip)
{
    char buffer[65536];
    size_t total = 0;
    ssize_t got;

    do {
        struct pollfd wait[2] = {{.fd = rps_http_server_fd(server), .events = POLLIN},
                                 {.fd = fd, .events = POLLIN}};
        int64_t wait_ns = rps_http_server_run(server, LONG_NS);

        poll(wait, 2, drip ? 1 : (int)(wait_ns / RPS_NS_PER_MS) + 1);
        if (drip)
            (void)!send(fd, "x", 1, MSG_NOSIGNAL);
        got = recv(fd, buffer, sizeof(buffer), 0);
        total += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && (errno == EAGAIN || errno == ENOTCONN)));
    close(fd);
    return total;
}

/* The server closes a client that sends nothing, and a client that never finishes its request. */
static void test_slow(void **state)
{
    struct rps_http_server_options options = {.request_ns = SHORT_NS, .answer_ns = LONG_NS};

    (void)state;
    if (!open_server(&options)) {
        print_message("libmicrohttpd is not installed\n");
        skip();
    }
    assert_int_equal(until_closed(connect_client(), 0), 0);
    assert_int_equal(until_closed(connect_client(), 1), 0);
    while (until_closed(ask(""), 0) == 0) /* A client on a loaded machine may be this slow too. */
        ;
    rps_http_server_close(server);
}

/* The server closes a client that does not read the answer. */
static void test_not_taken(void **state)
{
    struct rps_http_server_options options = {.request_ns = LONG_NS, .answer_ns = SHORT_NS};
    int64_t until_ns;
    int fd;

    (void)state;
    answer_size = BIG;
    if (!open_server(&options)) {
        print_message("libmicrohttpd is not installed\n");
        skip();
    }
    fd = ask("");
    rps_http_server_run(server, SHORT_NS);
    until_ns = rps_clock_monotonic_ns() + 3 * SHORT_NS;
    do {
        struct pollfd wait = {.fd = rps_http_server_fd(server), .events = POLLIN};
        int64_t wait_ns = rps_http_server_run(server, SHORT_NS);

        poll(&wait, 1, (int)(wait_ns / RPS_NS_PER_MS) + 1);
    } while (rps_clock_monotonic_ns() < until_ns);
    rps_http_server_run(server, SHORT_NS);
    assert_true(until_closed(fd, 0) < BIG);
    answer_size = 10;
    while (until_closed(ask(""), 0) <= 10)
        ;
    rps_http_server_close(server);
    answer_size = 0;
}

static const char *token_of(void)
{
    return strchr(rps_http_server_url(server), '#') + 1;
}

/* A new client is answered although many clients without a token hold connections. The server
 * closes the oldest connection without a token. */
static void test_others(void **state)
{
    struct rps_http_server_options options = {.request_ns = LONG_NS, .answer_ns = LONG_NS};
    int idle[4 * RPS_HTTP_CONNECTIONS];
    size_t count = sizeof(idle) / sizeof(idle[0]);
    char byte;

    (void)state;
    if (!open_server(&options)) {
        print_message("libmicrohttpd is not installed\n");
        skip();
    }
    for (size_t i = 0; i < count; i++) {
        idle[i] = connect_client();
        rps_http_server_run(server, LONG_NS);
    }
    assert_true(until_closed(ask(token_of()), 0) > 0);
    assert_true(until_closed(ask(""), 0) > 0);
    assert_int_equal(until_closed(idle[0], 0), 0);
    errno = 0;
    assert_int_equal(recv(idle[count - 1], &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN); /* The newest client is still connected. */
    for (size_t i = 1; i < count; i++)
        close(idle[i]);
    rps_http_server_close(server);
}

/* A client that has shown the token stays connected, however many clients without it connect. */
static void test_token_stays(void **state)
{
    struct rps_http_server_options options = {.request_ns = LONG_NS, .answer_ns = LONG_NS};
    int owner, idle[4 * RPS_HTTP_CONNECTIONS];
    size_t count = sizeof(idle) / sizeof(idle[0]);

    (void)state;
    answer_size = BIG;
    if (!open_server(&options)) {
        print_message("libmicrohttpd is not installed\n");
        skip();
    }
    owner = ask(token_of());
    for (size_t i = 0; i < count; i++) {
        rps_http_server_run(server, LONG_NS);
        idle[i] = connect_client();
    }
    assert_true(until_closed(owner, 0) > BIG);
    answer_size = 0;
    for (size_t i = 0; i < count; i++)
        close(idle[i]);
    rps_http_server_close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_not_taken),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_token_stays),
    };

    return cmocka_run_group_tests_name("network/http_server", tests, NULL, NULL);
}
