/* The HTTP server, using libmicrohttpd.
 *
 * SAFETY: the server listens only at 127.0.0.1. Other users of the machine and other pages in the
 * user's browser do not know the token. The token comes in a header that pages of other sites
 * cannot send. A foreign name that resolves to 127.0.0.1 (DNS rebinding) appears in the header
 * Host, and is refused. One client cannot block others for long. A connection is for one request,
 * and both the request and the reading of its answer have time limits. */
#include "http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/process.h"

#define LIBRARY      "libmicrohttpd.so.12"
#define MEMORY_BYTES 16384 /* maximum size of a request: its line and its headers */
#define BEARER       "Bearer "
#define TOKEN_BYTES  16
#define NAME_SIZE    32
#define HTTP_PORT    80 /* port that browsers omit in the header Host */

/* Number of connections, including spare connections. Spare connections are for new connections,
 * and for ended connections that are not yet closed. Neither may keep another client out, and
 * libmicrohttpd accepts ten connections at a time. */
#define PLACES (RPS_HTTP_CONNECTIONS + 48)

struct connection {
    int fd; /* socket of the connection; -1: none */
    int has_token;
    uint64_t number;  /* number in the order of arrival */
    int64_t until_ns; /* time limit; INT64_MAX: the connection has already ended */
};

/* The library's functions in use. */
#define FUNCTIONS(FUNCTION)                                                                        \
    FUNCTION(start_daemon)                                                                         \
    FUNCTION(stop_daemon)                                                                          \
    FUNCTION(run)                                                                                  \
    FUNCTION(get_timeout)                                                                          \
    FUNCTION(get_daemon_info)                                                                      \
    FUNCTION(get_connection_info)                                                                  \
    FUNCTION(lookup_connection_value)                                                              \
    FUNCTION(create_response_from_buffer)                                                          \
    FUNCTION(add_response_header)                                                                  \
    FUNCTION(queue_response)                                                                       \
    FUNCTION(destroy_response)
#define MEMBER(name) __typeof__(MHD_##name) *name;

struct rps_http_server {
    const struct rps_http_server_options *options;
    FUNCTIONS(MEMBER)
    struct MHD_Daemon *daemon;
    int epoll_fd;
    struct connection connection[PLACES];
    uint64_t count; /* number of all connections so far */
    char token[2 * TOKEN_BYTES + 1];
    char host[2][NAME_SIZE]; /* allowed values of the header Host */
    char url[NAME_SIZE + sizeof("http:///#") + 2 * TOKEN_BYTES];
};

/* --- access ----------------------------------------------------------------------------------- */

/* SAFETY: the time of the comparison does not depend on where the first difference is. */
static int is_token(const struct rps_http_server *server, const char *text)
{
    unsigned differ = 0;

    if (!text || strncasecmp(text, BEARER, strlen(BEARER)) != 0)
        return 0;
    text += strlen(BEARER);
    if (strlen(text) != strlen(server->token))
        return 0;
    for (size_t i = 0; server->token[i] != '\0'; i++)
        differ |= (unsigned)(unsigned char)(text[i] ^ server->token[i]);
    return differ == 0;
}

static int has_token(struct rps_http_server *server, struct MHD_Connection *connection)
{
    return is_token(server, server->lookup_connection_value(connection, MHD_HEADER_KIND,
                                                            MHD_HTTP_HEADER_AUTHORIZATION));
}

