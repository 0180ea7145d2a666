// One session with an editor: what the loop's thread owns, what the fast queue owns, and requests, which travel between them.
#ifndef TAD_SERVER_SESSION_SESSION_H
#define TAD_SERVER_SESSION_SESSION_H

#include "analysis/snapshot.h"
#include "base/frames.h"
#include "server/crash/blackbox.h"
#include "server/session/stream.h"
#include "server/settings/configuration.h"
#include "server/settings/settings.h"
#include "server/text/documents.h"
#include "server/text/resolve.h"

typedef enum MethodId {
#define METHOD(id, ...) METHOD_##id,
#include "server/session/methods.def"
#undef METHOD
    METHOD_COUNT
} MethodId;

typedef enum MethodKind { METHOD_REQUEST, METHOD_NOTIFICATION } MethodKind;
/// QUEUE_BACKGROUND is as QUEUE_SLOW, for what nobody waits for.
typedef enum Queue { QUEUE_LOOP, QUEUE_FAST, QUEUE_SLOW, QUEUE_BACKGROUND, QUEUE_COUNT } Queue;
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
    Queue queue;
    Subject subject;
    Origin origin;
    Handler *handler;
    const char *capability, *capability_value;
} MethodRow;
extern const MethodRow method_rows[METHOD_COUNT];

#define METHOD(id, name, kind, queue, subject, origin, handler, capability, value)                  \
    Json *handler(Request *request);
#include "server/session/methods.def"
#undef METHOD

/// Errors and warnings that were published last, by hash.
enum { SAID_MOST = 64 };
typedef struct Said {
    uint64_t names[SAID_MOST];
    int count;
} Said;

/// A document as the queues see it. Counted; the snapshot is the fast queue's own.
typedef struct QueueDocument {
    Arena *arena;
    atomic_int count;
    atomic_int newest;        // version that the loop's thread knows
    const char *uri, *path;   // "" where it is no file
    const char *source_path;  // that the analysis knows it by
    Text *text;               // of the snapshot
    Snapshot *snapshot;       // NULL: none yet, or the analysis failed (`failure`)
    char failure[256];
    struct QueueResolver *resolver;  // that it was built with
    int imports_generation;          // of the overlay, when its imports were current
    bool is_adopted;                 // by the fast queue
    atomic_ullong analysis_ns;       // that the last snapshot took
    int patient_count;               // of its jobs that let others pass; the loop's thread's own
    const Settings *settings;        // of `settings_generation`
    int settings_generation;
    struct TokenMemory *tokens;  // the last semantic tokens, for deltas
    Said said;
    int ahead_resolver;      // that has read all files that it imports; 0: none has
    uint64_t ahead_imports;  // and what it imported then
} QueueDocument;

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
    QueueDocument *document;       // counted; or NULL
    Text *text;                    // counted: the text when it was asked
    Configuration *configuration;  // counted
    void *context;                 // of our own work
    atomic_bool cancelled;
    bool is_answered;
    Json *result;
    int error_code;  // 0: none
    const char *error;
    Str framed;           // ready to be written
    bool holds_caret;     // what is wrong where somebody types is left out, for now
    bool has_held;        // and there was something
    bool tries_launches;  // with numbers, which takes as long as all other checks
    bool is_for_news;     // nothing is sent where it is what was sent before
    Said *saying;         // notes what is published; or NULL
    ReadingAhead ahead;
    bool is_for_newest;      // nobody waits for it once there is a newer text
    Handler *work;           // instead of the method's handler
    struct SlowQueue *slow;  // on the slow and background queues
    Queue queue;             // that it was posted to
    bool is_patient;         // there lets work on other documents pass
    bool is_moved;           // goes on elsewhere: request_move, request_hold
    Queue moved_to;
    bool has_progress;          // begun under the token of the params
    uint64_t started_ns;        // 0 for our own
    void (*finish)(Request *);  // on the loop's thread, before the answer is written; or NULL
    Request *next;              // in flight
};

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
    Worker *workers[QUEUE_COUNT];  // none for the loop
    int posted_count;              // to the fast queue, and not done
    int patient_count;             // of those, what lets work on other documents pass
    bool is_taking;                // bytes of the client
    LIST(Request *) quick;         // of the fast queue, done here when the bytes are taken
    struct SlowQueue *slow_queues[QUEUE_COUNT];  // of those that are slow
    Overlay *overlay;
    atomic_bool is_closing;
    struct Gradients *gradients;
    Blackbox *blackbox;  // shared with the supervisor, or NULL
    struct Timings *timings;
    struct Askings *askings;
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
    bool is_trusted;               // initializationOptions.trusted, false where it says nothing
    void (*let_go)(Server *, const Request *);  // of a cancelled request, by whoever holds it
    bool (*publish_held)(Server *);  // what waits for a pause is told at once; false: nothing
    struct Outgoing *outgoing;
    int last_outgoing;
    int trace;  // 0 off, 1 messages, 2 verbose
    struct FastQueue *queue;
    struct WorkspaceIndex *index;  // the slow queue's
    Timer *refresh_pause;          // before the client is asked to refresh; or NULL
    Timer *ahead_pause;            // before imported files are read ahead; or NULL
    bool is_reading_ahead;
    LIST(const char *) folders;  // of the workspace: paths
};

typedef LIST(QueueDocument *) QueueDocuments;

#endif
