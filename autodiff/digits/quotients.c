// From digits of a number that are spelled by several divisors to one chain of quotients.
#include "autodiff/digits/quotients.h"

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_DIGITS = 8 };  // of a number, one after the other. Beyond: the rest stays as it is

typedef struct Divisions {
    Function *function;
    LIST(Op *) all;  // quotients and remainders of whole numbers
    bool found;
} Divisions;

static bool is_division(const Op *op) { return op->code == OP_FLOORDIV || op->code == OP_MOD; }

/// Of numbers of a program: those of constexprs are Python's, which rounds another way.
static bool visit(void *context, Op *op) {
    Divisions *divisions = context;
    if (!is_division(op)) return true;
    Type type = op->results[0]->type;
    bool is_whole = type.kind == TYPE_NUMBER && dtype_is_integer(type.element);
    if (is_whole && !type.is_constexpr && !op->results[0]->constant)
        LIST_PUSH(divisions->function->arena, &divisions->all, op);
    return true;
}

/// `all / part`, where that is a size above 1; or NULL.
static const Poly *times_in(Arena *arena, const Poly *all, const Poly *part) {
    int64_t number;
    if (poly_is_constant(part, &number) && number <= 1) return NULL;
    const Poly *times = poly_divide_exact(arena, all, part);
    bool is_one = times && poly_is_constant(times, &number) && number <= 1;
    return is_one ? NULL : times;
}

/// The largest size that `value` is divided by and that goes into `divisor`; NULL where there is none. `*times`: how often.
static Value *finer_divisor(const Divisions *divisions, const Value *value, const Poly *divisor,
                            const Poly **times) {
    Arena *arena = divisions->function->arena;
    Value *best = NULL;
    for (LIST_EACH(int, i, divisions->all)) {
        const Op *other = divisions->all.items[i];
        if (other->operands[0] != value) continue;
        const Poly *part = value_poly(arena, other->operands[1]);
        const Poly *often = times_in(arena, divisor, part);
        if (!often || (best && !times_in(arena, part, value_poly(arena, best)))) continue;
        best = other->operands[1];
        *times = often;
    }
    return best;
}

static Builder builder_before(const Divisions *divisions, Op *op) {
    return (Builder){
        .function = divisions->function, .region = op->parent, .before = op, .range = op->range};
}

/// `x // (B * C)`, with `x // C` or `x % C` in the kernel.
static void chain_quotient(Divisions *divisions, Op *op) {
    Arena *arena = divisions->function->arena;
    const Poly *times = NULL;
    Value *divisor =
        finer_divisor(divisions, op->operands[0], value_poly(arena, op->operands[1]), &times);
    if (!divisor || divisor->op == op) return;
    Builder builder = builder_before(divisions, op);
    Value *quotient = build_binary(&builder, OP_FLOORDIV, op->operands[0], divisor);
    if (!type_equal(quotient->type, op->operands[0]->type)) return;
    op_set_operand(op, 0, quotient);
    op_set_operand(op, 1, build_poly(&builder, times));
    divisions->found = true;
}

/// `x % (B * C) // C` and `x % (B * C) % C`, with `x // C` or `x % C` in the kernel.
static void chain_remainder(Divisions *divisions, Op *op) {
    Arena *arena = divisions->function->arena;
    const Op *rest = op->operands[0]->op;
    const Poly *times = NULL;
    if (!rest || rest->code != OP_MOD || rest->operands[0]->type.is_constexpr) return;
    Value *divisor =
        finer_divisor(divisions, rest->operands[0], value_poly(arena, rest->operands[1]), &times);
    if (!divisor || !poly_equal(value_poly(arena, divisor), value_poly(arena, op->operands[1])))
        return;
    if (!type_equal(rest->operands[0]->type, op->operands[0]->type)) return;
    if (op->code == OP_MOD) {
        op_set_operand(op, 0, rest->operands[0]);
        divisions->found = true;
        return;
    }
    Builder builder = builder_before(divisions, op);
    Value *quotient = build_binary(&builder, OP_FLOORDIV, rest->operands[0], divisor);
    Value *digit = build_binary(&builder, OP_MOD, quotient, build_poly(&builder, times));
    if (!type_equal(digit->type, op->results[0]->type)) return;
    digit->name = op->results[0]->name;
    region_replace_uses(divisions->function->body, op->results[0], digit);
    divisions->found = true;
}

static bool chain_once(Function *function) {
    Divisions divisions = {.function = function};
    region_walk(function->body, visit, &divisions);
    for (LIST_EACH(int, i, divisions.all)) chain_remainder(&divisions, divisions.all.items[i]);
    for (LIST_EACH(int, i, divisions.all))
        if (divisions.all.items[i]->code == OP_FLOORDIV)
            chain_quotient(&divisions, divisions.all.items[i]);
    return divisions.found;
}

