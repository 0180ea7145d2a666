// A loop over blocks that adds up products along their lanes in; one over parts of these blocks out.
#include "autodiff/products/loop_parts.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    FEWEST_PRODUCTS = 2,  // of one product the launch chooses all of the tiles
    LOWER = 0,
    UPPER,
    STEP,
    FIRST_CARRIED,
    MOST_NESTED =
        32,  // operations between a carried value and a sum along the lanes. Beyond: the loop stays
};

typedef struct LanesInParts {
    Arena *arena;
    const Op *loop;
    Value *block;
    Map uses;               // value -> how often the loop's body uses it
    LIST(const Op *) sums;  // along the block's lanes, that the loop adds to what it carries
    int sum_count;          // all sums along them
    int product_count;
    bool fits;
} LanesInParts;

/* ---- the lanes of a type ---- */

static bool is_block(const Poly *dim, const Value *block) {
    return dim && dim->count == 1 && dim->terms[0].coefficient == 1 &&
           dim->terms[0].atom_count == 1 && dim->terms[0].atoms[0] == block;
}

/// How many axes of a value have the block's lanes; -1: something that is made of the block, or of nobody knows what.
static int lane_axes(const Value *value, const Value *block) {
    int count = 0;
    for (int d = 0; value && d < value->type.rank; d++) {
        const Poly *dim = value->type.dims[d];
        bool is_it = is_block(dim, block);
        if (!dim || (!is_it && poly_mentions(dim, block))) return -1;
        count += is_it;
    }
    return count;
}

static bool has_lanes(const Value *value, const Value *block) {
    return lane_axes(value, block) == 1;
}

static bool any_lanes(const Op *op, const Value *block) {
    for (int i = 0; i < op->result_count; i++)
        if (lane_axes(op->results[i], block)) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (lane_axes(op->operands[i], block)) return true;
    return false;
}

/* ---- what is summed along them ---- */

/// Whether an operation sums along the lanes, with none in its result.
static bool sums_lanes(const Op *op, const Value *block) {
    if (op->result_count != 1 || lane_axes(op->results[0], block)) return false;
    if (op->code == OP_SUM) return has_lanes(op->operands[0], block);
    return op->code == OP_DOT && op->operands[0]->type.rank == 2 &&
           is_block(op->operands[0]->type.dims[1], block) && has_lanes(op->operands[1], block);
}

static bool is_read_once(const LanesInParts *search, const Value *value) {
    return (intptr_t)map_get_pointer(&search->uses, value) == 1;
}

static Value *added_to(const Op *op) {
    enum { ACCUMULATOR = 2 };
    bool is_dot = op->code == OP_DOT && op->operand_count > ACCUMULATOR;
    Value *to = is_dot ? op->operands[ACCUMULATOR] : NULL;
    return to && !value_is_none(to) ? to : NULL;
}

/// Whether a value is a sum of sums along the lanes, each times what all lanes have: part by part it adds up to the same.
static bool is_linear(LanesInParts *search, const Value *value, int depth) {
    const Op *op = value->op;
    bool fits = op && op->parent == search->loop->regions[0] && depth < MOST_NESTED &&
                is_read_once(search, value) && dtype_is_float(value->type.element);
    if (!fits) return false;
    if (sums_lanes(op, search->block) && !added_to(op)) {
        LIST_PUSH(search->arena, &search->sums, op);
        return true;
    }
    if (op->code == OP_ADD || op->code == OP_SUB)
        return is_linear(search, op->operands[0], depth + 1) &&
               is_linear(search, op->operands[1], depth + 1);
    if (op->code == OP_MUL) {
        int before = search->sums.count;
        if (is_linear(search, op->operands[0], depth + 1)) return true;
        search->sums.count = before;
        return is_linear(search, op->operands[1], depth + 1);
    }
    bool is_of_first = op->code == OP_NEG || op->code == OP_CAST || op->code == OP_DIV ||
                       op_has(op->code, TRAIT_LAYOUT);
    return is_of_first && is_linear(search, op->operands[0], depth + 1);
}

/// Whether a value is `carried` with such sums added to it.
static bool adds_up(LanesInParts *search, const Value *value, const Value *carried, int depth) {
    const Op *op = value->op;
    if (value == carried) return is_read_once(search, value);
    if (!op || op->parent != search->loop->regions[0] || depth == MOST_NESTED ||
        !is_read_once(search, value))
        return false;
    const Value *to = added_to(op);
    if (to && sums_lanes(op, search->block)) {
        LIST_PUSH(search->arena, &search->sums, op);
        return adds_up(search, to, carried, depth + 1);
    }
    if (op->code != OP_ADD && op->code != OP_SUB) return false;
    for (int side = 0; side < (op->code == OP_SUB ? 1 : 2); side++) {
        int before = search->sums.count;
        if (adds_up(search, op->operands[side], carried, depth + 1) &&
            is_linear(search, op->operands[1 - side], depth + 1))
            return true;
        search->sums.count = before;
    }
    return false;
}

