// Loops that walk along a tensor: the step against the length of the tile, and the mask against the address. A step that is not the
// tile's length leaves elements out, or takes some twice.
#include "analysis/build/value_poly.h"
#include "analysis/checks/check.h"
#include "analysis/checks/check_instances.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/ir/walk.h"

static bool is_for(const Op *op) { return op->code == OP_FOR; }

static bool is_known_when_compiled(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            if (!poly->terms[t].atoms[a]->type.is_constexpr) return false;
    return true;
}

static bool is_constant(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number);
}

/// What `form` changes by from one iteration to the next; NULL where it is not linear in the counter.
static const Poly *moved_by(Check *check, const Op *loop, const Poly *form) {
    const Poly *each, *rest;
    if (!poly_split(check->arena, form, loop->regions[0]->arguments[0], &each, &rest)) return NULL;
    return poly_multiply(check->arena, each, value_poly(check->arena, loop->operands[2]));
}

/* ---- the step against the tile ---- */

typedef struct Step {
    Check *check;
    const Access *access;
    const Op *loop;
    const Poly *by;      // elements of the tile's axis in one iteration
    const Poly *length;  // of the tile along that axis
    const Poly *lane;    // what the address changes by along it
} Step;

/// Whether the loop counts blocks of this length: its step is one, or it has `cdiv(n, length)` iterations.
static bool counts_blocks(Check *check, const Op *loop, const Poly *length) {
    const Poly *step = value_poly(check->arena, loop->operands[2]);
    const Value *end = check_strip(loop->operands[1]);
    if (!is_constant(step)) return poly_equal(step, length);
    const Op *quotient = end ? end->op : NULL;
    bool divides = quotient && (quotient->code == OP_CDIV || quotient->code == OP_FLOORDIV) &&
                   quotient->operand_count > 1;
    return divides && poly_equal(value_poly(check->arena, quotient->operands[1]), length);
}

static intptr_t finds_range(ValueWalk *walk, const Value *value) {
    const Step *step = walk->context;
    const Op *op = value ? value->op : NULL;
    if (value && !op) {
        const Op *owner = value->region ? value->region->parent : NULL;
        bool is_carried = owner && is_for(owner) && value->index > 0;
        return is_carried && value->index + 2 < owner->operand_count
                   ? walk_ask(walk, owner->operands[value->index + 2])
                   : 0;
    }
    if (!op) return 0;
    if (op->code == OP_ARANGE)
        return value->type.rank == 1 && poly_equal(value->type.dims[0], step->length) ? (intptr_t)op
                                                                                      : 0;
    if (op->code != OP_ADD && op->code != OP_MUL && !check_is_stripped(op)) return 0;
    intptr_t found = 0;
    for (int i = 0; i < op->operand_count && i < 2; i++) {
        intptr_t here = op->operands[i] ? walk_ask(walk, op->operands[i]) : 0;
        if (here && found && here != found) return -1;
        if (here) found = here;
    }
    return found;
}

/// The one `tl.arange` of this length that the address is made of, or the access.
static const Op *place_of(const Step *step) {
    intptr_t found = walk_from(step->access->op->operands[0], finds_range, 0, step);
    const Op *op = found == 0 || found == -1 ? NULL : (const Op *)found;
    return op && !op->call ? op : step->access->op;
}

/// Whether the address begins at a tile that follows from what the launch or another loop counts.
static bool begins_at_tile(const Step *step) {
    Check *check = step->check;
    const Poly *base = step->access->offset.base;
    const Poly *tile = poly_multiply(check->arena, step->lane, step->length);
    for (int t = 0; t < base->count; t++)
        for (int a = 0; a < base->terms[t].atom_count; a++) {
            const Poly *each, *rest;
            Value *atom = base->terms[t].atoms[a];
            bool is_counter = atom == step->loop->regions[0]->arguments[0];
            if (is_counter || atom->type.is_constexpr || check_is_parameter(atom)) continue;
            if (!poly_split(check->arena, base, atom, &each, &rest) ||
                poly_divide_exact(check->arena, each, tile))
                return true;
        }
    return false;
}

/// Whether other accesses of the loop, or programs, take what a step beyond the tile leaves out.
static bool is_shared(const Step *step) {
    Check *check = step->check;
    if (begins_at_tile(step)) return true;
    if (step->access->op->parent->parent != step->loop ||
        check_depends_on_program(check, step->loop->operands[0], -1))
        return true;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *other = check->memory.items[i];
        if (other == step->access || other->parameter != step->access->parameter) continue;
        bool is_inside = false;
        for (const Op *outer = other->op->parent->parent; outer; outer = outer->parent->parent)
            is_inside |= outer == step->loop;
        if (is_inside &&
            !(other->offset.known && poly_equal(other->offset.base, step->access->offset.base)))
            return true;
    }
    return false;
}

