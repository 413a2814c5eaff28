/* The HTTP client. SAFETY: libcurl's defaults are kept: certificates are checked, and libcurl's
 * environment variables (proxies) apply. Redirections are not followed, since they would send
 * credentials and samples to another server. */
#include "http_client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpistat/clock.h"
#include "rpistat/process.h"

#define CONNECT_TIMEOUT_NS (10 * RPS_NS_PER_S)

/* The functions of libcurl that rpistat uses. */
#define FUNCTIONS(X)                                                                               \
    X(curl_easy_init)                                                                              \
    X(curl_easy_cleanup)                                                                           \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_perform)                                                                           \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_strerror)                                                                          \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)                                                                         \
    X(curl_url)                                                                                    \
    X(curl_url_cleanup)                                                                            \
    X(curl_url_set)                                                                                \
    X(curl_url_strerror)                                                                           \
    X(curl_url_get)                                                                                \
    X(curl_free)

struct library {
#define POINTER(name) __typeof__(name) *name##_;
    FUNCTIONS(POINTER)
#undef POINTER
};

struct rps_http_client {
    struct rps_arena *arena;
    struct library curl;
    CURL *handle;
    struct rps_http_client_options options;
    struct rps_http_answer *answer; /* answer to the current request */
    size_t received;                /* bytes of the answer's headers and body */
    char why[CURL_ERROR_SIZE];
};

/* --- receiving -------------------------------------------------------------------------------- */

/* Return 1 if the data received so far are enough, so that the request can be ended. */
static int has_enough(struct rps_http_client *client, size_t size)
{
    client->received += size;
    return client->received > RPS_HTTP_TEXT_MAX;
}

static size_t on_header(char *data, size_t one, size_t size, void *context)
{
    static const char name[] = "Retry-After:";
    struct rps_http_client *client = context;
    char line[64];

    (void)one;
    snprintf(line, sizeof(line), "%.*s", (int)(size < sizeof(line) ? size : sizeof(line) - 1),
             data);
    if (strncasecmp(line, name, sizeof(name) - 1) == 0) {
        const char *value = line + sizeof(name) - 1;

        value += strspn(value, " \t");
        if (*value >= '0' && *value <= '9')
            client->answer->retry_after_s = (int64_t)strtoul(value, NULL, 10) & INT32_MAX;
    }
    return has_enough(client, size) ? 0 : size;
}