/* ---- what is computed lane by lane ---- */

/// Whether each lane of the result is made of the same lane of the operands. A hint speaks of all lanes together.
static bool is_lane_by_lane(const Op *op, const Value *block) {
    int64_t start;
    for (int i = 0; i < op->result_count; i++)
        if (lane_axes(op->results[i], block) > 1 || lane_axes(op->results[i], block) < 0)
            return false;
    if (op->code == OP_IF) return lane_axes(op->operands[0], block) == 0;
    if (!op->result_count) return op->code == OP_YIELD;
    if (op->result_count > 1) return false;
    bool keeps_lanes = has_lanes(op->results[0], block);
    if (op->code == OP_ARANGE) return value_is_int(op->operands[0], &start) && start == 0;
    if (op->code == OP_DOT)
        return keeps_lanes && op->results[0]->type.rank == 2 &&
               !is_block(op->operands[0]->type.dims[1], block);
    if (op_rows[op->code].shape == SHAPE_REDUCED) return keeps_lanes;
    bool is_made = op->code == OP_LOAD || op->code == OP_FULL;
    bool moves_axes = op->code == OP_EXPAND_DIMS || op->code == OP_TRANS || op->code == OP_PERMUTE;
    bool is_each = op_is_elementwise(op) && op_rows[op->code].kind != KIND_HINT;
    return is_each || is_made || moves_axes || op->code == OP_BROADCAST_TO;
}

/// What stands in front of the loop is made again in it.
static bool can_be_made_again(const Value *value, const Value *block, int depth) {
    const Op *op = value->op;
    if (!lane_axes(value, block)) return true;
    bool fits = op && depth < MOST_NESTED && !op->region_count && op_is_pure(op) &&
                is_lane_by_lane(op, block);
    for (int i = 0; fits && i < op->operand_count; i++)
        fits = !op->operands[i] || can_be_made_again(op->operands[i], block, depth + 1);
    return fits;
}

static bool visit_lanes(void *context, Op *op) {
    LanesInParts *search = context;
    const OpRow *row = &op_rows[op->code];
    search->product_count += op_is_product(op->code);
    bool is_allowed = !(row->effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED)) &&
                      (!op->region_count || op->code == OP_IF);
    bool is_sum = sums_lanes(op, search->block);
    search->sum_count += is_sum;
    search->fits = search->fits && is_allowed &&
                   (is_sum || !any_lanes(op, search->block) || is_lane_by_lane(op, search->block));
    for (int i = 0; i < op->operand_count && search->fits; i++) {
        const Value *value = op->operands[i];
        if (value && !region_defines(search->loop->regions[0], value))
            search->fits = can_be_made_again(value, search->block, 0);
    }
    return search->fits;
}

static bool visit_uses(void *context, Op *op) {
    LanesInParts *search = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        intptr_t count = (intptr_t)map_get_pointer(&search->uses, op->operands[i]);
        map_set_pointer(&search->uses, op->operands[i], (void *)(count + 1));
    }
    return true;
}

/// Whether the loop may go through the lanes of this block in parts.
static bool fits_in_parts(Arena *arena, const Op *loop, Value *block) {
    LanesInParts search = {
        .arena = arena, .loop = loop, .block = block, .uses = map_new(arena), .fits = true};
    const Region *body = loop->regions[0];
    const Op *end = region_terminator(body);
    region_walk(body, visit_uses, &search);
    for (int i = 0; i < loop->result_count; i++) {
        const Value *carried = body->arguments[1 + i];
        bool is_sum = !lane_axes(carried, block) && dtype_is_float(carried->type.element) &&
                      adds_up(&search, end->operands[i], carried, 0);
        if (!is_sum) return false;
    }
    region_walk(body, visit_lanes, &search);
    return search.fits && search.sum_count == search.sums.count &&
           search.product_count >= FEWEST_PRODUCTS;
}

Value *loop_block_in_parts(Arena *arena, const Op *loop) {
    if (loop->code != OP_FOR || !loop->result_count) return NULL;
    for (const Op *op = loop->regions[0]->first; op; op = op->next) {
        if (op->code != OP_DOT || op->operands[0]->type.rank != 2) continue;
        const Poly *dim = op->operands[0]->type.dims[1];
        Value *block =
            dim && dim->count == 1 && dim->terms[0].atom_count == 1 ? dim->terms[0].atoms[0] : NULL;
        bool is_parameter = block && block->region && !block->region->parent;
        if (is_parameter && block->type.is_constexpr && is_block(dim, block) &&
            fits_in_parts(arena, loop, block))
            return block;
    }
    return NULL;
}

/* ---- in parts ---- */

typedef struct PartTaking {
    Builder inside;  // at the start of the loop's body
    const Region *body;
    Value *block, *lanes;
    const Poly *rows;
    Map made;  // values with the block's lanes, as they were in front of the loop -> the same in the loop
} PartTaking;

