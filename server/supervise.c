// A parent that holds the connection and what the client has told; a child that is the server. When the child crashes, the
// parent answers what is open, starts another and tells it the same; the text that it was at is left alone.
#include "server/supervise.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/child.h"
#include "server/recollection.h"

enum {
    LARGEST_BACKLOG = 256 * 1024,  // the server has a larger one of its own
    LAST_WRITES_MS = 1000,
    MOST_UNEXPLAINED = 3,  // crashes that no text is blamed for
    LANE_OF_EDITS = 1,
    LONGEST_STEP_S = 30,  // of the processor's time, on the fast lane
};

/// The step that a lane was seen at, and how much time of the processor the server had taken then.
typedef struct Watched {
    uint64_t step;
    double since_s;
} Watched;

typedef struct Supervisor {
    const Options *options;
    int (*serve)(const Options *options, Blackbox *box);
    Arena *arena;
    Loop *loop;
    Blackbox *box;
    Stream *client, *server;  // the server is NULL while there is none
    int server_socket;
    pid_t child;
    FrameReader from_client, from_server;
    Recollection *recollection;
    FILE *record;  // what the client sends, or NULL
    Timer *watch, *late;
    Watched watched[BLACKBOX_LANES];
    bool is_stuck, client_is_gone;
    int unexplained;
    int status;
} Supervisor;

// --- The child

/// The child never returns. False where there is none.
static bool server_fork(Supervisor *supervisor) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
    blackbox_begin(supervisor->box);
    supervisor->child = child_fork();
    if (supervisor->child == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(supervisor->serve(supervisor->options, supervisor->box));
    }
    close(ends[1]);
    if (supervisor->child < 0) close(ends[0]);
    supervisor->server_socket = ends[0];
    return supervisor->child > 0;
}

static double child_seconds(const Supervisor *supervisor) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(supervisor->child, &clock) || clock_gettime(clock, &time)) return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double longest_step_s(void) {
#ifdef TAD_FAULTS
    const char *shorter = getenv("TAD_LONGEST_STEP_S");
    if (shorter) return strtod(shorter, NULL);
#endif
    return LONGEST_STEP_S;
}

/// Whether the lane has been at one step for too long; what people wait for behind it is less urgent on the slow lanes.
static bool lane_is_stuck(Supervisor *supervisor, int lane, double now_s) {
    enum { SLOWER = 4 };
    Watched *watched = &supervisor->watched[lane];
    uint64_t step = blackbox_step(supervisor->box, lane);
    if (step != watched->step) *watched = (Watched){step, now_s};
    return step &&
           now_s - watched->since_s > longest_step_s() * (lane == LANE_OF_EDITS ? 1 : SLOWER);
}

/// Ends a server that does not get on.
static void watch_server(void *context) {
    Supervisor *supervisor = context;
    double now_s = child_seconds(supervisor);
    bool is_at_work = false;
    for (int lane = LANE_OF_EDITS; lane < BLACKBOX_LANES && !supervisor->is_stuck; lane++) {
        if (!supervisor->server || !blackbox_step(supervisor->box, lane)) continue;
        is_at_work = true;
        if (!lane_is_stuck(supervisor, lane, now_s)) continue;
        supervisor->is_stuck = true;
        blackbox_accuse(supervisor->box, lane);
        kill(supervisor->child, SIGKILL);
    }
    if (is_at_work) return;
    timer_stop(supervisor->watch);
    supervisor->watch = NULL;
}

static void watch_begin(Supervisor *supervisor) {
    enum { EVERY_MS = 1000 };
    if (!supervisor->watch)
        supervisor->watch =
            timer_start(supervisor->loop, EVERY_MS, EVERY_MS, watch_server, supervisor);
}

// --- Messages between

static void balance(Stream *reader, const Stream *writer) {
    if (reader && writer && stream_backlog(writer) > LARGEST_BACKLOG) stream_pause(reader);
}

static void client_drained(void *context) {
    Supervisor *supervisor = context;
    if (supervisor->server)
        stream_resume(supervisor->server);
    else if (supervisor->late)
        loop_stop(supervisor->loop);
}

static void server_drained(void *context) {
    const Supervisor *supervisor = context;
    stream_resume(supervisor->client);
}

static void send_to(Stream *stream, const Json *message) {
    Arena *arena = arena_new();
    Str framed = frame_write(arena, message);
    stream_write(stream, framed.data, framed.size);
    arena_free(arena);
}

static void to_client(void *context, const Json *message) {
    send_to(((const Supervisor *)context)->client, message);
}

static void to_server(void *context, const Json *message) {
    send_to(((const Supervisor *)context)->server, message);
}

