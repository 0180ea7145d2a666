// Code actions: offered on the fast queue, made exact on the slow one, where a backward may be derived.
#include "server/requests/request_action.h"

#include <string.h>

#include "autodiff/emit/emitted.h"
#include "base/escape.h"
#include "codeactions/codeactions.h"
#include "server/gradients/gradients.h"
#include "server/gradients/kernel_hash.h"
#include "server/gradients/publish.h"
#include "server/model/agreement.h"
#include "server/queues/answer.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/queues/slow_queue.h"
#include "server/requests/request_similar.h"
#include "server/requests/request_update.h"

static const char FIX_ALL[] = "source.fixAll.tad";

/// Whether `kind` is `asked` or below it: "refactor.rewrite" is below "refactor".
static bool kind_is(const char *kind, Str asked) {
    return strncmp(kind, asked.data, asked.size) == 0 &&
           (kind[asked.size] == 0 || kind[asked.size] == '.');
}

/// `only` as the client gave it. Source actions are offered to those alone who ask for them.
static bool is_asked(const Json *only, const char *kind) {
    bool is_source = kind_is(kind, STR("source"));
    if (!only || only->kind != JSON_ARRAY || only->count == 0) return !is_source;
    for (int i = 0; i < only->count; i++)
        if (only->items[i]->kind == JSON_STRING && kind_is(kind, only->items[i]->string))
            return true;
    return false;
}

/// What is applied later: the row's name and the place, with the version that it holds for.
static Json *action_data(Request *request, const char *name, Range range) {
    Json *data = json_object(request->arena);
    json_set_string(data, "uri", request->document->uri);
    json_set_number(data, "version", request->text->version);
    json_set_string(data, "action", name);
    json_set_number(data, "start", range.start);
    json_set_number(data, "end", range.end);
    return data;
}

static Json *action_json(Request *request, const Snapshot *snapshot, const Action *action) {
    Arena *arena = request->arena;
    const ActionRow *row = &action_rows[action->id];
    Json *json = json_object(arena);
    json_set_string(json, "title", action->title);
    json_set_string(json, "kind", row->kind);
    if (action->is_preferred) json_set_bool(json, "isPreferred", true);
    if (action->diagnostic) {
        Json *fixed = json_array(arena);
        json_push(fixed, diagnostic_json(request, snapshot, action->diagnostic));
        json_set(json, "diagnostics", fixed);
    }
    if (action->disabled) {
        Json *disabled = json_object(arena);
        json_set_string(disabled, "reason", lines_visible(arena, action->disabled));
        json_set(json, "disabled", disabled);
        return json;
    }
    Json *data = action_data(request, row->name, action->range);
    if (action->diagnostic)
        json_set_string(data, "finding", diagnostic_rows[action->diagnostic->id].name);
    json_set(json, "data", data);
    return json;
}

typedef struct RefusalAsk {
    Request *request;
    const Snapshot *snapshot;
} RefusalAsk;

static const char *known_refusal(void *context, const Kernel *kernel) {
    const RefusalAsk *ask = context;
    Arena *arena = ask->request->arena;
    return gradient_refusal(ask->request->server->gradients, arena, ask->request->document->uri,
                            str_dup(arena, kernel->definition->name),
                            kernel_hash(ask->snapshot, kernel));
}

/// `where`: of a backward; else NULL.
static Json *command_json(Request *request, const char *title, const char *name,
                          const Kernel *kernel, const char *where) {
    Arena *arena = request->arena;
    Json *command = json_object(arena), *place = json_object(arena), *arguments = json_array(arena);
    json_set_string(place, "uri", request->document->uri);
    json_set_string(place, "kernel", str_dup(arena, kernel->definition->name));
    if (where) json_set_string(place, "where", where);
    json_push(arguments, place);
    json_set_string(command, "title", title);
    json_set_string(command, "command", name);
    json_set(command, "arguments", arguments);
    return command;
}