static int is_for_us(struct rps_http_server *server, struct MHD_Connection *connection)
{
    const char *host =
        server->lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

    return host && (strcmp(host, server->host[0]) == 0 || strcmp(host, server->host[1]) == 0);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_sentence(struct rps_http_page *ret, int status, const char *sentence)
{
    *ret = (struct rps_http_page){.status = status, .type = "text/plain"};
    ret->text = strdup(sentence);
    ret->size = ret->text ? strlen(ret->text) : 0;
}

static void choose_answer(struct rps_http_server *server, struct MHD_Connection *connection,
                          const char *url, const char *method, struct rps_http_page *ret)
{
    const struct rps_http_server_options *options = server->options;

    if (!is_for_us(server, connection))
        answer_sentence(ret, MHD_HTTP_FORBIDDEN,
                        "The host must be 127.0.0.1 or localhost, with this server's port. With "
                        "ssh -L, take the same port on both sides.\n");
    else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        answer_sentence(ret, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is answered.\n");
    else if (strcmp(url, "/") != 0 && !has_token(server, connection))
        answer_sentence(ret, MHD_HTTP_UNAUTHORIZED, "The token is missing or wrong.\n");
    else
        options->answer(
            options->context, url,
            server->lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after"),
            server->lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
            ret);
}

static int send_answer(struct rps_http_server *server, struct MHD_Connection *connection,
                       const struct rps_http_page *answer)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy", "frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Connection", "close"},
    };
    struct MHD_Response *response =
        answer->text
            ? server->create_response_from_buffer(answer->size, answer->text, MHD_RESPMEM_MUST_FREE)
            : NULL;
    int result;

    if (!response) {
        free(answer->text);
        return MHD_NO;
    }
    for (size_t i = 0; i < RPS_COUNT(headers); i++)
        server->add_response_header(response, headers[i][0], headers[i][1]);
    server->add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        server->add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
    if (answer->status == MHD_HTTP_UNAUTHORIZED)
        server->add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    result = server->queue_response(connection, (unsigned)answer->status, response) == MHD_YES;
    server->destroy_response(response);
    return result;
}

/* --- connections ------------------------------------------------------------------------------ */

static int fd_of(struct rps_http_server *server, struct MHD_Connection *connection)
{
    return server->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct connection *find_connection(struct rps_http_server *server, int fd)
{
    for (int i = 0; i < PLACES; i++) {
        if (server->connection[i].fd == fd)
            return &server->connection[i];
    }
    return NULL;
}

static enum MHD_Result on_accept(void *context, const struct sockaddr *address, socklen_t length)
{
    (void)address;
    (void)length;
    return find_connection(context, -1) ? MHD_YES : MHD_NO;
}

/* End a connection. libmicrohttpd then closes it like a connection whose client has gone. */
static void end_connection(struct connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    connection->until_ns = INT64_MAX;
}

/* If there are too many connections without a token, end the oldest of them. */
static void end_oldest_stranger(struct rps_http_server *server)
{
    struct connection *oldest = NULL;
    int count = 0;

    for (int i = 0; i < PLACES; i++) {
        struct connection *connection = &server->connection[i];

        if (connection->fd < 0 || connection->has_token || connection->until_ns == INT64_MAX)
            continue;
        count++;
        if (!oldest || connection->number < oldest->number)
            oldest = connection;
    }
    if (count > RPS_HTTP_CONNECTIONS)
        end_connection(oldest);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode code)
{
    struct rps_http_server *server = context;
    int fd = fd_of(server, connection);

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *own = find_connection(server, -1);
        if (*own)
            *(struct connection *)*own = (struct connection){
                .fd = fd,
                .number = server->count++,
                .until_ns = rps_clock_monotonic_ns() + server->options->request_ns,
            };
        end_oldest_stranger(server);
    } else if (*own) {
        ((struct connection *)*own)->fd = -1;
    }
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **own)
{
    struct rps_http_server *server = context;
    struct connection *known = find_connection(server, fd_of(server, connection));
    struct rps_http_page answer = {0};

    (void)version;
    (void)upload;
    (void)upload_size;
    (void)own;
    choose_answer(server, connection, url, method, &answer);
    if (known) {
        known->has_token = has_token(server, connection);
        known->until_ns = rps_clock_monotonic_ns() + server->options->answer_ns;
    }
    return send_answer(server, connection, &answer) ? MHD_YES : MHD_NO;
}

