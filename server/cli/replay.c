// `--replay FILE`: sends the client's messages of a recorded session to a server of its own and measures the answers.
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/frames.h"
#include "server/settings/options.h"
#include "server/system/files.h"
#include "server/system/latency.h"
#include "server/system/loop.h"

typedef struct Recorded {
    const Json *message;
    Str framed;
} Recorded;

typedef struct Replay {
    Arena *arena;
    Loop *loop;
    Process *process;
    FrameReader reader;
    LIST(Recorded) messages;
    int next;
    Latencies latencies;
    const Json *awaited_id;   // of a request
    const char *awaited_uri;  // of an edit: its diagnostics
    double awaited_version;
    const char *awaited_name;
    uint64_t sent_ns;
    int probes;  // requests of our own behind edits
    bool pulls;  // diagnostics are asked for, not sent
    int status;
} Replay;

static bool same_id(const Json *a, const Json *b) {
    if (!a || !b || a->kind != b->kind) return false;
    return a->kind == JSON_STRING ? str_equal(a->string, b->string)
                                  : !(a->number < b->number || a->number > b->number);
}

/// Whether something answers this message: a request, or an edit by its diagnostics.
static bool expect_answer(Replay *replay, const Json *message) {
    const char *method = json_get_string(message, "method", NULL);
    const Json *document = json_get(json_get(message, "params"), "textDocument");
    const Json *id = json_get(message, "id");
    bool is_request = method && id && (id->kind == JSON_NUMBER || id->kind == JSON_STRING);
    replay->awaited_id = is_request ? id : NULL;
    replay->awaited_uri = NULL;
    replay->awaited_name = method ? method : "";
    bool is_edit = strcmp(replay->awaited_name, "textDocument/didChange") == 0 ||
                   strcmp(replay->awaited_name, "textDocument/didOpen") == 0;
    if (is_edit && !replay->pulls) {
        replay->awaited_uri = json_get_string(document, "uri", NULL);
        replay->awaited_version = json_get_number(document, "version", -1);
    }
    return replay->awaited_id || replay->awaited_uri;
}

static void send_own(const Replay *replay, Arena *arena, Json *message) {
    json_set_string(message, "jsonrpc", "2.0");
    Str framed = frame_write(arena, message);
    process_write(replay->process, framed.data, framed.size);
}

static const char *probe_id(Arena *arena, const Replay *replay) {
    return arena_printf(arena, "tad-replay-%d", replay->probes);
}

/// An edit that is refused, or of a file that is not open, brings no diagnostics: this request is answered behind them.
static void send_probe(Replay *replay) {
    Arena *arena = arena_new();
    Json *message = json_object(arena), *params = json_object(arena);
    Json *document = json_object(arena), *position = json_object(arena);
    replay->probes++;
    json_set_string(document, "uri", replay->awaited_uri);
    json_set_number(position, "line", 0);
    json_set_number(position, "character", 0);
    json_set(params, "textDocument", document);
    json_set(params, "position", position);
    json_set_string(message, "id", probe_id(arena, replay));
    json_set_string(message, "method", "textDocument/hover");
    json_set(message, "params", params);
    send_own(replay, arena, message);
    arena_free(arena);
}

static bool is_answer(const Json *message) {
    return !json_get(message, "method") &&
           (json_get(message, "result") || json_get(message, "error"));
}

/// What the server asks is answered when it asks: as the recorded client did, by the number of the request.
static void answer_server(Replay *replay, const Json *request) {
    for (int i = 0; i < replay->messages.count; i++) {
        const Recorded *recorded = &replay->messages.items[i];
        if (!is_answer(recorded->message) ||
            !same_id(json_get(recorded->message, "id"), json_get(request, "id")))
            continue;
        process_write(replay->process, recorded->framed.data, recorded->framed.size);
        return;
    }
    Arena *arena = arena_new();
    Json *message = json_object(arena);
    json_set(message, "id", json_copy(arena, json_get(request, "id")));
    json_set(message, "result", json_null(arena));
    send_own(replay, arena, message);
    arena_free(arena);
}

/// Sends up to the next message that is answered.
static void replay_send(Replay *replay) {
    while (replay->next < replay->messages.count) {
        const Recorded *recorded = &replay->messages.items[replay->next++];
        if (is_answer(recorded->message)) continue;
        bool waits = expect_answer(replay, recorded->message);
        replay->sent_ns = clock_ns();
        process_write(replay->process, recorded->framed.data, recorded->framed.size);
        if (!waits) continue;
        if (replay->awaited_uri) send_probe(replay);
        return;
    }
    process_close_input(replay->process);
}