/// For clients that resolve nothing: the edit now, or the command that derives and then edits. False where it is refused.
static bool action_complete(Request *request, const Snapshot *snapshot, const Action *action,
                            Json *json) {
    const Kernel *kernel = snapshot_kernel_at(snapshot, action->range.start);
    bool goes_below = action->id == ACTION_BACKWARD_HERE;
    if (goes_below || action->id == ACTION_BACKWARD_FILE) {
        if (!kernel) return false;
        json_set(json, "command",
                 command_json(request, action->title, "tad.generateBackward", kernel,
                              goes_below ? "below" : "file"));
        return true;
    }
    ActionEdit edit = action_apply_offered(request->arena, snapshot, action);
    if (edit.refusal) return false;
    json_set(json, "edit", action_edit_json(request, snapshot, &edit));
    return true;
}

/// Where no lens shows it, the gradient check of a kernel is an action.
static void push_check(Request *request, const Kernel *kernel, Json *list) {
    Arena *arena = request->arena;
    Json *json = json_object(arena);
    const char *title =
        arena_printf(arena, "Check the gradients of %.*s", STR_ARGS(kernel->definition->name));
    json_set_string(json, "title", title);
    json_set_string(json, "kind", "refactor.check");
    json_set(json, "command", command_json(request, title, "tad.checkGradients", kernel, NULL));
    // Some clients resolve whatever has no edit.
    json_set(json, "data", action_data(request, "", kernel->definition->name_range));
    json_push(list, json);
}

static void push_checks(Request *request, const Snapshot *snapshot, uint32_t start, uint32_t end,
                        Json *list) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range range = snapshot_range(snapshot, kernel->definition->range);
        bool touches = range.start <= end && start <= range.end;
        if (touches && kernel_has_gradients(snapshot, kernel)) push_check(request, kernel, list);
    }
}

/// Whether the range lies in the kernel, or in a helper that the kernel's text names.
static bool is_about(const Snapshot *snapshot, const Kernel *kernel, uint32_t start, uint32_t end) {
    const Module *module = snapshot->module;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (function->range.start > end || function->range.end < start) continue;
        if (function == kernel->definition ||
            str_contains(source_slice(kernel->definition->range), function->name))
            return true;
    }
    return false;
}

/// A kernel that the rules refuse, for a model that the user has set up, where he has agreed.
static void push_ask(Request *request, const Snapshot *snapshot, const RefusalAsk *ask,
                     uint32_t start, uint32_t end, Json *list) {
    Arena *arena = request->arena;
    const Configuration *configuration = request->configuration;
    if (!configuration->trusted || !configuration->asks_model || !*request->document->path) return;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel) || !is_about(snapshot, kernel, start, end)) continue;
        if (!known_refusal((void *)(uintptr_t)ask, kernel)) continue;
        if (agreement_refuse(arena, request->document->path, NULL)) return;
        static const char title[] = "Ask a model for this derivative";
        Json *json = json_object(arena);
        json_set_string(json, "title", title);
        json_set_string(json, "kind", "quickfix");
        json_set(json, "command", command_json(request, title, "tad.askModel", kernel, NULL));
        json_set(json, "data", action_data(request, "", kernel->definition->name_range));
        json_push(list, json);
        return;
    }
}

/// At the head of a forward kernel whose sizes are said, where processes may be started.
static void push_tune(Request *request, const Snapshot *snapshot, uint32_t start, uint32_t end,
                      Json *list) {
    static const char title[] = "Tune blocks, warps and stages on the GPU";
    if (!request->configuration->trusted || !*request->document->path) return;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range name = snapshot_range(snapshot, kernel->definition->name_range);
        if (name.start > end || name.end < start || !kernel_is_forward(kernel)) continue;
        if (!str_contains(kernel->definition->comment, STR("# tad time:"))) continue;
        Json *json = json_object(request->arena);
        json_set_string(json, "title", title);
        json_set_string(json, "kind", "refactor.tune");
        json_set(json, "command", command_json(request, title, "tad.tuneKernel", kernel, NULL));
        json_set(json, "data", action_data(request, "", kernel->definition->name_range));
        json_push(list, json);
    }
}

