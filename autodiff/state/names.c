// A parameter's name in, the tensor's name in the emitted text out.
#include "autodiff/state/names.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

const char *name_of_tensor(Arena *arena, const char *parameter) {
    char *name = arena_strdup(arena, parameter);
    size_t size = strlen(name);
    static const char *const tails[] = {"_before", "_pointer", "_ptrs", "_ptr",
                                        "_PTR",    "Ptr",      "ptr"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t tail = strlen(tails[i]);
        if (size <= tail || strcmp(name + size - tail, tails[i]) != 0) continue;
        size -= tail;
        name[size] = '\0';
    }
    for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
    return name;
}
