// tad-lsp: the command line. The commands are rows of options.def.
#include <stdlib.h>

#include "analysis/host/launch.h"
#include "autodiff/backward.h"
#include "autodiff/passes.h"
#include "base/budget.h"
#include "base/escape.h"
#include "server/model/model.h"
#include "server/settings/options.h"

/// A line for each evaluation of a launch: tests count them.
static void say_evaluated(const LaunchSite *site, const HostPolicy *policy) {
    Arena *arena = arena_new();
    const char *path = text_visible(arena, site->range.source->path);
    const char *turned = policy->turned ? arena_printf(arena, " turned=%d", policy->turned) : "";
    say("evaluated: %s:%d %.*s seed=%llu variant=%d blocks=%d sizes=%d%s", path,
        range_line(site->range), STR_ARGS(site->kernel->name), (unsigned long long)policy->seed,
        policy->variant, policy->divide_blocks ? 2 : policy->keep_blocks, policy->sizes, turned);
    arena_free(arena);
}

/// A line for each derivation: tests count them.
static void say_derived(const Snapshot *snapshot, const Kernel *kernel) {
    Arena *arena = arena_new();
    say("derived: %s:%d %.*s", text_visible(arena, snapshot->source->path),
        range_line(snapshot_range(snapshot, kernel->definition->name_range)),
        STR_ARGS(kernel->definition->name));
    arena_free(arena);
}

/// At the end of each process: a measure of its work.
static void say_steps(void) { say("steps: %lld", (long long)steps_taken); }

int main(int argument_count, char **arguments) {
    model_keys_take();                                      // before anything is started
    if (getenv("TAD_VERIFY_PASSES")) passes_verify_each();  // the tests say so
    if (getenv("TAD_WATCH_STEPS")) atexit(say_steps);
    if (getenv("TAD_WATCH_LAUNCHES")) host_launch_watch(say_evaluated);
    if (getenv("TAD_WATCH_DERIVATIONS")) backward_watch(say_derived);
    Arena *arena = arena_new();
    Options options;
    Error error = options_parse(arena, argument_count, arguments, &options);
    int status = STATUS_TROUBLE;
    if (error)
        say("%s", error);
    else
        status = command_run_chosen(&options);
    arena_free(arena);
    return status;
}
