// Loops that walk along a tensor: the step against the length of the tile, and the mask against the address. A step that is not the
// tile's length leaves elements out, or takes some twice.
#include "analysis/build/value_poly.h"
#include "analysis/checks/check.h"
#include "analysis/checks/check_instances.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/ir/limits.h"
#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"

static bool is_for(const Op *op) { return op->code == OP_FOR; }

static bool is_known_when_compiled(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            if (!poly->terms[t].atoms[a]->type.is_constexpr) return false;
    return true;
}

static bool is_number_one(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number) && number == 1;
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
        if (op_is_within(other->op, step->loop) &&
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

/// What a mask is an `and` of.
typedef struct BoundParts {
    const Op *compared[MASK_MOST_PARTS];
    const Value *outer[MASK_MOST_PARTS];  // the comparison as it is spread
    int count;
} BoundParts;

static void collect_parts(BoundParts *parts, Value *mask, int depth) {
    enum { DEEPEST = 8 };
    const Value *value = check_strip(mask);
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST || parts->count == MASK_MOST_PARTS) return;
    if (op_has(op->code, TRAIT_BOTH)) {
        for (int side = 0; side < 2; side++) collect_parts(parts, op->operands[side], depth + 1);
        return;
    }
    parts->compared[parts->count] = op;
    parts->outer[parts->count++] = mask;
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

/// Whether the two differ in some instance of the file; their numbers.
static bool differ_in_instance(Check *check, const Poly *a, const Poly *b, int64_t *x, int64_t *y) {
    Instances instances = instances_find(check);
    for (int i = 0; i < instances.count && !instances.is_pruned; i++)
        if (instance_number(check, &instances.items[i], a, x) &&
            instance_number(check, &instances.items[i], b, y) && *x != *y)
            return true;
    return false;
}

/// The address goes on by the tile, and the mask by another block: the loop has another number of iterations than there are tiles.
static void tell_other_block(Check *check, const Access *access, const Op *loop, const Op *compared,
                             const Poly *length, const Poly *rows) {
    int64_t by, tile;
    if (is_constant(rows) || !differ_in_instance(check, rows, length, &by, &tile)) return;
    const char *along = poly_print(check->arena, length), *masked = poly_print(check->arena, rows);
    Diagnostic *said =
        by == -tile
            ? check_report(check, DIAGNOSTIC_LOOP_STEP, access->op,
                           "in each iteration the address goes on by %s elements along this axis, "
                           "and the mask lets as many more through: fewer are left, as with "
                           "`lanes < n - start`",
                           along)
            : check_report(check, DIAGNOSTIC_LOOP_STEP, access->op,
                           "in each iteration the address goes on by %s elements along this axis, "
                           "and the mask by %s (%lld and %lld): the loop's step is another block's",
                           along, masked, (long long)tile, (long long)by);
    check_relate(check, said, compared, "the mask");
    check_relate(check, said, loop, "the loop");
}

/// Whether `part` is `whole // 2`, or another share of it.
static bool is_part_of(Check *check, const Poly *part, const Poly *whole) {
    bool is_atom = part->count == 1 && part->terms[0].atom_count == 1;
    const Op *quotient = is_atom ? part->terms[0].atoms[0]->op : NULL;
    int64_t by;
    return quotient && quotient->code == OP_FLOORDIV && part->terms[0].coefficient == 1 &&
           value_is_int(quotient->operands[1], &by) && by > 1 &&
           poly_equal(value_poly(check->arena, quotient->operands[0]), whole);
}

/// The mask goes on by the tile, and the pointer by a share of it.
static void tell_part(Check *check, const Access *access, const Op *compared, const Poly *wanted,
                      const Poly *by) {
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_STEP, access->op,
        "in each iteration the mask goes on by a tile, which is %s in memory, and the pointer by "
        "%s: elements are taken more than once, and others left out",
        poly_print(check->arena, wanted), poly_print(check->arena, by));
    check_relate(check, said, compared, "the mask");
}

