// From a launch to the kernel's parameters that are free numbers (a convolution's stride, the hop of a transform): no
// tensor's sizes say them, and nothing in the kernel is bounded by them. So are those that are less than a size of the launch,
// or asked of a view that it does not pass.
#include "analysis/launches/launch_chosen.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/host/launch.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"
#include "analysis/launches/launch_strides.h"

/// Whether nothing but numbers that come from outside and constants are in the value. What a call gave may be a stride.
static bool is_given(const HostValue *value) {
    if (value->kind == HOST_CONSTANT) return value->constant.kind != CONSTANT_STRING;
    if (value->kind == HOST_INPUT) return !strchr(value->input->name, '(');
    if (value->kind != HOST_OPERATION) return false;
    for (int i = 0; i < value->count; i++)
        if (!is_given(value->items[i])) return false;
    return true;
}

/// Whether the expression asks a tensor for a number that happens to be known, itself or in a call.
static bool asks_tensor(Str text) {
    static const char *const questions[] = {".stride", ".size", ".shape", ".numel", "("};
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

static bool is_text_of(Arena *arena, const char *text, const HostValue *value) {
    return value && strcmp(host_print(arena, value), text) == 0;
}

/// Whether a tensor of the launch has it for a size or a stride, or another number of the launch is the same: what bounds
/// the kernel's tiles may say how far apart they are.
static bool is_of_launch(Arena *arena, const HostLaunch *launch, const HostValue *number,
                         int parameter) {
    const char *text = host_print(arena, number);
    for (int p = 0; p < launch->argument_count; p++) {
        const HostValue *value = launch->arguments[p].value;
        if (!value || p == parameter) continue;
        if (value->kind != HOST_TENSOR) {
            if (is_text_of(arena, text, value)) return true;
            continue;
        }
        for (int i = 0; i < value->tensor->rank; i++)
            if (is_text_of(arena, text, value->tensor->dims[i]) ||
                is_text_of(arena, text, value->tensor->strides[i]))
                return true;
    }
    return false;
}

/// Whether it is less than another number of the launch by its text: `x.stride(0) // 2`, `n - 1`. What divides by a number
/// of the caller's, or of a tensor, may be a size of its own: `channels // groups`.
static bool is_lessened(Arena *arena, const HostLaunch *launch, int parameter) {
    const HostValue *value = launch->arguments[parameter].value;
    int64_t by;
    if (value->kind != HOST_OPERATION || value->count < 2) return false;
    const HostValue *second = value->items[1];
    if (second->kind != HOST_CONSTANT || !host_int(second, &by)) return false;
    bool is_less = value->operation == HOST_OP_FLOOR_DIVIDE ? by > 1
                   : value->operation == HOST_OP_SUBTRACT
                       ? by > 0
                       : value->operation == HOST_OP_SHIFT_RIGHT && by > 0;
    return is_less && is_of_launch(arena, launch, value->items[0], parameter);
}

/// `x.unfold(0, 16, 4)`, by its text.
static bool is_overlapping_view(const HostInput *input) {
    static const char *const methods[] = {"unfold", "as_strided"};
    size_t at = strlen(input->name);
    if (!at || input->name[at - 1] != ')') return false;
    for (int depth = 0; at > 0; at--) {
        depth += (input->name[at - 1] == ')') - (input->name[at - 1] == '(');
        if (depth == 0) break;
    }
    Str callee = {input->name, at ? at - 1 : 0};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (str_ends(callee, methods[i])) return true;
    return false;
}

/// Whether it is asked of a view that the launch does not pass: then another tensor is read as if it were that view.
static bool is_of_other_view(Arena *arena, const HostLaunch *launch, int parameter) {
    const HostValue *value = launch->arguments[parameter].value;
    if (!value || value->kind != HOST_SIZE || value->input->is_argument) return false;
    for (int p = 0; p < launch->argument_count; p++) {
        const HostValue *other = launch->arguments[p].value;
        if (other && other->kind == HOST_TENSOR && other->tensor == value->input->tensor)
            return false;
    }
    return is_overlapping_view(value->input) || !is_of_launch(arena, launch, value, parameter);
}

/// Whether a number that is made of a size, or asked of a view, is none of the launch's own tensors: then rows that far apart
/// may overlap.
static bool may_be_too_small(Arena *arena, const HostLaunch *launch, int parameter) {
    const HostValue *value = launch->arguments[parameter].value;
    if (!value || launch->arguments[parameter].is_tuned) return false;
    bool is_number = value->kind == HOST_CONSTANT && value->constant.kind == CONSTANT_INT &&
                     value->constant.integer > 1;
    if (is_of_other_view(arena, launch, parameter)) return true;
    return (is_number || is_lessened(arena, launch, parameter)) &&
           !is_of_launch(arena, launch, value, parameter);
}

/// Inputs that a dimension is made of, by multiplication: `empty(rows, groups)` makes a size of `groups`.
static void note_factors(Map *sizes, const HostValue *value) {
    if (!value) return;
    if (value->kind == HOST_INPUT) map_set_pointer(sizes, value->input, sizes);
    if (value->kind != HOST_OPERATION || value->operation != HOST_OP_MULTIPLY) return;
    for (int i = 0; i < value->count; i++) note_factors(sizes, value->items[i]);
}

void launch_note_dimensions(Map *sizes, const HostLaunch *launch) {
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

typedef struct ChosenBounds {
    Arena *arena;
    Map seen;  // parameters that are a size somewhere
} ChosenBounds;

/// `ALL // HEADS` of numbers of the launch: as it is a size, so is ALL.
static bool is_share(const Value *atom) {
    return atom->op && atom->op->code == OP_FLOORDIV && atom->type.is_constexpr;
}

static void note_size(ChosenBounds *bounds, Value *value) {
    Affine form = value ? affine_of(bounds->arena, value) : (Affine){0};
    if (!form.known) return;
    for (int k = 0; k < form.rank; k++)
        if (form.lane[k]->count) return;
    for (int t = 0; t < form.base->count; t++)
        for (int a = 0; a < form.base->terms[t].atom_count; a++) {
            const Value *atom = form.base->terms[t].atoms[a];
            bool is_own = !atom->op && !atom->region->parent;
            if (!is_own && !is_share(atom)) return;  // moves with something: no bound
        }
    for (int t = 0; t < form.base->count; t++)
        for (int a = 0; a < form.base->terms[t].atom_count; a++) {
            const Value *atom = form.base->terms[t].atoms[a];
            map_set_pointer(&bounds->seen, atom, bounds);
            if (is_share(atom)) note_size(bounds, atom->op->operands[0]);
        }
}

/// Whether a flag decides about it: what it bounds under one flag may be without a bound under the other.
static bool is_under_flag(const Op *op) {
    for (const Region *region = op->parent; region->parent; region = region->parent->parent) {
        const Op *around = region->parent;
        if (around->code == OP_IF && around->operands[0]->type.is_constexpr) return true;
    }
    return false;
}

/// `(width - window) // step`: how often a window fits in, by steps that may be shorter than it.
static bool counts_windows(const ChosenBounds *bounds, const Op *op) {
    const Poly *number = value_poly(bounds->arena, op->operands[0]);
    const Poly *step = value_poly(bounds->arena, op->operands[1]);
    bool is_less = false;
    if (op->code != OP_FLOORDIV || !poly_is_fixed(bounds->arena, number)) return false;
    for (int t = 0; t < number->count; t++) is_less |= number->terms[t].coefficient < 0;
    for (int t = 0; t < step->count;
         t++)  // a number of blocks is rounded up: `(n + block - 1) // block`
        for (int a = 0; a < step->terms[t].atom_count; a++)
            if (poly_mentions(number, step->terms[t].atoms[a])) return false;
    return is_less;
}

static bool visit_bound(void *context, Op *op) {
    ChosenBounds *bounds = context;
    switch (op->code) {
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_MINIMUM:
    case OP_MAXIMUM:
        if (is_under_flag(op)) break;
        note_size(bounds, op->operands[0]);
        note_size(bounds, op->operands[1]);
        break;
    case OP_FLOORDIV:
    case OP_MOD:
        if (!counts_windows(bounds, op)) note_size(bounds, op->operands[1]);
        break;
    case OP_ARANGE:
    case OP_FOR:
    case OP_STATIC_FOR: note_size(bounds, op->operands[1]); break;
    default: break;
    }
    return true;
}

static bool is_candidate(const ChosenBounds *bounds, const Value *value) {
    return value->type.kind == TYPE_NUMBER && dtype_is_integer(value->type.element) &&
           !map_has_pointer(&bounds->seen, value);
}

static ChosenBounds bounds_of(Arena *arena, const Function *function) {
    ChosenBounds bounds = {arena, map_new(arena)};
    region_walk(function->body, visit_bound, &bounds);
    return bounds;
}

bool number_is_free(Arena *arena, const Function *function, const Value *value) {
    ChosenBounds bounds = bounds_of(arena, function);
    return !value->op && value->region == function->body && is_candidate(&bounds, value);
}

bool function_may_have_chosen(Arena *arena, const Function *function) {
    ChosenBounds bounds = bounds_of(arena, function);
    for (int i = 0; i < function->parameter_count; i++)
        if (is_candidate(&bounds, function->parameters[i].value)) return true;
    return false;
}

typedef struct UnitSearch {
    Arena *arena;
    const Value *tensor;
    Value *number;
    bool is_found;
} UnitSearch;

/// Whether programs or iterations are the number apart.
static bool moves_by(const Poly *base, const Value *number) {
    for (int t = 0; t < base->count; t++) {
        const Monomial *term = &base->terms[t];
        if (term->atom_count != 2 || term->coefficient != 1) continue;
        for (int i = 0; i < 2; i++) {
            const Value *mover = term->atoms[1 - i];
            bool is_mover = mover->op
                                ? mover->op->code == OP_PROGRAM_ID
                                : mover->region->parent && op_is_loop(mover->region->parent->code);
            if (term->atoms[i] == number && is_mover) return true;
        }
    }
    return false;
}

/// Lanes along one axis, programs or iterations are the number apart, lanes along another lie side by side.
static bool visit_units(void *context, Op *op) {
    UnitSearch *search = context;
    if (!op_is_access(op)) return true;
    Access access = access_of(search->arena, op);
    if (access.parameter != search->tensor || !access.offset.known) return true;
    const Poly *one = poly_constant(search->arena, 1),
               *step = poly_atom(search->arena, search->number);
    int steps = moves_by(access.offset.base, search->number), units = 0;
    for (int i = 0; i < access.offset.rank; i++) {
        steps += poly_equal(access.offset.lane[i], step);
        units += poly_equal(access.offset.lane[i], one);
    }
    search->is_found = search->is_found || (steps && units);
    return !search->is_found;
}

/// Whether the launch passes the stride of an inner axis, which is 1 there, for the step of rows whose elements lie side by side
/// in the kernel: they overlap. Where the rank of the tensor is a guess, so is that stride.
static bool is_step_of_units(Arena *arena, const HostLaunch *launch, int parameter,
                             const Function *function) {
    const HostValue *value = launch->arguments[parameter].value;
    int64_t number = 0;
    if (!value || value->kind != HOST_CONSTANT || !host_int(value, &number) || number != 1)
        return false;
    UnitSearch search = {.arena = arena, .number = function->parameters[parameter].value};
    for (int t = 0; t < function->parameter_count && t < launch->argument_count; t++) {
        const HostValue *tensor = launch->arguments[t].value;
        bool is_tensor = tensor && tensor->kind == HOST_TENSOR;
        const HostInput *like = is_tensor ? tensor->tensor->like : NULL;
        if (!is_tensor || (like && !like->is_rank_certain)) continue;
        if (host_argument_stride_axis(launch, parameter, t) < 1) continue;
        search.tensor = function->parameters[t].value;
        region_walk(function->body, visit_units, &search);
    }
    return search.is_found;
}

void launch_note_chosen(Arena *arena, const HostLaunch *launch, Function *function) {
    ChosenBounds bounds = bounds_of(arena, function);
    Map sizes = map_new(arena);
    launch_note_dimensions(&sizes, launch);
    for (int p = 0; p < function->parameter_count && p < launch->argument_count; p++) {
        const HostValue *given = launch->arguments[p].value;
        Value *value = function->parameters[p].value;
        if (map_has_pointer(&bounds.seen, value)) continue;
        HostZero zero =
            is_candidate(&bounds, value) ? host_argument_zero(launch, p) : HOST_ZERO_NEVER;
        value->may_be_zero = value->may_be_zero || zero == HOST_ZERO_PRESENT;
        if (zero == HOST_ZERO_ABSENT && given && given->kind == HOST_CONSTANT) continue;
        bool is_free = host_argument_is_chosen(&launch->arguments[p]) &&
                       !mentions_any(&sizes, given) && !is_extent_of_grid(launch, given) &&
                       !callers_ask_tensors(launch, given);
        value->is_chosen = value->is_chosen || is_free || may_be_too_small(arena, launch, p) ||
                           is_step_of_units(arena, launch, p, function);
    }
}
