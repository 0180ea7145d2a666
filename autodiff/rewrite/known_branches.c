// From an offset that one of two branches made to the expression that it is where the condition is known.
#include "autodiff/rewrite/known_branches.h"

#include "analysis/build/clone.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_OPS = 64 };  // of one value: offsets are made of few. Beyond: it is read as it stands

/// One side of a branch, in which values of the same side of earlier branches are known.
typedef struct KnownSide {
    Function *function;
    const Op *branch;
    int side;
    Op *place;  // where the side began
    Map copies;
    int left;
} KnownSide;

static bool is_address_part(Type type) {
    return type.kind == TYPE_POINTER ||
           (type.kind == TYPE_NUMBER && dtype_is_integer(type.element));
}

/// A value from within the earlier branch, made again at the start of the later one. NULL where that takes more than arithmetic.
static Value *made_again(KnownSide *known, Builder *b, const Region *from, Value *value) {
    if (!region_defines(from, value)) return value;
    Value *copy = map_get_pointer(&known->copies, value);
    if (copy) return copy;
    const Op *op = value->op;
    if (!op || op->region_count || !op_is_pure(op) || known->left-- <= 0) return NULL;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Value *operand = made_again(known, b, from, op->operands[i]);
        if (!operand) return NULL;
        map_set_pointer(&known->copies, op->operands[i], operand);
    }
    op_clone(b, op, &known->copies);
    return map_get_pointer(&known->copies, value);
}

/// What an earlier branch on the condition made, as it is on the side. NULL where it is nothing else.
static Value *known_result(KnownSide *known, Builder *b, const Value *value) {
    const Op *earlier = value->op;
    if (earlier == known->branch || earlier->operands[0] != known->branch->operands[0]) return NULL;
    const Region *from = earlier->regions[known->side];
    Value *again = made_again(known, b, from, region_terminator(from)->operands[value->index]);
    return again && type_equal(again->type, value->type) ? again : NULL;
}

/// What a value from outside is on the side: itself, where no such branch made any of it.
static Value *known_value(KnownSide *known, Builder *b, Value *value) {
    const Op *op = value->op;
    if (!op || value->constant || !is_address_part(value->type)) return value;
    Value *done = map_get_pointer(&known->copies, value);
    if (done) return done;
    if (region_defines(b->region, value) || known->left-- <= 0) return value;
    Value *result = value;
    if (op->code == OP_IF) {
        Value *again = known_result(known, b, value);
        if (again) result = again;
    } else if (!op->region_count && op_is_pure(op)) {
        bool changes = false;
        for (int i = 0; i < op->operand_count; i++) {
            if (!op->operands[i]) continue;
            Value *operand = known_value(known, b, op->operands[i]);
            changes = changes || operand != op->operands[i];
            if (operand != op->operands[i])
                map_set_pointer(&known->copies, op->operands[i], operand);
        }
        if (changes) {
            op_clone(b, op, &known->copies);
            result = map_get_pointer(&known->copies, value);
        }
    }
    map_set_pointer(&known->copies, value, result);
    return result;
}

static bool visit_read(void *context, Op *op) {
    KnownSide *known = context;
    Builder b = {.function = known->function,
                 .region = known->branch->regions[known->side],
                 .before = known->place,
                 .range = known->branch->range};
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        known->left = MOST_OPS;
        Value *value = known_value(known, &b, op->operands[i]);
        if (value != op->operands[i]) op_set_operand(op, i, value);
    }
    return true;
}

static bool visit_branch(void *context, Op *op) {
    Function *function = context;
    if (op->code != OP_IF) return true;
    for (int side = 0; side < 2; side++) {
        Op *first = op->regions[side]->first;
        KnownSide known = {function, op, side, first, map_new(function->arena), MOST_OPS};
        region_walk(op->regions[side], visit_read, &known);
    }
    return true;
}

void function_settle_known_branches(Function *function) {
    region_walk(function->body, visit_branch, function);
}
