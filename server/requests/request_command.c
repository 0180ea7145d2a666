// workspace/executeCommand: the commands behind the lenses, the Testing view and the panels. Rows: commands.def.
#include "server/requests/request_command.h"

#include <string.h>

#include "codeactions/codeactions.h"
#include "server/cli/explain.h"
#include "server/gradients/asking.h"
#include "server/gradients/checks.h"
#include "server/gradients/kernel_hash.h"
#include "server/gradients/schedule_json.h"
#include "server/gradients/timings.h"
#include "server/gradients/written.h"
#include "server/model/agreement.h"
#include "server/queues/answer.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/queues/slow_queue.h"
#include "server/requests/request_action.h"
#include "server/requests/request_pair.h"
#include "server/requests/request_similar.h"
#include "server/requests/request_update.h"
#include "server/session/client.h"

#define SERVER_COMMAND(id, name, queue, handler, title) static Handler handler;
#include "server/session/commands.def"
#undef SERVER_COMMAND

typedef struct ServerCommandRow {
    const char *name;
    Queue queue;
    Handler *handler;
} ServerCommandRow;

static const ServerCommandRow rows[] = {
#define SERVER_COMMAND(id, name, queue, handler, title) {name, QUEUE_##queue, handler},
#include "server/session/commands.def"
#undef SERVER_COMMAND
};

Json *command_names_json(Arena *arena) {
    Json *names = json_array(arena);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_push(names, json_string(arena, rows[i].name));
    return names;
}

static const ServerCommandRow *command_find(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

/// The command's one argument, an object.
static const Json *argument_of(const Request *request) {
    const Json *arguments = json_get(request->params, "arguments");
    bool has_one = arguments && arguments->kind == JSON_ARRAY && arguments->count > 0;
    return has_one ? arguments->items[0] : NULL;
}

Json *handle_execute_command(Request *request) {
    const char *name = json_get_string(request->params, "command", "");
    const ServerCommandRow *row = command_find(name);
    if (!row) {
        request_fail(request, ERROR_INVALID_PARAMS, "there is no command `%s`", name);
        return NULL;
    }
    const char *uri = json_get_string(argument_of(request), "uri", NULL);
    if (row->handler != command_explain_name) {
        if (!uri) {
            request_fail(request, ERROR_INVALID_PARAMS, "`%s` takes [{\"uri\": ...}]", name);
            return NULL;
        }
        if (!request_bind_file(request, uri)) return NULL;
    }
    if (row->queue == QUEUE_LOOP) return row->handler(request);
    request_move(request, row->queue, row->handler);
    return NULL;
}

static Json *command_explain_name(Request *request) {
    const char *name = json_get_string(argument_of(request), "name", "");
    const char *page = explain_page(request->arena, name);
    if (page) return json_string(request->arena, page);
    request_fail(request, ERROR_INVALID_PARAMS, "there is no page of `%s`", name);
    return NULL;
}

// --- Kernels

/// The kernel that the argument names; NULL and a failed request where there is none.
static const Kernel *kernel_of(Request *request, const Snapshot *snapshot) {
    const char *name = json_get_string(argument_of(request), "kernel", NULL);
    const Kernel *only = NULL;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        bool is_it = name ? str_is(kernel->definition->name, name)
                          : !only && kernel_has_gradients(snapshot, kernel);
        if (is_it) only = kernel;
    }
    if (!only)
        request_fail(request, ERROR_REQUEST_FAILED, "%s has no kernel `%s`", request->document->uri,
                     name ? name : "");
    return only;
}

static Json *command_kernels(Request *request) {
    Arena *arena = request->arena;
    const Snapshot *snapshot = slow_snapshot(request);
    if (!snapshot) return NULL;
    const char *uri = request->document->uri;
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_has_gradients(snapshot, kernel)) continue;
        const char *name = kernel->function->name;
        GradientStatus status = gradient_status(request->server->gradients, arena, uri, name,
                                                kernel_hash(snapshot, kernel));
        Json *json = gradient_status_json(arena, uri, name, request->text->version, &status);
        json_set(json, "range",
                 request_range_json(request, snapshot, kernel->definition->name_range));
        json_push(list, json);
    }
    return list;
}

