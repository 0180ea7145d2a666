// One POST over HTTP, with libcurl opened at run time: bounded in time and size, tried again where that may help.
#ifndef TAD_SERVER_NETWORK_HTTP_H
#define TAD_SERVER_NETWORK_HTTP_H

#include "base/error.h"
#include "base/text.h"

typedef struct HttpRequest {
    const char *url;
    const char *const *headers;  // `Name: value`, NULL-terminated
    const char *secret_header;   // `Name: ` or `Name: word `, before the secret
    const char *secret;          // NULL: none. It is copied for libcurl alone, and overwritten
    const char *body;
    const char *proxy, *ca_file;  // NULL: those of the environment, else the system's
    double max_seconds;           // for all tries together
    /// Asked every now and then, with the bytes of the answer so far; false ends the exchange. May be NULL.
    bool (*goes_on)(void *context, size_t bytes);
    void *context;
} HttpRequest;

typedef struct HttpAnswer {
    int status;         // of the last try; 0: no answer
    bool is_cancelled;  // by `goes_on`
    Str body;
    int tries;
    double retry_after_s;  // as the server has said, in seconds or by a date; negative: it has not
} HttpAnswer;

/// What the text of an answer with status 200 is; told by who knows its format.
typedef enum HttpVerdict {
    HTTP_BROKEN_OFF,
    HTTP_BUSY,   // it is all there, and says what 429 and 5xx do
    HTTP_WHOLE,  // it is all there
} HttpVerdict;
typedef HttpVerdict HttpJudge(void *context, Str body);

/// Sends the request until an answer has another status than 429 and 5xx and `judge` finds it whole, a few times at the most.
/// Waits between two tries: as long as the server says, else twice as long as before. Where that is over ten minutes, or there
/// is no time for it, the answer is the last one. Follows no redirection. The text of an
/// error holds nothing of the request. An answer of any status is no error.
Error http_post(Arena *arena, const HttpRequest *request, HttpJudge *judge, void *context,
                HttpAnswer *answer);
/// Whether the URL is http or https, with no name, password, question or fragment in it. A sentence where not.
Error http_refuse(Arena *arena, const char *url);
/// Whether what is sent there stays on this machine.
bool http_is_local(const char *url);

#endif