static Value *made_again(PartTaking *taking, Value *value) {
    if (!value || !lane_axes(value, taking->block)) return value;
    Value *known = map_get_pointer(&taking->made, value);
    if (known) return known;
    if (value->op->code == OP_ARANGE) return taking->lanes;
    for (int i = 0; i < value->op->operand_count; i++) {
        Value *operand = value->op->operands[i];
        if (operand) map_set_pointer(&taking->made, operand, made_again(taking, operand));
    }
    op_clone(&taking->inside, value->op, &taking->made);
    return map_get_pointer(&taking->made, value);
}

static bool visit_outside(void *context, Op *op) {
    PartTaking *taking = context;
    for (int i = 0; i < op->operand_count; i++) {
        Value *value = op->operands[i];
        if (!value || !lane_axes(value, taking->block)) continue;
        bool is_range = made_by(value, OP_ARANGE) && value != taking->lanes;
        if (is_range || !region_defines(taking->body, value))
            op_set_operand(op, i, made_again(taking, value));
    }
    return true;
}

static void take_lanes(const PartTaking *taking, Value *value) {
    Arena *arena = taking->inside.function->arena;
    if (!lane_axes(value, taking->block)) return;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, value->type.rank);
    for (int d = 0; d < value->type.rank; d++) {
        bool is_it = is_block(value->type.dims[d], taking->block);
        dims[d] = is_it ? taking->rows : value->type.dims[d];
    }
    value->type.dims = dims;
}

static bool visit_inside(void *context, Op *op) {
    PartTaking *taking = context;
    enum { SHAPE_OF_FULL = 0, SHAPE_OF_BROADCAST = 1 };
    bool is_shaped = op->code == OP_FULL || op->code == OP_BROADCAST_TO;
    bool changes = is_shaped && lane_axes(op->results[0], taking->block);
    for (int i = 0; i < op->result_count; i++) take_lanes(taking, op->results[i]);
    if (!changes) return true;
    Builder b = taking->inside;
    b.region = op->parent;
    b.before = op;
    op_set_operand(op, op->code == OP_FULL ? SHAPE_OF_FULL : SHAPE_OF_BROADCAST,
                   build_shape(&b, op->results[0]->type));
    return true;
}

static bool is_integer(const Value *value, int64_t wanted) {
    int64_t number;
    return value_is_int(value, &number) && number == wanted;
}

/// The loop counts parts; what it counted before is made of that.
static void count_parts(PartTaking *taking, Op *loop, Value *parts, Value *rows) {
    Function *function = taking->inside.function;
    Builder outside = {.function = function,
                       .region = loop->parent,
                       .before = loop,
                       .range = loop->range},
            *b = &taking->inside;
    Value *lower = loop->operands[LOWER], *step = loop->operands[STEP],
          *part = loop->regions[0]->arguments[0];
    Value *trips = build_trip_count(&outside, lower, loop->operands[UPPER], step);
    Value *quotient = build_binary(b, OP_FLOORDIV, part, parts),
          *remainder = build_binary(b, OP_MOD, part, parts), *at = quotient;
    // from 0 on, so that nobody has to ask whether what is divided is negative: that took registers (docs/gpu.md)
    if (!is_integer(step, 1)) at = build_binary(b, OP_MUL, at, step);
    if (!is_integer(lower, 0)) at = build_binary(b, OP_ADD, lower, at);
    at->name = part->name;
    part->name = "part";
    region_replace_uses(loop->regions[0], part, at);
    op_set_operand(quotient->op, 0, part);
    op_set_operand(remainder->op, 0, part);
    op_set_operand(loop, LOWER, build_int(&outside, 0));
    op_set_operand(loop, UPPER, build_binary(&outside, OP_MUL, trips, parts));
    op_set_operand(loop, STEP, build_int(&outside, 1));
    Value *range = build_binary(b, OP_ARANGE, build_int(b, 0), rows);
    taking->lanes = build_binary(b, OP_ADD, build_binary(b, OP_MUL, remainder, rows), range);
    taking->lanes->name = "lanes";
}

void loop_take_parts(Function *function, Op *loop, Value *block, Value *parts) {
    Region *body = loop->regions[0];
    Builder outside = {
        .function = function, .region = loop->parent, .before = loop, .range = loop->range};
    PartTaking taking = {.inside = {.function = function,
                                    .region = body,
                                    .before = body->first,
                                    .range = loop->range},
                         .body = body,
                         .block = block,
                         .made = map_new(function->arena)};
    Value *rows = build_binary(&outside, OP_FLOORDIV, block, parts);
    rows->name = "ROWS";
    taking.rows = poly_atom(function->arena, rows);
    count_parts(&taking, loop, parts, rows);
    region_walk(body, visit_outside, &taking);
    region_walk(body, visit_inside, &taking);
    function_drop_unread(function);  // what was made again in the loop
}
