// libcurl's functions and numbers are declared here, as its ABI has kept them since version 7.55: the build needs no headers of it, and a
// machine without it loses this one feature.
#include "server/network/http.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "server/system/environment.h"
#include "server/system/loop.h"

enum {
    MOST_BYTES = 4 * 1000 * 1000,  // of an answer: a thousand times what is asked for
    MOST_TRIES = 4,
    CONNECT_MS = 15000,
    FIRST_WAIT_MS = 500,   // before the second attempt
    LONGEST_WAIT_S = 600,  // that a server may ask for
    ERROR_BYTES = 256,     // CURL_ERROR_SIZE
};

/// CURLOPT_*
typedef enum CurlOption {
    CURL_WRITE_DATA = 10001,
    CURL_URL = 10002,
    CURL_PROXY = 10004,
    CURL_ERROR_TEXT = 10010,
    CURL_BODY = 10015,
    CURL_HEADERS = 10023,
    CURL_HEADER_DATA = 10029,
    CURL_PROGRESS_DATA = 10057,
    CURL_CA_FILE = 10065,
    CURL_WRITE_FUNCTION = 20011,
    CURL_HEADER_FUNCTION = 20079,
    CURL_PROGRESS_FUNCTION = 20219,
    CURL_NO_PROGRESS = 43,
    CURL_FOLLOW = 52,
    CURL_BODY_SIZE = 60,
    CURL_NO_SIGNAL = 99,
    CURL_TIMEOUT_MS = 155,
    CURL_CONNECT_TIMEOUT_MS = 156,
    CURL_PROTOCOLS = 181,
} CurlOption;

enum {
    CURL_RESPONSE_CODE = 0x200000 + 2,  // CURLINFO
    CURL_GLOBAL_ALL = 3,
    CURL_HTTP_AND_HTTPS = 3,  // CURLPROTO
    CURLE_TIMED_OUT = 28,
    CURLE_OTHER_HOST = 51,  // before 7.62
    CURLE_BAD_CERTIFICATE = 60,
    CURLE_BAD_CA_FILE = 77,
};

/// struct curl_slist
typedef struct CurlList {
    char *data;
    struct CurlList *next;
} CurlList;

typedef struct CurlLibrary {
    int (*global_init)(long flags);
    void *(*easy_init)(void);
    int (*easy_setopt)(void *handle, int option, ...);
    int (*easy_perform)(void *handle);
    int (*easy_getinfo)(void *handle, int info, ...);
    void (*easy_cleanup)(void *handle);
    const char *(*easy_strerror)(int code);
    CurlList *(*slist_append)(CurlList *list, const char *text);
    void (*slist_free_all)(CurlList *list);
    time_t (*getdate)(const char *text, const time_t *unused);
} CurlLibrary;

static CurlLibrary curl;
static bool curl_is_there;

static void curl_open(void) {
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"curl_global_init", &curl.global_init},       {"curl_easy_init", &curl.easy_init},
        {"curl_easy_setopt", &curl.easy_setopt},       {"curl_easy_perform", &curl.easy_perform},
        {"curl_easy_getinfo", &curl.easy_getinfo},     {"curl_easy_cleanup", &curl.easy_cleanup},
        {"curl_easy_strerror", &curl.easy_strerror},   {"curl_slist_append", &curl.slist_append},
        {"curl_slist_free_all", &curl.slist_free_all}, {"curl_getdate", &curl.getdate},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found) return;
        memcpy(functions[i].place, &found, sizeof found);
    }
    curl_is_there = curl.global_init(CURL_GLOBAL_ALL) == 0;
}

// --- URLs

static Str url_host(const char *url) {
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t size = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    return (Str){host, size};
}

Error http_refuse(Arena *arena, const char *url) {
    bool is_http = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    const char *why = NULL;
    if (!is_http)
        why = "begins with https:// or http://";
    else if (strpbrk(url, "@?#\\ \t\r\n"))
        why =
            "has no name, password, question or space in it; the key is read from the environment";
    else if (url_host(url).size == 0)
        why = "names a host";
    return why ? arena_printf(arena, "the endpoint of a model %s", why) : NULL;
}

bool http_is_local(const char *url) {
    Str host = url_host(url);
    if (str_is(host, "localhost") || str_is(host, "[::1]")) return true;
    bool is_number = str_starts(host, "127.");
    for (size_t i = 0; i < host.size && is_number; i++)
        is_number = isdigit((unsigned char)host.data[i]) || host.data[i] == '.';
    return is_number;
}

// --- one attempt

typedef struct HttpTry {
    const HttpRequest *request;
    HttpAnswer *answer;
    Buffer body;
    bool is_too_large;
    uint64_t until_ms;
    time_t date, retry_date;  // as the server says them; -1: it does not
} HttpTry;

