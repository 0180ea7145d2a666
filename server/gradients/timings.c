// The backward is derived on the slow queue, the processes run on the loop, the lenses read a table under a lock.
#include "server/gradients/timings.h"

#include <string.h>

#include "autodiff/kept.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "base/parallel.h"
#include "server/gradients/gradients.h"
#include "server/gradients/kernel_hash.h"
#include "server/proofs/proof.h"
#include "server/proofs/timing.h"
#include "server/queues/request.h"
#include "server/queues/slow_queue.h"
#include "server/session/client.h"
#include "server/session/progress.h"
#include "server/times/timed_kernel.h"

typedef struct Known {
    char text[256];
    uint64_t hash;
    bool is_running;
    Arena *arena;         // of `lines`; NULL: there are none
    const Json *lines;    // of the compiled forward, counted from its first line
    const Json *figures;  // timing_figures
    uint64_t code;        // kernel_code_hash of what `sizes` are about
    Arena *sizes_arena;   // NULL: there are none
    Json *sizes;          // timing_sizes
} Known;

enum { MOST_SIZES = 32 };  // of a kernel, of which times are kept

/// One timing under way.
typedef struct Clock {
    Arena *arena;
    struct Timings *timings;
    Request *request;  // held
    const char *uri, *kernel;
    Progress progress;  // without a token where the request has one
    const char *module, *problem;
    Json *params;
    TimedKernel timed;  // its lines in the text that is timed
    int first_line;     // of the kernel
    uint64_t hash, code;
    Timing *timing;
    bool is_cancelled;
    struct Clock *next;
} Clock;

struct Timings {
    Server *server;
    Lock lock;  // of the table
    Map table;  // "uri\nkernel" -> Known
    Clock *first;
    int last_token;
    bool is_ending;
};

struct Timings *timings_new(Server *server) {
    struct Timings *timings = ARENA_NEW(server->arena, struct Timings);
    timings->server = server;
    timings->table = map_new(server->arena);
    lock_init(&timings->lock);
    return timings;
}

void timings_free(struct Timings *timings) {
    for (Clock *clock = timings->first, *next; clock; clock = next) {
        next = clock->next;
        arena_free(clock->arena);
    }
    for (int i = 0; i < timings->table.count; i++) {
        Known *known = timings->table.entries[i].value;
        if (known->arena) arena_free(known->arena);
        if (known->sizes_arena) arena_free(known->sizes_arena);
    }
    lock_destroy(&timings->lock);
}

static const char *key_of(Arena *arena, const char *uri, const char *kernel) {
    return arena_printf(arena, "%s\n%s", uri, kernel);
}

static int line_count_of(Str text) {
    int lines = 1;
    for (size_t i = 0; i < text.size; i++) lines += text.data[i] == '\n';
    return lines;
}

/// The rows of the forward that are lines of the file, counted from the kernel's first one.
static Json *own_lines(const Clock *clock, Arena *arena, const Json *result) {
    const Json *named = timed_kernel_result(clock->arena, &clock->timed, result),
               *kernels = json_get(json_get(named, "forward"), "kernels"),
               *rows = kernels && kernels->kind == JSON_ARRAY && kernels->count
                           ? json_get(kernels->items[0], "lines")
                           : NULL;
    Json *lines = json_array(arena);
    for (int i = 0; rows && rows->kind == JSON_ARRAY && i < rows->count; i++) {
        int line = json_get_int(rows->items[i], "line", 0);
        if (!line || json_get_bool(rows->items[i], "is_derived", false)) continue;
        Json *row = json_object(arena);
        json_set_number(row, "line", line - clock->first_line);
        json_set_string(row, "text", timed_line_text(arena, rows->items[i]));
        json_push(lines, row);
    }
    return lines;
}