static Json *command_schedule(Request *request) {
    const Snapshot *snapshot = slow_snapshot(request);
    const Kernel *kernel = snapshot ? kernel_of(request, snapshot) : NULL;
    if (!kernel) return NULL;
    Original original = original_open(request);
    Saving saving = written_saving(request, &original, snapshot, kernel);
    Json *json = schedule_json(request->arena, saving.snapshot, saving_kernel(&saving, kernel),
                               slow_settings(request)->card);
    saving_close(&saving);
    original_close(&original);
    Json *measured =
        timing_figures(request->server->timings, request->arena, request->document->uri,
                       kernel->function->name, kernel_hash(snapshot, kernel));
    if (measured) json_set(json_get(json, "cost"), "measured", measured);
    Json *times = timing_sizes(request->server->timings, request->arena, request->document->uri,
                               kernel->function->name, kernel_code_hash(snapshot, kernel));
    if (times) json_set(json, "times", times);
    return json;
}

static Json *command_access(Request *request) {
    const Snapshot *snapshot = slow_snapshot(request);
    uint32_t offset;
    const Json *position = json_get(argument_of(request), "position");
    if (!snapshot || !position_offset(request, position, &offset)) return NULL;
    return access_json(request, snapshot, offset);
}

// --- From a forward to its backward and back

static void shown_finish(Request *request) {
    if (!request->error_code) pair_show(request, request->result);
}

/// Says why where there is nothing to show.
static void similar_finish(Request *request) {
    bool is_empty = !request->error_code && request->result && !request->result->count;
    if (request->error_code || is_empty)
        client_show_message(request->server, 2,
                            is_empty ? "Nothing in the index is built like it." : request->error);
    shown_finish(request);
}

static Json *command_go_to_backward(Request *request) {
    const Snapshot *snapshot = slow_snapshot(request);
    const Kernel *kernel = snapshot ? kernel_of(request, snapshot) : NULL;
    request->finish = shown_finish;
    return kernel ? pair_backwards(request, snapshot, kernel) : NULL;
}

static Json *command_go_to_forward(Request *request) {
    const Snapshot *snapshot = slow_snapshot(request);
    const Kernel *kernel = snapshot ? kernel_of(request, snapshot) : NULL;
    request->finish = shown_finish;
    return kernel ? pair_forward(request, snapshot, kernel) : NULL;
}

/// [{"name", "uri", "range", ...}] of the index; `show` opens the nearest, for clients that show no list of their own.
static Json *command_similar_kernels(Request *request) {
    const Snapshot *snapshot = slow_snapshot(request);
    const Kernel *kernel = snapshot ? kernel_of(request, snapshot) : NULL;
    if (!kernel) return NULL;
    if (json_get_bool(argument_of(request), "show", false)) request->finish = similar_finish;
    return similar_places(request, kernel, argument_of(request));
}

// --- Checks

static Json *start_check(Request *request, const char *kernel) {
    request_hold(request);
    checks_start(gradients_checks(request->server->gradients), request->document, request->text,
                 kernel, request);
    return NULL;
}

static Json *command_check_gradients(Request *request) {
    const char *kernel = json_get_string(argument_of(request), "kernel", NULL);
    if (kernel) return start_check(request, kernel);
    request_fail(request, ERROR_INVALID_PARAMS, "the argument names no `kernel`");
    return NULL;
}

static Json *command_check_all_gradients(Request *request) { return start_check(request, NULL); }

/// Kinds of a message.
enum { IS_ERROR = 1, IS_WARNING, IS_INFO };

