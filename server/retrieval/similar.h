// The forwards of the index that are built most like a kernel, and are for the same by their texts.
#ifndef TAD_SERVER_RETRIEVAL_SIMILAR_H
#define TAD_SERVER_RETRIEVAL_SIMILAR_H

#include "server/retrieval/store.h"

typedef struct SimilarOptions {
    int top_k;
    double min_similarity;
    const char *const *excluded;  // patterns of paths, as of a shell; `*` also goes over `/`
    int excluded_count;
    double embedding_weight;  // of vectors, where both have one, beside the words; 0 to 1
} SimilarOptions;

enum { SIMILAR_TOP_K = 5 };
#define SIMILAR_LEAST 0.25

typedef struct Similar {
    const StoredKernel *kernel;
    double similarity;                  // 0 to 1, of structure and words
    double structure;                   // of the structure alone
    LIST(const StoredKernel *) copies;  // near duplicates of it, which are not listed
} Similar;

typedef struct Similars {
    LIST(Similar) list;
} Similars;

/// The nearest of `kernels`, the nearest first, near duplicates merged; behind it those that are near and unlike one before. Structure decides,
/// and where structures differ words as well: a copy under other names stays one. `asked` itself, by its real path and its name, is left out.
Similars similar_find(Arena *arena, const StoredKernels *kernels, const StoredKernel *asked,
                      const SimilarOptions *options);
/// Whether one of the patterns fits the path.
bool path_is_excluded(const char *path, const char *const *patterns, int count);

#endif
