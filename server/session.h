// One session with an editor: what the loop's thread owns, what the fast lane owns, and requests, which travel between them.
#ifndef TAD_SERVER_SESSION_H
#define TAD_SERVER_SESSION_H

#include "analysis/snapshot.h"
#include "base/frames.h"
#include "server/documents.h"
#include "server/loop.h"
#include "server/resolve.h"
#include "server/settings.h"

typedef enum MethodId {
#define METHOD(id, ...) METHOD_##id,
#include "server/methods.def"
#undef METHOD
    METHOD_COUNT
} MethodId;

typedef enum MethodKind { METHOD_REQUEST, METHOD_NOTIFICATION } MethodKind;
typedef enum Lane { LANE_LOOP, LANE_FAST, LANE_SLOW } Lane;
typedef enum Subject { SUBJECT_NOTHING, SUBJECT_DOCUMENT } Subject;
typedef enum Origin { ORIGIN_USER, ORIGIN_EDITOR } Origin;

typedef struct Server Server;
typedef struct Request Request;

/// The result, NULL for `null`; or request_fail was called.
typedef Json *Handler(Request *request);

typedef struct MethodRow {
    const char *name;
    MethodKind kind;
    Lane lane;
    Subject subject;
    Origin origin;
    Handler *handler;
    const char *capability, *capability_value;
} MethodRow;
extern const MethodRow method_rows[METHOD_COUNT];

#define METHOD(id, name, kind, lane, subject, origin, handler, capability, value)                  \
    Json *handler(Request *request);
#include "server/methods.def"
#undef METHOD

/// A document as the lanes see it. Counted; the snapshot is the fast lane's own.
typedef struct LaneDocument {
    Arena *arena;
    atomic_int count;
    atomic_int newest;  // version that the loop's thread knows
    const char *uri, *path;
    Text *text;          // of the snapshot
    Snapshot *snapshot;  // NULL: none yet, or the analysis failed (`failure`)
    const char *failure;
    int generation;  // of the resolver that it was built with
} LaneDocument;

/// One message of the client, or work of our own. It has an arena, freed when it was answered.
struct Request {
    Job job;  // first
    Server *server;
    Arena *arena;
    const MethodRow *method;  // NULL: our own
    const Json *id;           // NULL for a notification
    const Json *params;
    LaneDocument *document;  // counted; or NULL
    Text *text;              // counted: the text when it was asked
    atomic_bool cancelled;
    bool is_answered;
    Json *result;
    int error_code;  // 0: none
    const char *error;
    Str framed;                 // ready to be written
    Handler *work;              // of our own
    void (*finish)(Request *);  // on the loop's thread, before the answer is written; or NULL
    Request *next;              // in flight
};

/// Fails the request; the handler then returns NULL.
void request_fail(Request *request, ErrorCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The snapshot of the request's own text. NULL and a failed request where the analysis failed. On the fast lane only.
const Snapshot *request_snapshot(Request *request);
/// The offset of params[key]; false and a failed request where it is no position.
bool request_offset(Request *request, uint32_t *offset);
bool request_range(Request *request, const Json *range, uint32_t *start, uint32_t *end);
/// A range of the request's own text, and a place in any file.
Json *request_range_json(Request *request, const Snapshot *snapshot, Range range);
Json *location_json(Request *request, const Snapshot *snapshot, Range range);

/// What the client can do.
typedef struct Client {
    Encoding encoding;
    bool configuration, watched_files, work_done_progress, show_document;
    bool related_information, code_description, diagnostic_data, pulls_diagnostics;
    bool lens_refresh, hint_refresh, token_refresh, diagnostic_refresh;
    bool snippets, markdown, document_changes, annotations, disabled_actions, resource_create;
    bool hierarchical_symbols;
} Client;

typedef enum ServerState { SERVER_NEW, SERVER_RUNNING, SERVER_SHUT_DOWN } ServerState;

/// The loop's thread.
struct Server {
    Loop *loop;
    Arena *arena;
    Stream *stream;
    FrameReader reader;
    Worker *fast, *slow;
    ServerState state;
    bool is_ending, saw_exit;
    int client_process;
    Client client;
    Documents documents;
    Request *in_flight;
    int trace;  // 0 off, 1 messages, 2 verbose
    struct FastLane *lane;
};

/// Writes a message to the client. On the loop's thread.
void server_send(Server *server, Arena *arena, const Json *message);
void server_notify(Server *server, const char *method, Json *params);
/// window/logMessage (type: 1 error, 2 warning, 3 info, 4 log).
void server_log(Server *server, int type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Ends the loop; the exit status is 0 only after `shutdown`.
void server_end(Server *server);

/// Ends the session when the process is gone. 0: none to watch.
void server_watch_client(Server *server, int process);
/// An answer of the client to a request of ours.
void server_take_answer(Server *server, const Json *id, const Json *message);

/// Takes bytes from the client.
void dispatch_bytes(Server *server, const char *data, size_t size);
/// Runs `request` on its lane, or at once. Takes it over.
void request_start(Request *request, Lane lane);
Request *request_new(Server *server, Arena *arena);

// The fast lane: one snapshot a document, one resolver for all.
struct FastLane *fast_lane_new(Arena *arena);
void fast_lane_free(struct FastLane *lane);
LaneDocument *lane_document_new(const char *uri);
LaneDocument *lane_document_retain(LaneDocument *document);
void lane_document_release(LaneDocument *document);

/// What the client is told of a snapshot: what the settings want and no comment silences.
Json *diagnostics_json(Request *request, const Snapshot *snapshot);
/// Analyses the document's newest text and publishes what was found. On the loop's thread.
void publish_document(Server *server, Document *document);
void publish_nothing(Server *server, const char *uri);

#endif