static size_t on_body(char *data, size_t one, size_t size, void *context)
{
    struct rps_http_client *client = context;
    struct rps_http_answer *answer = client->answer;
    size_t room = RPS_HTTP_TEXT_MAX - answer->size, part = size < room ? size : room;

    (void)one;
    memcpy(answer->text + answer->size, data, part);
    answer->size += part;
    return has_enough(client, size) ? 0 : size;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct rps_http_client *client = context;

    (void)a, (void)b, (void)c, (void)d;
    return client->options.wait && client->options.wait(client->options.context, 0);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_libcurl(struct library *curl, struct rps_error *err)
{
    const struct rps_library_function functions[] = {
#define ROW(name) {#name, &curl->name##_},
        FUNCTIONS(ROW)
#undef ROW
            {NULL, NULL},
    };

    if (rps_library_open("libcurl.so.4", functions) ||
        rps_library_open("libcurl-gnutls.so.4", functions))
        return 0;
    return rps_error_set(
        err, RPS_FAILED,
        "pushing needs libcurl, and libcurl.so.4 was not found; install it (Debian: libcurl4)");
}

/* Set the options common to all requests. */
static int set_up(struct rps_http_client *client)
{
    __typeof__(&curl_easy_setopt) set = client->curl.curl_easy_setopt_;
    const struct rps_http_client_options *options = &client->options;
    int64_t connect_ns =
        options->timeout_ns < CONNECT_TIMEOUT_NS ? options->timeout_ns : CONNECT_TIMEOUT_NS;
    CURL *handle = client->handle;

    set(handle, CURLOPT_ERRORBUFFER, client->why);
    set(handle, CURLOPT_USERAGENT, "rpistat");
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)(connect_ns / RPS_NS_PER_MS));
    set(handle, CURLOPT_TIMEOUT_MS, (long)(options->timeout_ns / RPS_NS_PER_MS));
    set(handle, CURLOPT_NOPROGRESS, 0L);
    set(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
    set(handle, CURLOPT_XFERINFODATA, client);
    set(handle, CURLOPT_HEADERFUNCTION, on_header);
    set(handle, CURLOPT_HEADERDATA, client);
    set(handle, CURLOPT_WRITEFUNCTION, on_body);
    set(handle, CURLOPT_WRITEDATA, client);
    if (options->ca_file)
        set(handle, CURLOPT_CAINFO, options->ca_file);
    if (options->bearer) {
        set(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        set(handle, CURLOPT_XOAUTH2_BEARER, options->bearer);
    }
    return set(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
}

int rps_http_open(struct rps_arena *arena, struct rps_http_client **ret,
                  const struct rps_http_client_options *options, struct rps_error *err)
{
    struct rps_http_client *client = rps_arena_get(arena, 1, sizeof(*client));
    int result;

    client->arena = arena;
    client->options = *options;
    result = open_libcurl(&client->curl, err);
    if (result == 0 && !(client->handle = client->curl.curl_easy_init_()))
        result = rps_error_memory(err);
    if (result == 0 && !set_up(client))
        result = rps_error_set(err, RPS_FAILED,
                               "libcurl is older than 7.85 or has no https; install a newer one");
    if (result < 0)
        rps_http_close(client);
    else
        *ret = client;
    return result;
}

void rps_http_close(struct rps_http_client *client)
{
    if (client && client->handle)
        client->curl.curl_easy_cleanup_(client->handle);
}

/* --- URLs ------------------------------------------------------------------------------------- */

/* Return a copy of a part of the URL; NULL if the part is missing. */
static const char *part_of(struct rps_http_client *client, CURLU *url, CURLUPart part,
                           unsigned flags)
{
    char *text = NULL;
    const char *copy;

    client->curl.curl_url_get_(url, part, &text, flags);
    copy = rps_arena_text(client->arena, text);
    client->curl.curl_free_(text);
    return copy;
}

/* Remove "NAME:PASSWORD" from the URL, and return it, or NULL. */
static const char *take_user(struct rps_http_client *client, CURLU *url)
{
    const struct library *curl = &client->curl;
    const char *name = part_of(client, url, CURLUPART_USER, CURLU_URLDECODE);
    const char *password = part_of(client, url, CURLUPART_PASSWORD, CURLU_URLDECODE);

    curl->curl_url_set_(url, CURLUPART_USER, NULL, 0);
    curl->curl_url_set_(url, CURLUPART_PASSWORD, NULL, 0);
    curl->curl_url_set_(url, CURLUPART_FRAGMENT, NULL, 0);
    return name ? rps_arena_print(client->arena, "%s:%s", name, password ? password : "") : NULL;
}

static int is_http(struct rps_http_client *client, CURLU *url)
{
    const char *scheme = part_of(client, url, CURLUPART_SCHEME, 0);

    return scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
}

int rps_http_url_parse(struct rps_http_client *client, const char *text, const char *path,
                       struct rps_http_url *ret, struct rps_error *err)
{
    const struct library *curl = &client->curl;
    struct rps_http_url made = {0};
    CURLU *url = curl->curl_url_();
    const char *old_path;
    CURLUcode code;
    int result = 0;

    if (!url)
        return rps_error_memory(err);
    code = curl->curl_url_set_(url, CURLUPART_URL, text, 0);
    if (code == CURLUE_OK && !is_http(client, url))
        code = CURLUE_UNSUPPORTED_SCHEME;
    if (code != CURLUE_OK) {
        /* SAFETY: the URL may contain a password: do not print it */
        result = rps_error_set(err, RPS_USAGE,
                               "the URL cannot be used (%s); write it as in http://HOST:8428 or "
                               "https://[2001:db8::1]:8428",
                               curl->curl_url_strerror_(code));
        goto out;
    }
    old_path = part_of(client, url, CURLUPART_PATH, 0);
    if (!old_path || strcmp(old_path, "/") == 0)
        curl->curl_url_set_(url, CURLUPART_PATH, path, 0);
    made.user = take_user(client, url);
    made.request = part_of(client, url, CURLUPART_URL, 0);
    curl->curl_url_set_(url, CURLUPART_QUERY, NULL, 0);
    made.shown = part_of(client, url, CURLUPART_URL, 0);
    if (made.request && made.shown)
        *ret = made;
    else
        result = rps_error_memory(err);
out:
    curl->curl_url_cleanup_(url);
    return result;
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *way_out(const struct rps_http_client *client, CURLcode code)
{
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return "the server's certificate must be valid for that host name, and signed by a "
               "certificate that the system or --ca trusts";
    if (code == CURLE_SSL_CACERT_BADFILE)
        return client->options.ca_file
                   ? "--ca takes a file of certificates, in PEM"
                   : "install the system's certificates (Debian: ca-certificates), or name a file "
                     "of certificates with --ca";
    return NULL;
}

/* Report why there was no answer, and what to check. If the server seems to expect the other scheme
 * (http or https), suggest that scheme. */
static void report_failure(struct rps_http_client *client, const struct rps_http_url *url,
                           CURLcode code)
{
    struct rps_http_answer *answer = client->answer;
    int is_tls = strncmp(url->request, "https:", 6) == 0;
    int is_other = is_tls ? code == CURLE_SSL_CONNECT_ERROR
                          : code == CURLE_GOT_NOTHING || code == CURLE_UNSUPPORTED_PROTOCOL ||
                                code == CURLE_WEIRD_SERVER_REPLY;

    answer->way_out = way_out(client, code);
    answer->size =
        (size_t)snprintf(answer->text, sizeof(answer->text), "%s%s",
                         client->why[0] ? client->why : client->curl.curl_easy_strerror_(code),
                         code == CURLE_COULDNT_RESOLVE_HOST ? " (check the host in the URL)"
                         : code == CURLE_COULDNT_CONNECT
                             ? " (check host and port in the URL, and that the database runs)"
                         : !is_other ? ""
                         : is_tls    ? " (is it http:// there?)"
                                     : " (is it https:// there?)");
}

/* Report the target of a redirection. SAFETY: libcurl adds name and password to the target, so the
 * target is reported without them. */
static void report_redirection(struct rps_http_client *client)
{
    struct rps_http_answer *answer = client->answer;
    struct rps_http_url to = {0};
    const char *url = NULL;

    client->curl.curl_easy_getinfo_(client->handle, CURLINFO_REDIRECT_URL, &url);
    if (!url || rps_http_url_parse(client, url, "/", &to, NULL) != 0)
        return;
    snprintf(answer->text, sizeof(answer->text), "to %s", to.shown);
    answer->size = strlen(answer->text);
}

/* Send the request of the handle, with a body of `size` bytes. */
static int perform(struct rps_http_client *client, const struct rps_http_url *url, size_t size,
                   struct rps_http_answer *ret, struct rps_error *err)
{
    const char *user = client->options.user ? client->options.user : url->user;
    const struct library *curl = &client->curl;
    curl_off_t sent = 0;
    long status = 0;
    CURLcode code;

    ret->status = 0;
    ret->way_out = NULL;
    ret->retry_after_s = -1;
    ret->size = 0;
    client->answer = ret;
    client->received = 0;
    client->why[0] = '\0';
    if (!client->options.bearer)
        curl->curl_easy_setopt_(client->handle, CURLOPT_USERPWD, user);
    code = curl->curl_easy_perform_(client->handle);
    if (code == CURLE_OUT_OF_MEMORY)
        return rps_error_memory(err);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return 1;
    curl->curl_easy_getinfo_(client->handle, CURLINFO_RESPONSE_CODE, &status);
    curl->curl_easy_getinfo_(client->handle, CURLINFO_SIZE_UPLOAD_T, &sent);
    /* only the status matters, except if success was reported before the whole body was sent */
    if (status >= 200 && (code == CURLE_OK || status >= 300 || (size_t)sent == size))
        ret->status = (int)status;
    if (ret->status == 0)
        report_failure(client, url, code);
    else if (ret->status >= 300 && ret->status < 400)
        report_redirection(client);
    ret->text[ret->size] = '\0';
    return 0;
}

int rps_http_post(struct rps_http_client *client, const struct rps_http_url *url,
                  const char *const *headers, const void *body, size_t size,
                  struct rps_http_answer *ret, struct rps_error *err)
{
    const struct library *curl = &client->curl;
    /* without "100-continue", which costs a round trip */
    struct curl_slist *list = curl->curl_slist_append_(NULL, "Expect:"), *longer = list;
    int result;

    for (; *headers && longer; headers++) {
        longer = curl->curl_slist_append_(list, *headers);
        list = longer ? longer : list;
    }
    if (!longer) {
        curl->curl_slist_free_all_(list);
        return rps_error_memory(err);
    }
    curl->curl_easy_setopt_(client->handle, CURLOPT_POST, 1L);
    curl->curl_easy_setopt_(client->handle, CURLOPT_HTTPHEADER, list);
    curl->curl_easy_setopt_(client->handle, CURLOPT_URL, url->request);
    curl->curl_easy_setopt_(client->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl->curl_easy_setopt_(client->handle, CURLOPT_POSTFIELDS, body);
    result = perform(client, url, size, ret, err);
    curl->curl_easy_setopt_(client->handle, CURLOPT_HTTPHEADER, NULL);
    curl->curl_slist_free_all_(list);
    return result;
}
