// Statements of two loops, or of two nests of them, that add to the same elements become one, in the later one: what the earlier one
// adds is recomputed there (scheduling.md, section 3). Of two statements in the branches of one condition (`if EVEN_K:` around loads with and without a
// mask) one is made behind them: the branches choose what is added, and which elements count. Each element is then stored once.
#include "autodiff/schedule/sink.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/ir/type.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

static Op *loop_around(const Op *op) {
    Op *owner = op->parent->parent;
    return owner && (owner->code == OP_FOR || owner->code == OP_STATIC_FOR) ? owner : NULL;
}

/// Whether two loops that are in loops of the same ranges, or in none, go through the same numbers.
static bool ranges_match(const Op *a, const Op *b, const Twins *outer) {
    if (a == b || a->code != b->code) return false;
    for (int i = 0; i < 3; i++) {
        bool is_same = outer->count ? expressions_are_twins(a->operands[i], b->operands[i], outer)
                                    : a->operands[i] == b->operands[i];
        if (!is_same) return false;
    }
    return true;
}

/// Two nests of loops, one after the other, around two operations; the outermost pair.
typedef struct NestPair {
    Op *from, *into;
    Twins variables;
} NestPair;

/// Whether the loops around `early` and `late`, up to two that stand beside each other, have the same ranges.
static bool nests_match(const Op *early, const Op *late, NestPair *nests) {
    Op *from[LOOPS_MOST_NESTED], *into[LOOPS_MOST_NESTED];
    int depth = 0;
    do {
        if (depth == LOOPS_MOST_NESTED) return false;
        from[depth] = loop_around(depth ? from[depth - 1] : early);
        into[depth] = loop_around(depth ? into[depth - 1] : late);
        if (!from[depth] || !into[depth]) return false;
    } while (from[depth]->parent != into[depth]->parent && ++depth);
    nests->from = from[depth];
    nests->into = into[depth];
    nests->variables.count = 0;
    for (int i = depth; i >= 0; i--) {
        Twins *variables = &nests->variables;
        if (!ranges_match(from[i], into[i], variables)) return false;
        variables->a[variables->count] = from[i]->regions[0]->arguments[0];
        variables->b[variables->count++] = into[i]->regions[0]->arguments[0];
    }
    return op_precedes(nests->from, nests->into);
}

/// Where values of one region of the earlier loop are made anew: the loop's body, or a branch of a branch in it.
typedef struct Transplant {
    const Function *function;
    const Region *from;
    Builder builder;
    Map *values;  // of all places: value of the earlier loop -> its copy
    struct Transplant *outer;
    const Twins *variables;  // of the two nests
    const Op *late;          // what the copies are made for, in the later loop
} Transplant;

static Value *transplant(Transplant *place, Value *value);
static bool places_match(Arena *arena, Op *early, Op *late, const Twins *variables);

static bool operands_are_twins(const Op *a, const Op *b, int from, const Twins *variables) {
    int count = a->operand_count > b->operand_count ? a->operand_count : b->operand_count;
    for (int i = from; i < count; i++) {
        const Value *one = i < a->operand_count ? a->operands[i] : NULL,
                    *other = i < b->operand_count ? b->operands[i] : NULL;
        if (one != other && !(one && other && expressions_are_twins(one, other, variables)))
            return false;
    }
    return true;
}

/// What the later loop has loaded of the same elements under the same mask, in front of its own statement; or NULL.
static Value *loaded_there(const Transplant *place, Op *load) {
    Arena *arena = place->function->arena;
    for (Op *op = place->late->parent->first; op && op != place->late; op = op->next) {
        if (op->code != OP_LOAD || !type_equal(op->results[0]->type, load->results[0]->type) ||
            !op_is_stable_load(place->function, op))
            continue;
        if (operands_are_twins(load, op, 1, place->variables) &&
            places_match(arena, load, op, place->variables))
            return op->results[0];
    }
    return NULL;
}

/// The copy of a branch with the one result that is asked for.
static Value *transplant_branch(Transplant *place, const Value *value) {
    const Op *op = value->op;
    Value *condition = transplant(place, op->operands[0]);
    if (!condition) return NULL;
    Function *function = place->builder.function;
    Op *branch = op_append(&place->builder, OP_IF, &condition, 1, 0);
    branch->range = op->range;
    for (int r = 0; r < op->region_count; r++) {
        Transplant side = *place;
        side.from = op->regions[r];
        side.outer = place;
        side.builder.region = op_add_region(&place->builder, branch);
        side.builder.before = NULL;
        place->builder.before = branch;
        Value *yielded =
            transplant(&side, region_terminator(op->regions[r])->operands[value->index]);
        place->builder.before = branch->next;
        if (!yielded) {
            op_remove(branch);
            return NULL;
        }
        op_append(&side.builder, OP_YIELD, &yielded, 1, 0);
    }
    Value *copy = op_append_result(function, branch,
                                   type_mapped(function->arena, value->type, place->values));
    copy->name = value->name;
    return copy;
}