static size_t take_body(char *data, size_t size, size_t count, void *context) {
    HttpTry *attempt = context;
    if (attempt->body.size + size * count > MOST_BYTES) {
        attempt->is_too_large = true;
        return 0;
    }
    buffer_add(&attempt->body, data, size * count);
    return size * count;
}

/// The value of the header, where the line is one of this name; `*value` is its own text.
static bool header_is(Str line, const char *name, char *value, size_t room) {
    size_t size = strlen(name);
    if (line.size <= size || strncasecmp(line.data, name, size) != 0) return false;
    Str text = str_trim((Str){line.data + size, line.size - size});
    if (text.size == 0 || text.size >= room) return false;
    memcpy(value, text.data, text.size);
    value[text.size] = 0;
    return true;
}

static bool is_digits(const char *text) { return text[strspn(text, "0123456789")] == 0; }

static size_t take_header(char *data, size_t size, size_t count, void *context) {
    enum {
        LONGEST = 64,    // twice a date's length in HTTP (RFC 9110, section 5.6.7)
        MOST_DIGITS = 9  // that fit an int
    };
    HttpTry *attempt = context;
    Str line = {data, size * count};
    char value[LONGEST];
    if (header_is(line, "date:", value, sizeof value)) attempt->date = curl.getdate(value, NULL);
    if (!header_is(line, "retry-after:", value, sizeof value)) return line.size;
    if (!is_digits(value))
        attempt->retry_date = curl.getdate(value, NULL);
    else if (strlen(value) <= MOST_DIGITS)
        attempt->answer->retry_after_s = (double)strtol(value, NULL, 10);
    return line.size;
}

/// A date counts from the server's own clock, where that is told.
static void take_retry_date(HttpTry *attempt) {
    if (attempt->retry_date == -1) return;
    double seconds =
        difftime(attempt->retry_date, attempt->date == -1 ? time(NULL) : attempt->date);
    attempt->answer->retry_after_s = seconds > 0 ? seconds : 0;
}

static bool goes_on(HttpTry *attempt) {
    const HttpRequest *request = attempt->request;
    if (request->goes_on && !request->goes_on(request->context, attempt->body.size))
        attempt->answer->is_cancelled = true;
    return !attempt->answer->is_cancelled;
}

static int take_progress(void *context, int64_t a, int64_t b, int64_t c, int64_t d) {
    (void)a, (void)b, (void)c, (void)d;
    return !goes_on(context);
}

static uint64_t now_ms(void) { return clock_ns() / 1000000; }

/// The user's own, else what curl and OpenSSL would take from the environment; the library by itself does not. NULL: the system's.
static const char *ca_file_of(const HttpRequest *request) {
    static const char *const variables[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    const char *file = request->ca_file;
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !file; i++) {
        file = getenv(variables[i]);
        if (file && !*file) file = NULL;
    }
    return file;
}

static void set_up(void *handle, HttpTry *attempt, CurlList *headers, char *error) {
    const HttpRequest *request = attempt->request;
    uint64_t now = now_ms();
    curl.easy_setopt(handle, CURL_URL, request->url);
    curl.easy_setopt(handle, CURL_HEADERS, headers);
    curl.easy_setopt(handle, CURL_BODY, request->body);
    curl.easy_setopt(handle, CURL_BODY_SIZE, (long)strlen(request->body));
    curl.easy_setopt(handle, CURL_PROTOCOLS, (long)CURL_HTTP_AND_HTTPS);
    curl.easy_setopt(handle, CURL_FOLLOW, 0L);
    curl.easy_setopt(handle, CURL_NO_SIGNAL, 1L);
    curl.easy_setopt(handle, CURL_CONNECT_TIMEOUT_MS, (long)CONNECT_MS);
    curl.easy_setopt(handle, CURL_TIMEOUT_MS,
                     attempt->until_ms > now ? (long)(attempt->until_ms - now) : 1L);
    curl.easy_setopt(handle, CURL_ERROR_TEXT, error);
    curl.easy_setopt(handle, CURL_WRITE_FUNCTION, take_body);
    curl.easy_setopt(handle, CURL_WRITE_DATA, attempt);
    curl.easy_setopt(handle, CURL_HEADER_FUNCTION, take_header);
    curl.easy_setopt(handle, CURL_HEADER_DATA, attempt);
    curl.easy_setopt(handle, CURL_PROGRESS_FUNCTION, take_progress);
    curl.easy_setopt(handle, CURL_PROGRESS_DATA, attempt);
    curl.easy_setopt(handle, CURL_NO_PROGRESS, 0L);
    const char *ca_file = ca_file_of(request);
    if (ca_file) curl.easy_setopt(handle, CURL_CA_FILE, ca_file);
    if (http_is_local(request->url))
        curl.easy_setopt(handle, CURL_PROXY, "");  // whatever the environment says
    else if (request->proxy)
        curl.easy_setopt(handle, CURL_PROXY, request->proxy);
}

