// Lenses over kernels: generate the backward, check the gradients, and what the last check said. On the fast queue.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "features/features.h"
#include "server/gradients/gradients.h"
#include "server/gradients/kernel_hash.h"
#include "server/gradients/outdated.h"
#include "server/gradients/timings.h"
#include "server/queues/answer.h"
#include "server/queues/fast_queue.h"

typedef struct LensText {
    const char *title;    // NULL: no lens
    const char *command;  // "" where there is nothing to do
    const char *uri;      // that the command is about; NULL: the document's
} LensText;

/// "38 ms", "0.4 s" or "2 min".
static const char *duration(Arena *arena, double seconds) {
    if (seconds < 0.1) return arena_printf(arena, "%.0f ms", fmax(1, seconds * 1000));
    return seconds < 100 ? arena_printf(arena, "%.1f s", seconds)
                         : arena_printf(arena, "%.0f min", seconds / 60);
}

/// The first sentence, at most some words of it: a lens is one line.
static const char *shortened(Arena *arena, const char *text) {
    enum { LONGEST = 90 };
    size_t size = strcspn(text, "\n");
    if (size <= LONGEST) return arena_strndup(arena, text, size);
    size = LONGEST;
    while (size > LONGEST / 2 && text[size] != ' ') size--;
    return arena_printf(arena, "%.*s\xe2\x80\xa6", (int)size, text);
}

// LENS(ID, "name in its data", text function): those of a forward, from left to right.
#define LENS_KINDS(X)                                                                              \
    X(UPDATE, "update", update_text)                                                               \
    X(BACKWARD, "backward", backward_text)                                                         \
    X(GO, "go", go_text)                                                                           \
    X(BACK, "back", back_text)                                                                     \
    X(RESULT, "result", result_text)                                                               \
    X(CHECK, "check", check_text)                                                                  \
    X(TIME, "time", time_text)                                                                     \
    X(COST, "cost", cost_text)

/// What a lens is about: a forward kernel, by its status and its text.
typedef struct LensSubject {
    Request *request;
    const Snapshot *snapshot;
    const Kernel *forward;
    const char *kernel;
    uint64_t hash;
    GradientStatus status;
    bool is_written;  // the file holds its backward
} LensSubject;

/// What was found, which a click explains.
static LensText result_text(Arena *arena, const LensSubject *subject) {
    const GradientStatus *status = &subject->status;
    static const char command[] = "tad.showResult";
    const char *reason = shortened(arena, status->reason);
    if (status->is_stale) return (LensText){0};
    switch (status->state) {
    case GRADIENT_RUNNING:
        if (status->is_waiting)
            return (LensText){"waiting to check gradients\xe2\x80\xa6", "", NULL};
        return (LensText){
            status->percent
                ? arena_printf(arena, "checking gradients\xe2\x80\xa6 %d %%", status->percent)
                : "checking gradients\xe2\x80\xa6",
            "", NULL};
    case GRADIENT_PROVED:
        return (LensText){arena_printf(arena, "gradients proved, worst %.1e, %s",
                                       status->worst_error, duration(arena, status->seconds)),
                          command, NULL};
    case GRADIENT_FAILED:
        return (LensText){arena_printf(arena, "gradients wrong: %s", reason), command, NULL};
    case GRADIENT_UNPROVED:
        return (LensText){arena_printf(arena, "gradients not proved: %s", reason), command, NULL};
    default: return (LensText){0};
    }
}

static LensText check_text(Arena *arena, const LensSubject *subject) {
    (void)arena;
    const GradientStatus *status = &subject->status;
    static const char command[] = "tad.checkGradients";
    bool is_refused =
        status->state == GRADIENT_REFUSED || status->state == GRADIENT_NOT_DIFFERENTIABLE;
    if (status->is_stale && !is_refused)
        return (LensText){"gradients changed since the last check: check again", command, NULL};
    if (status->state == GRADIENT_RUNNING) return (LensText){0};
    bool has_result = status->state == GRADIENT_PROVED || status->state == GRADIENT_FAILED ||
                      status->state == GRADIENT_UNPROVED;
    return (LensText){has_result ? "Check again" : "Check gradients", command, NULL};
}

