// Nothing here knows Python: its own words are in most kernels, and so count next to nothing.
#include "server/retrieval/words.h"

#include <ctype.h>

#include "base/list.h"
#include "base/map.h"

enum {
    SHORTEST = 2,
    NAME_COUNT = 8,  // as often counts a word of the kernel's or of its file's name
};

static bool is_letter(char c) { return isalpha((unsigned char)c) != 0; }
static bool is_upper(char c) { return isupper((unsigned char)c) != 0; }

/// Where the word that begins at `at` ends: `RMSNorm` is `RMS` and `Norm`, `inDim` is `in` and `Dim`.
static size_t word_end(Str text, size_t at) {
    size_t end = at + 1;
    while (end < text.size && is_letter(text.data[end]) &&
           is_upper(text.data[end]) == is_upper(text.data[end - 1]))
        end++;
    bool goes_on = end < text.size && is_letter(text.data[end]);
    if (!goes_on || is_upper(text.data[end])) return end;
    // From upper to lower case: the last upper one is the first of the next word, or of this one.
    if (end - at > 1) return end - 1;
    while (end < text.size && is_letter(text.data[end]) && !is_upper(text.data[end])) end++;
    return end;
}

typedef LIST(CountedTrait) CountedTraits;

static void take_words(Arena *arena, CountedTraits *list, Str text, int count) {
    for (size_t at = 0; at < text.size;) {
        if (!is_letter(text.data[at])) {
            at++;
            continue;
        }
        size_t end = word_end(text, at), size = end - at;
        if (size >= SHORTEST) {
            char *word = arena_strndup(arena, text.data + at, size);
            for (size_t i = 0; i < size; i++) word[i] = (char)tolower((unsigned char)word[i]);
            CountedTrait trait = {map_hash(str_from(word)), 1, count};
            LIST_PUSH(arena, list, trait);
        }
        at = end;
    }
}

static Str stem_of(const char *path) {
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
    const char *dot = strrchr(start, '.');
    return (Str){start, dot ? (size_t)(dot - start) : strlen(start)};
}

Structure vocabulary_of(Arena *arena, const char *path, const char *name, Str text) {
    Arena *scratch = arena_new_scratch();
    CountedTraits list = {0};
    take_words(scratch, &list, text, 1);
    take_words(scratch, &list, str_from(name), NAME_COUNT);
    take_words(scratch, &list, stem_of(path), NAME_COUNT);
    Structure words = structure_counted(arena, list.items, list.count);
    arena_free(scratch);
    return words;
}