/// Whether the step and the length are unequal in some instance of the file; its numbers.
static bool differ_somewhere(const Step *step, int64_t *by, int64_t *length) {
    Check *check = step->check;
    const Poly *ratio = poly_divide_exact(check->arena, step->by, step->length);
    int64_t times;
    *by = *length = 0;
    if (ratio && poly_is_constant(ratio, &times)) return times > 1 && !is_shared(step);
    Instances instances = instances_find(check);
    for (int i = 0; i < instances.count; i++) {
        const Instance *instance = &instances.items[i];
        if (!instances.is_pruned && instance_number(check, instance, step->by, by) &&
            instance_number(check, instance, step->length, length) && *by < *length)
            return true;
    }
    return false;
}

static void check_step(const Step *step) {
    Check *check = step->check;
    int64_t by, length;
    if (!differ_somewhere(step, &by, &length)) return;
    const char *numbers =
        by ? arena_printf(check->arena, " (%lld and %lld)", (long long)by, (long long)length) : "";
    bool overlaps = by && by < length;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_STEP, place_of(step),
        "the tile has %s elements along this axis, and each iteration goes on by %s%s: %s",
        poly_print(check->arena, step->length), poly_print(check->arena, step->by), numbers,
        overlaps ? "elements are taken more than once" : "elements are left out");
    check_relate(check, said, step->loop, "the loop");
}

/* ---- the mask against the address ---- */

typedef struct MovingBound {
    const Poly *base, *lane;  // of what is compared, less its bound
    int axis;                 // of the tile: the only one along which it differs
} MovingBound;

/// The axis of a tile of `rank` along which a comparison of that many axes, spread as `outer`, has its lanes; -1: not known.
static int axis_of(const Value *compared, const Value *outer, int lane, int rank) {
    int own = compared->type.rank, axis = -1;
    int64_t number;
    if (outer->type.rank > rank || own > outer->type.rank) return -1;
    if (own == outer->type.rank) return rank - own + lane;
    if (own != 1) return -1;
    for (int k = 0; k < outer->type.rank; k++) {
        const Poly *dim = outer->type.dims[k];
        if (dim && poly_is_constant(dim, &number) && number == 1) continue;
        if (axis >= 0) return -1;
        axis = rank - outer->type.rank + k;
    }
    return axis;
}

/// A comparison of one index with a number: which axis of the access's tile it is along.
static bool read_moving(Check *check, const Op *op, const Value *outer, int rank,
                        MovingBound *bound) {
    if (!op_is_ordering(op->code)) return false;
    Affine left = affine_by(check->former, op->operands[0]);
    Affine right = affine_by(check->former, op->operands[1]);
    int lane = -1;
    if (!left.known || !right.known || left.wrapped || right.wrapped) return false;
    for (int k = 0; k < right.rank; k++)
        if (!poly_is_zero(right.lane[k])) return false;
    for (int k = 0; k < left.rank; k++) {
        if (poly_is_zero(left.lane[k])) continue;
        if (lane >= 0) return false;
        lane = k;
    }
    bound->axis = lane < 0 || left.rank != op->results[0]->type.rank
                      ? -1
                      : axis_of(op->results[0], outer, lane, rank);
    if (bound->axis < 0) return false;
    bound->lane = left.lane[lane];
    bound->base = poly_subtract(check->arena, left.base, right.base);
    return true;
}

/// Whether something in the address follows from the counter in a way that its form does not show.
static bool follows_otherwise(Check *check, const Op *loop, const Poly *base) {
    const Value *counter = loop->regions[0]->arguments[0];
    for (int t = 0; t < base->count; t++)
        for (int a = 0; a < base->terms[t].atom_count; a++) {
            const Value *atom = base->terms[t].atoms[a];
            if (atom != counter && value_depends_on(check->arena, atom, counter, NULL)) return true;
        }
    return false;
}

/// Whether the launcher's own caller says it, or a part of it.
static bool is_callers(const HostValue *value) {
    if (!value || value->kind == HOST_INPUT) return true;
    bool is_callers_own = false;
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count && !is_callers_own; i++)
        is_callers_own = is_callers(value->items[i]);
    return is_callers_own;
}

/// The number at a launch; false where the launcher's own caller says part of it.
static bool number_at(Check *check, const HostLaunch *at, const ConcreteLaunch *launch,
                      const Poly *poly, int64_t *number) {
    for (int p = 0; p < check->function->parameter_count && p < launch->argument_count; p++) {
        Value *parameter = check->function->parameters[p].value;
        const ConcreteArgument *argument = &launch->arguments[p];
        const HostValue *value = p < at->argument_count ? at->arguments[p].value : NULL;
        if (poly_mentions(poly, parameter) && is_callers(value)) return false;
        if (argument->kind == CONCRETE_SCALAR && argument->constant.kind == CONSTANT_INT &&
            poly_mentions(poly, parameter))
            poly = poly_substitute(check->arena, poly, parameter,
                                   poly_constant(check->arena, argument->constant.integer));
    }
    return poly_is_constant(poly, number);
}

