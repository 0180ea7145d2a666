// The index is never held while the network is waited for.
#include "server/embedding/vectors.h"

#include "server/embedding/embedding.h"
#include "server/model/agreement.h"
#include "server/report/report.h"
#include "server/system/files.h"
#include "server/system/loop.h"
#include "server/system/private.h"

enum { BATCH = 16 };  // texts of one request

#define WITHOUT "similar kernels are told by structure and words alone"

/// `*embedding`: NULL where none is set up.
static Error settings_of(Arena *arena, const char *workspace, ModelSettings *settings,
                         const char **embedding) {
    double weight;
    *embedding = NULL;
    Error error = model_settings_embedding(arena, workspace, true, settings);
    if (!error) *embedding = model_embedding(arena, workspace, &weight);
    return error;
}

static const char *subject_of(Arena *arena, const ModelSettings *settings) {
    return agreement_subject(arena, model_embedding_url(arena, settings), AGREEMENT_EMBEDDING);
}

static bool is_agreed(Arena *arena, const Options *options, const ModelSettings *settings,
                      const char *workspace, const StoredKernel *kernels, int count) {
    const char *subject = subject_of(arena, settings);
    if (agreement_holds(arena, workspace, subject)) return true;
    int first = count < BATCH ? count : BATCH;
    Buffer later = buffer_new(arena);
    if (first < count) buffer_printf(&later, "Further requests hold the texts of\n");
    for (int i = first; i < count; i++)
        buffer_printf(&later, "  %s: %s\n", kernels[i].path, kernels[i].name);
    buffer_puts(&later,
                "Later ones hold kernels of this workspace that are new or have changed.\n");
    return agreement_ask(arena, workspace, subject,
                         embedding_request(arena, settings, kernels, first), buffer_text(&later),
                         options->agree);
}

// --- the index

typedef struct VectorRun {
    Arena *arena;
    const Options *options;
    double started_s;
    int done, wanted;
    int64_t tokens;
    const char *model;
    Error error;
} VectorRun;

static double now_s(void) { return (double)clock_ns() / 1e9; }

static void keep(VectorRun *run, const char *embedding, const StoredKernel *kernels, int count) {
    const char *made_anew;
    Store *store = store_open_to_write(run->arena, &made_anew, &run->error);
    if (store) run->error = store_write_vectors(store, embedding, kernels, count);
    store_close(store);
    if (!run->error) run->done += count;
}

static bool is_below(const char *path, const char *root) {
    size_t size = strlen(root);
    return strncmp(path, root, size) == 0 && (path[size] == '/' || path[size] == 0);
}

/// Kernels below the root that want a vector.
static StoredKernels wanted_below(VectorRun *run, const char *root, const char *embedding) {
    StoredKernels wanted = {0};
    Store *store = store_open(run->arena, &run->error);
    if (!store) return wanted;
    StoredKernels all = store_without_vector(store, embedding, &run->error);
    store_close(store);
    for (LIST_EACH(int, i, all.list))
        if (is_below(all.list.items[i].path, root))
            LIST_PUSH(run->arena, &wanted.list, all.list.items[i]);
    return wanted;
}

static void update_root(VectorRun *run, const char *root) {
    const char *embedding, *inside = folder_exists(root) ? path_join(run->arena, root, "x") : root;
    const char *workspace = workspace_of(run->arena, inside);
    ModelSettings settings;
    run->error = settings_of(run->arena, workspace, &settings, &embedding);
    if (run->error || !embedding) return;
    StoredKernels wanted = wanted_below(run, root, embedding);
    int count = wanted.list.count;
    if (run->error || count == 0) return;
    run->model = settings.model;
    if (!is_agreed(run->arena, run->options, &settings, workspace, wanted.list.items, count))
        return;
    run->wanted += count;
    for (int i = 0; i < count && !run->error; i += BATCH) {
        StoredKernel *batch = &wanted.list.items[i];
        int size = count - i < BATCH ? count - i : BATCH;
        double left = settings.max_seconds - (now_s() - run->started_s);
        if (left <= 0)
            run->error = arena_printf(run->arena, "the budget of %.0f seconds is spent",
                                      settings.max_seconds);
        if (!run->error)
            run->error = embedding_ask(run->arena, &settings, left, batch, size, &run->tokens);
        if (!run->error) keep(run, embedding, batch, size);
    }
}

void vectors_update(const Options *options) {
    Arena *arena = arena_new();
    VectorRun run = {.arena = arena, .options = options, .started_s = now_s()};
    Error error;
    StorePaths roots = {0};
    Store *store = store_open(arena, &error);
    if (store) roots = store_roots(store, &error);
    store_close(store);
    for (int i = 0; i < roots.list.count && !run.error; i++) update_root(&run, roots.list.items[i]);
    if (run.done)
        say("%d kernel%s embedded by %s, %lld tokens", run.done, run.done == 1 ? "" : "s",
            run.model, (long long)run.tokens);
    if (run.error && run.wanted > run.done)
        say("%d kernel%s without embedding: %s; " WITHOUT, run.wanted - run.done,
            run.wanted - run.done == 1 ? " stays" : "s stay", run.error);
    else if (run.error)
        say("no embeddings: %s; " WITHOUT, run.error);
    arena_free(arena);
}

// --- a question

const char *vectors_of(Arena *arena, const Options *options, const char *file, Store *store,
                       StoredKernel *kernels, int count, double *weight) {
    const char *embedding, *workspace = workspace_of(arena, file);
    ModelSettings settings;
    Error error = settings_of(arena, workspace, &settings, &embedding);
    if (error) say("no embeddings: %s; " WITHOUT, error);
    if (error || !embedding) return NULL;
    *weight = settings.embedding_weight;
    StoredKernels wanted = {0};
    LIST(int) places = {0};
    for (int i = 0; i < count; i++) {
        kernels[i].vector = store_vector(store, embedding, kernels[i].hash);
        if (kernels[i].vector.count) continue;
        LIST_PUSH(arena, &wanted.list, kernels[i]);
        LIST_PUSH(arena, &places, i);
    }
    bool is_known = agreement_holds(arena, workspace, subject_of(arena, &settings));
    if (wanted.list.count && !is_known && !options->agree) {
        say("no embedding was asked for: you have not agreed that kernels of %s are sent to %s (--agree); " WITHOUT,
            workspace, settings.endpoint);
        return embedding;
    }
    double started_s = now_s();
    int64_t tokens = 0;
    if (wanted.list.count &&
        !is_agreed(arena, options, &settings, workspace, wanted.list.items, wanted.list.count))
        return embedding;
    for (int i = 0; i < wanted.list.count && !error; i += BATCH) {
        int size = wanted.list.count - i < BATCH ? wanted.list.count - i : BATCH;
        error = embedding_ask(arena, &settings, settings.max_seconds - (now_s() - started_s),
                              &wanted.list.items[i], size, &tokens);
        for (int k = i; k < i + size && !error; k++)
            kernels[places.items[k]].vector = wanted.list.items[k].vector;
    }
    if (error) say("no embedding: %s; " WITHOUT, error);
    return embedding;
}