static bool is_awaited(const Replay *replay, const Json *message) {
    const char *method = json_get_string(message, "method", NULL);
    const Json *params = json_get(message, "params");
    if (!method) return same_id(replay->awaited_id, json_get(message, "id"));
    if (!replay->awaited_uri || strcmp(method, "textDocument/publishDiagnostics") != 0)
        return false;
    double version = json_get_number(params, "version", -1);
    return strcmp(json_get_string(params, "uri", ""), replay->awaited_uri) == 0 &&
           version >= replay->awaited_version;
}

static void take_message(Replay *replay, Arena *scratch, const Json *message) {
    const Json *id = json_get(message, "id");
    bool is_probe = replay->awaited_uri && is_answer(message) && id && id->kind == JSON_STRING &&
                    str_is(id->string, probe_id(scratch, replay));
    if (is_awaited(replay, message)) {
        latency_add(replay->arena, &replay->latencies, replay->awaited_name,
                    (double)(clock_ns() - replay->sent_ns) * 1e-9);
        replay_send(replay);
    } else if (is_probe) {
        replay_send(replay);
    } else if (id && json_get(message, "method")) {
        answer_server(replay, message);
    }
}

static void server_output(void *context, const char *data, size_t size) {
    Replay *replay = context;
    frame_reader_add(&replay->reader, data, size);
    Str body;
    Error error = NULL;
    while (frame_reader_next(&replay->reader, &body, &error)) {
        Arena *scratch = arena_new();
        const Json *message = json_parse(scratch, body, &error);
        if (message) take_message(replay, scratch, message);
        arena_free(scratch);
    }
}

static void server_exited(void *context, int status, int signal_number) {
    Replay *replay = context;
    if (signal_number || replay->next < replay->messages.count) {
        say("the server ended after %d of %d messages (status %d, signal %d)", replay->next,
            replay->messages.count, status, signal_number);
        replay->status = STATUS_TROUBLE;
    }
    loop_stop(replay->loop);
}

/// What `initialize` says of the editor that was recorded: its process is gone, and a server would end with it.
static void read_editor(Replay *replay, const Json *message) {
    if (strcmp(json_get_string(message, "method", ""), "initialize") != 0) return;
    Json *params = json_get(message, "params");
    if (!params) return;
    json_set(params, "processId", json_null(replay->arena));
    const Json *options = json_get(params, "initializationOptions");
    replay->pulls = strcmp(json_get_string(options, "diagnostics", ""), "pull") == 0;
}

static Error replay_read(Replay *replay, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return arena_printf(replay->arena, "%s cannot be read", path);
    char chunk[16 * 1024];
    FrameReader reader = frame_reader_new();
    Error error = NULL;
    Str body;
    for (size_t size; (size = fread(chunk, 1, sizeof chunk, file)) > 0;) {
        frame_reader_add(&reader, chunk, size);
        while (frame_reader_next(&reader, &body, &error)) {
            Json *message = json_parse(replay->arena, body, &error);
            if (!message) continue;
            read_editor(replay, message);
            Recorded recorded = {message, frame_write(replay->arena, message)};
            LIST_PUSH(replay->arena, &replay->messages, recorded);
        }
    }
    frame_reader_free(&reader);
    fclose(file);
    return replay->messages.count ? NULL : arena_printf(replay->arena, "%s holds no session", path);
}

static Error replay_run(Replay *replay) {
    Arena *arena = replay->arena;
    const char *program = arena_printf(arena, "%s/tad-lsp", executable_folder(arena));
    const char *const arguments[] = {program, "--stdio", NULL};
    ProcessEvents events = {server_output, NULL, server_exited, replay};
    Error error =
        process_start(replay->loop, arena, arguments, ENVIRONMENT_OWN, &events, &replay->process);
    if (error) return error;
    replay_send(replay);
    loop_run(replay->loop);
    return NULL;
}

int command_replay(const Options *options) {
    Arena *arena = arena_new();
    Replay replay = {.arena = arena, .loop = loop_new(), .reader = frame_reader_new()};
    Error error = replay_read(&replay, options->operands[0]);
    if (!error) error = replay_run(&replay);
    if (error) {
        say("%s", error);
        replay.status = STATUS_TROUBLE;
    } else {
        Buffer out = buffer_new(arena);
        latencies_write(&out, &replay.latencies);
        fputs(lines_visible(out.arena, buffer_text(&out)), stdout);
    }
    loop_free(replay.loop);
    frame_reader_free(&replay.reader);
    arena_free(arena);
    return replay.status;
}