/// Says what the last check found and why, and opens the place of a wrong gradient. Nothing is run.
static Json *command_show_result(Request *request) {
    Arena *arena = request->arena;
    const char *kernel = json_get_string(argument_of(request), "kernel", ""),
               *uri = request->document->uri;
    GradientStatus status =
        gradient_status(request->server->gradients, arena, uri, kernel, UINT64_MAX);
    const char *words = gradient_status_words(arena, kernel, &status);
    bool is_failed = status.state == GRADIENT_FAILED, is_proved = status.state == GRADIENT_PROVED;
    if (*words)
        client_show_message(request->server,
                            is_failed   ? IS_ERROR
                            : is_proved ? IS_INFO
                                        : IS_WARNING,
                            words);
    if (status.range) {
        Json *list = json_array(arena), *place = json_object(arena);
        json_set_string(place, "uri", uri);
        json_set(place, "range", json_copy(arena, status.range));
        json_push(list, place);
        pair_show(request, list);
    }
    status.is_stale = false;
    return gradient_status_json(arena, uri, kernel, request->text->version, &status);
}

/// The kernel that a command is to run on the GPU; NULL and a failed request where nothing may be run.
static const char *kernel_to_run(Request *request) {
    const char *kernel = json_get_string(argument_of(request), "kernel", NULL);
    if (!kernel)
        request_fail(request, ERROR_INVALID_PARAMS, "the argument names no `kernel`");
    else if (!request->configuration->trusted)
        request_fail(request, ERROR_REQUEST_FAILED, UNTRUSTED_WORDS);
    return request->error_code ? NULL : kernel;
}

static Json *command_time_kernel(Request *request) {
    const char *kernel = kernel_to_run(request);
    if (!kernel) return NULL;
    request_hold(request);
    timings_start(request->server->timings, request, kernel);
    return NULL;
}

static Json *command_tune_kernel(Request *request) {
    const char *kernel = kernel_to_run(request);
    if (kernel && !*request->document->path)
        request_fail(request, ERROR_REQUEST_FAILED, "the text is in no file yet: save it first");
    if (request->error_code) return NULL;
    request_hold(request);
    askings_tune(request->server->askings, request, kernel);
    return NULL;
}

/// `phases`: those behind the first, as `--phase` has them; nothing: the first.
static Json *command_ask_model(Request *request) {
    const char *kernel = json_get_string(argument_of(request), "kernel", NULL),
               *phases = json_get_string(argument_of(request), "phases", NULL);
    Error error = NULL;
    if (!kernel)
        request_fail(request, ERROR_INVALID_PARAMS, "the argument names no `kernel`");
    else if (!request->configuration->trusted)
        error = "this workspace is not trusted, so nothing of it is sent";
    else if (!request->configuration->asks_model || !*request->document->path)
        error = "no model is asked about this file";
    else
        error = agreement_refuse(request->arena, request->document->path,
                                 phases ? AGREEMENT_KERNELS : NULL);
    if (error) request_fail(request, ERROR_REQUEST_FAILED, "%s", error);
    if (request->error_code) return NULL;
    request_hold(request);
    askings_start(request->server->askings, request, kernel, phases);
    return NULL;
}

Json *handle_progress_cancel(Request *request) {
    Server *server = request->server;
    const Json *token = json_get(request->params, "token");
    if (request_cancel_token(server, token)) return NULL;
    checks_cancel_token(gradients_checks(server->gradients), token);
    timings_cancel_token(server->timings, token);
    askings_cancel_token(server->askings, token);
    return NULL;
}

// --- Generating

/// Beside a text that is in no file yet there is no place: then below the kernel.
static ActionEdit edit_asked(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                             UpdateNews *news) {
    const char *where = json_get_string(argument_of(request), "where", "file");
    bool is_below =
        strcmp(where, "below") == 0 || strcmp(where, "here") == 0 || !*request->document->path;
    return backward_edit(request, snapshot, kernel, is_below, news);
}

