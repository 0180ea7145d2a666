// Files as texts, for tests.
#ifndef TAD_TESTS_SUPPORT_FILES_H
#define TAD_TESTS_SUPPORT_FILES_H

#include <stdio.h>

#include "base/text.h"

/// The bytes of a file; empty where there is none.
static inline Str file_text(Arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    Buffer out = buffer_new(arena);
    char block[4096];
    size_t size;
    while (file && (size = fread(block, 1, sizeof block, file)) > 0) buffer_add(&out, block, size);
    if (file) fclose(file);
    return (Str){buffer_text(&out), out.size};
}

#endif
