// The child gets the text on stdin, says on stderr what it is at, and answers with one JSON object.
#include "server/gradients/asking.h"

#include <math.h>
#include <string.h>

#include "server/queues/request.h"
#include "server/session/client.h"
#include "server/session/progress.h"
#include "server/session/send.h"

enum { MOST_OUTPUT = 4 << 20, MOST_TOLD = 1 << 16, LONGEST_LINE = 400 };

/// What a child is for.
typedef struct AskingKind {
    const char *command, *title, *label, *words;  // `words`: "... was killed"
} AskingKind;
static const AskingKind asks_model = {"--ask", "Asking a model about",
                                      "What a model has proposed, proved",
                                      "the session with the model"};
static const AskingKind tunes = {"--tune", "Tuning", "Fastest configurations", "the search"};

/// One question under way.
typedef struct Asking {
    Arena *arena;
    struct Askings *askings;
    Request *request;  // held
    const char *kernel;
    const AskingKind *kind;
    Progress progress, own;  // `own`: without a token where the request has one
    Process *child;
    Buffer output, told;
    bool is_cancelled;
    Timer *patience;  // with a child that was cancelled
    struct Asking *next;
} Asking;

struct Askings {
    Server *server;
    Asking *first;
    int last_token;
    bool is_ending;
};

struct Askings *askings_new(Server *server) {
    struct Askings *askings = ARENA_NEW(server->arena, struct Askings);
    askings->server = server;
    return askings;
}

void askings_free(struct Askings *askings) {
    for (Asking *asking = askings->first, *next; asking; asking = next) {
        next = asking->next;
        arena_free(asking->arena);
    }
}

static void asking_free(void *context) {
    Asking *asking = context;
    arena_free(asking->arena);
}

/// The process's own callback is still on the stack: the memory goes at the loop's next turn.
static void asking_end(Asking *asking) {
    Asking **link = &asking->askings->first;
    while (*link && *link != asking) link = &(*link)->next;
    if (*link) *link = asking->next;
    timer_stop(asking->patience);
    progress_end(asking->askings->server, asking->own, NULL);
    request_complete(asking->request);
    timer_start(asking->askings->server->loop, 0, 0, asking_free, asking);
}

// --- The answer

static Json *place_json(Arena *arena, int line) {
    Json *place = json_object(arena);
    json_set_number(place, "line", line);
    json_set_number(place, "character", 0);
    return place;
}

/// Whole lines, each in the place of lines of the text that was asked about, or above one.
static Json *edits_json(Arena *arena, const Json *lines) {
    Json *edits = json_array(arena);
    for (int i = 0; lines && lines->kind == JSON_ARRAY && i < lines->count; i++) {
        int line = json_get_int(lines->items[i], "line", 0),
            end = json_get_int(lines->items[i], "end", line);
        Json *edit = json_object(arena), *range = json_object(arena);
        json_set(range, "start", place_json(arena, line));
        json_set(range, "end", place_json(arena, end));
        json_set(edit, "range", range);
        json_set_string(edit, "newText", json_get_string(lines->items[i], "text", ""));
        json_push(edits, edit);
    }
    return edits;
}

static void send_edit(Asking *asking, const Json *lines) {
    Server *server = asking->askings->server;
    Request *request = asking->request;
    Arena *arena = request->arena;
    Json *params = json_object(arena), *edit = json_object(arena);
    const char *uri = request->document->uri;
    if (server->client.document_changes) {
        Json *document = json_object(arena), *change = json_object(arena),
             *list = json_array(arena);
        json_set_string(document, "uri", uri);
        json_set_number(document, "version", request->text->version);
        json_set(change, "textDocument", document);
        json_set(change, "edits", edits_json(arena, lines));
        json_push(list, change);
        json_set(edit, "documentChanges", list);
    } else {
        Json *changes = json_object(arena);
        json_set(changes, uri, edits_json(arena, lines));
        json_set(edit, "changes", changes);
    }
    json_set_string(params, "label", asking->kind->label);
    json_set(params, "edit", edit);
    client_request(server, "workspace/applyEdit", params, NULL, NULL);
}