/// The server answers what is malformed; here it is only passed over.
static void recollect(Supervisor *supervisor, const char *data, size_t size) {
    FrameReader *reader = &supervisor->from_client;
    frame_reader_add(reader, data, size);
    for (;;) {
        Str body;
        Error error = NULL;
        if (!frame_reader_next(reader, &body, &error)) {
            if (error) continue;
            return;
        }
        Arena *arena = arena_new();
        const Json *message = frame_parse(reader, arena, body, &error);
        if (message) recollect_client(supervisor->recollection, message);
        arena_free(arena);
    }
}

static void client_data(void *context, const char *data, size_t size) {
    Supervisor *supervisor = context;
    if (supervisor->record) {
        fwrite(data, 1, size, supervisor->record);
        fflush(supervisor->record);
    }
    // A text that is left alone is forgotten before the server hears that it was opened anew; else the server goes first.
    bool is_careful = !blackbox_is_clear(supervisor->box);
    if (is_careful) recollect(supervisor, data, size);
    if (supervisor->server) stream_write(supervisor->server, data, size);
    if (!is_careful) recollect(supervisor, data, size);
    watch_begin(supervisor);
    balance(supervisor->client, supervisor->server);
}

static void server_data(void *context, const char *data, size_t size) {
    Supervisor *supervisor = context;
    FrameReader *reader = &supervisor->from_server;
    frame_reader_add(reader, data, size);
    for (;;) {
        Str body;
        Error error = NULL;
        size_t start = reader->taken;
        if (!frame_reader_next(reader, &body, &error)) break;
        if (recollect_server(supervisor->recollection, body))
            stream_write(supervisor->client, reader->pending.data + start, reader->taken - start);
    }
    balance(supervisor->server, supervisor->client);
}

// --- Ends

static void late(void *context) { loop_stop(((Supervisor *)context)->loop); }

static void end(Supervisor *supervisor, int status) {
    supervisor->status = status;
    if (supervisor->client_is_gone || stream_backlog(supervisor->client) == 0)
        loop_stop(supervisor->loop);
    else
        supervisor->late = timer_start(supervisor->loop, LAST_WRITES_MS, 0, late, supervisor);
}

static void client_closed(void *context, const char *why) {
    Supervisor *supervisor = context;
    if (why) say("the client is gone: %s", why);
    supervisor->client_is_gone = why != NULL;
    if (supervisor->server)
        stream_finish(supervisor->server);
    else if (why)
        loop_stop(supervisor->loop);
}

static void notify(Supervisor *supervisor, const char *method, const char *text) {
    enum { TYPE_ERROR = 1 };
    Arena *arena = arena_new();
    Json *message = json_object(arena), *params = json_object(arena);
    json_set_number(params, "type", TYPE_ERROR);
    json_set_string(params, "message", text);
    json_set_string(message, "jsonrpc", "2.0");
    json_set_string(message, "method", method);
    json_set(message, "params", params);
    to_client(supervisor, message);
    arena_free(arena);
}

/// The first crash of a file is shown, more of them are logged.
static void tell_culprit(Supervisor *supervisor, const Culprit *culprit, const char *what) {
    Arena *arena = arena_new();
    const char *path = path_of_uri(arena, culprit->uri), *slash = strrchr(path, '/');
    const char *text = arena_printf(
        arena,
        "tad-lsp: the analysis of %s %s. This file is left alone until it changes, all "
        "others are served. Please report it, with the file.",
        slash ? slash + 1 : culprit->uri, what);
    notify(supervisor, culprit->crashes == 1 ? "window/showMessage" : "window/logMessage", text);
    arena_free(arena);
}

/// Says what happened. False where it makes no sense to go on.
static bool crash_tell(Supervisor *supervisor, int number) {
    Arena *arena = arena_new();
    if (!number) number = blackbox_signal(supervisor->box);  // a sanitizer exits instead
    const char *what = supervisor->is_stuck
                           ? "did not end"
                           : arena_printf(arena, "crashed (%s)",
                                          number ? signal_text(number) : "it ended too early");
    Culprit culprits[BLACKBOX_LANES];
    int count = blackbox_blame(supervisor->box, culprits);
    for (int i = 0; i < count; i++) tell_culprit(supervisor, &culprits[i], what);
    if (count == 0 && supervisor->unexplained++ == 0)
        notify(supervisor, "window/showMessage",
               arena_printf(arena, "tad-lsp %s and was started again. Please report it.", what));
    if (supervisor->unexplained > MOST_UNEXPLAINED)
        say("the server %s, again and again; please report it", what);
    arena_free(arena);
    return supervisor->unexplained <= MOST_UNEXPLAINED;
}

static const StreamEvents *server_events(Supervisor *supervisor);

