// Where each gradient is summed (scheduling.md, sections 1 and 3): private ones become plain stores, shared ones stay atomics.
// Statements of consecutive loops that hit the same elements are first moved into the last of them. The seam for interchange
// and partial buffers: a group that is not private here is what they will take.
#include "analysis/affine.h"
#include "analysis/infer.h"
#include "analysis/loops.h"
#include "autodiff/adjoint.h"

enum { AXES_MAX = 32 };

static bool op_is_alive(const Function *function, const Op *op) {
    const Region *region = op->parent;
    while (region && region->parent) region = region->parent->parent;
    if (region != function->body) return false;
    for (const Op *other = op->parent->first; other; other = other->next)
        if (other == op) return true;
    return false;
}

/* ---- moving statements into the last loop over the same elements ---- */

static Op *loop_around(const Op *op) {
    Op *owner = op->parent->parent;
    return owner && (owner->code == OP_FOR || owner->code == OP_STATIC_FOR) ? owner : NULL;
}

/// Equal expressions up to the two loops' variables.
static bool same_expression(const Value *a, const Value *b, const Value *iv_a, const Value *iv_b,
                            int depth) {
    if (a == b) return true;
    if (!a || !b) return false;
    if (a == iv_a && b == iv_b) return true;
    if (!a->op || !b->op || depth > 200 || a->op->code != b->op->code || a->index != b->index)
        return false;
    if (a->op->region_count || a->op->operand_count != b->op->operand_count) return false;
    if (!op_is_pure(a->op) && a->op->code != OP_LOAD) return false;
    if (a->op->code == OP_CONSTANT) return false;  // shared constants are the same value
    for (int i = 0; i < a->op->operand_count; i++)
        if (!same_expression(a->op->operands[i], b->op->operands[i], iv_a, iv_b, depth + 1))
            return false;
    return true;
}

static bool loops_match(const Op *a, const Op *b) {
    if (a == b || a->code != b->code || a->parent != b->parent) return false;
    for (int i = 0; i < 3; i++)
        if (a->operands[i] != b->operands[i]) return false;
    return true;
}

static bool op_precedes(const Op *a, const Op *b) {
    for (const Op *op = a->next; op; op = op->next)
        if (op == b) return true;
    return false;
}

/// Recomputes `value` of loop `from` at the builder's place in another loop. NULL where it needs state of its own loop.
static Value *transplant(const Function *function, Builder *builder, const Op *from, Value *value,
                         Map *values) {
    Value *mapped = value ? map_get_pointer(values, value) : NULL;
    if (mapped || !value) return mapped;
    if (!region_defines(from->regions[0], value)) return value;
    const Op *op = value->op;
    if (!op || op->region_count || op->code == OP_UNDEFINED) return NULL;
    if (!op_is_pure(op) && !op_is_stable_load(function, op)) return NULL;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Value *operand = transplant(function, builder, from, op->operands[i], values);
        if (!operand) return NULL;
        map_set_pointer(values, op->operands[i], operand);
    }
    op_clone(builder, op, values);
    return map_get_pointer(values, value);
}

static bool sink_into(Differentiation *state, const Accumulation *early, const Accumulation *late) {
    Op *from = loop_around(early->op), *into = loop_around(late->op);
    if (!from || !into || !loops_match(from, into) || !op_precedes(from, into)) return false;
    const Value *iv_a = from->regions[0]->arguments[0], *iv_b = into->regions[0]->arguments[0];
    if (!same_expression(early->op->operands[0], late->op->operands[0], iv_a, iv_b, 0))
        return false;
    if (!same_expression(early->op->operands[2], late->op->operands[2], iv_a, iv_b, 0) &&
        early->op->operands[2] != late->op->operands[2])
        return false;
    Builder builder = {.function = state->backward,
                       .region = into->regions[0],
                       .before = late->op,
                       .range = late->range};
    Map values = map_new(state->arena);
    map_set_pointer(&values, iv_a, (void *)(uintptr_t)iv_b);
    Value *moved = transplant(state->backward, &builder, from, early->op->operands[1], &values);
    if (!moved) return false;
    Value *sum = build_binary(&builder, OP_ADD, moved, late->op->operands[1]);
    sum->name = late->op->operands[1]->name;
    late->op->operands[1]->name = NULL;
    op_set_operand(late->op, 1, sum);
    op_remove(early->op);
    return true;
}