/// Whether the other file has another kernel, by which the backward is another one as far as is known.
static bool is_outdated(const LensSubject *subject, const Neighbour *other) {
    if (kernel_stands_in(subject->snapshot, subject->forward, other->text)) return false;
    const Request *request = subject->request;
    uint64_t both = outdated_hash(subject->snapshot, subject->forward, other);
    return !gradient_is_same(request->server->gradients, request->arena, request->document->uri,
                             subject->kernel, both);
}

/// Where there is a backward, the way to it is a lens of its own, and what is left is to bring it up to date.
static LensText backward_text(Arena *arena, const LensSubject *subject) {
    const GradientStatus *status = &subject->status;
    const char *reason = shortened(arena, status->reason);
    bool is_refused = !status->is_stale && (status->state == GRADIENT_REFUSED ||
                                            status->state == GRADIENT_NOT_DIFFERENTIABLE);
    if (is_refused) return (LensText){arena_printf(arena, "no backward: %s", reason), "", NULL};
    static const char command[] = "tad.generateBackward";
    if (subject->is_written) return (LensText){0};
    Neighbour module = written_backward(subject->request, subject->forward);
    if (!module.name) return (LensText){"Generate backward", command, NULL};
    if (!is_outdated(subject, &module)) return (LensText){0};
    return (LensText){"Update backward", command, NULL};
}

/// In a module of ours whose kernel is no longer that of the file that it was derived from.
static LensText update_text(Arena *arena, const LensSubject *subject) {
    if (!subject->is_written) return (LensText){0};
    Neighbour origin = written_origin(subject->request);
    if (!origin.name || !is_outdated(subject, &origin)) return (LensText){0};
    return (LensText){arena_printf(arena, "%s has changed: update backward", origin.name),
                      "tad.generateBackward", origin.uri};
}

/// To the kernels of the backward, in this file or in the module beside it.
static LensText go_text(Arena *arena, const LensSubject *subject) {
    (void)arena;
    bool is_there =
        subject->is_written || written_backward(subject->request, subject->forward).name;
    if (!is_there || !subject->request->server->client.show_document) return (LensText){0};
    return (LensText){"Go to backward", "tad.goToBackward", NULL};
}

/// From a kernel of a backward to its forward.
static LensText back_text(Arena *arena, const LensSubject *subject) {
    (void)arena;
    if (!subject->request->server->client.show_document) return (LensText){0};
    return (LensText){"Go to forward", "tad.goToForward", NULL};
}

static LensText time_text(Arena *arena, const LensSubject *subject) {
    static const char command[] = "tad.timeKernel";
    const Request *request = subject->request;
    bool is_running;
    const char *known = timing_known(request->server->timings, arena, request->document->uri,
                                     subject->kernel, subject->hash, &is_running);
    if (is_running) return (LensText){"timing\xe2\x80\xa6", "", NULL};
    return (LensText){known ? shortened(arena, known) : "Time", command, NULL};
}

static LensText cost_text(Arena *arena, const LensSubject *subject) {
    const Request *request = subject->request;
    if (!request->configuration->cost_lens) return (LensText){0};
    const Settings *settings = request_settings(subject->request);
    return (LensText){cost_summary(arena, subject->forward, settings->card), "", NULL};
}

static Json *command_json(Arena *arena, LensText text, const char *uri, const char *kernel) {
    Json *command = json_object(arena);
    json_set_string(command, "title", text.title ? text.title : "");
    json_set_string(command, "command", text.command);
    if (!*text.command) return command;
    Json *arguments = json_array(arena), *place = json_object(arena);
    json_set_string(place, "uri", text.uri ? text.uri : uri);
    json_set_string(place, "kernel", kernel);
    json_push(arguments, place);
    json_set(command, "arguments", arguments);
    return command;
}

