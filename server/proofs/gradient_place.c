// Where a backward that stands in a file writes a gradient.
#include "server/proofs/gradient_place.h"

#include <math.h>
#include <string.h>

#include "analysis/addresses/affine.h"

/// The name of the input whose worst element is furthest off, or NULL.
static const char *wrong_input(const Json *answer) {
    const Json *inputs = json_get(answer, "inputs");
    const char *name = NULL;
    double most = -1;
    for (int i = 0; inputs && inputs->kind == JSON_ARRAY && i < inputs->count; i++) {
        const Json *input = inputs->items[i], *worst = json_get(input, "worst");
        double error = json_get_number(input, "error", HUGE_VAL);  // null: not finite
        if (!worst || worst->kind != JSON_OBJECT || error <= most) continue;
        most = error;
        name = json_get_string(input, "name", NULL);
    }
    return name;
}

static bool is_gradient_of(const Json *argument, const char *input) {
    return strcmp(json_get_string(argument, "gradient", ""), input) == 0 ||
           strcmp(json_get_string(argument, "running", ""), input) == 0 ||
           strcmp(json_get_string(argument, "kept", ""), input) == 0;
}

GradientWriter gradient_writer(const Json *backward, const Json *answer) {
    const char *input = wrong_input(answer);
    const Json *launches = json_get(backward, "launches");
    for (int i = 0; input && launches && i < launches->count; i++) {
        const Json *launch = launches->items[i], *arguments = json_get(launch, "arguments");
        for (int k = 0; arguments && k < arguments->count; k++)
            if (is_gradient_of(arguments->items[k], input))
                return (GradientWriter){str_from(input),
                                        str_from(json_get_string(launch, "kernel", "")),
                                        arguments->keys[k]};
    }
    return (GradientWriter){0};
}

typedef struct WriteSearch {
    Arena *arena;
    Str parameter;
    const Op *found;
} WriteSearch;

static bool visit_write(void *context, Op *op) {
    WriteSearch *search = context;
    if (!op_is_access(op) || !(op_rows[op->code].effects & EFFECT_WRITES)) return true;
    Access access = access_of(search->arena, op);
    const char *name = access.parameter ? access.parameter->name : NULL;
    if (name && str_is(search->parameter, name)) search->found = op;
    return !search->found;
}

Range gradient_place(Arena *arena, const Snapshot *snapshot, GradientWriter writer,
                     Range otherwise) {
    const Kernel *kernel =
        writer.kernel.size ? snapshot_find_kernel(snapshot, writer.kernel) : NULL;
    if (!kernel) return otherwise;
    WriteSearch search = {.arena = arena, .parameter = writer.parameter};
    if (kernel->function) region_walk(kernel->function->body, visit_write, &search);
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    if (!search.found) return name;
    Range written = snapshot_range(snapshot, search.found->range);
    return written.source == name.source ? written : name;  // a helper may be in another file
}