static void sink_statements(Differentiation *state) {
    int count = state->accumulations.count;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            Accumulation *early = &state->accumulations.items[i],
                         *late = &state->accumulations.items[k];
            if (i == k || !early->op || !late->op || early->gradient != late->gradient) continue;
            if (!sink_into(state, early, late)) continue;
            early->op = NULL;
            break;
        }
    }
}

/* ---- private or shared ---- */

typedef struct Sharing {
    bool is_private;
    const char *why;
} Sharing;

static Sharing statement_sharing(Differentiation *state, const Accumulation *statement) {
    Axis axes[AXES_MAX];
    AxisDependence dependence[AXES_MAX];
    Access access = access_of(state->arena, statement->op);
    const char *name = statement->input->name;
    if (!access.parameter || !access.offset.known)
        return (Sharing){
            false,
            arena_printf(
                state->arena,
                "the address of `%s` depends on loaded data, so any two programs may add to the same element",
                name)};
    int count = access_axes(state->arena, state->backward, &access, axes, dependence, AXES_MAX);
    for (int i = 0; i < count; i++) {
        if (dependence[i] == AXIS_OWNED) continue;
        if (axes[i].is_program) {
            return (Sharing){
                false, dependence[i] == AXIS_FREE
                           ? arena_printf(
                                 state->arena,
                                 "all programs along grid axis %d add to the same elements of `%s`",
                                 axes[i].program_axis, name)
                           : arena_printf(
                                 state->arena,
                                 "programs along grid axis %d may add to the same elements of `%s`",
                                 axes[i].program_axis, name)};
        }
        return (Sharing){
            false, arena_printf(
                       state->arena,
                       "several iterations of the loop at line %d add to the same elements of `%s`",
                       range_line(axes[i].loop->range), name)};
    }
    return (Sharing){.is_private = true};
}

/// Whether two arms of one branch hold the two ops.
static bool exclusive_arms(const Op *a, const Op *b) {
    for (const Region *left = a->parent; left && left->parent; left = left->parent->parent)
        for (const Region *right = b->parent; right && right->parent; right = right->parent->parent)
            if (left->parent == right->parent && left != right && left->parent->code == OP_IF)
                return true;
    return false;
}

static bool same_affine(const Affine *a, const Affine *b) {
    if (!a->known || !b->known || a->rank != b->rank || !poly_equal(a->base, b->base)) return false;
    for (int i = 0; i < a->rank; i++)
        if (!poly_equal(a->lane[i], b->lane[i])) return false;
    return true;
}

/// A mask's conjunct `index < bound` over a vector of lanes.
typedef struct LaneBound {
    Affine index;
    const Poly *bound;  // NULL: there is none
} LaneBound;

static LaneBound mask_bound(Arena *arena, Value *mask) {
    if (!mask || !mask->op) return (LaneBound){0};
    if (mask->op->code == OP_AND) {
        LaneBound left = mask_bound(arena, mask->op->operands[0]);
        return left.bound ? left : mask_bound(arena, mask->op->operands[1]);
    }
    if (mask->op->code == OP_EXPAND_DIMS || mask->op->code == OP_BROADCAST_TO)
        return mask_bound(arena, mask->op->operands[0]);
    if (mask->op->code != OP_LT || mask->op->operands[1]->type.rank) return (LaneBound){0};
    LaneBound found = {.index = affine_of(arena, mask->op->operands[0])};
    if (found.index.known && found.index.rank == 1)
        found.bound = value_poly(arena, mask->op->operands[1]);
    return found;
}

static bool mentions_axis(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            const Value *atom = poly->terms[t].atoms[i];
            bool is_parameter = !atom->op && atom->region && !atom->region->parent;
            if (!is_parameter && !atom->type.is_constexpr) return true;
        }
    return false;
}

