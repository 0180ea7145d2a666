// One session with an editor: what the loop's thread owns, what the fast lane owns, and requests, which travel between them.
#ifndef TAD_SERVER_SESSION_H
#define TAD_SERVER_SESSION_H

#include "analysis/snapshot.h"
#include "base/frames.h"
#include "server/blackbox.h"
#include "server/configuration.h"
#include "server/documents.h"
#include "server/resolve.h"
#include "server/settings.h"
#include "server/stream.h"

typedef enum MethodId {
#define METHOD(id, ...) METHOD_##id,
#include "server/methods.def"
#undef METHOD
    METHOD_COUNT
} MethodId;

typedef enum MethodKind { METHOD_REQUEST, METHOD_NOTIFICATION } MethodKind;
/// LANE_BACKGROUND is as LANE_SLOW, for what nobody waits for.
typedef enum Lane { LANE_LOOP, LANE_FAST, LANE_SLOW, LANE_BACKGROUND, LANE_COUNT } Lane;
/// SUBJECT_FILE is as SUBJECT_DOCUMENT, but it may be on disk only.
typedef enum Subject { SUBJECT_NOTHING, SUBJECT_DOCUMENT, SUBJECT_FILE } Subject;
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

/// Errors and warnings that were published last, by hash.
enum { SAID_MOST = 64 };
typedef struct Said {
    uint64_t names[SAID_MOST];
    int count;
} Said;

/// A document as the lanes see it. Counted; the snapshot is the fast lane's own.
typedef struct LaneDocument {
    Arena *arena;
    atomic_int count;
    atomic_int newest;        // version that the loop's thread knows
    const char *uri, *path;   // "" where it is no file
    const char *source_path;  // that the analysis knows it by
    Text *text;               // of the snapshot
    Snapshot *snapshot;       // NULL: none yet, or the analysis failed (`failure`)
    char failure[256];
    struct LaneResolver *resolver;  // that it was built with
    int imports_generation;         // of the overlay, when its imports were current
    bool is_adopted;                // by the fast lane
    uint64_t analysis_ns;           // that the last snapshot took
    const Settings *settings;       // of `settings_generation`
    int settings_generation;
    struct TokenMemory *tokens;  // the last semantic tokens, for deltas
    Said said;
    int ahead_resolver;      // that has read all files that it imports; 0: none has
    uint64_t ahead_imports;  // and what it imported then
} LaneDocument;

/// When the files that a document imports are read before anybody points at what they define.
typedef enum ReadingAhead { AHEAD_NEVER, AHEAD_NOW, AHEAD_LATER } ReadingAhead;

/// One message of the client, or work of our own. It has an arena, freed when it was answered.
struct Request {
    Job job;  // first
    Server *server;
    Arena *arena;
    const MethodRow *method;  // NULL: our own
    const Json *id;           // NULL for a notification
    const Json *params;
    LaneDocument *document;        // counted; or NULL
    Text *text;                    // counted: the text when it was asked
    Configuration *configuration;  // counted
    void *context;                 // of our own work
    atomic_bool cancelled;
    bool is_answered;
    Json *result;
    int error_code;  // 0: none
    const char *error;
    Str framed;        // ready to be written
    bool holds_caret;  // what is wrong where somebody types is left out, for now
    bool has_held;     // and there was something
    Said *saying;      // notes what is published; or NULL
    ReadingAhead ahead;
    Handler *work;          // instead of the method's handler
    struct SlowLane *slow;  // on the slow and background lanes
    Lane lane;              // that it was posted to
    bool is_moved;          // goes on elsewhere: request_move, request_hold
    Lane moved_to;
    bool has_progress;          // begun under the token of the params
    uint64_t started_ns;        // 0 for our own
    void (*finish)(Request *);  // on the loop's thread, before the answer is written; or NULL
    Request *next;              // in flight
};