static void server_connect(Supervisor *supervisor) {
    supervisor->is_stuck = false;
    memset(supervisor->watched, 0, sizeof supervisor->watched);
    supervisor->server =
        stream_open_socket(supervisor->loop, supervisor->server_socket, server_events(supervisor));
}

/// Another server is told what the first one was told, up to the message that is on its way.
static void server_restart(Supervisor *supervisor) {
    if (!server_fork(supervisor)) {
        say("the server crashed and cannot be started again");
        end(supervisor, STATUS_TROUBLE);
        return;
    }
    server_connect(supervisor);
    recollection_replay(supervisor->recollection, to_server, supervisor);
    const FrameReader *reader = &supervisor->from_client;
    size_t begun = reader->pending.size - reader->taken;
    if (begun) stream_write(supervisor->server, reader->pending.data + reader->taken, begun);
    watch_begin(supervisor);
    stream_resume(supervisor->client);
}

static void server_is_gone(void *context) {
    Supervisor *supervisor = context;
    timer_stop(supervisor->late);
    supervisor->late = NULL;
    int status, number = child_wait(supervisor->child, &status);
    supervisor->child = 0;
    if (blackbox_has_ended(supervisor->box)) {
        end(supervisor, status);
        return;
    }
    frame_reader_free(&supervisor->from_server);
    supervisor->from_server = frame_reader_new();
    bool is_over = supervisor->client_is_gone || recollection_is_over(supervisor->recollection);
    bool goes_on = !is_over && crash_tell(supervisor, number);
    recollection_excuse(supervisor->recollection, to_client, supervisor);
    if (goes_on)
        server_restart(supervisor);
    else
        end(supervisor, STATUS_TROUBLE);
}

/// Dealt with when nobody is in the middle of writing to it.
static void server_closed(void *context, const char *why) {
    (void)why;
    Supervisor *supervisor = context;
    if (supervisor->server) stream_abandon(supervisor->server);
    supervisor->server = NULL;
    if (!supervisor->late)
        supervisor->late = timer_start(supervisor->loop, 0, 0, server_is_gone, supervisor);
}

static const StreamEvents *server_events(Supervisor *supervisor) {
    static StreamEvents events;
    events = (StreamEvents){server_data, server_drained, server_closed, supervisor};
    return &events;
}

// --- The whole

static void file_is_new(void *context, const char *uri) {
    const Supervisor *supervisor = context;
    blackbox_forget(supervisor->box, uri);
}

Error stream_open_client(Loop *loop, Arena *arena, const Options *options,
                         const StreamEvents *events, Stream **stream) {
    if (options->pipe)
        *stream = stream_connect_pipe(loop, options->pipe, events);
    else if (options->socket)
        *stream = stream_connect_port(loop, options->socket, events);
    else
        return stream_open_stdio(loop, arena, events, stream);
    return NULL;
}

static Error client_connect(Supervisor *supervisor) {
    const Options *options = supervisor->options;
    StreamEvents events = {client_data, client_drained, client_closed, supervisor};
    if (options->record) {
        supervisor->record = fopen(options->record, "wb");
        if (!supervisor->record)
            return arena_printf(supervisor->arena, "%s cannot be written", options->record);
    }
    return stream_open_client(supervisor->loop, supervisor->arena, options, &events,
                              &supervisor->client);
}

static int supervise_with(Supervisor *supervisor) {
    if (!server_fork(supervisor)) return supervisor->serve(supervisor->options, NULL);
    supervisor->arena = arena_new();
    supervisor->loop = loop_new();
    supervisor->from_client = frame_reader_new();
    supervisor->from_server = frame_reader_new();
    supervisor->recollection = recollection_new(file_is_new, supervisor);
    supervisor->status = STATUS_TROUBLE;
    if (stdin_is_terminal() && !supervisor->options->pipe && !supervisor->options->socket)
        say("waiting for an editor on stdin (`tad-lsp --help` lists the other uses)");
    server_connect(supervisor);
    Error error = client_connect(supervisor);
    if (error)
        say("%s", error);
    else
        loop_run(supervisor->loop);
    if (supervisor->record) fclose(supervisor->record);
    recollection_free(supervisor->recollection);
    frame_reader_free(&supervisor->from_client);
    frame_reader_free(&supervisor->from_server);
    loop_free(supervisor->loop);
    arena_free(supervisor->arena);
    return supervisor->status;
}

int supervise(const Options *options, int serve(const Options *options, Blackbox *box)) {
    Supervisor supervisor = {.options = options, .serve = serve, .box = blackbox_new()};
    if (!supervisor.box) return serve(options, NULL);
    int status = supervise_with(&supervisor);
    blackbox_free(supervisor.box);
    return status;
}