static int64_t end_late(struct rps_http_server *server, int64_t limit_ns)
{
    int64_t now_ns = rps_clock_monotonic_ns();

    for (int i = 0; i < PLACES; i++) {
        struct connection *connection = &server->connection[i];

        if (connection->fd < 0)
            continue;
        if (connection->until_ns <= now_ns)
            end_connection(connection);
        if (connection->until_ns - now_ns < limit_ns)
            limit_ns = connection->until_ns - now_ns;
    }
    return limit_ns;
}

int64_t rps_http_server_run(struct rps_http_server *server, int64_t limit_ns)
{
    MHD_UNSIGNED_LONG_LONG ms;

    server->run(server->daemon);
    limit_ns = end_late(server, limit_ns);
    if (server->get_timeout(server->daemon, &ms) == MHD_YES &&
        (int64_t)ms < limit_ns / RPS_NS_PER_MS)
        limit_ns = (int64_t)ms * RPS_NS_PER_MS;
    return limit_ns;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_libmicrohttpd(struct rps_http_server *server, struct rps_error *err)
{
    const struct rps_library_function functions[] = {
#define ROW(name) {"MHD_" #name, &server->name},
        FUNCTIONS(ROW)
#undef ROW
            {NULL, NULL},
    };

    if (rps_library_open(LIBRARY, functions))
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "serving a page needs libmicrohttpd, and " LIBRARY
                         " was not found; install it (Debian: libmicrohttpd12)");
}

static int make_token(struct rps_http_server *server, struct rps_error *err)
{
    uint8_t bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return rps_error_set(err, RPS_FAILED, "cannot get random numbers for the page's token: %s",
                             strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(&server->token[2 * i], 3, "%02x", bytes[i]);
    return 0;
}

/* Listen at the port, and format the server's address. */
static int listen_at(struct rps_http_server *server, struct rps_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->options->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, port;
    char after[16] = "";

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 2 * RPS_HTTP_CONNECTIONS) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
        rps_error_set(err, RPS_FAILED,
                      "cannot use port %d of 127.0.0.1: %s; use --port 0 for a free one",
                      server->options->port, strerror(errno));
        if (fd >= 0)
            close(fd);
        return RPS_FAILED;
    }
    port = ntohs(address.sin_port);
    if (port != HTTP_PORT)
        snprintf(after, sizeof(after), ":%d", port);
    snprintf(server->host[0], NAME_SIZE, "127.0.0.1%s", after);
    snprintf(server->host[1], NAME_SIZE, "localhost%s", after);
    snprintf(server->url, sizeof(server->url), "http://%s/#%s", server->host[0], server->token);
    return fd;
}

static int start(struct rps_http_server *server, struct rps_error *err)
{
    int fd = listen_at(server, err);

    if (fd < 0)
        return fd;
    server->daemon = server->start_daemon(
        MHD_USE_EPOLL, 0, on_accept, server, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)PLACES + 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_END);
    if (!server->daemon) {
        close(fd);
        return rps_error_set(err, RPS_FAILED, "libmicrohttpd cannot serve the page: %s",
                             strerror(errno));
    }
    server->epoll_fd = server->get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return 0;
}

int rps_http_server_open(struct rps_http_server **ret,
                         const struct rps_http_server_options *options, struct rps_error *err)
{
    struct rps_http_server *server = calloc(1, sizeof(*server));
    int result;

    if (!server)
        return rps_error_memory(err);
    server->options = options;
    for (int i = 0; i < PLACES; i++)
        server->connection[i].fd = -1;
    result = open_libmicrohttpd(server, err);
    if (result == 0)
        result = make_token(server, err);
    if (result == 0)
        result = start(server, err);
    if (result < 0)
        rps_http_server_close(server);
    else
        *ret = server;
    return result;
}

void rps_http_server_close(struct rps_http_server *server)
{
    if (server && server->daemon)
        server->stop_daemon(server->daemon);
    free(server);
}

const char *rps_http_server_url(const struct rps_http_server *server)
{
    return server->url;
}

int rps_http_server_fd(const struct rps_http_server *server)
{
    return server->epoll_fd;
}