/// A copy of a value of the earlier loop. NULL where it needs state of its own loop or memory that is written to.
static Value *transplant(Transplant *place, Value *value) {
    Value *copy = value ? map_get_pointer(place->values, value) : NULL;
    if (copy || !value) return copy;
    if (!region_defines(place->from, value))
        return place->outer ? transplant(place->outer, value) : value;
    const Op *op = value->op;
    if (op && op->code == OP_IF && op->parent == place->from) {
        copy = transplant_branch(place, value);
        if (copy) map_set_pointer(place->values, value, copy);
        return copy;
    }
    if (!op || op->region_count || op->code == OP_UNDEFINED) return NULL;
    if (!op_is_pure(op) && !op_is_stable_load(place->function, op)) return NULL;
    if (op->code == OP_LOAD && op->results[0]->type.rank) {
        copy = loaded_there(place, value->op);
        if (copy) {
            map_set_pointer(place->values, value, copy);
            return copy;
        }
    }
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Value *operand = transplant(place, op->operands[i]);
        if (!operand) return NULL;
        map_set_pointer(place->values, op->operands[i], operand);
    }
    op_clone(&place->builder, op, place->values);
    return map_get_pointer(place->values, value);
}

/// The polynomial with the variables of the later nest.
static const Poly *in_later_nest(Arena *arena, const Poly *poly, const Twins *variables) {
    for (int i = 0; i < variables->count && poly; i++)
        poly = poly_substitute(arena, poly, (Value *)(uintptr_t)variables->a[i],
                               poly_atom(arena, (Value *)(uintptr_t)variables->b[i]));
    return poly;
}

static bool polys_match(Arena *arena, const Poly *early, const Poly *late, const Twins *variables) {
    const Poly *moved = in_later_nest(arena, early, variables);
    return moved && poly_equal(moved, late);
}

/// Whether two accesses have the same elements in iterations with the same numbers, also where the sums are spelled otherwise.
static bool places_match(Arena *arena, Op *early, Op *late, const Twins *variables) {
    if (expressions_are_twins(early->operands[0], late->operands[0], variables)) return true;
    Access from = access_of(arena, early), into = access_of(arena, late);
    const Affine *a = &from.offset, *b = &into.offset;
    if (!from.parameter || from.parameter != into.parameter || !a->known || !b->known ||
        a->wrapped || b->wrapped || a->rank != b->rank ||
        !type_equal(early->operands[0]->type, late->operands[0]->type))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!polys_match(arena, a->lane[i], b->lane[i], variables)) return false;
    return polys_match(arena, a->base, b->base, variables);
}

static bool sink_into(Differentiation *state, const Accumulation *early, const Accumulation *late) {
    NestPair nests;
    if (!nests_match(early->op, late->op, &nests)) return false;
    const Twins *variables = &nests.variables;
    if (!places_match(state->arena, early->op, late->op, variables) ||
        !expressions_are_twins(early->op->operands[2], late->op->operands[2], variables))
        return false;
    Map values = map_new(state->arena);
    for (int i = 0; i < variables->count; i++)
        map_set_pointer(&values, variables->a[i], (void *)(uintptr_t)variables->b[i]);
    Builder builder = {.function = state->backward,
                       .region = late->op->parent,
                       .before = late->op,
                       .range = late->range};
    Transplant place = {.function = state->backward,
                        .from = nests.from->regions[0],
                        .builder = builder,
                        .values = &values,
                        .variables = variables,
                        .late = late->op};
    Value *moved = transplant(&place, early->op->operands[1]);
    if (!moved) return false;
    Value *sum = build_binary(&builder, OP_ADD, moved, late->op->operands[1]);
    sum->name = late->op->operands[1]->name;
    late->op->operands[1]->name = NULL;
    op_set_operand(late->op, 1, sum);
    op_remove(early->op);
    return true;
}

void accumulations_sink(Differentiation *state) {
    int count = state->sweep.accumulations.count;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            Accumulation *early = &state->sweep.accumulations.items[i],
                         *late = &state->sweep.accumulations.items[k];
            if (i == k || !early->op || !late->op || early->gradient != late->gradient ||
                early->is_running)
                continue;
            if (!sink_into(state, early, late)) continue;
            early->op = NULL;
            break;
        }
    }
}

/* ---- branches ---- */

/// Two additions, by the branch that they stand in.
typedef struct JoinPair {
    Differentiation *state;
    Op *branch;
    Op *additions[2];
} JoinPair;

