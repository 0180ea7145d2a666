// From an expression of a function to the same one in another place.
#include "autodiff/rewrite/copying.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

typedef struct CapturedWalk {
    const Op *op;
    bool (*visit)(void *context, Value *value);
    void *context;
} CapturedWalk;

static bool is_within(const Op *op, const Value *value) {
    for (int r = 0; r < op->region_count; r++)
        if (region_defines(op->regions[r], value)) return true;
    return false;
}

static bool visit_inner(void *context, Op *op) {
    const CapturedWalk *walk = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !is_within(walk->op, op->operands[i]) &&
            !walk->visit(walk->context, op->operands[i]))
            return false;
    return true;
}

bool op_walk_captured(const Op *op, bool (*visit)(void *context, Value *value), void *context) {
    CapturedWalk walk = {op, visit, context};
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !visit(context, op->operands[i])) return false;
    for (int r = 0; r < op->region_count; r++)
        if (!region_walk(op->regions[r], visit_inner, &walk)) return false;
    return true;
}

typedef struct Copying {
    Builder *builder;
    Map *values;      // value -> its copy
    const Op *place;  // what can be read in front of it is no copy; or NULL
} Copying;

/// What builders share wherever they are (analysis/build/build.c): it stays at the start of the kernel.
static intptr_t shared_rule(ValueWalk *walk, const Value *value) {
    const Op *op = value->op;
    if (!op) return true;
    bool is_number = op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS;
    if (op->result_count != 1 || op->region_count) return false;
    if (!is_number && !op->results[0]->constant && !op->results[0]->type.is_constexpr) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !walk_ask(walk, op->operands[i])) return false;
    return true;
}

bool op_stays_at_start(const Op *op) {
    return op->result_count == 1 && walk_from(op->results[0], shared_rule, false, NULL);
}

/// The same expression at the builder's place, in terms of `values`. False where it is made of more than that.
static bool copy_value(void *context, Value *value) {
    Copying *copying = context;
    if (!value->op || map_has_pointer(copying->values, value)) return true;
    bool is_in_branch = value->op->parent->parent != NULL;  // a tuple of constexprs, say
    if (op_stays_at_start(value->op) && !is_in_branch) return true;
    if (copying->place && value_is_before(value, copying->place)) return true;
    const Op *op = value->op;
    bool is_known =
        op_is_pure(op) || op->code == OP_IF || op_is_stable_load(copying->builder->function, op);
    if (!is_known || !op_walk_captured(op, copy_value, copying)) return false;
    op_clone(copying->builder, op, copying->values);
    return true;
}

Value *value_copied_behind(Builder *b, Value *value, Map *values, const Op *place) {
    Copying copying = {b, values, place};
    if (!value) return NULL;
    return copy_value(&copying, value) ? value_mapped(values, value) : NULL;
}

Value *value_copied(Builder *b, Value *value, Map *values) {
    return value_copied_behind(b, value, values, NULL);
}

Value *poly_copied(Builder *b, const Poly *poly, Map *values) {
    const Poly *copy = poly;
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            Value *atom = poly->terms[t].atoms[i], *other = value_copied(b, atom, values);
            if (!other) return NULL;
            if (other != atom)
                copy = poly_substitute(b->function->arena, copy, atom,
                                       poly_atom(b->function->arena, other));
        }
    return build_poly(b, copy);
}

/* ---- further to the front ---- */

enum { MOST_BROUGHT = 64 };  // operations. Beyond: a value is not brought

bool value_is_before(const Value *value, const Op *place) {
    if (value->constant) return true;
    if (!value->op && !value->region->parent) return true;
    for (const Op *op = place; op; op = op->parent ? op->parent->parent : NULL)
        if (op->parent == (value->op ? value->op->parent : value->region))
            return !value->op || op_precedes(value->op, op);
    return false;
}

static bool can_be_brought(const Value *value, const Op *place, int *left) {
    if (value_is_before(value, place)) return true;
    const Op *op = value->op;
    if (!op || !op_is_pure(op) || op->region_count || (*left)-- <= 0) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !can_be_brought(op->operands[i], place, left)) return false;
    return true;
}

bool value_can_be_brought(const Value *value, const Op *place) {
    return can_be_brought(value, place, &(int){MOST_BROUGHT});
}

static Value *brought(Builder *b, Value *value, Map *copies) {
    if (value_is_before(value, b->before)) return value;
    Value *copy = map_get_pointer(copies, value);
    if (copy) return copy;
    const Op *op = value->op;
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        if (operand) map_set_pointer(copies, operand, brought(b, operand, copies));
    }
    op_clone(b, op, copies);
    return map_get_pointer(copies, value);
}

Value *value_brought(Function *function, Value *value, Op *place) {
    Builder b = {
        .function = function, .region = place->parent, .before = place, .range = place->range};
    Map copies = map_new(function->arena);
    return brought(&b, value, &copies);
}

/* ---- element by element ---- */

static bool goes_along_lanes(const Op *op) {
    return op_parameter_index(op->code, STR("axis")) >= 0 ||
           op_parameter_index(op->code, STR("dim")) >= 0;
}

bool op_is_by_element(const Op *op) {
    if (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO) return true;
    OpShape shape = op_rows[op->code].shape;
    return op_is_pure(op) && (shape == SHAPE_SAME || shape == SHAPE_BROADCAST) &&
           !goes_along_lanes(op);
}
