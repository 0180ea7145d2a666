// `--similar FILE[:KERNEL]`: the indexed forwards that are built most like a kernel, and where their backwards stand.
#include <stdio.h>

#include "autodiff/backward.h"
#include "base/escape.h"
#include "base/json.h"
#include "server/embedding/vectors.h"
#include "server/retrieval/collect.h"
#include "server/retrieval/similar.h"
#include "server/settings/options.h"
#include "server/system/files.h"
#include "server/system/target.h"
#include "server/text/resolve.h"

enum { MOST_SHOWN = 3 };  // backwards of a kernel; JSON has all

typedef struct SimilarRun {
    Arena *arena;
    const Options *options;
    CommandTarget target;
    Store *store;
    StoredKernels kernels;
    SimilarOptions wanted;
    Json *list;
    Buffer text;
    Error error;
} SimilarRun;

static Json *places_json(Arena *arena, const StoredPlaces *places) {
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, places->list)) {
        Json *place = json_object(arena);
        json_set_string(place, "file", places->list.items[i].path);
        json_set_string(place, "name", places->list.items[i].name);
        json_set_number(place, "line", places->list.items[i].line);
        json_push(list, place);
    }
    return list;
}

static void tell_similar(SimilarRun *run, const Similar *similar, Json *list) {
    Arena *arena = run->arena;
    const StoredKernel *kernel = similar->kernel;
    StoredPlaces functions = store_functions_of(run->store, kernel, &run->error), backwards = {0};
    if (!run->error) backwards = store_backwards_of(run->store, kernel, &run->error);
    buffer_printf(&run->text, "  %.2f  %s:%d: %s", similar->similarity, kernel->path, kernel->line,
                  kernel->name);
    if (similar->copies.count)
        buffer_printf(&run->text, " (and %d almost the same)", similar->copies.count);
    buffer_puts(&run->text, "\n");
    int shown = backwards.list.count <= MOST_SHOWN + 1 ? backwards.list.count : MOST_SHOWN;
    for (int i = 0; i < shown; i++) {
        const StoredPlace *place = &backwards.list.items[i];
        buffer_printf(&run->text, "          backward %s:%d: %s\n", place->path, place->line,
                      place->name);
    }
    if (shown < backwards.list.count)
        buffer_printf(&run->text, "          and %d more\n", backwards.list.count - shown);
    Json *json = json_object(arena);
    json_set_number(json, "similarity", similar->similarity);
    json_set_number(json, "structure", similar->structure);
    json_set_string(json, "file", kernel->path);
    json_set_string(json, "name", kernel->name);
    json_set_number(json, "line", kernel->line);
    StoredPlaces copies = {0};
    for (LIST_EACH(int, i, similar->copies)) {
        const StoredKernel *copy = similar->copies.items[i];
        LIST_PUSH(arena, &copies.list, (StoredPlace){copy->path, copy->name, copy->line});
    }
    json_set(json, "copies", places_json(arena, &copies));
    json_set(json, "functions", places_json(arena, &functions));
    json_set(json, "backwards", places_json(arena, &backwards));
    json_push(list, json);
}

static void tell_kernel(SimilarRun *run, const StoredKernel *asked) {
    Similars similars = similar_find(run->arena, &run->kernels, asked, &run->wanted);
    Json *json = json_object(run->arena), *list = json_array(run->arena);
    buffer_printf(&run->text, "%s:%d: %s%s\n", run->target.path, asked->line, asked->name,
                  similars.list.count ? "" : ": nothing is similar");
    for (LIST_EACH(int, i, similars.list)) tell_similar(run, &similars.list.items[i], list);
    json_set_string(json, "kernel", asked->name);
    json_set_number(json, "line", asked->line);
    json_set(json, "similar", list);
    json_push(run->list, json);
}

static Error tell_file(SimilarRun *run, const Snapshot *snapshot) {
    Arena *arena = run->arena;
    const CommandTarget *target = &run->target;
    StoredKernels asked = {0};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel->function) continue;
        bool is_asked = target->kernel ? strcmp(kernel->function->name, target->kernel) == 0
                                       : kernel_is_forward(kernel);
        if (!is_asked) continue;
        StoredKernel own = collect_kernel(arena, path_real(arena, target->path), kernel);
        LIST_PUSH(arena, &asked.list, own);
    }
    if (!asked.list.count)
        return target->kernel
                   ? arena_printf(arena, "%s has no kernel `%s`", target->path, target->kernel)
                   : arena_printf(arena, "%s has no kernel that stores anything", target->path);
    Error error;
    const char *embedding =
        vectors_of(arena, run->options, target->path, run->store, asked.list.items,
                   asked.list.count, &run->wanted.embedding_weight);
    run->kernels = store_forwards(run->store, embedding, &error);
    if (error) return error;
    for (LIST_EACH(int, i, asked.list)) tell_kernel(run, &asked.list.items[i]);
    return run->error;
}

static Error find_all(SimilarRun *run) {
    Arena *arena = run->arena;
    Str text;
    Error error = file_read(arena, run->target.path, &text);
    if (error) return error;
    run->store = store_open(arena, &error);
    if (error) return error;
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    Snapshot *snapshot = snapshot_build(path_real(arena, run->target.path), text, &options);
    error = tell_file(run, snapshot);
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return error;
}

int command_similar(const Options *options) {
    Arena *arena = arena_new();
    SimilarRun run = {
        .arena = arena,
        .options = options,
        .target = target_of(arena, options->operands[0]),
        .list = json_array(arena),
        .text = buffer_new(arena),
        .wanted = {.top_k = options->top_k ? options->top_k : SIMILAR_TOP_K,
                   .min_similarity = options->min_sim < 0 ? SIMILAR_LEAST : options->min_sim,
                   .excluded = options->exclude.items,
                   .excluded_count = options->exclude.count}};
    Error error = find_all(&run);
    store_close(run.store);
    if (error) {
        say("%s", error);
    } else if (options->json) {
        Json *json = json_object(arena);
        json_set(json, "kernels", run.list);
        puts(json_visible(arena, json_print(arena, json, true)));
    } else {
        fputs(lines_visible(arena, buffer_text(&run.text)), stdout);
    }
    arena_free(arena);
    return error ? STATUS_TROUBLE : STATUS_CLEAN;
}