/// At the head of a forward kernel, where the user has an index.
static void push_similar(Request *request, const Snapshot *snapshot, uint32_t start, uint32_t end,
                         Json *list) {
    static const char title[] = "Show similar kernels";
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range name = snapshot_range(snapshot, kernel->definition->name_range);
        if (name.start > end || name.end < start || !kernel_is_forward(kernel)) continue;
        if (!similar_is_known(request->arena)) return;
        Json *json = json_object(request->arena),
             *command = command_json(request, title, "tad.similarKernels", kernel, NULL);
        json_set_bool(json_get(command, "arguments")->items[0], "show", true);
        json_set_string(json, "title", title);
        json_set_string(json, "kind", "refactor.similar");
        json_set(json, "command", command);
        json_set(json, "data", action_data(request, "", kernel->definition->name_range));
        json_push(list, json);
    }
}

/// What a model may be asked of a backward.
typedef struct ImproveOffer {
    const char *title, *kind, *phases;
} ImproveOffer;
static const ImproveOffer repair = {"Ask a model to make these gradients right", "quickfix",
                                    "repair"},
                          faster = {"Ask a model for a faster backward", "refactor.rewrite",
                                    "faster"},
                          tidier = {"Ask a model for a tidier backward", "refactor.rewrite",
                                    "tidy"};

static void push_offer(Request *request, const ImproveOffer *offer, const Kernel *forward,
                       Range place, const Json *only, Json *list) {
    if (!is_asked(only, offer->kind)) return;
    Json *json = json_object(request->arena),
         *command = command_json(request, offer->title, "tad.askModel", forward, NULL);
    json_set_string(json_get(command, "arguments")->items[0], "phases", offer->phases);
    json_set_string(json, "title", offer->title);
    json_set_string(json, "kind", offer->kind);
    json_set(json, "command", command);
    json_set(json, "data", action_data(request, "", place));
    json_push(list, json);
}

/// At the head of a kernel of a backward, or of a forward whose gradients are not proved or whose derived backward is slow; for a model that
/// the user has set up and agreed to send kernels to.
static void push_improve(Request *request, const Snapshot *snapshot, uint32_t start, uint32_t end,
                         const Json *only, Json *list) {
    Arena *arena = request->arena;
    const Configuration *configuration = request->configuration;
    const struct Gradients *gradients = request->server->gradients;
    const char *uri = request->document->uri;
    if (!configuration->trusted || !configuration->asks_model || !*request->document->path) return;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i],
                     *of = kernel_of_backward(snapshot, kernel), *forward = of ? of : kernel;
        Range name = snapshot_range(snapshot, kernel->definition->name_range);
        if (name.start > end || name.end < start || !kernel_is_forward(forward)) continue;
        if (agreement_refuse(arena, request->document->path, AGREEMENT_KERNELS)) return;
        const char *forward_name = str_dup(arena, forward->definition->name);
        uint64_t hash = kernel_hash(snapshot, forward);
        GradientStatus status = gradient_status(gradients, arena, uri, forward_name, hash);
        bool is_open = status.state == GRADIENT_FAILED || status.state == GRADIENT_UNPROVED;
        Range place = kernel->definition->name_range;
        if (is_open && !status.is_stale) push_offer(request, &repair, forward, place, only, list);
        if (of || gradient_is_slow(gradients, arena, uri, forward_name, hash))
            push_offer(request, &faster, forward, place, only, list);
        if (of) push_offer(request, &tidier, forward, place, only, list);
        return;
    }
}

static void push_fix_all(Request *request, const Snapshot *snapshot, Json *list) {
    ActionEdit all = actions_fix_all(request->arena, snapshot, NULL, NULL);
    if (!all.edits.count) return;
    Json *json = json_object(request->arena);
    json_set_string(json, "title", "Fix all that is safe to fix in kernels");
    json_set_string(json, "kind", FIX_ALL);
    json_set(json, "data", action_data(request, FIX_ALL, (Range){0}));
    if (!request->server->client.resolves_edits)
        json_set(json, "edit", action_edit_json(request, snapshot, &all));
    json_push(list, json);
}