/// The access goes through a pointer that the loop moves by tiles, and its mask goes on by the loop's step.
static void check_moved_pointer(Check *check, const Access *access, const Op *loop) {
    const Value *pointer = access->op->operands[0], *mask = access->mask;
    const Type tile = pointer->type;
    if (pointer->op || !pointer->region || pointer->region->parent != loop || pointer->index < 1 ||
        !mask)
        return;
    Affine from = affine_by(check->former, loop->operands[pointer->index + 2]);
    const Carried *carried = &loop_classify(check->arena, loop)[pointer->index - 1];
    if (!from.known || from.rank != tile.rank || carried->class != CARRIED_INDUCTION ||
        carried->negated || carried->step->type.rank)
        return;
    const Poly *by = value_poly(check->arena, carried->step);
    BoundParts parts = {.count = 0};
    collect_parts(&parts, access->mask, 0);
    for (int i = 0; i < parts.count; i++) {
        MovingBound bound;
        if (!read_moving(check, parts.compared[i], parts.outer[i], tile.rank, &bound)) continue;
        const Poly *moves = moved_by(check, loop, bound.base), *length = tile.dims[bound.axis];
        const Poly *rows = moves ? poly_divide_exact(check->arena, moves, bound.lane) : NULL;
        if (!rows || poly_is_zero(rows) || !is_known_when_compiled(rows) || !length) continue;
        const Poly *wanted = poly_multiply(check->arena, length, from.lane[bound.axis]);
        if (poly_equal(rows, length) && is_part_of(check, by, wanted))
            tell_part(check, access, parts.compared[i], wanted, by);
        if (poly_equal(rows, length) || !poly_equal(by, wanted)) continue;
        tell_other_block(check, access, loop, parts.compared[i], length, rows);
    }
}

static bool is_number(const Value *value, int64_t wanted) {
    int64_t number;
    return value_is_int(value, &number) && number == wanted;
}

/// Whether something outside of the loop takes elements of the parameter, too: the rest, maybe.
static bool is_taken_outside(const Check *check, const Op *loop, const Value *parameter) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *other = check->memory.items[i];
        if (other->parameter == parameter && !op_is_within(other->op, loop)) return true;
    }
    return false;
}

/// `range(n // BLOCK)` around a mask for the last block, which never comes: there the mask always holds.
static void check_rounded_down(Check *check, const Access *access, const Op *loop,
                               const Op *compared, const MovingBound *bound) {
    const Value *end = check_strip(loop->operands[1]);
    const Op *quotient = end ? end->op : NULL;
    const Poly *each, *rest;
    if (!quotient || quotient->code != OP_FLOORDIV || quotient->call ||
        !is_number(loop->operands[0], 0) || !is_number(loop->operands[2], 1) ||
        !poly_split(check->arena, bound->base, loop->regions[0]->arguments[0], &each, &rest))
        return;
    Value *length = check_strip(quotient->operands[0]);
    if (!length) return;
    const Poly *from = poly_add(check->arena, rest, value_poly(check->arena, length));
    if (length->constant || length->type.is_constexpr || !is_number_one(bound->lane) ||
        !poly_is_zero(from) || !poly_equal(each, value_poly(check->arena, quotient->operands[1])) ||
        !poly_equal(each, access->op->operands[0]->type.dims[bound->axis]) ||
        is_taken_outside(check, loop, access->parameter))
        return;
    const char *name = check_name(check, length);
    Diagnostic *said =
        check_report(check, DIAGNOSTIC_LOOP_STEP, quotient,
                     "this rounds down: the last block of %s that is not full, which the mask is "
                     "for, is left out (`tl.cdiv` rounds up)",
                     name);
    check_relate(check, said, compared, "the mask");
}

/// Whether an access of the loop takes a single element for each iteration: the tile is a window that slides over them.
static bool has_single_elements(Check *check, const Op *loop) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (!access->offset.known || !op_is_within(access->op, loop)) continue;
        const Poly *goes = moved_by(check, loop, access->offset.base);
        bool is_single = goes && !poly_is_zero(goes);
        for (int k = 0; k < access->offset.rank && is_single; k++)
            is_single = !poly_equal(access->offset.lane[k], goes);
        if (is_single) return true;
    }
    return false;
}

/// `range(0, n)` around tiles whose lanes are compared with n: the step is forgotten, and is one element.
static void check_forgotten_step(Check *check, const Access *access, const Op *loop,
                                 const Op *compared, const MovingBound *bound) {
    const Poly *lane = access->offset.lane[bound->axis];
    const Poly *length = access->op->operands[0]->type.dims[bound->axis];
    const Poly *counter = poly_atom(check->arena, loop->regions[0]->arguments[0]);
    const Value *end = check_strip(loop->operands[1]);
    const Poly *goes = moved_by(check, loop, access->offset.base);
    if (!is_number(loop->operands[2], 1) || !end || end->constant || !length ||
        is_number_one(length) || check_strip(compared->operands[1]) != end || !goes ||
        !poly_equal(goes, lane) || !is_number_one(bound->lane) || poly_is_zero(lane) ||
        !poly_equal(bound->base, poly_subtract(check->arena, counter,
                                               value_poly(check->arena, loop->operands[1]))) ||
        has_single_elements(check, loop))
        return;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_STEP, access->op,
        "the tile has %s elements along this axis, and each iteration goes on by one: elements are "
        "taken more than once",
        poly_print(check->arena, length));
    check_relate(check, said, loop, "the loop");
}