/// Whether the two differ at every launch of the file, and there is one. Launches are not looked at while somebody types.
static bool differ_at_launches(Check *check, const Poly *a, const Poly *b) {
    const FunctionDefinition *kernel = check->kernel->definition;
    bool any = false;
    if (check->skips_trials) return false;
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        HostPolicy policy = {.keep_blocks = true, .function = check->function};
        int64_t x, y;
        if (site->kernel != kernel) continue;
        const HostLaunch *launch = host_launch(kernel->module, site, &policy);
        if (!launch->is_reached) return false;
        const ConcreteLaunch *numbers = host_concretize(check->arena, launch);
        if (!number_at(check, launch, numbers, a, &x) ||
            !number_at(check, launch, numbers, b, &y) || x == y)
            return false;
        any = true;
    }
    return any;
}

/// Whether each axis has a stride that the launch says: none is a block's own.
static bool has_plain_strides(const Access *access) {
    for (int k = 0; k < access->offset.rank; k++)
        if (is_known_when_compiled(access->offset.lane[k])) return false;
    return true;
}

static void check_bound(Check *check, const Access *access, const Op *loop, const Op *compared,
                        const Value *outer) {
    MovingBound bound;
    const Affine *offset = &access->offset;
    Type tile = access->op->operands[0]->type;
    if (offset->rank != tile.rank || !read_moving(check, compared, outer, tile.rank, &bound))
        return;
    const Poly *moves = moved_by(check, loop, bound.base);
    const Poly *goes = moved_by(check, loop, offset->base);
    if (!moves || !goes || poly_is_zero(moves)) return;
    const Poly *rows = poly_divide_exact(check->arena, moves, bound.lane);
    if (!rows || !is_known_when_compiled(rows) || !poly_equal(rows, tile.dims[bound.axis])) return;
    const Poly *wanted = poly_multiply(check->arena, rows, offset->lane[bound.axis]);
    if (poly_is_zero(offset->lane[bound.axis]) || poly_equal(wanted, goes) ||
        follows_otherwise(check, loop, offset->base))
        return;
    bool stands = poly_is_zero(goes);
    if (!stands && (!has_plain_strides(access) || !differ_at_launches(check, goes, wanted))) return;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_STEP, access->op,
        stands ? "in each iteration the mask goes on by %s elements along this axis, and the "
                 "address stays: add %s"
               : "in each iteration the mask goes on by %s elements along this axis, which is %s "
                 "in memory, and the address by %s",
        poly_print(check->arena, rows), poly_print(check->arena, wanted),
        poly_print(check->arena, goes));
    check_relate(check, said, compared, "the mask");
}

static void visit_mask(Check *check, const Access *access, const Op *loop, Value *mask, int depth) {
    enum { DEEPEST = 8 };
    const Value *value = check_strip(mask);
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST) return;
    if (op->code == OP_AND || op->code == OP_LOGICAL_AND)
        for (int side = 0; side < 2; side++)
            visit_mask(check, access, loop, op->operands[side], depth + 1);
    else
        check_bound(check, access, loop, op, mask);
}

/* ---- all accesses ---- */

static void check_access_in(Check *check, const Access *access, const Op *loop) {
    const Affine *offset = &access->offset;
    Type tile = access->op->operands[0]->type;
    if (access->mask && !access->mask->constant) visit_mask(check, access, loop, access->mask, 0);
    const Poly *goes = moved_by(check, loop, offset->base);
    if (!goes || poly_is_zero(goes)) return;
    Step step = {.check = check, .access = access, .loop = loop};
    int candidates = 0;
    for (int k = 0; k < offset->rank && k < tile.rank; k++) {
        if (!tile.dims[k] || poly_is_zero(offset->lane[k])) continue;
        const Poly *by = poly_divide_exact(check->arena, goes, offset->lane[k]);
        if (!by || !is_known_when_compiled(by)) continue;
        if (poly_equal(by, tile.dims[k])) return;
        step.by = by;
        step.length = tile.dims[k];
        step.lane = offset->lane[k];
        candidates++;
    }
    bool is_length = candidates == 1 && is_known_when_compiled(step.length) &&
                     !is_constant(step.by) && !is_constant(step.length);
    if (is_length && counts_blocks(check, loop, step.by)) check_step(&step);
}

void check_steps(Check *check) {
    if (!check->is_entry) return;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->op->operands[0]->type.kind != TYPE_POINTER || !access->parameter ||
            !access->offset.known || check_is_optional(access->op))
            continue;
        for (const Op *outer = access->op->parent->parent; outer; outer = outer->parent->parent)
            if (is_for(outer)) check_access_in(check, access, outer);
    }
}
