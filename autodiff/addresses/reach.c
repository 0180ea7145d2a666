// Parts of tensors, with numbers: the first and the last element that a kernel may touch, by intervals of what its addresses
// are made of.
#include "autodiff/addresses/reach.h"

#include "analysis/build/infer.h"
#include "analysis/host/launch_concrete.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/normalize.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    DEEPEST = 24,
    SEEDS = 2,             // sizes that are tried; what reaches beyond does so for nearly all
    VARIANTS_MAX = 1 << 3  // choices of flags: they say which view is passed
};

/// Whole numbers between two, both included.
typedef struct Interval {
    bool known;
    int64_t low, high;
} Interval;

typedef struct Reach {
    Arena *arena;
    const Function *function;
    const ConcreteLaunch *launch;
} Reach;

static const Interval unknown;

static Interval interval_of(int64_t low, int64_t high) {
    const int64_t limit = (int64_t)1 << 31;
    bool known = low > -limit && low < limit && high > -limit && high < limit && low <= high;
    return known ? (Interval){true, low, high} : unknown;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static Interval product(Interval a, Interval b) {
    if (!a.known || !b.known) return unknown;
    int64_t ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return interval_of(least(least(ends[0], ends[1]), least(ends[2], ends[3])),
                       most(most(ends[0], ends[1]), most(ends[2], ends[3])));
}

static Interval sum(Interval a, Interval b) {
    return a.known && b.known ? interval_of(a.low + b.low, a.high + b.high) : unknown;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

static Interval quotient(Interval a, Interval b, bool up) {
    if (!a.known || !b.known || b.low < 1) return unknown;
    int64_t more = up ? 1 : 0;
    Interval wide = {true, a.low + more * (b.low - 1), a.high + more * (b.high - 1)};
    return interval_of(least(floor_divide(wide.low, b.low), floor_divide(wide.low, b.high)),
                       most(floor_divide(wide.high, b.low), floor_divide(wide.high, b.high)));
}

static Interval value_interval(const Reach *reach, const Value *value, int depth);

static Interval parameter_interval(const Reach *reach, const Value *value) {
    if (value->index >= reach->launch->argument_count) return unknown;
    const ConcreteArgument *argument = &reach->launch->arguments[value->index];
    bool is_number = argument->kind == CONCRETE_SCALAR && constant_is_int(&argument->constant);
    if (!is_number) return unknown;
    return interval_of(argument->constant.integer, argument->constant.integer);
}

/// A loop's variable: from its lower bound to below its upper one.
static Interval variable_interval(const Reach *reach, const Value *value, int depth) {
    const Op *loop = value->region->parent;
    bool counts = loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR);
    if (!counts || value->index != 0) return unknown;
    Interval low = value_interval(reach, loop->operands[0], depth + 1),
             high = value_interval(reach, loop->operands[1], depth + 1),
             step = value_interval(reach, loop->operands[2], depth + 1);
    if (!low.known || !high.known || !step.known || step.low < 1) return unknown;
    bool is_fixed = low.low == low.high && high.low == high.high && step.low == step.high;
    if (is_fixed && high.high > low.low)  // the last one, where steps are large
        high.high = low.low + (high.high - 1 - low.low) / step.low * step.low + 1;
    return interval_of(low.low, most(low.low, high.high - 1));
}

static Interval operation_interval(const Reach *reach, const Op *op, int depth) {
    Interval sides[2] = {unknown, unknown};
    for (int i = 0; i < 2 && i < op->operand_count && op->operands[i]; i++)
        if (op->operands[i]->type.rank == 0)
            sides[i] = value_interval(reach, op->operands[i], depth + 1);
    Interval a = sides[0], b = sides[1];
    switch (op->code) {
    case OP_ADD: return sum(a, b);
    case OP_SUB: return sum(a, product(b, (Interval){true, -1, -1}));
    case OP_NEG: return product(a, (Interval){true, -1, -1});
    case OP_MUL: return product(a, b);
    case OP_FLOORDIV: return quotient(a, b, false);
    case OP_CDIV: return quotient(a, b, true);
    case OP_MOD:
        if (!a.known || !b.known || b.low < 1 || a.low < 0) return unknown;
        return interval_of(a.high < b.low ? a.low : 0, least(a.high, b.high - 1));
    case OP_MINIMUM:
        return a.known && b.known ? interval_of(least(a.low, b.low), least(a.high, b.high))
                                  : unknown;
    case OP_MAXIMUM:
        return a.known && b.known ? interval_of(most(a.low, b.low), most(a.high, b.high)) : unknown;
    case OP_CAST: return a;
    default: return unknown;
    }
}

static Interval value_interval(const Reach *reach, const Value *value, int depth) {
    int64_t number;
    if (!value || depth > DEEPEST) return unknown;
    if (value_is_int(value, &number)) return interval_of(number, number);
    if (!value->op)
        return value->region == reach->function->body ? parameter_interval(reach, value)
                                                      : variable_interval(reach, value, depth);
    if (value->op->code != OP_PROGRAM_ID) return operation_interval(reach, value->op, depth);
    int64_t axis = 0;
    if (!value_is_int(value->op->operands[0], &axis) || axis < 0 || axis > 2) return unknown;
    return interval_of(0, reach->launch->grid[axis] - 1);
}

static Interval poly_interval(const Reach *reach, const Poly *poly) {
    Interval total = {true, 0, 0};
    for (int t = 0; t < poly->count; t++) {
        const Monomial *term = &poly->terms[t];
        Interval factor = interval_of(term->coefficient, term->coefficient);
        for (int i = 0; i < term->atom_count; i++)
            factor = product(factor, value_interval(reach, term->atoms[i], 0));
        total = sum(total, factor);
    }
    return total;
}

/// What an access touches, by the sizes of its tile or up to the bounds of its mask: the ends as polynomials first, in which
/// `BLOCK * pid` of the start and `n - BLOCK * pid` of the length cancel.
static Interval span_interval(const Reach *reach, const AccessPlace *place, bool by_mask) {
    Arena *arena = reach->arena;
    const Affine *offset = &place->access.offset;
    const Poly *low = offset->base, *high = offset->base;
    for (int i = 0; i < offset->rank; i++) {
        const Poly *weight = offset->lane[i], *start = offset->base, *last = NULL;
        Type type = place->access.op->operands[0]->type;
        if (poly_is_zero(weight)) continue;
        if (by_mask) {
            start = place->lanes[i].start;
            if (place->lanes[i].reach) last = poly_subtract(arena, place->lanes[i].reach, weight);
        } else if (i < type.rank && type.dims[i]) {
            const Poly *steps = poly_subtract(arena, type.dims[i], poly_constant(arena, 1));
            last = poly_multiply(arena, weight, steps);
        }
        Interval direction = poly_interval(reach, weight);
        if (!last || !direction.known) return unknown;
        const Poly *shift = poly_subtract(arena, start, offset->base);
        low = poly_add(arena, low, shift);
        high = poly_add(arena, high, shift);
        if (direction.low < 0)
            low = poly_add(arena, low, last);
        else
            high = poly_add(arena, high, last);
    }
    Interval first = poly_interval(reach, low), end = poly_interval(reach, high);
    if (!first.known || !end.known) return unknown;
    return (Interval){true, first.low, end.high};
}

typedef struct ReachSearch {
    Reach reach;
    bool of_stores;  // else of loads
    bool *beyond;
} ReachSearch;

static bool visit_access(void *context, Op *op) {
    const ReachSearch *search = context;
    const Reach *reach = &search->reach;
    if (!op_is_access(op) || (op->code != OP_LOAD) != search->of_stores) return true;
    AccessPlace place = place_of_access(reach->arena, op);
    const Value *root = place.access.parameter;
    if (!root || root->region != reach->function->body || root->op) return true;
    if (root->index >= reach->launch->argument_count) return true;
    if (!place.access.offset.known && !search->of_stores) return true;
    const ConcreteArgument *argument = &reach->launch->arguments[root->index];
    if (argument->kind != CONCRETE_TENSOR) return true;
    int64_t last = 0;
    for (int axis = 0; axis < argument->rank; axis++)
        last += (argument->dims[axis] - 1) * argument->strides[axis];
    bool is_part =
        argument->offset != 0 || last + 1 < reach->launch->buffers.items[argument->buffer].numel;
    Interval tile = unknown, mask = unknown;
    if (place.access.offset.known) {
        tile = span_interval(reach, &place, false);
        mask = span_interval(reach, &place, true);
    }
    if (is_part && search->of_stores && !tile.known && !mask.known)
        search->beyond[root->index] = true;
    if (!is_part || (!tile.known && !mask.known)) return true;
    // a bound of the mask counts also where the sizes at hand are too large for the blocks
    int64_t low = !tile.known ? mask.low : !mask.known ? tile.low : most(tile.low, mask.low);
    int64_t high = mask.known ? mask.high : tile.high;
    if (low < 0 || high > last) search->beyond[root->index] = true;
    return true;
}

static void search_launch(Arena *arena, const Function *function, const HostLaunch *launch,
                          bool of_stores, bool *beyond) {
    const ConcreteLaunch *concrete = host_concretize(arena, launch);
    ReachSearch search = {.reach = {.arena = arena, .function = function, .launch = concrete},
                          .of_stores = of_stores,
                          .beyond = beyond};
    region_walk(function->body, visit_access, &search);
}

/// Whether the launch passes a part of a tensor for one of the parameters.
static bool passes_part(Arena *arena, const HostLaunch *launch) {
    const ConcreteLaunch *concrete = host_concretize(arena, launch);
    for (int p = 0; p < concrete->argument_count; p++) {
        const ConcreteArgument *argument = &concrete->arguments[p];
        if (argument->kind != CONCRETE_TENSOR) continue;
        int64_t numel = 1;
        for (int axis = 0; axis < argument->rank; axis++) numel *= argument->dims[axis];
        if (numel != concrete->buffers.items[argument->buffer].numel) return true;
    }
    return false;
}

static void search_launches(Arena *arena, const FunctionDefinition *kernel, const Function *forward,
                            bool of_stores, bool *beyond) {
    Function *function = NULL;
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        if (site->kernel != kernel) continue;
        for (int seed = 0; seed < SEEDS; seed++)
            for (int variant = 0, variants = 1; variant < variants; variant++) {
                const HostPolicy policy = {.seed = (uint64_t)seed,
                                           .variant = variant,
                                           .keep_blocks = true,
                                           .function = forward};
                const HostLaunch *launch = host_launch(kernel->module, site, &policy);
                variants = launch->flag_count < 4 ? 1 << launch->flag_count : VARIANTS_MAX;
                if (variants > VARIANTS_MAX) variants = VARIANTS_MAX;
                if (!passes_part(arena, launch)) continue;
                if (!function) {
                    Range range;
                    function = function_copy(arena, forward, forward->name, NULL);
                    if (function_normalize(function, &range))
                        function = function_copy(arena, forward, forward->name, NULL);
                }
                search_launch(arena, function, launch, of_stores, beyond);
            }
    }
}

void reach_beyond(Arena *arena, const FunctionDefinition *kernel, const Function *forward,
                  bool *beyond) {
    search_launches(arena, kernel, forward, false, beyond);
}

void reach_stores_beyond(Arena *arena, const FunctionDefinition *kernel, const Function *forward,
                         bool *beyond) {
    search_launches(arena, kernel, forward, true, beyond);
}
