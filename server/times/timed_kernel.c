#include "server/times/timed_kernel.h"

#include <string.h>

#include "autodiff/module/module.h"

typedef struct TimeLines {
    LIST(const char *) list;
} TimeLines;

/// The `# tad time:` lines of a comment, each as it stands.
static TimeLines time_lines(Arena *arena, const char *comment) {
    static const char mark[] = "# tad time:";
    TimeLines lines = {0};
    for (const char *at = comment; at && (at = strstr(at, mark)); at += sizeof mark - 1)
        LIST_PUSH(arena, &lines.list, arena_strndup(arena, at, strcspn(at, "\n")));
    return lines;
}

static void put_params(Arena *arena, Json *params, TimedKernel *timed) {
    const Json *spec = json_get(params, "spec");
    TimeLines lines = time_lines(arena, json_get_string(spec, "text", NULL));
    timed->count = lines.list.count ? lines.list.count : 1;
    timed->params = ARENA_ARRAY(arena, Json *, timed->count);
    timed->params[0] = params;
    for (LIST_EACH(int, i, lines.list)) {
        timed->params[i] = json_copy(arena, params);
        json_set_string(json_get(timed->params[i], "spec"), "text", lines.list.items[i]);
    }
}

TimedKernel timed_kernel(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                         const ProofFile *file, int seed, double max_seconds) {
    BackwardOptions options = {.wrapper = WRAPPER_NONE};
    Diagnostics ignored = {.arena = arena};
    Backward *backward = backward_derive(arena, snapshot, kernel, &options, &ignored);
    TimedKernel timed = {.name = arena_strdup(arena, kernel->function->name)};
    bool is_derived = backward->status == BACKWARD_DERIVED;
    if (!is_derived) timed.no_backward = arena_strdup(arena, backward->reason);
    timed.module = is_derived ? backward_module(arena, snapshot, &backward, 1, &options, &ignored)
                              : str_dup(arena, snapshot->source->text);
    Backward alone = {.kernel = kernel};
    ProofPlan plan = proof_plan(arena, kernel, is_derived ? backward : &alone,
                                is_derived ? timed.module : "", file->settings);
    Json *params = proof_params(arena, file, &plan, seed, max_seconds);
    params = json_copy(arena, params);
    put_params(arena, params, &timed);
    return timed;
}