static Json *figures_of(Arena *arena, const Json *result) {
    static const char *const compiled[] = {"shared_bytes", "registers"};
    const Json *forward = json_get(result, "forward"), *kernels = json_get(forward, "kernels");
    double milliseconds = json_get_number(forward, "median_ms", 0),
           bytes = json_get_number(result, "bytes", 0),
           operations = json_get_number(result, "operations", 0);
    Json *figures = json_object(arena);
    json_set_string(figures, "configuration", json_get_string(result, "text", ""));
    // At small sizes the launch is timed, and not the work.
    bool is_work = milliseconds > 0 && bytes >= TIMING_LEAST_BYTES;
    if (is_work) json_set_number(figures, "gb_s", bytes / milliseconds / 1e6);
    if (is_work && operations > 0) {
        json_set_number(figures, "flop_per_byte", operations / bytes);
        json_set_number(figures, "tflop_s", operations / milliseconds / 1e9);
    }
    bool has_kernels = kernels && kernels->kind == JSON_ARRAY && kernels->count == 1;
    for (size_t i = 0; has_kernels && i < sizeof compiled / sizeof *compiled; i++)
        if (json_get(kernels->items[0], compiled[i]))
            json_set_number(figures, compiled[i],
                            json_get_number(kernels->items[0], compiled[i], 0));
    return figures;
}

static Json *size_of(Arena *arena, const Json *result) {
    static const char *const sides[] = {"forward", "backward"};
    Json *size = json_object(arena);
    json_set_string(size, "configuration", json_get_string(result, "text", ""));
    json_set_number(size, "bytes", json_get_number(result, "bytes", 0));
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        double milliseconds = json_get_number(json_get(result, sides[i]), "median_ms", 0);
        if (milliseconds > 0)
            json_set_number(size, arena_printf(arena, "%s_ms", sides[i]), milliseconds);
    }
    return size;
}

/// The times of another size beside those that are known, by bytes; the same size is replaced, and of too many the oldest text's go.
static void know_size(const Clock *clock, Known *known, const Json *result) {
    Arena *arena = arena_new();
    Json *own = size_of(arena, result), *sizes = json_array(arena);
    const Json *before = known->code == clock->code ? known->sizes : NULL;
    double bytes = json_get_number(own, "bytes", 0);
    if (!(bytes > 0)) own = NULL;
    for (int i = 0; before && i < before->count && sizes->count < MOST_SIZES - 1; i++) {
        double other = json_get_number(before->items[i], "bytes", 0);
        bool is_same = strcmp(json_get_string(before->items[i], "configuration", ""),
                              json_get_string(result, "text", "")) == 0;
        if (own && other > bytes) {
            json_push(sizes, own);
            own = NULL;
        }
        if (!is_same) json_push(sizes, json_copy(arena, before->items[i]));
    }
    if (own) json_push(sizes, own);
    if (known->sizes_arena) arena_free(known->sizes_arena);
    known->sizes_arena = arena;
    known->sizes = sizes;
    known->code = clock->code;
}

static void know_result(const Clock *clock, Known *known, const Json *result) {
    know_size(clock, known, result);
    if (known->arena) arena_free(known->arena);
    known->arena = arena_new();
    known->lines = own_lines(clock, known->arena, result);
    known->figures = figures_of(known->arena, result);
}

/// `result`: or NULL where there are no times.
static void know(Clock *clock, const char *text, bool is_running, const Json *result) {
    struct Timings *timings = clock->timings;
    Arena *arena = timings->server->arena;
    lock_take(&timings->lock);
    const char *key = key_of(clock->arena, clock->uri, clock->kernel);
    Known *known = map_get(&timings->table, str_from(key));
    if (!known) {
        known = ARENA_NEW(arena, Known);
        map_set(&timings->table, str_from(arena_strdup(arena, key)), known);
    }
    size_t size = strlen(text) < sizeof known->text ? strlen(text) : sizeof known->text - 1;
    memcpy(known->text, text, size);
    known->text[size] = 0;
    known->hash = clock->hash;
    known->is_running = is_running;
    if (result) know_result(clock, known, result);
    lock_give(&timings->lock);
    client_refresh(timings->server, true, false);
}

const char *timing_known(struct Timings *timings, Arena *arena, const char *uri, const char *kernel,
                         uint64_t hash, bool *is_running) {
    lock_take(&timings->lock);
    const Known *known = map_get(&timings->table, str_from(key_of(arena, uri, kernel)));
    *is_running = known && known->is_running;
    const char *text =
        known && known->hash == hash && *known->text ? arena_strdup(arena, known->text) : NULL;
    lock_give(&timings->lock);
    return text;
}

