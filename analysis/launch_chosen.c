// From a launch to the kernel's parameters that are free numbers (a convolution's stride, the hop of a transform): no
// tensor's sizes say them, and nothing in the kernel is bounded by them.
#include <string.h>

#include "analysis/affine.h"
#include "analysis/infer.h"
#include "analysis/launch.h"

/// Whether nothing but numbers that come from outside and constants are in the value. What a call gave may be a stride.
static bool is_given(const HostValue *value) {
    if (value->kind == HOST_CONSTANT) return value->constant.kind != CONSTANT_STRING;
    if (value->kind == HOST_INPUT) return !strchr(value->input->name, '(');
    if (value->kind != HOST_OPERATION) return false;
    for (int i = 0; i < value->count; i++)
        if (!is_given(value->items[i])) return false;
    return true;
}

/// Whether the expression asks a tensor for a number that happens to be known.
static bool asks_tensor(Str text) {
    static const char *const questions[] = {".stride", ".size", ".shape", ".numel", "len("};
    for (size_t start = 0; start < text.size; start++)
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
            if (str_starts((Str){text.data + start, text.size - start}, questions[i])) return true;
    return false;
}

bool host_argument_is_chosen(const HostArgument *argument) {
    const HostValue *value = argument->value;
    if (!value || argument->is_tuned || !is_given(value)) return false;
    if (value->kind != HOST_CONSTANT) return true;
    if (value->constant.kind != CONSTANT_INT) return false;
    // A stride of 0 is one of an expanded tensor.
    return value->constant.integer == 0 || argument->is_default ||
           !asks_tensor(source_slice(argument->range));
}

/// Inputs that a dimension is made of, by multiplication: `empty(rows, groups)` makes a size of `groups`.
static void note_factors(Map *sizes, const HostValue *value) {
    if (!value) return;
    if (value->kind == HOST_INPUT) map_set_pointer(sizes, value->input, sizes);
    if (value->kind != HOST_OPERATION || value->operation != HOST_OP_MULTIPLY) return;
    for (int i = 0; i < value->count; i++) note_factors(sizes, value->items[i]);
}

static void note_dimensions(Map *sizes, const HostLaunch *launch) {
    for (int p = 0; p < launch->argument_count; p++) {
        const HostValue *value = launch->arguments[p].value;
        if (!value || value->kind != HOST_TENSOR) continue;
        for (int i = 0; i < value->tensor->rank; i++) note_factors(sizes, value->tensor->dims[i]);
    }
}

/// Whether the number is how many programs there are along an axis: what `row * n + program` counts in.
static bool is_extent_of_grid(const HostLaunch *launch, const HostValue *value) {
    for (int i = 0; i < launch->grid_rank; i++)
        if (launch->grid[i] == value) return true;
    return false;
}

static bool mentions_any(const Map *sizes, const HostValue *value) {
    if (value->kind == HOST_INPUT) return map_has_pointer(sizes, value->input);
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count; i++)
        if (mentions_any(sizes, value->items[i])) return true;
    return false;
}

typedef struct Bounds {
    Arena *arena;
    Map seen;  // parameters that are a size somewhere
} Bounds;

static void note_size(Bounds *bounds, Value *value) {
    Affine form = value ? affine_of(bounds->arena, value) : (Affine){0};
    if (!form.known) return;
    for (int k = 0; k < form.rank; k++)
        if (form.lane[k]->count) return;
    for (int t = 0; t < form.base->count; t++)
        for (int a = 0; a < form.base->terms[t].atom_count; a++) {
            const Value *atom = form.base->terms[t].atoms[a];
            if (atom->op || atom->region->parent) return;  // moves with something: no bound
        }
    for (int t = 0; t < form.base->count; t++)
        for (int a = 0; a < form.base->terms[t].atom_count; a++)
            map_set_pointer(&bounds->seen, form.base->terms[t].atoms[a], bounds);
}

static bool visit_bound(void *context, Op *op) {
    Bounds *bounds = context;
    switch (op->code) {
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_MINIMUM:
    case OP_MAXIMUM:
        note_size(bounds, op->operands[0]);
        note_size(bounds, op->operands[1]);
        break;
    case OP_FLOORDIV:
    case OP_MOD: note_size(bounds, op->operands[1]); break;
    case OP_FOR:
    case OP_STATIC_FOR: note_size(bounds, op->operands[1]); break;
    default: break;
    }
    return true;
}

static bool is_candidate(const Bounds *bounds, const Value *value) {
    return value->type.kind == TYPE_NUMBER && dtype_is_integer(value->type.element) &&
           !map_has_pointer(&bounds->seen, value);
}

static Bounds bounds_of(Arena *arena, const Function *function) {
    Bounds bounds = {arena, map_new(arena)};
    region_walk(function->body, visit_bound, &bounds);
    return bounds;
}

bool function_may_have_chosen(Arena *arena, const Function *function) {
    Bounds bounds = bounds_of(arena, function);
    for (int i = 0; i < function->parameter_count; i++)
        if (is_candidate(&bounds, function->parameters[i].value)) return true;
    return false;
}

void launch_note_chosen(Arena *arena, const HostLaunch *launch, Function *function) {
    Bounds bounds = bounds_of(arena, function);
    Map sizes = map_new(arena);
    note_dimensions(&sizes, launch);
    for (int p = 0; p < function->parameter_count && p < launch->argument_count; p++) {
        const HostValue *given = launch->arguments[p].value;
        Value *value = function->parameters[p].value;
        if (map_has_pointer(&bounds.seen, value)) continue;
        HostZero zero =
            is_candidate(&bounds, value) ? host_argument_zero(launch, p) : HOST_ZERO_NEVER;
        value->may_be_zero = value->may_be_zero || zero == HOST_ZERO_PRESENT;
        if (zero == HOST_ZERO_ABSENT && given && given->kind == HOST_CONSTANT) continue;
        if (host_argument_is_chosen(&launch->arguments[p]) && !mentions_any(&sizes, given) &&
            !is_extent_of_grid(launch, given))
            value->is_chosen = true;
    }
}