/// {"kernel", "uri", "text", "refusal", "first", "conflicts", "conflict", "note"}: the whole file as it would be.
static Json *command_backward_preview(Request *request) {
    Arena *arena = request->arena;
    const Snapshot *snapshot = slow_snapshot(request);
    const Kernel *kernel = snapshot ? kernel_of(request, snapshot) : NULL;
    if (!kernel) return NULL;
    UpdateNews news = {0};
    ActionEdit edit = edit_asked(request, snapshot, kernel, &news);
    Json *json = json_object(arena);
    update_json(request, json, &news);
    json_set(json, "kernel", json_str(arena, kernel->definition->name));
    json_set_string(json, "uri", request->document->uri);
    json_set_string(json, "text", "");
    Error refusal = edit.refusal;
    if (!refusal && edit.files.count) refusal = edit_refuse_file(request, edit.files.items[0].path);
    if (refusal) {
        json_set_string(json, "refusal", refusal);
    } else if (edit.files.count) {
        json_set_string(json, "uri", uri_of_path(arena, edit.files.items[0].path));
        json_set_string(json, "text", edit.files.items[0].text);
    } else {
        json_set(json, "text", json_str(arena, edits_applied(arena, request->text->text, &edit)));
    }
    return json;
}

/// What the editor said to the edit.
typedef struct Generated {
    Arena *arena;
    QueueDocument *document;
    Text *text;
    const char *kernel;
    const Json *result;  // of the command
} Generated;

/// Opens a module that was updated at the first place that changed, or that is to be decided, and says what was kept.
static void generated_show(Server *server, const Generated *generated) {
    const Json *result = generated->result;
    const char *note = json_get_string(result, "note", NULL);
    int line = json_get_int(result, "conflict", json_get_int(result, "first", -1));
    bool has_conflict = json_get(result, "conflict") != NULL;
    if (note) client_show_message(server, has_conflict ? IS_WARNING : IS_INFO, note);
    if (line < 0 || !server->client.show_document) return;
    Json *params = json_object(generated->arena), *range = json_object(generated->arena);
    for (int end = 0; end < 2; end++) {
        Json *place = json_object(generated->arena);
        json_set_number(place, "line", line);
        json_set_number(place, "character", 0);
        json_set(range, end ? "end" : "start", place);
    }
    json_set_string(params, "uri", json_get_string(result, "uri", ""));
    json_set_bool(params, "takeFocus", true);
    json_set(params, "selection", range);
    client_request(server, "window/showDocument", params, NULL, NULL);
}

static void generated_applied(Server *server, void *context, const Json *result) {
    Generated *generated = context;
    bool applied = json_get_bool(result, "applied", false);
    if (applied && server->configuration->check_after_generate)
        checks_start(gradients_checks(server->gradients), generated->document, generated->text,
                     generated->kernel, NULL);
    if (applied) generated_show(server, generated);
    queue_document_release(generated->document);
    text_release(generated->text);
    arena_free(generated->arena);
}

/// Hands the edit to the editor; the check begins when it was applied.
static void generated_finish(Request *request) {
    Server *server = request->server;
    const Json *edit = json_get(request->result, "edit");
    if (request->error_code) {
        client_show_message(server, 2, request->error);
        return;
    }
    if (!edit || request->is_answered) return;
    Arena *arena = arena_new();
    Generated *generated = ARENA_NEW(arena, Generated);
    *generated =
        (Generated){arena, queue_document_retain(request->document), text_retain(request->text),
                    arena_strdup(arena, json_get_string(request->result, "kernel", "")),
                    json_copy(arena, request->result)};
    Json *params = json_object(request->arena);
    json_set_string(params, "label", "Generate backward");
    json_set(params, "edit", json_copy(request->arena, edit));
    client_request(server, "workspace/applyEdit", params, generated_applied, generated);
}

static Json *command_generate_backward(Request *request) {
    const Snapshot *snapshot = slow_snapshot(request);
    request->finish = generated_finish;
    const Kernel *kernel = snapshot ? kernel_of(request, snapshot) : NULL;
    if (!kernel) return NULL;
    UpdateNews news = {0};
    ActionEdit edit = edit_asked(request, snapshot, kernel, &news);
    Json *json = action_edit_json(request, snapshot, &edit);
    if (!json) return NULL;
    Json *result = json_object(request->arena);
    update_json(request, result, &news);
    if (edit.files.count)
        json_set_string(result, "uri", uri_of_path(request->arena, edit.files.items[0].path));
    json_set(result, "kernel", json_str(request->arena, kernel->definition->name));
    json_set(result, "edit", json);
    return result;
}