Json *timing_figures(struct Timings *timings, Arena *arena, const char *uri, const char *kernel,
                     uint64_t hash) {
    lock_take(&timings->lock);
    const Known *known = map_get(&timings->table, str_from(key_of(arena, uri, kernel)));
    bool is_there = known && known->figures && known->hash == hash;
    Json *figures = is_there ? json_copy(arena, known->figures) : NULL;
    lock_give(&timings->lock);
    return figures;
}

Json *timing_sizes(struct Timings *timings, Arena *arena, const char *uri, const char *kernel,
                   uint64_t code) {
    lock_take(&timings->lock);
    const Known *known = map_get(&timings->table, str_from(key_of(arena, uri, kernel)));
    bool is_there = known && known->sizes && known->sizes->count && known->code == code;
    Json *sizes = is_there ? json_copy(arena, known->sizes) : NULL;
    lock_give(&timings->lock);
    return sizes;
}

const char *timing_of_line(struct Timings *timings, Arena *arena, const char *uri,
                           const Snapshot *snapshot, int line) {
    const Kernel *kernel = NULL;
    int first = 0;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        Range range = snapshot->kernels.items[i].definition->range;
        first = range_line(range);
        kernel = &snapshot->kernels.items[i];
        if (line >= first && line < first + line_count_of(source_slice(range))) break;
        kernel = NULL;
    }
    if (!kernel || !kernel->function) return NULL;
    lock_take(&timings->lock);
    const char *text = NULL;
    const Known *known =
        map_get(&timings->table, str_from(key_of(arena, uri, kernel->function->name)));
    int count = known && known->lines ? known->lines->count : 0;
    for (int i = 0; i < count && !text; i++)
        if (json_get_int(known->lines->items[i], "line", -1) == line - first)
            text = arena_strdup(arena, json_get_string(known->lines->items[i], "text", ""));
    uint64_t hash = known ? known->hash : 0;
    lock_give(&timings->lock);
    return text && kernel_hash(snapshot, kernel) == hash ? text : NULL;
}

static void clock_end(Clock *clock) {
    Clock **link = &clock->timings->first;
    while (*link && *link != clock) link = &(*link)->next;
    if (*link) *link = clock->next;
    progress_end(clock->timings->server, clock->progress, NULL);
    arena_free(clock->arena);
}

static void clock_fail(Clock *clock, const char *problem) {
    Request *request = clock->request;
    // What no kernel is to blame for is said once, in the answer, and stands over none.
    bool is_of_kernel = !clock->is_cancelled && !timing_lacks_setup(problem);
    know(clock, is_of_kernel ? problem : "", false, NULL);
    request_fail(request, clock->is_cancelled ? ERROR_REQUEST_CANCELLED : ERROR_REQUEST_FAILED,
                 "%s", problem);
    request_complete(request);
    clock_end(clock);
}

static void clock_timed(void *context, const Json *result, const char *problem) {
    Clock *clock = context;
    if (clock->timings->is_ending) return;
    if (!result) {
        clock_fail(clock, problem);
        return;
    }
    Request *request = clock->request;
    const char *summary = timing_summary(clock->arena, result);
    request->result = json_copy(request->arena, result);
    json_set_string(request->result, "kernel", clock->kernel);
    json_set_string(request->result, "summary", summary);
    know(clock, summary, false, result);
    request_complete(request);
    clock_end(clock);
}

// --- On the slow queue

static void clock_derive(Request *request, Clock *clock, const Snapshot *snapshot,
                         const Kernel *kernel) {
    Arena *arena = request->arena;
    Diagnostics ignored = {.arena = arena};
    BackwardOptions options = {.wrapper = WRAPPER_NONE};
    Backward *backward = backward_kept(arena, kernel->snapshot, kernel, WRAPPER_AUTOGRAD, NULL);
    if (backward->status != BACKWARD_DERIVED) {
        clock->problem = arena_printf(clock->arena, "no backward: %s", backward->reason);
        return;
    }
    const char *text = backward_module(arena, snapshot, &backward, 1, &options, &ignored);
    double limit_s = request->configuration->time_limit_s;
    clock->params =
        json_copy(clock->arena, slow_proof_params(request, snapshot, slow_imports(request), kernel,
                                                  backward, text, limit_s));
    clock->module = arena_strdup(clock->arena, text);
    clock->first_line = range_line(kernel->definition->range);
    clock->timed.module = clock->module;
    timed_kernel_lines(clock->arena, snapshot, &clock->timed);
}