static bool find_pair(JoinPair *pair, const Accumulation *a, const Accumulation *b) {
    if (!a->op || !b->op || a->gradient != b->gradient || a->is_running || a->is_program_sum ||
        a->op->code != OP_ATOMIC_ADD || b->op->code != OP_ATOMIC_ADD)
        return false;
    Op *branch = a->op->parent->parent;
    if (!branch || branch->code != OP_IF || a->op->parent == b->op->parent ||
        b->op->parent->parent != branch)
        return false;
    bool is_first = a->op->parent == branch->regions[0];
    pair->branch = branch;
    pair->additions[0] = is_first ? a->op : b->op;
    pair->additions[1] = is_first ? b->op : a->op;
    return places_are_equal(pair->state->arena, a->op, b->op) &&
           type_equal(a->op->operands[0]->type, b->op->operands[0]->type) &&
           type_equal(a->op->operands[1]->type, b->op->operands[1]->type);
}

/// A mask of all lanes of the addition, as wide as its tile; NULL where the shape is not understood.
static Value *whole_mask(Builder *b, const Op *addition, Value *mask) {
    Type type = addition->operands[0]->type;
    if (!type.rank) return mask ? mask : build_bool(b, true);
    Value *shape = build_shape(b, type);
    if (!shape) return NULL;
    if (mask) return build_binary(b, OP_BROADCAST_TO, mask, shape);
    return build_ternary(b, OP_FULL, shape, build_bool(b, true),
                         build_dtype(b, dtype_of(DTYPE_INT1)));
}

/// A result more of a branch: what each side has at its end.
static Value *add_result(const JoinPair *pair, Op *branch, Value *const *values, const char *name) {
    Function *function = pair->state->backward;
    for (int side = 0; side < 2; side++)
        op_append_operand(function, region_terminator(branch->regions[side]), values[side]);
    Value *result = op_append_result(function, branch, type_at_run_time(values[0]->type));
    result->name = name;
    return result;
}

/// The mask behind the branches: of a branch of its own, so that it is there for whoever needs but the mask. False where there
/// is none to be had. NULL: all lanes count.
static bool join_masks(const JoinPair *pair, Builder *b, Value **mask) {
    Value *masks[2] = {access_mask(pair->additions[0]), access_mask(pair->additions[1])};
    *mask = masks[0];
    if (masks[0] == masks[1]) return true;
    if (masks[0] && masks[1] && expressions_alike(masks[0], masks[1], NULL, NULL)) {
        Map copies = map_new(pair->state->arena);
        *mask = value_copied_behind(b, masks[0], &copies, pair->branch);
        return *mask != NULL;
    }
    bool is_alike = masks[0] && masks[1] && type_equal(masks[0]->type, masks[1]->type);
    Op *branch = op_append(b, OP_IF, pair->branch->operands, 1, 0);
    branch->range = pair->branch->range;
    for (int side = 0; side < 2; side++) {
        Map copies = map_new(pair->state->arena);
        Builder inner = {.function = b->function, .region = op_add_region(b, branch)};
        inner.range = pair->additions[side]->range;
        Value *copy = value_copied_behind(&inner, masks[side], &copies, pair->branch);
        if (masks[side] && !copy) return false;
        if (!is_alike) copy = whole_mask(&inner, pair->additions[side], copy);
        if (!copy) return false;
        masks[side] = copy;
        op_append(&inner, OP_YIELD, NULL, 0, 0);
    }
    *mask = add_result(pair, branch, masks, "mask");
    return true;
}

static bool join(const JoinPair *pair, Accumulation *kept) {
    Op *branch = pair->branch;
    Builder b = {.function = pair->state->backward,
                 .region = branch->parent,
                 .before = branch->next,
                 .range = kept->range};
    Map copies = map_new(pair->state->arena);
    Value *address = value_copied_behind(&b, pair->additions[0]->operands[0], &copies, branch),
          *mask;
    if (!address || !join_masks(pair, &b, &mask)) return false;
    Value *values[2] = {pair->additions[0]->operands[1], pair->additions[1]->operands[1]};
    Value *value = values[0];
    if (value != values[1]) value = add_result(pair, branch, values, value->name);
    Op *addition = op_append(&b, OP_ATOMIC_ADD, (Value *[]){address, value, mask}, 3, 0);
    addition->call = pair->additions[0]->call;
    for (int side = 0; side < 2; side++) op_remove(pair->additions[side]);
    kept->op = addition;
    return true;
}

static bool join_once(Differentiation *state) {
    int count = state->sweep.accumulations.count;
    bool any = false;
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++) {
            Accumulation *a = &state->sweep.accumulations.items[i],
                         *b = &state->sweep.accumulations.items[k];
            JoinPair pair = {.state = state};
            if (!find_pair(&pair, a, b) || !join(&pair, a)) continue;
            b->op = NULL;
            any = true;
        }
    return any;
}

void accumulations_join(Differentiation *state) {
    while (join_once(state)) continue;  // what was joined in two branches may be joined once more
}