/// Fails the request; the handler then returns NULL.
void request_fail(Request *request, ErrorCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The snapshot of the request's own text. NULL and a failed request where the analysis failed. On the fast lane only.
const Snapshot *request_snapshot(Request *request);
/// The offsets of a range; false and a failed request where it is none.
bool request_range(Request *request, const Json *range, uint32_t *start, uint32_t *end);
/// A range of the request's own text, and a place in any file.
Json *request_range_json(Request *request, const Snapshot *snapshot, Range range);
/// The same as JSON text.
void request_range_write(const Request *request, const Snapshot *snapshot, Range range,
                         Buffer *text);
/// The client's own name of a file that it has open.
const char *request_uri_of(Request *request, const char *path);
Json *location_json(Request *request, const Snapshot *snapshot, Range range);

/// What the client can do.
typedef struct Client {
    Encoding encoding;
    bool configuration, configuration_changes, watched_files, work_done_progress, show_document;
    bool related_information, code_description, diagnostic_data, pulls_diagnostics;
    bool lenses, lens_refresh, hint_refresh, token_refresh, diagnostic_refresh;
    bool default_edit_range, resolves_detail;  // of completion items
    bool snippets, markdown, document_changes, annotations, disabled_actions, resource_create;
    bool resolves_edits;  // of code actions
    bool hierarchical_symbols, links;
} Client;

typedef enum ServerState { SERVER_NEW, SERVER_RUNNING, SERVER_SHUT_DOWN } ServerState;

/// The loop's thread.
struct Server {
    Loop *loop;
    Arena *arena;
    Stream *stream;
    FrameReader reader;
    Worker *workers[LANE_COUNT];  // none for the loop
    int posted_count;             // to the fast lane, and not done
    bool is_taking;               // bytes of the client
    LIST(Request *) quick;        // of the fast lane, done here when the bytes are taken
    struct SlowLane *slow_lanes[LANE_COUNT];  // of those that are slow
    Overlay *overlay;
    atomic_bool is_closing;
    struct Gradients *gradients;
    Blackbox *blackbox;  // shared with the supervisor, or NULL
    struct Timings *timings;
    ServerState state;
    bool is_leaving, is_ending, saw_exit, is_paused;
    uint64_t leave_until_ms;  // of the loop's clock, when it leaves
    size_t last_backlog;      // when it ends
    bool is_retold;           // what comes now came before, to a server that crashed
    bool is_greeted;          // the client has an answer to `initialize` from that one
    int record;               // a descriptor that takes what the client sends, or -1
    int client_process;
    Client client;
    Documents documents;
    Request *in_flight;
    int in_flight_count;
    Configuration *configuration;
    const Json *initial_settings;  // initializationOptions.settings
    bool is_trusted;               // initializationOptions.trusted, true where it says nothing
    struct Outgoing *outgoing;
    int last_outgoing;
    int trace;  // 0 off, 1 messages, 2 verbose
    struct FastLane *lane;
    struct WorkspaceIndex *index;  // the slow lane's
    Timer *refresh_pause;          // before the client is asked to refresh; or NULL
    Timer *ahead_pause;            // before imported files are read ahead; or NULL
    bool is_reading_ahead;
    LIST(const char *) folders;  // of the workspace: paths
};

/// Writes a message to the client. On the loop's thread.
void server_send(Server *server, Arena *arena, const Json *message);
void server_notify(Server *server, const char *method, Json *params);
/// A notification as bytes, on any thread; written by the second, which is given the same method and params.
Str notification_frame(Arena *arena, const char *method, Json *params);
void server_notify_framed(Server *server, const char *method, const Json *params, Str framed);
/// window/logMessage (type: 1 error, 2 warning, 3 info, 4 log).
void server_log(Server *server, int type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The client says no more: ends when what it waits for is answered, and cancels what takes longer than `patience_ms`.
void server_leave(Server *server, uint64_t patience_ms);
/// A request is done: it may have been the last that a leaving server owes.
void server_leave_on(Server *server);
/// Ends the loop when the client has taken everything; the exit status is 0 only after `shutdown`.
void server_end(Server *server);

/// Ends the session when the process is gone. 0: none to watch.
void server_watch_client(Server *server, int process);
/// An answer of the client to a request of ours.
void server_take_answer(Server *server, const Json *id, const Json *message);

/// Reads from the client, unless it does not take its answers or has asked for too much at once.
void server_balance(Server *server);
/// Takes bytes from the client.
void dispatch_bytes(Server *server, const char *data, size_t size);
/// Takes the `tad` section of the settings, and one for each folder or NULL for a folder that has none of its own.
void server_configure(Server *server, const Json *section, const FolderSection *folders,
                      int folder_count);
/// Analyses all open documents anew.
void server_recheck(Server *server);
/// Analyses those anew that import what has changed.
void server_recheck_importers(Server *server);

/// Runs `request` on its lane, or at once. Takes it over.
void request_start(Request *request, Lane lane);
Request *request_new(Server *server, Arena *arena);
/// The document, counted, and the text that the request is about; its settings with it.
void request_set_document(Request *request, LaneDocument *document, const Text *text);
/// A file that is not open is read from disk. False and a failed request where it cannot be.
bool request_bind_file(Request *request, const char *uri);
/// The version of the request's text, null for a file on disk.
Json *request_version_json(Request *request);
/// From a handler on the loop's thread or on a lane: goes on with `work` on another lane.
void request_move(Request *request, Lane lane, Handler *work);
/// From a handler on the loop's thread: will be answered by request_complete.
void request_hold(Request *request);
void request_complete(Request *request);
/// Answers RequestCancelled at once, whatever the lane is doing; what it comes to is thrown away.
void request_cancel(Request *request);
/// The client waits no longer, for the request whose progress has this token. False where there is none.
bool request_cancel_token(Server *server, const Json *token);
/// Lets go of a held request without an answer: the session ends.
void request_drop(Request *request);

// The fast lane: one snapshot a document, one resolver for all.
struct FastLane *fast_lane_new(Arena *arena, Overlay *overlay, const Blackbox *box);
void fast_lane_free(struct FastLane *lane);
/// The fast lane forgets the document's snapshot. The last request for it.
void lane_document_close(Request *request);
/// Whether the document's snapshot imports what its resolver was not asked for. On the fast lane.
ReadingAhead lane_document_unread(const LaneDocument *document);
/// The snapshot of the request's text, for another lane to read: it lives until fast_lane_let_go. NULL where there is none. On the fast lane, as its end; `is_read`: all that it imports is read now.
const Snapshot *fast_lane_hold(struct FastLane *lane, const Request *request);
void fast_lane_let_go(struct FastLane *lane, bool is_read);
/// The documents' imports are read ahead: soon, or after a pause. On the loop's thread.
void ahead_watch(Server *server, Document *document, ReadingAhead when);
/// Reads every pyproject.toml again. On the fast lane.
void fast_lane_forget_settings(struct FastLane *lane);
typedef LIST(LaneDocument *) LaneDocuments;
/// The document is open: it is asked for by fast_lane_stale until lane_document_close. On the fast lane.
void fast_lane_adopt(struct FastLane *lane, LaneDocument *document);
/// The open documents that import what has changed since their snapshots were built. On the fast lane.
LaneDocuments fast_lane_stale(struct FastLane *lane, Arena *arena);
/// `[tool.tad]` for the request's document. On the fast lane.
const Settings *request_settings(Request *request);
/// The choice of diagnostics that the editor's settings make, as options of the command line.
Options request_options(const Request *request);
/// Whether an edit of it is analysed so soon that no other thread needs to be woken for it. While the fast lane is idle.
bool lane_document_is_quick(const LaneDocument *document);
LaneDocument *lane_document_new(const char *uri);
LaneDocument *lane_document_retain(LaneDocument *document);
void lane_document_release(LaneDocument *document);
/// NULL is allowed.
void token_memory_free(struct TokenMemory *memory);

Json *diagnostic_json(Request *request, const Snapshot *snapshot, const Diagnostic *diagnostic);
/// Analyses the document's newest text and publishes what was found. On the loop's thread.
void publish_document(Server *server, Document *document);
/// The text has changed, or the document is closed: what was held back is no more.
void publish_forget_late(Document *document);
void publish_nothing(Server *server, const char *uri);
/// Publishes at once what was held back until a pause. False where there is nothing.
bool publish_held(Server *server);

#endif