static Json *clock_prepare(Request *request) {
    Clock *clock = request->context;
    const Snapshot *snapshot = slow_snapshot(request);
    const Kernel *kernel =
        snapshot ? snapshot_find_kernel(snapshot, str_from(clock->kernel)) : NULL;
    if (kernel && kernel->function && kernel_is_forward(kernel)) {
        clock->hash = kernel_hash(snapshot, kernel);
        clock->code = kernel_code_hash(snapshot, kernel);
        Saving saving = {.snapshot = snapshot};
        if (request->configuration->saves_for_backward)
            saving = saving_of(request->arena, snapshot, NULL, kernel);
        clock_derive(request, clock, saving.snapshot, saving_kernel(&saving, kernel));
        saving_close(&saving);
    } else {
        clock->problem =
            arena_printf(clock->arena, "there is no forward kernel `%s`", clock->kernel);
    }
    return NULL;
}

static void clock_prepared(Request *request) {
    Clock *clock = request->context;
    if (clock->timings->is_ending) return;
    const Server *server = clock->timings->server;
    const Configuration *configuration = request->configuration;
    Error error = NULL;
    const char *wish = configuration->runner;
    const char *runner = runner_find(clock->arena, *wish ? wish : NULL, &error);
    const char *problem = clock->is_cancelled   ? "cancelled"
                          : request->error_code ? request->error
                          : clock->problem      ? clock->problem
                                                : error;
    if (problem || !clock->params) {
        clock_fail(clock, problem ? problem : "nothing is known of this kernel");
        return;
    }
    know(clock, "", true, NULL);
    TimingRequest timing = {
        .runner = runner_command(clock->arena, runner),
        .python = timing_python(clock->arena, configuration->python),
        .params = clock->params,
        .module = clock->module,
    };
    clock->timing = timing_start(server->loop, &timing, clock_timed, clock);
}

// --- On the loop

void timings_start(struct Timings *timings, Request *request, const char *kernel) {
    Server *server = timings->server;
    Arena *arena = arena_new();
    Clock *clock = ARENA_NEW(arena, Clock);
    *clock = (Clock){
        .arena = arena,
        .timings = timings,
        .request = request,
        .uri = arena_strdup(arena, request->document->uri),
        .kernel = arena_strdup(arena, kernel),
        .next = timings->first,
    };
    timings->first = clock;
    if (!progress_of_params(request->params).token)
        clock->progress =
            progress_new(arena, arena_printf(arena, "tad-time-%d", ++timings->last_token));
    progress_begin(server, clock->progress, arena_printf(arena, "Timing %s", kernel));
    Request *prepare = request_new(server, arena_new());
    prepare->context = clock;
    request_set_document(prepare, request->document, request->text);
    prepare->work = clock_prepare;
    prepare->finish = clock_prepared;
    request_start(prepare, QUEUE_SLOW);
}

static void clock_cancel(Clock *clock) {
    clock->is_cancelled = true;
    if (clock->timing) timing_cancel(clock->timing);
}

void timings_cancel_token(struct Timings *timings, const Json *token) {
    for (Clock *clock = timings->first; clock; clock = clock->next) {
        if (!progress_has(clock->progress, token)) continue;
        clock_cancel(clock);
        return;
    }
}

void timings_cancel_request(struct Timings *timings, const Request *request) {
    for (Clock *clock = timings->first; clock; clock = clock->next) {
        if (clock->request != request) continue;
        clock_cancel(clock);
        return;
    }
}

void timings_end(struct Timings *timings) {
    timings->is_ending = true;
    for (Clock *clock = timings->first; clock; clock = clock->next) {
        if (clock->timing) timing_abandon(clock->timing);
        request_drop(clock->request);
    }
}