static void take_answer(Asking *asking, const Json *answer) {
    Request *request = asking->request;
    Server *server = asking->askings->server;
    const Json *lines = json_get(answer, "edits");
    bool has_edits = lines && lines->kind == JSON_ARRAY && lines->count > 0;
    if (has_edits && atomic_load(&request->document->newest) != request->text->version) {
        request_fail(request, ERROR_CONTENT_MODIFIED, "the text has changed since");
        return;
    }
    request->result = json_copy(request->arena, answer);
    json_set_string(request->result, "kernel", asking->kernel);
    if (has_edits) send_edit(asking, lines);
    // The answer to a request that was cancelled was sent then.
    if (asking->is_cancelled) server_log(server, 3, "%s", json_get_string(answer, "report", ""));
    client_show_message(server, has_edits ? 3 : 2, json_get_string(answer, "summary", ""));
}

/// The last line that the child has told, without its name.
static const char *last_told(Asking *asking) {
    Str all = str_trim((Str){buffer_text(&asking->told), asking->told.size});
    size_t start = all.size;
    while (start > 0 && all.data[start - 1] != '\n') start--;
    Str line = {all.data + start, all.size - start};
    if (str_starts(line, "tad-lsp: ")) line = (Str){line.data + 9, line.size - 9};
    if (line.size > LONGEST_LINE) line.size = LONGEST_LINE;
    return str_dup(asking->arena, line);
}

// --- The child

static void child_wrote(void *context, const char *data, size_t size) {
    Asking *asking = context;
    if (asking->output.size <= MOST_OUTPUT) buffer_add(&asking->output, data, size);
}

static void child_told(void *context, const char *data, size_t size) {
    Asking *asking = context;
    if (asking->told.size > MOST_TOLD) return;
    buffer_add(&asking->told, data, size);
    progress_report(asking->askings->server, asking->progress, last_told(asking), 0);
}

static void child_exited(void *context, int status, int signal_number) {
    Asking *asking = context;
    if (asking->askings->is_ending) return;
    asking->child = NULL;
    Error error = NULL;
    Str output = {buffer_text(&asking->output), asking->output.size};
    const Json *answer = output.size ? json_parse(asking->arena, output, &error) : NULL;
    const char *problem = json_get_string(answer, "problem", NULL);
    bool has_report = answer && json_get_int(answer, "answers", 0) > 0;
    if (asking->is_cancelled && !has_report)
        request_fail(asking->request, ERROR_REQUEST_CANCELLED, "cancelled");
    else if (answer && !problem)
        take_answer(asking, answer);
    else
        request_fail(
            asking->request, ERROR_REQUEST_FAILED, "%s",
            problem             ? problem
            : asking->told.size ? last_told(asking)
            : signal_number     ? arena_printf(asking->arena, "%s was killed", asking->kind->words)
            : status ? arena_printf(asking->arena, "%s failed", asking->kind->words)
                     : arena_printf(asking->arena, "%s said nothing", asking->kind->words));
    if (asking->request->error_code == ERROR_REQUEST_FAILED)
        client_show_message(asking->askings->server, 2, asking->request->error);
    asking_end(asking);
}

typedef LIST(const char *) Command;

/// Empty: not said.
static void push_option(Arena *arena, Command *command, const char *name, const char *value) {
    if (!*value) return;
    LIST_PUSH(arena, command, name);
    LIST_PUSH(arena, command, value);
}

/// Below 1: not said.
static void push_limit(Arena *arena, Command *command, const char *name, double most) {
    if (most >= 1) push_option(arena, command, name, arena_printf(arena, "%.0f", fmin(most, 1e9)));
}

