// Both formats ask alike; answers are {"data": [{"index": 0, "embedding": [...]}, ...]} and {"embeddings": [[...], ...]}.
#include "server/embedding/embedding.h"

#include <math.h>

#include "base/json.h"
#include "server/model/chat.h"
#include "server/network/http.h"

enum {
    MOST_TEXT = 16 * 1024,  // bytes of a kernel: models read no more than some thousand tokens
    MOST_NUMBERS = 16384,   // of a vector
};

static const char *body_of(Arena *arena, const ModelSettings *settings, const StoredKernel *kernels,
                           int count) {
    Json *body = json_object(arena), *input = json_array(arena);
    json_set_string(body, "model", settings->model);
    for (int i = 0; i < count; i++) {
        Str text = str_from(kernels[i].text);
        if (text.size > MOST_TEXT) text.size = MOST_TEXT;
        json_push(input, json_str(arena, text));
    }
    json_set(body, "input", input);
    return json_print(arena, body, true);
}

const char *embedding_request(Arena *arena, const ModelSettings *settings,
                              const StoredKernel *kernels, int count) {
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "POST %s\n", model_embedding_url(arena, settings));
    const char *const *header = chat_headers(arena, settings, true);
    for (; *header; header++) buffer_printf(&out, "%s\n", *header);
    buffer_printf(&out, "\n%s\n\n", body_of(arena, settings, kernels, count));
    return buffer_text(&out);
}

// --- answers

static HttpVerdict verdict_of(void *context, Str body) {
    (void)context;
    Arena *arena = arena_new();
    Error error = NULL;
    json_parse(arena, body, &error);
    arena_free(arena);
    return error ? HTTP_BROKEN_OFF : HTTP_WHOLE;
}

/// The numbers, scaled to length 1. False where they are no vector.
static bool read_vector(Arena *arena, const Json *list, StoredVector *vector) {
    if (!list || list->kind != JSON_ARRAY || list->count == 0 || list->count > MOST_NUMBERS)
        return false;
    float *items = ARENA_ARRAY(arena, float, list->count);
    double squares = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->items[i]->kind != JSON_NUMBER) return false;
        squares += list->items[i]->number * list->items[i]->number;
    }
    double length = sqrt(squares);
    if (!(length > 0) || !isfinite(length)) return false;
    for (int i = 0; i < list->count; i++) items[i] = (float)(list->items[i]->number / length);
    *vector = (StoredVector){items, list->count};
    return true;
}

static Error read_vectors(Arena *arena, Str body, StoredKernel *kernels, int count,
                          int64_t *tokens) {
    Error error = NULL;
    const Json *root = json_parse(arena, body, &error);
    if (error) return "the answer is no JSON";
    const Json *data = json_get(root, "data"), *plain = json_get(root, "embeddings");
    const Json *list = data ? data : plain;
    if (!list || list->kind != JSON_ARRAY || list->count != count)
        return arena_printf(arena, "the answer has not %d embeddings", count);
    for (int i = 0; i < count; i++) kernels[i].vector = (StoredVector){0};
    for (int i = 0, size = 0; i < count; i++) {
        const Json *item = list->items[i];
        int at = data ? json_get_int(item, "index", i) : i;
        if (at < 0 || at >= count || kernels[at].vector.count ||
            !read_vector(arena, data ? json_get(item, "embedding") : item, &kernels[at].vector))
            return "the answer holds something that is no embedding";
        if (i == 0) size = kernels[at].vector.count;
        if (kernels[at].vector.count != size) return "the embeddings of one answer have two sizes";
    }
    const Json *usage = json_get(root, "usage");
    *tokens += json_get_int(usage ? usage : root, usage ? "prompt_tokens" : "prompt_eval_count", 0);
    return NULL;
}

Error embedding_ask(Arena *arena, const ModelSettings *settings, double max_seconds,
                    StoredKernel *kernels, int count, int64_t *tokens) {
    HttpRequest request = {.url = model_embedding_url(arena, settings),
                           .headers = chat_headers(arena, settings, false),
                           .secret_header = chat_key_header(settings),
                           .secret = settings->key,
                           .body = body_of(arena, settings, kernels, count),
                           .proxy = settings->proxy,
                           .ca_file = settings->ca_file,
                           .max_seconds = max_seconds};
    HttpAnswer answer;
    Error error = http_post(arena, &request, verdict_of, NULL, &answer);
    if (!error && answer.status != 200)
        error = arena_printf(arena, "the server answers %d%s %s", answer.status,
                             answer.status == 401 || answer.status == 403 ? " (the key)"
                             : answer.status == 404 ? " (the endpoint, or the model's name)"
                                                    : "",
                             chat_complaint(arena, answer.body));
    if (!error) error = read_vectors(arena, answer.body, kernels, count, tokens);
    return error ? model_redacted(arena, settings, error) : NULL;
}
