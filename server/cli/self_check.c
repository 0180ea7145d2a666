// `--self-check FILE`: every feature at every word of a file, each timed; a fault of ours is told and gives status 2.
#include <ctype.h>
#include <stdio.h>

#include "base/escape.h"
#include "codeactions/codeactions.h"
#include "features/features.h"
#include "server/settings/options.h"
#include "server/system/files.h"
#include "server/system/latency.h"
#include "server/system/loop.h"
#include "server/text/resolve.h"

/// `size` is that of the text: the whole file for features that are asked once.
typedef void Probe(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size);

typedef struct Feature {
    const char *name;
    Probe *probe;
    bool is_of_place;  // asked at every word; else once
} Feature;

#define AT_PLACE(function)                                                                         \
    static void probe_##function(Arena *arena, const Snapshot *snapshot, uint32_t offset,          \
                                 uint32_t size) {                                                  \
        (void)size;                                                                                \
        (void)function(arena, snapshot, offset);                                                   \
    }
AT_PLACE(hover_at)
AT_PLACE(completions_at)
AT_PLACE(signature_at)
AT_PLACE(definition_at)
AT_PLACE(declaration_at)
AT_PLACE(type_definition_at)
AT_PLACE(highlights_at)
AT_PLACE(selection_ranges)
AT_PLACE(call_item_at)
AT_PLACE(calls_into)
AT_PLACE(calls_from)
AT_PLACE(inlay_hint_tooltip)
#undef AT_PLACE

static void probe_references(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                             uint32_t size) {
    (void)size;
    references_at(arena, snapshot, offset, true);
}

static void probe_rename(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size) {
    (void)size;
    const char *refusal = NULL;
    rename_prepare(arena, snapshot, offset, &refusal);
    rename_at(arena, snapshot, offset, STR("renamed_by_the_check"), &refusal);
}

static const char *no_refusal(void *context, const Kernel *kernel) {
    (void)context;
    (void)kernel;
    return NULL;
}

static void probe_actions(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size) {
    (void)size;
    actions_offer(arena, snapshot, offset, offset, OFFER_QUICK, no_refusal, NULL);
}

static void probe_access(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size) {
    (void)size;
    const Kernel *kernel = snapshot_kernel_at(snapshot, offset);
    AccessReport report;
    if (kernel) access_report(arena, snapshot, kernel, offset, &report);
}

static void probe_hints(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size) {
    (void)offset;
    inlay_hints(arena, snapshot, 0, size);
    cost_hints(arena, snapshot, 0, size);
    for (LIST_EACH(int, i, snapshot->kernels))
        cost_report(arena, snapshot, &snapshot->kernels.items[i], NULL, NULL);
}

static void probe_tokens(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size) {
    (void)offset;
    semantic_tokens(arena, snapshot, 0, size);
}

static void probe_symbols(Arena *arena, const Snapshot *snapshot, uint32_t offset, uint32_t size) {
    (void)offset;
    (void)size;
    document_symbols(arena, snapshot);
    folding_ranges(arena, snapshot);
    code_lenses(arena, snapshot);
}

static const Feature features[] = {
    {"hover", probe_hover_at, true},
    {"completion", probe_completions_at, true},
    {"signature help", probe_signature_at, true},
    {"definition", probe_definition_at, true},
    {"declaration", probe_declaration_at, true},
    {"type definition", probe_type_definition_at, true},
    {"references", probe_references, true},
    {"highlight", probe_highlights_at, true},
    {"rename", probe_rename, true},
    {"selection", probe_selection_ranges, true},
    {"call hierarchy: prepare", probe_call_item_at, true},
    {"call hierarchy: callers", probe_calls_into, true},
    {"call hierarchy: callees", probe_calls_from, true},
    {"inlay hint: tooltip", probe_inlay_hint_tooltip, true},
    {"code actions", probe_actions, true},
    {"access", probe_access, true},
    {"inlay hints", probe_hints, false},
    {"semantic tokens", probe_tokens, false},
    {"symbols, folds, lenses", probe_symbols, false},
};

typedef struct SelfCheck {
    Arena *arena;
    const Snapshot *snapshot;
    Latencies latencies;
    int faults;
} SelfCheck;

static void probe_run(SelfCheck *check, const Feature *feature, uint32_t offset) {
    const Source *source = check->snapshot->source;
    Arena *scratch = arena_new();
    BugGuard guard;
    int line, column;
    source_position(source, offset, &line, &column);
    uint64_t started = latency_clock_ns();
    if (BUG_GUARD(&guard)) {
        feature->probe(scratch, check->snapshot, offset, (uint32_t)source->text.size);
        bug_guard_end(&guard);
    } else {
        say("%s:%d:%d: %s: internal error: %s", source->path, line + 1, column + 1, feature->name,
            guard.message);
        check->faults++;
    }
    double seconds = (double)(latency_clock_ns() - started) * 1e-9;
    if (feature->is_of_place)
        latency_add_at(check->arena, &check->latencies, feature->name, seconds, line + 1,
                       column + 1);
    else
        latency_add(check->arena, &check->latencies, feature->name, seconds);
    arena_free(scratch);
}

/// The first byte of each word and of each sign.
static bool opens_token(Str text, size_t at) {
    if (isspace((unsigned char)text.data[at])) return false;
    return !byte_is_word(text.data[at]) || at == 0 || !byte_is_word(text.data[at - 1]);
}

static void check_everywhere(SelfCheck *check) {
    enum { FEATURE_COUNT = sizeof features / sizeof *features };
    Str text = check->snapshot->source->text;
    for (int i = 0; i < FEATURE_COUNT; i++) {
        if (!features[i].is_of_place) probe_run(check, &features[i], 0);
        for (size_t at = 0; features[i].is_of_place && at < text.size; at++)
            if (opens_token(text, at)) probe_run(check, &features[i], (uint32_t)at);
    }
}

int command_self_check(const Options *options) {
    Arena *arena = arena_new();
    const char *path = options->operands[0];
    Str text;
    Error error = file_read(arena, path, &text);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    ImportResolver *imports = import_resolver_new(NULL);
    SnapshotOptions snapshot_options = {.resolver = import_resolver_interface(imports)};
    SelfCheck check = {.arena = arena};
    uint64_t started = latency_clock_ns();
    Snapshot *snapshot = snapshot_build(path, text, &snapshot_options);
    latency_add(arena, &check.latencies, "analysis", (double)(latency_clock_ns() - started) * 1e-9);
    check.snapshot = snapshot;
    // As the server does while nobody waits (server/queues/ahead.c).
    started = latency_clock_ns();
    semantic_tokens(arena, snapshot, 0, (uint32_t)text.size);
    latency_add(arena, &check.latencies, "reading imports ahead",
                (double)(latency_clock_ns() - started) * 1e-9);
    check_everywhere(&check);
    Buffer out = buffer_new(arena);
    latencies_write(&out, &check.latencies);
    fputs(lines_visible(out.arena, buffer_text(&out)), stdout);
    snapshot_release(snapshot);
    import_resolver_free(imports);
    int status = check.faults ? STATUS_TROUBLE : STATUS_CLEAN;
    arena_free(arena);
    return status;
}