static Error start_child(Asking *asking, const char *phases) {
    Arena *arena = asking->arena;
    const Request *request = asking->request;
    const Configuration *configuration = request->configuration;
    Command command = {0};
    LIST_PUSH(arena, &command, arena_printf(arena, "%s/tad-lsp", executable_folder(arena)));
    LIST_PUSH(arena, &command, asking->kind->command);
    LIST_PUSH(arena, &command,
              arena_printf(arena, "%s:%s", request->document->path, asking->kernel));
    LIST_PUSH(arena, &command, "--stdin");
    if (asking->kind == &asks_model) {
        LIST_PUSH(arena, &command, "--time-limit");
        LIST_PUSH(arena, &command, arena_printf(arena, "%g", configuration->time_limit_s));
        push_option(arena, &command, "--model", configuration->model_name);
        push_option(arena, &command, "--temperature", configuration->model_temperature);
        push_option(arena, &command, "--effort", configuration->model_effort);
        push_limit(arena, &command, "--max-tokens", configuration->model_max_tokens);
        push_limit(arena, &command, "--max-seconds", configuration->model_max_seconds);
    }
    if (configuration->python && *configuration->python) {
        LIST_PUSH(arena, &command, "--python");
        LIST_PUSH(arena, &command, configuration->python);
    }
    if (phases) {
        LIST_PUSH(arena, &command, "--phase");
        LIST_PUSH(arena, &command, arena_strdup(arena, phases));
    }
    if (*configuration->runner) {
        LIST_PUSH(arena, &command, "--runner");
        LIST_PUSH(arena, &command, configuration->runner);
    }
    LIST_PUSH(arena, &command, NULL);
    ProcessEvents events = {child_wrote, child_told, child_exited, asking};
    bool needs_key = asking->kind == &asks_model;
    Error error =
        process_start(asking->askings->server->loop, arena, command.items,
                      needs_key ? ENVIRONMENT_KEYED : ENVIRONMENT_OWN, &events, &asking->child);
    if (error) return error;
    process_write(asking->child, request->text->analysed.data, request->text->analysed.size);
    process_close_input(asking->child);
    return NULL;
}

static void start(struct Askings *askings, Request *request, const char *kernel,
                  const AskingKind *kind, const char *phases) {
    Arena *arena = arena_new();
    Asking *asking = ARENA_NEW(arena, Asking);
    *asking = (Asking){.arena = arena,
                       .askings = askings,
                       .request = request,
                       .kernel = arena_strdup(arena, kernel),
                       .kind = kind,
                       .output = buffer_new(arena),
                       .told = buffer_new(arena),
                       .next = askings->first};
    askings->first = asking;
    asking->progress = progress_of_params(request->params);
    if (!asking->progress.token) {
        asking->own = progress_new(arena, arena_printf(arena, "tad-ask-%d", ++askings->last_token));
        asking->progress = asking->own;
    }
    progress_begin(askings->server, asking->own, arena_printf(arena, "%s %s", kind->title, kernel));
    Error error = start_child(asking, phases);
    if (!error) return;
    request_fail(request, ERROR_REQUEST_FAILED, "%s", error);
    asking_end(asking);
}

void askings_start(struct Askings *askings, Request *request, const char *kernel,
                   const char *phases) {
    start(askings, request, kernel, &asks_model, phases);
}

void askings_tune(struct Askings *askings, Request *request, const char *kernel) {
    start(askings, request, kernel, &tunes, NULL);
}

// --- Cancelling

static void patience_ends(void *context) {
    const Asking *asking = context;
    if (asking->child) process_kill(asking->child);
}

/// A session with a model is asked to end: it reports, with the best that is proved by then. Who cancels twice does not wait for that.
static void asking_cancel(Asking *asking) {
    enum { PATIENCE_MS = 30000 };
    bool is_asked = asking->kind == &asks_model && !asking->is_cancelled;
    asking->is_cancelled = true;
    if (asking->child && is_asked) {
        process_interrupt(asking->child);
        asking->patience =
            timer_start(asking->askings->server->loop, PATIENCE_MS, 0, patience_ends, asking);
    } else if (asking->child) {
        process_kill(asking->child);
    }
}

void askings_cancel_token(struct Askings *askings, const Json *token) {
    for (Asking *asking = askings->first; asking; asking = asking->next) {
        if (!progress_has(asking->own, token)) continue;
        asking_cancel(asking);
        return;
    }
}

void askings_cancel_request(struct Askings *askings, const Request *request) {
    for (Asking *asking = askings->first; asking; asking = asking->next) {
        if (asking->request != request) continue;
        asking_cancel(asking);
        return;
    }
}

void askings_end(struct Askings *askings) {
    askings->is_ending = true;
    for (Asking *asking = askings->first; asking; asking = asking->next) {
        if (asking->child) process_abandon(asking->child);
        request_drop(asking->request);
    }
}
