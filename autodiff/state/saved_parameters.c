#include "autodiff/state/saved_parameters.h"

#include <string.h>

static const char pointer_end[] = "_ptr", step_middle[] = "_step_";

const char *saved_step_name(Arena *arena, const char *pointer, int axis) {
    int stem = (int)(strlen(pointer) - (sizeof pointer_end - 1));
    return arena_printf(arena, "%.*s%s%d", stem, pointer, step_middle, axis);
}

/// The axis of a step of the pointer's; 0: the name is none.
static int step_of(const char *pointer, Str name) {
    size_t stem = strlen(pointer) - (sizeof pointer_end - 1), middle = sizeof step_middle - 1;
    bool is_step = name.size == stem + middle + 1 && memcmp(name.data, pointer, stem) == 0 &&
                   memcmp(name.data + stem, step_middle, middle) == 0;
    int axis = is_step ? name.data[stem + middle] - '0' : 0;
    return axis > 0 && axis < PROGRAM_AXES ? axis : 0;
}

const SavedValue *saved_parameter(const SavedValues *values, const char *kernel, Str name,
                                  int *axis) {
    for (LIST_EACH(int, i, *values)) {
        const SavedValue *value = &values->items[i];
        if (strcmp(value->kernel, kernel) != 0 ||
            !str_ends(str_from(value->parameter), pointer_end))
            continue;
        *axis = step_of(value->parameter, name);
        if (*axis || str_is(name, value->parameter)) return value;
    }
    return NULL;
}

const char *saved_size_text(const SavedValue *value) {
    if (value->is_choice) return "1 byte for each lane";
    return *value->lanes ? "4 bytes for each row" : "4 bytes for each program";
}