bool function_chain_quotients(Function *function) {
    int rounds = 0;
    while (rounds < MOST_DIGITS && chain_once(function)) {
        function_share(function);  // the quotients of each round are one for the next
        rounds++;
    }
    return rounds > 0;
}

/* ---- neighbouring digits as one ---- */

/// `x // low % high * low + x % low`, which is `x % (low * high)`.
typedef struct TwoDigits {
    Value *number, *low, *high;
} TwoDigits;

static bool is_made_by(const Value *value, OpCode code) {
    return value->op && value->op->code == code;
}

static bool same_number(Arena *arena, Value *a, Value *b) {
    return a == b || poly_equal(value_poly(arena, a), value_poly(arena, b));
}

static bool read_two(Arena *arena, const Op *sum, TwoDigits *two) {
    for (int i = 0; i < 2; i++) {
        const Value *scaled = sum->operands[i], *rest = sum->operands[1 - i];
        if (!is_made_by(scaled, OP_MUL) || !is_made_by(rest, OP_MOD)) continue;
        for (int k = 0; k < 2; k++) {
            const Value *upper = scaled->op->operands[k];
            Value *low = scaled->op->operands[1 - k];
            if (!is_made_by(upper, OP_MOD) || !is_made_by(upper->op->operands[0], OP_FLOORDIV))
                continue;
            const Op *quotient = upper->op->operands[0]->op;
            if (quotient->operands[0] != rest->op->operands[0] ||
                !same_number(arena, quotient->operands[1], low) ||
                !same_number(arena, rest->op->operands[1], low))
                continue;
            *two = (TwoDigits){rest->op->operands[0], low, upper->op->operands[1]};
            return true;
        }
    }
    return false;
}

static bool is_of_programs(const Op *op) {
    const Type *type = &op->results[0]->type;
    return type->kind == TYPE_NUMBER && type->rank == 0 && !type->is_constexpr &&
           dtype_is_integer(type->element) && !op->results[0]->constant;
}

static bool visit_sum(void *context, Op *op) {
    Divisions *sums = context;
    if (op->code == OP_ADD && is_of_programs(op)) LIST_PUSH(sums->function->arena, &sums->all, op);
    return true;
}

/// All that is divided by `low` and then by `high` is divided by their product.
static void join_quotients(Divisions *all, const TwoDigits *two, Value *product) {
    Arena *arena = all->function->arena;
    Divisions divisions = {.function = all->function};
    region_walk(all->function->body, visit, &divisions);
    for (LIST_EACH(int, i, divisions.all)) {
        Op *op = divisions.all.items[i];
        const Op *inner = op->operands[0]->op;
        bool is_both = op->code == OP_FLOORDIV && inner && inner->code == OP_FLOORDIV &&
                       inner->operands[0] == two->number &&
                       same_number(arena, inner->operands[1], two->low) &&
                       same_number(arena, op->operands[1], two->high);
        if (!is_both || !type_equal(two->number->type, op->operands[0]->type)) continue;
        op_set_operand(op, 0, two->number);
        op_set_operand(op, 1, product);
    }
}

bool function_join_digits(Function *function) {
    Divisions sums = {.function = function};
    region_walk(function->body, visit_sum, &sums);
    for (LIST_EACH(int, i, sums.all)) {
        Op *sum = sums.all.items[i];
        TwoDigits two;
        if (!read_two(function->arena, sum, &two)) continue;
        Op *first = two.number->op ? two.number->op->next : function->body->first;
        Builder b = {.function = function,
                     .region = two.number->op ? two.number->op->parent : function->body,
                     .before = first,
                     .range = sum->range};
        bool is_known = !two.low->op && !two.high->op;
        if (!is_known) b = builder_before(&sums, sum);
        Value *product = build_binary(&b, OP_MUL, two.low, two.high);
        Value *both = build_binary(&b, OP_MOD, two.number, product);
        if (!type_equal(both->type, sum->results[0]->type)) continue;
        both->name = sum->results[0]->name;
        region_replace_uses(function->body, sum->results[0], both);
        if (is_known) join_quotients(&sums, &two, product);
        sums.found = true;
    }
    return sums.found;
}

bool function_has_split_digits(const Function *function) {
    Divisions sums = {.function = (Function *)(uintptr_t)function};
    region_walk(function->body, visit_sum, &sums);
    TwoDigits two;
    for (LIST_EACH(int, i, sums.all))
        if (read_two(function->arena, sums.all.items[i], &two)) return true;
    return false;
}
