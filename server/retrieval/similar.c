// The cosine of the traits' weights; a trait counts more the fewer kernels have it. The nearest are those that structure and words both
// say so of; how similar one is said to be is what one of them says.
#include "server/retrieval/similar.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_DUPLICATE 0.95
#define STRUCTURE_SHARE 0.3  // of the order; the rest is words'. Chosen on kernels of tests/retrieval
#define SAME_TO_ALL 0.999  // vectors that tell nothing apart
#define UNLIKE 0.35       // what being like one before costs; chosen on kernels of tests/retrieval
#define A_COPY 4          // as like as nothing else: it is listed with that one

enum { MOST_ARRANGED = 12 };

/// How rare the traits are, by hash: how many kernels have each.
typedef struct Rarity {
    Map counts;  // hash -> int *
    int kernels;
    double power;
} Rarity;

typedef enum Aspect { ASPECT_STRUCTURE, ASPECT_WORDS, ASPECTS } Aspect;

/// How much more a trait counts that few kernels have.
static const double rarity_powers[ASPECTS] = {[ASPECT_STRUCTURE] = 0.4, [ASPECT_WORDS] = 0.7};

static const Structure *aspect_of(const StoredKernel *kernel, Aspect aspect) {
    return aspect == ASPECT_WORDS ? &kernel->words : &kernel->structure;
}

static Rarity rarity_of(Arena *arena, const StoredKernels *kernels, Aspect aspect) {
    Rarity rarity = {map_new(arena), kernels->list.count, rarity_powers[aspect]};
    for (LIST_EACH(int, i, kernels->list)) {
        const Structure *structure = aspect_of(&kernels->list.items[i], aspect);
        for (int t = 0; t < structure->count; t++) {
            int *count = map_get_number(&rarity.counts, structure->traits[t].hash);
            if (!count) {
                count = ARENA_NEW(arena, int);
                map_set_number(&rarity.counts, structure->traits[t].hash, count);
            }
            ++*count;
        }
    }
    return rarity;
}

/// The structure with its weights so that the squares add up to 1.
static Structure weighted(Arena *arena, const Rarity *rarity, const Structure *structure) {
    Structure result = {ARENA_ARRAY(arena, Trait, structure->count + 1), structure->count};
    double squares = 0;
    for (int i = 0; i < structure->count; i++) {
        const int *count = map_get_number(&rarity->counts, structure->traits[i].hash);
        double rare = log((rarity->kernels + 1.0) / (count ? *count : 1));
        double weight = structure->traits[i].weight * pow(rare, rarity->power);
        // What comes from a file may be anything.
        if (!(weight >= 0 && weight < 1e6)) weight = 0;
        result.traits[i] = (Trait){structure->traits[i].hash, (float)weight, 0};
        squares += weight * weight;
    }
    float scale = squares > 0 ? (float)(1 / sqrt(squares)) : 0;
    for (int i = 0; i < result.count; i++) result.traits[i].weight *= scale;
    return result;
}

/// Both have rising hashes.
static double cosine(const Structure *a, const Structure *b) {
    double sum = 0;
    for (int i = 0, k = 0; i < a->count && k < b->count;) {
        uint64_t left = a->traits[i].hash, right = b->traits[k].hash;
        if (left == right) sum += (double)a->traits[i].weight * b->traits[k].weight;
        i += left <= right;
        k += right <= left;
    }
    return sum;
}

// --- embeddings

/// 0 where one has no vector, or they are of two kinds.
static double vector_cosine(const StoredVector *a, const StoredVector *b) {
    double sum = 0;
    if (a->count != b->count) return 0;
    for (int i = 0; i < a->count; i++) sum += (double)a->items[i] * b->items[i];
    return sum > -1 && sum < 1 ? sum : sum >= 1;  // what comes from a file may be anything
}

/// What a kernel's vector has in common with any other's: models put all code close together.
static double usual_cosine(const StoredKernels *kernels, const StoredVector *vector) {
    double sum = 0;
    int count = 0;
    for (LIST_EACH(int, i, kernels->list)) {
        const StoredVector *other = &kernels->list.items[i].vector;
        if (!vector->count || other->count != vector->count) continue;
        sum += vector_cosine(vector, other);
        count++;
    }
    return count ? fmax(sum / count, 0) : 0;
}

/// Words, and vectors as far as they are closer than usual.
static double text_similarity(double words, const StoredVector *asked, const StoredVector *other,
                              double usual, double weight) {
    if (!asked->count || asked->count != other->count || usual > SAME_TO_ALL) return words;
    double close = fmax((vector_cosine(asked, other) - usual) / (1 - usual), 0);
    return (1 - weight) * words + weight * close;
}

bool path_is_excluded(const char *path, const char *const *patterns, int count) {
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], path, 0) == 0) return true;
    return false;
}

typedef struct SimilarCandidate {
    const StoredKernel *kernel;
    Structure aspects[ASPECTS];
    double similarity, structure;
    double rank;  // what the list is ordered by: near only where structure and words both are
} SimilarCandidate;

static int compare_candidates(const void *left, const void *right) {
    const SimilarCandidate *a = left, *b = right;
    if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
    int order = strcmp(a->kernel->path, b->kernel->path);
    return order ? order : a->kernel->line - b->kernel->line;
}

