// A loop that carries a running maximum in; whether its last value is all that the adjoint needs, and the adjoint of a step, out.
#include "autodiff/sweep/extremes.h"

#include "analysis/build/build.h"
#include "autodiff/sweep/adjoint.h"

enum {
    MOST_DEEP = 16
};  // operations between an element and its comparison. Beyond: states are kept

/// Whether an operation's elements are those of its operands, or their sizes, signs and types: one rounding that is the same everywhere.
static bool picks(OpCode code) {
    bool is_changed_alike = code == OP_CAST || code == OP_NEG || code == OP_ABS;
    return is_changed_alike || code == OP_WHERE || code == OP_FULL || op_has(code, TRAIT_ORDERED);
}

/// Whether a value is the same wherever it is computed: it is loaded, or picked, and nothing of it rounds. Whole numbers and truths
/// are, as far as no float that rounds decides them.
static bool is_exact(const Value *value, int depth) {
    const Op *op = value->op;
    bool is_float = dtype_is_float(value->type.element);
    if (value->constant) return true;
    if (!op) return !is_float || (value->region && !value->region->parent);  // no float of a loop
    if (op->code == OP_LOAD) return true;
    if (depth > MOST_DEEP || op->region_count) return false;
    if (is_float && !picks(op->code)) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !is_exact(op->operands[i], depth + 1)) return false;
    return true;
}

typedef struct OnlyUse {
    const Value *value;
    Op *op;
    int operand, count;
} OnlyUse;

static bool visit_use(void *context, Op *op) {
    OnlyUse *use = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i] != use->value) continue;
        use->op = op;
        use->operand = i;
        use->count++;
    }
    return use->count < 2;
}

typedef struct ExtremeChain {
    Differentiation *state;
    OpCode code;  // OP_UNDEFINED: none yet
    bool notes;
} ExtremeChain;

enum { FOR_BOUNDS = 3 };  // operands of a loop over a range, in front of what it carries

static bool is_over_range(const Op *op) { return op->code == OP_FOR || op->code == OP_STATIC_FOR; }

/// Follows what a loop carries from its body's argument to what is carried on.
static bool follow(ExtremeChain *chain, const Op *loop, int index, int depth) {
    const Region *body = loop->regions[0];
    const Value *value = body->arguments[1 + index];
    if (depth > MOST_DEEP) return false;
    for (int steps = 0; steps < MOST_DEEP; steps++) {
        OnlyUse use = {.value = value};
        region_walk(body, visit_use, &use);
        if (use.count != 1 || use.op->parent != body) return false;
        if (use.op == region_terminator(body)) return use.operand == index;
        if (is_over_range(use.op) && use.operand >= FOR_BOUNDS) {
            int inner = use.operand - FOR_BOUNDS;
            if (!follow(chain, use.op, inner, depth + 1)) return false;
            value = use.op->results[inner];
            continue;
        }
        bool is_one = (use.op->code == OP_MAXIMUM || use.op->code == OP_MINIMUM) &&
                      (chain->code == OP_UNDEFINED || chain->code == use.op->code) &&
                      use.operand < 2 && is_exact(use.op->operands[1 - use.operand], 0);
        if (!is_one) return false;
        chain->code = use.op->code;
        if (chain->notes)
            map_set_pointer(&chain->state->sweep.extremes, use.op,
                            (void *)(intptr_t)(1 + use.operand));
        value = use.op->results[0];
    }
    return false;
}

bool loop_finds_extreme(Differentiation *state, const Op *loop, int index) {
    ExtremeChain chain = {.state = state, .code = OP_UNDEFINED};
    if (!is_over_range(loop) || !follow(&chain, loop, index, 0) || chain.code == OP_UNDEFINED)
        return false;
    chain.notes = true;
    return follow(&chain, loop, index, 0);
}

bool running_extreme_rule(Differentiation *state, const Op *op, Value *gradient) {
    void *noted = map_get_pointer(&state->sweep.extremes, op);
    if (!noted || !gradient) return false;
    int carried = (int)(intptr_t)noted - 1;
    Builder *b = &state->builder;
    Value *last = recomputed(state, op->operands[carried]),
          *element = recomputed(state, op->operands[1 - carried]);
    Value *is_it = build_binary(b, OP_EQ, element, last), *zero = build_float(b, 0.0);
    adjoint_add(state, op->operands[1 - carried],
                build_ternary(b, OP_WHERE, is_it, gradient, zero));
    adjoint_add(state, op->operands[carried], build_ternary(b, OP_WHERE, is_it, zero, gradient));
    return true;
}