static CurlList *headers_new(const HttpRequest *request) {
    CurlList *headers = NULL;
    for (const char *const *at = request->headers; *at; at++)
        headers = curl.slist_append(headers, *at);
    if (!request->secret) return headers;
    size_t size = strlen(request->secret_header) + strlen(request->secret) + 1;
    char *text = secret_room(size);
    if (text) {
        snprintf(text, size, "%s%s", request->secret_header, request->secret);
        headers = curl.slist_append(headers, text);
    }
    secret_room_free(text, size);
    return headers;
}

static void headers_free(CurlList *headers) {
    for (const CurlList *at = headers; at; at = at->next)
        explicit_bzero(at->data, strlen(at->data));
    curl.slist_free_all(headers);
}

static Error certificate_error(Arena *arena, const HttpRequest *request, const char *text,
                               bool is_bad_file) {
    const char *file = ca_file_of(request);
    if (is_bad_file)
        return arena_printf(arena, "the certificates to trust cannot be read from %s: %s",
                            file ? file : "the system's files", text);
    return arena_printf(arena,
                        "nothing was sent: the certificate of %.*s is not one to trust (%s). "
                        "Certificates to trust are those of %s; `ca-file` in model.toml names "
                        "others",
                        STR_ARGS(url_host(request->url)), text, file ? file : "the system");
}

/// `*is_final`: another attempt would come to the same.
static Error perform(Arena *arena, HttpTry *attempt, bool *is_final) {
    char detail[ERROR_BYTES] = "";
    void *handle = curl.easy_init();
    *is_final = true;
    if (!handle) return "libcurl has no room for a request";
    CurlList *headers = headers_new(attempt->request);
    set_up(handle, attempt, headers, detail);
    int code = curl.easy_perform(handle);
    long status = 0;
    curl.easy_getinfo(handle, CURL_RESPONSE_CODE, &status);
    curl.easy_cleanup(handle);
    headers_free(headers);
    attempt->answer->status = (int)status;
    attempt->answer->body = (Str){buffer_text(&attempt->body), attempt->body.size};
    if (code == 0) return NULL;
    if (attempt->answer->is_cancelled) return "cancelled";
    if (attempt->is_too_large)
        return arena_printf(arena, "the answer is larger than %d bytes", MOST_BYTES);
    if (code == CURLE_TIMED_OUT && now_ms() >= attempt->until_ms)
        return "there was no time left for the answer";
    const char *text = arena_strdup(arena, *detail ? detail : curl.easy_strerror(code));
    bool is_bad_file = code == CURLE_BAD_CA_FILE;
    *is_final = is_bad_file || code == CURLE_BAD_CERTIFICATE || code == CURLE_OTHER_HOST;
    return *is_final ? certificate_error(arena, attempt->request, text, is_bad_file) : text;
}

// --- tries

/// False where that is too late, or nobody waits any longer.
static bool wait(HttpTry *attempt, uint64_t pause_ms) {
    uint64_t until = now_ms() + pause_ms;
    if (until >= attempt->until_ms) return false;
    while (now_ms() < until && goes_on(attempt))
        nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    return !attempt->answer->is_cancelled;
}

Error http_post(Arena *arena, const HttpRequest *request, HttpJudge *judge, void *context,
                HttpAnswer *answer) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, curl_open);
    *answer = (HttpAnswer){0};
    if (!curl_is_there) return "libcurl.so.4 is not on this machine";
    if (request->secret) secrets_seal_process();  // libcurl and its TLS have copies of their own
    uint64_t until = now_ms() + (uint64_t)(request->max_seconds * 1000);
    for (uint64_t pause_ms = FIRST_WAIT_MS;; pause_ms *= 2) {
        HttpTry attempt = {request, answer, buffer_new(arena), false, until, -1, -1};
        bool is_final;
        answer->tries++;
        answer->retry_after_s = -1;
        Error error = perform(arena, &attempt, &is_final);
        take_retry_date(&attempt);
        if (error && is_final) return error;
        int status = answer->status;
        bool is_busy = status == 429 || status >= 500;
        HttpVerdict verdict = HTTP_WHOLE;
        if (!error && status == 200) verdict = judge(context, answer->body);
        if (!error && !is_busy && verdict == HTTP_WHOLE) return NULL;
        uint64_t asked_ms =
            answer->retry_after_s > 0 ? (uint64_t)(answer->retry_after_s * 1000) : 0;
        if (answer->tries == MOST_TRIES || answer->retry_after_s > LONGEST_WAIT_S ||
            !wait(&attempt, asked_ms > pause_ms ? asked_ms : pause_ms)) {
            if (answer->is_cancelled) return "cancelled";
            return verdict == HTTP_BROKEN_OFF ? "the answer broke off" : error;
        }
    }
}