static void check_bound(Check *check, const Access *access, const Op *loop, const Op *compared,
                        const Value *outer) {
    MovingBound bound;
    const Affine *offset = &access->offset;
    Type tile = access->op->operands[0]->type;
    if (offset->rank != tile.rank || !read_moving(check, compared, outer, tile.rank, &bound))
        return;
    check_rounded_down(check, access, loop, compared, &bound);
    check_forgotten_step(check, access, loop, compared, &bound);
    const Poly *moves = moved_by(check, loop, bound.base);
    const Poly *goes = moved_by(check, loop, offset->base);
    if (!moves || !goes || poly_is_zero(moves)) return;
    const Poly *rows = poly_divide_exact(check->arena, moves, bound.lane);
    if (!rows || !is_known_when_compiled(rows)) return;
    if (!poly_equal(rows, tile.dims[bound.axis])) {
        const Poly *length = tile.dims[bound.axis], *lane = offset->lane[bound.axis];
        if (goes && length && !poly_is_zero(lane) &&
            poly_equal(goes, poly_multiply(check->arena, length, lane)))
            tell_other_block(check, access, loop, compared, length, rows);
        return;
    }
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

static void check_mask(Check *check, const Access *access, const Op *loop) {
    BoundParts parts = {.count = 0};
    collect_parts(&parts, access->mask, 0);
    for (int i = 0; i < parts.count; i++)
        check_bound(check, access, loop, parts.compared[i], parts.outer[i]);
}

/* ---- a mask that no lane decides ---- */

/// A comparison of one number with the end of the loop; NULL where the mask holds something else.
static const Op *bound_by_end(Check *check, const Op *loop, Value *mask) {
    const Value *value = check_strip(mask);
    const Op *op = value ? value->op : NULL;
    if (!op || op->code != OP_LT || op->call) return NULL;
    Affine index = affine_by(check->former, op->operands[0]);
    const Value *end = check_strip(loop->operands[1]);
    bool is_end = end && !end->constant && check_strip(op->operands[1]) == end;
    for (int k = 0; k < index.rank; k++)
        if (!poly_is_zero(index.lane[k])) return NULL;
    return is_end && index.known && !is_constant(index.base) ? op : NULL;
}

/// The loop goes on by tiles up to a number, and the mask compares something else with it, which is the same for all lanes.
static void check_unlike_lanes(Check *check, const Access *access, const Op *loop, int axis) {
    const Op *compared = bound_by_end(check, loop, access->mask);
    const Value *counter = loop->regions[0]->arguments[0];
    if (!compared || value_depends_on(check->arena, access->mask, counter, NULL) ||
        !poly_equal(value_poly(check->arena, loop->operands[2]),
                    access->op->operands[0]->type.dims[axis]))
        return;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_INCOMPLETE_MASK, access->op,
        "the mask compares %s with %s, at which the loop ends, and not the lanes: those past the "
        "end %s out of bounds",
        check_name(check, compared->operands[0]), check_name(check, compared->operands[1]),
        op_rows[access->op->code].effects & EFFECT_WRITES ? "write" : "read");
    check_relate(check, said, compared, "the mask");
    check_relate(check, said, loop, "the loop");
}

/* ---- all accesses ---- */

static void check_access_in(Check *check, const Access *access, const Op *loop) {
    const Affine *offset = &access->offset;
    Type tile = access->op->operands[0]->type;
    if (access->mask && !access->mask->constant) check_mask(check, access, loop);
    const Poly *goes = moved_by(check, loop, offset->base);
    if (!goes || poly_is_zero(goes)) return;
    Step step = {.check = check, .access = access, .loop = loop};
    int candidates = 0;
    for (int k = 0; k < offset->rank && k < tile.rank; k++) {
        if (!tile.dims[k] || poly_is_zero(offset->lane[k])) continue;
        const Poly *by = poly_divide_exact(check->arena, goes, offset->lane[k]);
        if (!by || !is_known_when_compiled(by)) continue;
        if (poly_equal(by, tile.dims[k])) {
            if (access->mask) check_unlike_lanes(check, access, loop, k);
            return;
        }
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
            check_is_optional(access->op))
            continue;
        for (const Op *outer = access->op->parent->parent; outer; outer = outer->parent->parent)
            if (is_for(outer) && access->offset.known)
                check_access_in(check, access, outer);
            else if (is_for(outer))
                check_moved_pointer(check, access, outer);
    }
}
