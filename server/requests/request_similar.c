// An index is read anew for each question: another process may have written it.
#include "server/requests/request_similar.h"

#include "server/model/model.h"
#include "server/retrieval/collect.h"
#include "server/retrieval/similar.h"
#include "server/system/files.h"
#include "server/system/private.h"
#include "server/text/protocol.h"

enum { MOST_PLACES = 50 };

bool similar_is_known(Arena *arena) {
    Error error;
    const char *path = store_path(arena, &error);
    return path && file_exists(path);
}

static Json *line_start_json(Arena *arena, int line) {
    Json *place = json_object(arena);
    json_set_number(place, "line", line > 0 ? line - 1 : 0);
    json_set_number(place, "character", 0);
    return place;
}

/// A kernel where it stood when it was indexed; NULL where its file is gone.
static Json *place_json(Arena *arena, const char *path, const char *name, int line) {
    if (!file_exists(path)) return NULL;
    Json *place = json_object(arena), *range = json_object(arena);
    json_set_string(place, "name", name);
    json_set_string(place, "uri", uri_of_path(arena, path));
    json_set(range, "start", line_start_json(arena, line));
    json_set(range, "end", line_start_json(arena, line));
    json_set(place, "range", range);
    return place;
}

static void push_similar(Arena *arena, Store *store, const Similar *similar, Json *list,
                         Error *error) {
    const StoredKernel *kernel = similar->kernel;
    Json *place = place_json(arena, kernel->path, kernel->name, kernel->line);
    if (!place) return;
    Json *backwards = json_array(arena);
    StoredPlaces places = store_backwards_of(store, kernel, error);
    for (LIST_EACH(int, i, places.list)) {
        const StoredPlace *each = &places.list.items[i];
        Json *backward = place_json(arena, each->path, each->name, each->line);
        if (backward) json_push(backwards, backward);
    }
    json_set_number(place, "similarity", similar->similarity);
    json_set_number(place, "copies", similar->copies.count);
    json_set(place, "backwards", backwards);
    json_push(list, place);
}

static SimilarOptions options_of(Arena *arena, const Json *wanted) {
    SimilarOptions options = {.top_k = json_get_int(wanted, "top_k", SIMILAR_TOP_K),
                              .min_similarity = json_get_number(wanted, "min_sim", SIMILAR_LEAST)};
    if (options.top_k < 1) options.top_k = SIMILAR_TOP_K;
    if (options.top_k > MOST_PLACES) options.top_k = MOST_PLACES;
    const Json *exclude = json_get(wanted, "exclude");
    if (!exclude || exclude->kind != JSON_ARRAY) return options;
    const char **patterns = ARENA_ARRAY(arena, const char *, exclude->count + 1);
    for (int i = 0; i < exclude->count; i++)
        if (exclude->items[i]->kind == JSON_STRING)
            patterns[options.excluded_count++] = str_dup(arena, exclude->items[i]->string);
    options.excluded = patterns;
    return options;
}

Json *similar_places(Request *request, const Kernel *kernel, const Json *wanted) {
    Arena *arena = request->arena;
    Error error = NULL;
    Store *store = store_open(arena, &error);
    Json *list = json_array(arena);
    if (store) {
        SimilarOptions options = options_of(arena, wanted);
        const char *path = request->document->path;
        const char *embedding = model_embedding(arena, *path ? workspace_of(arena, path) : NULL,
                                                &options.embedding_weight);
        StoredKernels kernels = store_forwards(store, embedding, &error);
        StoredKernel asked = collect_kernel(arena, *path ? path_real(arena, path) : "", kernel);
        // No network is used from here: a text that is not the indexed one has no vector.
        asked.vector = store_vector(store, embedding, asked.hash);
        Similars similars = similar_find(arena, &kernels, &asked, &options);
        for (LIST_EACH(int, i, similars.list))
            push_similar(arena, store, &similars.list.items[i], list, &error);
        store_close(store);
    }
    if (!error) return list;
    request_fail(request, ERROR_REQUEST_FAILED, "%s", error);
    return NULL;
}