Json *handle_code_action(Request *request) {
    Arena *arena = request->arena;
    const Client *client = &request->server->client;
    uint32_t start, end;
    const Json *only = json_get(json_get(request->params, "context"), "only");
    if (!request_range(request, json_get(request->params, "range"), &start, &end)) return NULL;
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Json *list = json_array(arena);
    RefusalAsk ask = {request, snapshot};
    Actions actions = actions_offer(arena, snapshot, start, end, OFFER_QUICK, known_refusal, &ask);
    for (LIST_EACH(int, i, actions.list)) {
        const Action *action = &actions.list.items[i];
        if (!is_asked(only, action_rows[action->id].kind)) continue;
        if (action->disabled && !client->disabled_actions) continue;
        Json *json = action_json(request, snapshot, action);
        bool is_whole = client->resolves_edits || action->disabled;
        if (is_whole || action_complete(request, snapshot, action, json)) json_push(list, json);
    }
    if (!client->lenses && is_asked(only, "refactor.check"))
        push_checks(request, snapshot, start, end, list);
    if (is_asked(only, "quickfix")) push_ask(request, snapshot, &ask, start, end, list);
    if (is_asked(only, "refactor.similar")) push_similar(request, snapshot, start, end, list);
    if (is_asked(only, "refactor.tune")) push_tune(request, snapshot, start, end, list);
    push_improve(request, snapshot, start, end, only, list);
    if (is_asked(only, FIX_ALL)) push_fix_all(request, snapshot, list);
    return list;
}

static ActionId action_find(const char *name) {
    for (int i = 0; i < ACTION_COUNT; i++)
        if (strcmp(action_rows[i].name, name) == 0) return (ActionId)i;
    return ACTION_COUNT;
}

Json *action_edit_json(Request *request, const Snapshot *snapshot, const ActionEdit *edit) {
    if (edit->refusal) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s", edit->refusal);
        return NULL;
    }
    for (LIST_EACH(int, i, edit->files)) {
        Error error = edit_refuse_file(request, edit->files.items[i].path);
        if (!error) continue;
        request_fail(request, ERROR_REQUEST_FAILED, "%s", error);
        return NULL;
    }
    EditWriter writer = edit_writer_new(request);
    edit_annotate(&writer, edit->label, edit->description, edit->needs_confirmation);
    for (LIST_EACH(int, i, edit->edits))
        edit_replace(&writer, snapshot, edit->edits.items[i].range,
                     str_from(edit->edits.items[i].text));
    for (LIST_EACH(int, i, edit->files))
        edit_new_file(&writer, edit->files.items[i].path, edit->files.items[i].text);
    return edit_finish(&writer);
}

Json *handle_code_action_resolve(Request *request) {
    const Json *data = json_get(request->params, "data");
    const char *name = json_get_string(data, "action", "");
    if (json_get(request->params, "command")) return json_copy(request->arena, request->params);
    ActionId id = action_find(name);
    bool is_fix_all = strcmp(name, FIX_ALL) == 0;
    if (id == ACTION_COUNT && !is_fix_all) {
        request_fail(request, ERROR_INVALID_PARAMS, "there is no action `%s`", name);
        return NULL;
    }
    if (json_get_int(data, "version", -1) != request->text->version) {
        request_fail(request, ERROR_CONTENT_MODIFIED, "the text has changed since");
        return NULL;
    }
    const Snapshot *snapshot = slow_snapshot(request);
    if (!snapshot) return NULL;
    double size = (double)request->text->text.size;
    double start = json_get_number(data, "start", 0), end = json_get_number(data, "end", 0);
    if (!(start >= 0 && start <= end && end <= size)) start = end = 0;
    Range range = {snapshot->source, (uint32_t)start, (uint32_t)end};
    const Kernel *kernel = snapshot_kernel_at(snapshot, range.start);
    UpdateNews ignored = {0};
    const ActionChoices choices = {.finding = json_get_string(data, "finding", NULL)};
    ActionEdit edit = is_fix_all ? actions_fix_all(request->arena, snapshot, NULL, NULL)
                      : id == ACTION_BACKWARD_FILE && kernel && kernel_is_forward(kernel)
                          ? backward_edit(request, snapshot, kernel, false, &ignored)
                          : action_apply_as(request->arena, snapshot, id, range, &choices);
    Json *json = action_edit_json(request, snapshot, &edit);
    if (!json) return NULL;
    Json *action = json_copy(request->arena, request->params);
    json_set(action, "edit", json);
    return action;
}