/// How far an access reaches from its own start: where a mask bounds the index that it adds, the bound, and the
/// start is what is left without that index; else the number of lanes.
static const Poly *access_reach(Arena *arena, const Access *access, const Poly **start) {
    *start = access->offset.base;
    LaneBound bound = mask_bound(arena, access->mask);
    if (bound.bound && poly_equal(bound.index.lane[0], access->offset.lane[0])) {
        *start = poly_subtract(arena, access->offset.base, bound.index.base);
        return bound.bound;
    }
    Type type = access->op->operands[1]->type;
    return type.rank == 1 && type.dims[0]
               ? poly_multiply(arena, type.dims[0], access->offset.lane[0])
               : NULL;
}

/// Two halves of a row: starts that differ by a distance which the first one's lanes do not reach.
static bool lies_before(Arena *arena, const Access *a, const Access *b) {
    const Poly *start_a, *start_b;
    const Poly *reach = access_reach(arena, a, &start_a);
    access_reach(arena, b, &start_b);
    const Poly *distance = poly_subtract(arena, start_b, start_a);
    if (!reach || mentions_axis(distance) || mentions_axis(reach) || distance->count == 0)
        return false;
    return poly_is_nonnegative(arena, poly_subtract(arena, distance, reach));
}

static bool provably_disjoint(Arena *arena, const Access *a, const Access *b) {
    bool vectors = a->offset.known && b->offset.known && a->offset.rank == 1 && b->offset.rank == 1;
    if (!vectors || !poly_equal(a->offset.lane[0], b->offset.lane[0])) return false;
    return lies_before(arena, a, b) || lies_before(arena, b, a);
}

static bool jointly_private(Differentiation *state, const Accumulation *a, const Accumulation *b) {
    Access left = access_of(state->arena, a->op), right = access_of(state->arena, b->op);
    if (same_affine(&left.offset, &right.offset)) return exclusive_arms(a->op, b->op);
    return provably_disjoint(state->arena, &left, &right);
}

static void make_store(const Accumulation *statement, Function *function) {
    Op *op = statement->op;
    Builder builder = {
        .function = function, .region = op->parent, .before = op, .range = statement->range};
    Value *operands[] = {op->operands[0], op->operands[1], op->operands[2]};
    build(&builder, OP_STORE, operands, 3);
    op_remove(op);
}

static void schedule_group(Differentiation *state, Gradient *gradient, const Accumulation *group,
                           int count) {
    gradient->range = group[0].range;
    for (int i = 0; i < count && !gradient->is_atomic; i++) {
        Sharing sharing = statement_sharing(state, &group[i]);
        if (!sharing.is_private) {
            gradient->is_atomic = true;
            gradient->why = sharing.why;
            gradient->range = group[i].range;
        }
        for (int k = 0; k < i && !gradient->is_atomic; k++) {
            if (jointly_private(state, &group[i], &group[k])) continue;
            gradient->is_atomic = true;
            gradient->why = arena_printf(
                state->arena,
                "`%s` is read at several places whose elements may overlap (lines %d and %d)",
                gradient->input, range_line(group[k].range), range_line(group[i].range));
        }
    }
    for (int i = 0; i < count && !gradient->is_atomic; i++) make_store(&group[i], state->backward);
}

void schedule_accumulations(Differentiation *state, Backward *result) {
    for (int i = 0; i < state->accumulations.count; i++)
        if (!op_is_alive(state->backward, state->accumulations.items[i].op))
            state->accumulations.items[i].op = NULL;
    sink_statements(state);
    result->gradients = ARENA_ARRAY(state->arena, Gradient, state->accumulations.count + 1);
    for (int i = 0; i < state->accumulations.count; i++) {
        const Accumulation *first = &state->accumulations.items[i];
        if (!first->op) continue;
        Accumulation *group = ARENA_ARRAY(state->arena, Accumulation, state->accumulations.count);
        int count = 0;
        Value *target = first->gradient;
        const char *input = first->input->name;
        for (int k = i; k < state->accumulations.count; k++) {
            Accumulation *other = &state->accumulations.items[k];
            if (!other->op || other->gradient != target) continue;
            group[count++] = *other;
            other->op = NULL;
        }
        Gradient *gradient = &result->gradients[result->gradient_count++];
        *gradient = (Gradient){.input = input};
        schedule_group(state, gradient, group, count);
        if (gradient->is_atomic) result->atomics++;
    }
}
