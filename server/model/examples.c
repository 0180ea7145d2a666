// Texts are those of the index, as they were when the user had them indexed.
#include "server/model/examples.h"

#include "server/model/model.h"
#include "server/retrieval/collect.h"
#include "server/system/files.h"
#include "server/system/private.h"

enum {
    MOST_BACKWARDS = 2,  // of one forward
    MOST_BYTES = 8000,   // of one kernel: a longer one is left out
};

/// False where the index has no text of it that is short enough.
static bool put_kernel(Buffer *out, Store *store, const char *path, const char *name) {
    const char *text = store_text(store, path, name);
    size_t size = strlen(text);
    if (size == 0 || size > MOST_BYTES) return false;
    buffer_printf(out, "\n```python\n%s\n```\n", text);
    return true;
}

static void put_example(Arena *arena, Buffer *out, Store *store, const StoredKernel *kernel,
                        Error *error) {
    StoredPlaces backwards = store_backwards_of(store, kernel, error);
    Buffer example = buffer_new(arena);
    int put = 0;
    if (!put_kernel(&example, store, kernel->path, kernel->name)) return;
    buffer_puts(&example, "\nIts backward:\n");
    for (int i = 0; i < backwards.list.count && put < MOST_BACKWARDS; i++)
        put +=
            put_kernel(&example, store, backwards.list.items[i].path, backwards.list.items[i].name);
    if (put) buffer_printf(out, "\nA forward kernel:\n%s", buffer_text(&example));
}

const char *examples_text(Arena *arena, const char *path, const Kernel *kernel, int count,
                          const char *workspace, Error *error) {
    const char *index = store_path(arena, error);
    if (index && lies_in(arena, index, workspace))
        *error = arena_printf(arena, "%s lies in the workspace, which cannot speak for you", index);
    if (*error) return NULL;
    Store *store = store_open(arena, error);
    if (!store) return NULL;
    Buffer out = buffer_new(arena);
    SimilarOptions options = {.top_k = count, .min_similarity = SIMILAR_LEAST};
    const char *embedding = model_embedding(arena, workspace, &options.embedding_weight);
    StoredKernels kernels = store_forwards(store, embedding, error);
    StoredKernel asked = collect_kernel(arena, path_real(arena, path), kernel);
    asked.vector = store_vector(store, embedding, asked.hash);
    Similars similars = similar_find(arena, &kernels, &asked, &options);
    for (LIST_EACH(int, i, similars.list))
        put_example(arena, &out, store, similars.list.items[i].kernel, error);
    store_close(store);
    return *error ? NULL : buffer_text(&out);
}