// --- the order of the list

/// Both similar in structure and in words.
static double alike(const SimilarCandidate *a, const SimilarCandidate *b) {
    double different = 1;
    for (Aspect i = 0; i < ASPECTS; i++)
        different *= 1 - fmin(cosine(&a->aspects[i], &b->aspects[i]), 1);
    return 1 - different;
}

static bool is_near_duplicate(const SimilarCandidate *a, const SimilarCandidate *b) {
    return cosine(&a->aspects[ASPECT_STRUCTURE], &b->aspects[ASPECT_STRUCTURE]) >= NEAR_DUPLICATE;
}

static void move_to(SimilarCandidate *candidates, int from, int to) {
    SimilarCandidate moved = candidates[from];
    memmove(candidates + to + 1, candidates + to, (size_t)(from - to) * sizeof *candidates);
    candidates[to] = moved;
}

/// Behind copies of the asked kernel: the nearest, then those that are near and not as those before them.
static void arrange(Arena *arena, SimilarCandidate *candidates, int count) {
    double *before = ARENA_ARRAY(arena, double, count + 1);  // likeness to one that is placed
    int first = 0;
    for (int i = 0; i < count; i++)
        if (candidates[i].structure >= NEAR_DUPLICATE) move_to(candidates, i, first++);
    for (int place = first; place < count && place < first + MOST_ARRANGED; place++) {
        int best = place;
        double most = -2;
        for (int i = place; i < count && place > first; i++) {
            bool is_copy = is_near_duplicate(&candidates[i], &candidates[place - 1]);
            double like = is_copy ? A_COPY : alike(&candidates[i], &candidates[place - 1]);
            before[i] = fmax(before[i], like);
            double worth = candidates[i].rank - UNLIKE * before[i];
            if (worth > most) best = i, most = worth;
        }
        move_to(candidates, best, place);
        double moved = before[best];
        memmove(before + place + 1, before + place, (size_t)(best - place) * sizeof *before);
        before[place] = moved;
    }
}

/// Adds a candidate to the list, or to what it is a near duplicate of. False: the list is full.
static bool take(Arena *arena, Similars *similars, const SimilarCandidate *const *taken,
                 const SimilarCandidate *candidate, int most) {
    for (LIST_EACH(int, i, similars->list)) {
        if (!is_near_duplicate(taken[i], candidate)) continue;
        LIST_PUSH(arena, &similars->list.items[i].copies, candidate->kernel);
        return true;
    }
    if (similars->list.count >= most) return false;
    Similar similar = {.kernel = candidate->kernel,
                       .similarity = candidate->similarity,
                       .structure = candidate->structure};
    LIST_PUSH(arena, &similars->list, similar);
    return true;
}

Similars similar_find(Arena *arena, const StoredKernels *kernels, const StoredKernel *asked,
                      const SimilarOptions *options) {
    Rarity rarities[ASPECTS];
    Structure own[ASPECTS];
    for (Aspect a = 0; a < ASPECTS; a++) {
        rarities[a] = rarity_of(arena, kernels, a);
        own[a] = weighted(arena, &rarities[a], aspect_of(asked, a));
    }
    double usual = usual_cosine(kernels, &asked->vector);
    SimilarCandidate *candidates = ARENA_ARRAY(arena, SimilarCandidate, kernels->list.count + 1);
    int count = 0;
    for (LIST_EACH(int, i, kernels->list)) {
        const StoredKernel *kernel = &kernels->list.items[i];
        if (strcmp(kernel->path, asked->path) == 0 && strcmp(kernel->name, asked->name) == 0)
            continue;
        if (path_is_excluded(kernel->path, options->excluded, options->excluded_count)) continue;
        SimilarCandidate candidate = {.kernel = kernel};
        double alike[ASPECTS];
        for (Aspect a = 0; a < ASPECTS; a++) {
            candidate.aspects[a] = weighted(arena, &rarities[a], aspect_of(kernel, a));
            alike[a] = fmin(cosine(&own[a], &candidate.aspects[a]), 1);
        }
        candidate.structure = alike[ASPECT_STRUCTURE];
        double text = text_similarity(alike[ASPECT_WORDS], &asked->vector, &kernel->vector, usual,
                                      options->embedding_weight);
        candidate.similarity = 1 - (1 - alike[ASPECT_STRUCTURE]) * (1 - text);
        candidate.rank = pow(fmax(alike[ASPECT_STRUCTURE], 0), STRUCTURE_SHARE) *
                         pow(fmax(text, 0), 1 - STRUCTURE_SHARE);
        if (candidate.similarity >= options->min_similarity) candidates[count++] = candidate;
    }
    if (count) qsort(candidates, (size_t)count, sizeof *candidates, compare_candidates);
    arrange(arena, candidates, count);
    Similars similars = {0};
    const SimilarCandidate **taken =
        ARENA_ARRAY(arena, const SimilarCandidate *, options->top_k + 1);
    for (int i = 0; i < count; i++) {
        int before = similars.list.count;
        if (!take(arena, &similars, taken, &candidates[i], options->top_k)) break;
        if (similars.list.count > before) taken[before] = &candidates[i];
    }
    return similars;
}
