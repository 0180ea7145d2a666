// dlopen and dlsym, and what to say where they find nothing.
#include "gpu-runner/cuda/library.h"

#include <dlfcn.h>
#include <stdlib.h>

void *library_open(Arena *arena, const char *variable, const char *const *names, Error *error) {
    const char *given = getenv(variable);
    const char *const only[] = {given, NULL};
    if (given && *given) names = only;
    for (int i = 0; names[i]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    const char *why = given && *given ? dlerror() : NULL;
    *error =
        why ? arena_printf(arena, "%s names no library that opens: %s", variable, why)
            : arena_printf(arena, "%s is not found; %s=FILE says where it is", names[0], variable);
    return NULL;
}

Error library_function(Arena *arena, void *library, const char *symbol, void *pointer) {
    void *found = dlsym(library, symbol);
    if (!found) return arena_printf(arena, "the library has no %s; it is too old", symbol);
    memcpy(pointer, &found, sizeof found);
    return NULL;
}