typedef LensText LensTextOf(Arena *arena, const LensSubject *subject);
typedef enum LensKind {
#define LENS(id, name, text) LENS_##id,
    LENS_KINDS(LENS)
#undef LENS
        LENS_KIND_COUNT
} LensKind;
static const struct {
    const char *name;
    LensTextOf *text;
} kinds[] = {
#define LENS(id, name, text) {name, text},
    LENS_KINDS(LENS)
#undef LENS
};

static LensSubject subject_of(Request *request, const Snapshot *snapshot, const Kernel *kernel) {
    LensSubject subject = {
        .request = request,
        .snapshot = snapshot,
        .forward = kernel,
        .kernel = str_dup(request->arena, kernel->definition->name),
        .hash = kernel_hash(snapshot, kernel),
    };
    subject.status = gradient_status(request->server->gradients, request->arena,
                                     request->document->uri, subject.kernel, subject.hash);
    for (LIST_EACH(int, i, snapshot->kernels))
        subject.is_written |= kernel_of_backward(snapshot, &snapshot->kernels.items[i]) == kernel;
    return subject;
}

/// `of` is the forward whose status it shows.
static void lens_push(Request *request, const Snapshot *snapshot, Json *list, Range range,
                      const Kernel *of, LensKind kind) {
    Arena *arena = request->arena;
    LensSubject subject = subject_of(request, snapshot, of);
    bool is_refused = subject.status.state == GRADIENT_REFUSED && !subject.status.is_stale;
    if (kind != LENS_BACKWARD && is_refused) return;  // the first lens says why
    LensText text = kinds[kind].text(arena, &subject);
    if (!text.title) return;
    Json *json = json_object(arena), *data = json_object(arena);
    json_set(json, "range", request_range_json(request, snapshot, range));
    json_set(json, "command", command_json(arena, text, request->document->uri, subject.kernel));
    json_set_string(data, "uri", request->document->uri);
    json_set_string(data, "kernel", subject.kernel);
    json_set_string(data, "lens", kinds[kind].name);
    json_set(json, "data", data);
    json_push(list, json);
}

static void watch_after(Request *request) {
    if (!request->error_code) gradients_watch(request->server, request->document->uri);
}

Json *handle_code_lens(Request *request) {
    Arena *arena = request->arena;
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Json *list = json_array(arena);
    if (!request->configuration->code_lens) return list;
    Lenses lenses = code_lenses(arena, snapshot);
    for (LIST_EACH(int, i, lenses.list)) {
        const Lens *lens = &lenses.list.items[i];
        const Kernel *forward =
            lens->is_backward ? kernel_of_backward(snapshot, lens->kernel) : NULL;
        if (lens->is_forward && !lens->is_backward) {
            for (int kind = 0; kind < LENS_KIND_COUNT; kind++)
                if (kind != LENS_BACK)
                    lens_push(request, snapshot, list, lens->range, lens->kernel, (LensKind)kind);
        } else if (forward) {
            lens_push(request, snapshot, list, lens->range, forward, LENS_UPDATE);
            lens_push(request, snapshot, list, lens->range, forward, LENS_BACK);
            lens_push(request, snapshot, list, lens->range, forward, LENS_RESULT);
            lens_push(request, snapshot, list, lens->range, forward, LENS_CHECK);
        }
    }
    if (list->count) request->finish = watch_after;
    return list;
}

/// What the lens says now, for clients that ask when it comes into view.
Json *handle_code_lens_resolve(Request *request) {
    Arena *arena = request->arena;
    const Json *data = json_get(request->params, "data");
    const char *name = json_get_string(data, "kernel", "");
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Json *lens = json_copy(arena, request->params);
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(name));
    if (!kernel) return lens;
    LensSubject subject = subject_of(request, snapshot, kernel);
    const char *asked = json_get_string(data, "lens", "");
    for (int kind = 0; kind < LENS_KIND_COUNT; kind++)
        if (strcmp(kinds[kind].name, asked) == 0)
            json_set(lens, "command",
                     command_json(arena, kinds[kind].text(arena, &subject), request->document->uri,
                                  name));
    return lens;
}
