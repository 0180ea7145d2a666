// An integer value of a kernel in, the Python that has the same number at the launch out; for the sizes of tapes.
#include "autodiff/tape/tape_size.h"

#include "analysis/ir/walk.h"
#include "autodiff/tape/tape.h"

/// Parts of a size that a person would read on one line of a launcher. Beyond: not known at the launch.
enum { MOST_PARTS = 200 };
enum { ATOM = 20, PRODUCT = 10, SUM = 9 };

typedef struct HostText {
    const char *text;  // NULL: not known at the launch
    int precedence;
} HostText;

typedef struct SizeText {
    Arena *arena;
    const Function *function;
    bool is_estimate;
    int *parts;  // so far
} SizeText;

static HostText host_value(const SizeText *host, const Value *value, int depth);

/// Sizes, counts and block sizes are not negative; then Python's division and Triton's are one.
static intptr_t is_natural(ValueWalk *walk, const Value *value) {
    int64_t number;
    if (value_is_int(value, &number)) return number >= 0;
    if (!value->op) return !value->op;
    const Op *op = value->op;
    bool both = op->operand_count > 1 && op->operands[1] && walk_ask(walk, op->operands[0]);
    switch (op->code) {
    case OP_ADD:
    case OP_MUL:
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_MINIMUM: return both && walk_ask(walk, op->operands[1]);
    case OP_MAXIMUM: return both || walk_ask(walk, op->operands[1]);
    case OP_SUB:  // BLOCK - 1
        return both && !op->operands[0]->op && value_is_int(op->operands[1], &number) &&
               number <= 1;
    case OP_CAST: return walk_ask(walk, op->operands[0]);
    default: return false;
    }
}

static const char *enclosed(const SizeText *host, HostText text, int precedence) {
    return text.precedence >= precedence ? text.text : arena_printf(host->arena, "(%s)", text.text);
}

static HostText host_binary(const SizeText *host, const Op *op, const char *symbol, int precedence,
                            int depth) {
    bool may_be_negative = op->code == OP_MUL && depth == 0;  // of tiles: then there are none
    HostText a = host_value(host, op->operands[0], depth + !may_be_negative),
             b = host_value(host, op->operands[1], depth + 1);
    if (!a.text || !b.text) return (HostText){0};
    bool associates = op->code == OP_ADD || op->code == OP_MUL;
    return (HostText){arena_printf(host->arena, "%s %s %s", enclosed(host, a, precedence), symbol,
                                   enclosed(host, b, precedence + !associates)),
                      precedence};
}

static HostText host_call(const SizeText *host, const char *name, HostText a, HostText b) {
    if (!a.text || !b.text) return (HostText){0};
    return (HostText){arena_printf(host->arena, "%s(%s, %s)", name, a.text, b.text), ATOM};
}

/// Without a factor of 1: a tile of one lane.
static HostText host_product(const SizeText *host, const Op *op, int depth) {
    int64_t number;
    for (int i = 0; i < 2; i++)
        if (value_is_int(op->operands[i], &number) && number == 1)
            return host_value(host, op->operands[1 - i], depth);
    return host_binary(host, op, "*", PRODUCT, depth);
}

/// `(x + (d - 1)) // d` is said as cdiv. Not above 0 both divisions may differ; on the outside that says no iterations anyway.
static HostText host_quotient(const SizeText *host, const Op *op, int depth) {
    const Value *above = op->operands[0], *below = op->operands[1];
    bool is_exact = op->results[0]->type.is_constexpr || walk_from(above, is_natural, false, NULL);
    if (!is_exact && depth > 0) return (HostText){0};
    const Op *sum = above->op && above->op->code == OP_ADD ? above->op : NULL;
    const Op *slack = sum && sum->operands[1]->op ? sum->operands[1]->op : NULL;
    int64_t size, less;
    bool by_value = slack && slack->code == OP_SUB && slack->operands[0] == below &&
                    value_is_int(slack->operands[1], &less) && less == 1;
    bool by_number = sum && value_is_int(below, &size) && value_is_int(sum->operands[1], &less) &&
                     less == size - 1;
    if (!by_value && !by_number) return host_binary(host, op, "//", PRODUCT, depth);
    return host_call(host, "triton.cdiv", host_value(host, sum->operands[0], depth + 1),
                     host_value(host, below, depth + 1));
}

/// About as many as the branch that is known has, or as the larger one.
static HostText host_branch(const SizeText *host, const Value *value, int depth) {
    if (!host->is_estimate) return (HostText){0};
    HostText branches[2];
    for (int r = 0; r < 2; r++)
        branches[r] = host_value(
            host, region_terminator(value->op->regions[r])->operands[value->index], depth + 1);
    if (!branches[0].text || !branches[1].text) return branches[branches[0].text ? 0 : 1];
    return host_call(host, "max", branches[0], branches[1]);
}

static HostText host_parameter(const SizeText *host, const Value *value) {
    if (value->region != host->function->body || value->type.kind != TYPE_NUMBER)
        return (HostText){0};
    bool is_whole = value->type.is_constexpr || dtype_is_integer(value->type.element) ||
                    value->type.element.code == DTYPE_ANY_INT;
    if (!is_whole) return (HostText){0};
    return (HostText){host->function->parameters[value->index].name, ATOM};
}

static HostText host_value(const SizeText *host, const Value *value, int depth) {
    int64_t number;
    if (value_is_int(value, &number))
        return (HostText){arena_printf(host->arena, "%lld", (long long)number),
                          number < 0 ? SUM : ATOM};
    if (value->constant || ++*host->parts > MOST_PARTS) return (HostText){0};
    if (!value->op) return host_parameter(host, value);
    const Op *op = value->op;
    switch (op->code) {
    case OP_ADD: return host_binary(host, op, "+", SUM, depth);
    case OP_SUB: return host_binary(host, op, "-", SUM, depth);
    case OP_MUL: return host_product(host, op, depth);
    case OP_FLOORDIV: return host_quotient(host, op, depth);
    case OP_MINIMUM:
    case OP_MAXIMUM:
        return host_call(host, op->code == OP_MINIMUM ? "min" : "max",
                         host_value(host, op->operands[0], depth + 1),
                         host_value(host, op->operands[1], depth + 1));
    case OP_CAST:
        return op_keeps_numbers(op) ? host_value(host, op->operands[0], depth + 1) : (HostText){0};
    case OP_IF: return host_branch(host, value, depth);
    default: return (HostText){0};
    }
}

const char *host_text(Arena *arena, const Function *function, const Value *value,
                      bool is_estimate) {
    SizeText host = {
        .arena = arena, .function = function, .is_estimate = is_estimate, .parts = &(int){0}};
    return host_value(&host, value, 0).text;
}
