// `x % ALL // PART` says which of the programs `x` have one head of the keys, but no digit of `x` numbers these programs: with
// `x = (batch * HEADS + head) * PART + own`, where HEADS is `ALL // PART`, `own` does.
#include "autodiff/joins/inner_digits.h"

#include "analysis/build/build.h"
#include "analysis/build/infer.h"

typedef struct DivisionSearch {
    Arena *arena;
    LIST(Op *) divisions;  // of numbers of a program
} DivisionSearch;

/// What a number is divided by twice.
typedef struct InnerDigits {
    Value *number, *all, *part;
    Value *heads;  // `all // part` as a parameter, of which `part` is a quotient; NULL: it is none
    Op *first;     // of all that divide the number
    const char *size, *of;  // parameters of which the one has to be a multiple of the other
} InnerDigits;

static bool visit(void *context, Op *op) {
    DivisionSearch *search = context;
    bool divides = op->code == OP_FLOORDIV || op->code == OP_MOD;
    if (!divides || op->results[0]->constant) return true;
    Type type = op->results[0]->type;
    bool is_whole = type.kind == TYPE_NUMBER && type.rank == 0 && dtype_is_integer(type.element);
    if (is_whole && !type.is_constexpr) LIST_PUSH(search->arena, &search->divisions, op);
    return true;
}

static const char *name_of_size(const Value *value) {
    bool is_parameter = !value->op && !value->constant && !value->region->parent;
    return is_parameter && value->type.is_constexpr ? value->name : NULL;
}

static const Value *without_casts(const Value *value) {
    while (value->op && value->op->code == OP_CAST && op_keeps_numbers(value->op))
        value = value->op->operands[0];
    return value;
}

/// Whether the operation is `x % ALL // PART`, with PART a parameter or `ALL // HEADS`.
static bool find_inner(const Op *op, InnerDigits *inner) {
    if (op->code != OP_FLOORDIV) return false;
    const Op *rest = without_casts(op->operands[0])->op;
    if (!rest || rest->code != OP_MOD || rest->results[0]->type.is_constexpr) return false;
    *inner = (InnerDigits){
        rest->operands[0], rest->operands[1], op->operands[1], NULL, NULL, NULL, NULL};
    inner->size = name_of_size(inner->all);
    inner->of = name_of_size(inner->part);
    const Op *quotient = inner->part->op;
    if (quotient && quotient->code == OP_FLOORDIV && quotient->operands[0] == inner->all) {
        inner->heads = quotient->operands[1];
        inner->of = name_of_size(inner->heads);
    }
    return inner->size && inner->of && inner->size != inner->of;
}

static DivisionSearch divisions_of(Arena *arena, const Function *function) {
    DivisionSearch search = {.arena = arena};
    region_walk(function->body, visit, &search);
    return search;
}

bool function_has_inner_digits(const Function *function) {
    DivisionSearch search = divisions_of(function->arena, function);
    InnerDigits inner;
    for (LIST_EACH(int, i, search.divisions))
        if (find_inner(search.divisions.items[i], &inner)) return true;
    return false;
}

/* ---- one number ---- */

static bool divides_all(const InnerDigits *inner, const Op *op) {
    return op->operands[0] == inner->number && op->operands[1] == inner->all;
}

static bool divides_rest(const InnerDigits *inner, const Op *op) {
    const Op *rest = without_casts(op->operands[0])->op;
    return rest && rest->code == OP_MOD && divides_all(inner, rest) &&
           op->operands[1] == inner->part;
}

static void replace(Function *function, const Op *op, Value *value) {
    if (!value->name) value->name = op->results[0]->name;
    region_replace_uses(function->body, op->results[0], value);
}

/// Whether all that divides the number stands at the top of the kernel, each as what it becomes can be.
static bool can_be_opened(const DivisionSearch *search, const Function *function,
                          InnerDigits *inner) {
    for (LIST_EACH(int, i, search->divisions)) {
        Op *op = search->divisions.items[i];
        bool is_rest = divides_rest(inner, op);
        if (!divides_all(inner, op) && !is_rest) continue;
        if (op->parent != function->body) return false;
        if (!is_rest && !type_equal(op->results[0]->type, inner->number->type)) return false;
        if (is_rest && !type_equal(op->operands[0]->type, inner->number->type)) return false;
        if (!inner->first) inner->first = op;
    }
    return inner->first != NULL;
}

static void open_digits(Differentiation *state, const DivisionSearch *search,
                        const InnerDigits *inner) {
    Function *function = state->primal;
    Builder b = {.function = function, .region = function->body, .before = inner->first};
    Value *heads = inner->heads;
    if (!heads) heads = build_binary(&b, OP_FLOORDIV, inner->all, inner->part);
    Value *group = build_binary(&b, OP_FLOORDIV, inner->number, inner->part);
    Value *own = build_binary(&b, OP_MOD, inner->number, inner->part);
    Value *head = build_binary(&b, OP_MOD, group, heads);
    Value *whole = build_binary(&b, OP_ADD, build_binary(&b, OP_MUL, head, inner->part), own);
    for (LIST_EACH(int, i, search->divisions)) {
        const Op *op = search->divisions.items[i];
        if (divides_rest(inner, op)) replace(function, op, op->code == OP_MOD ? own : head);
    }
    for (LIST_EACH(int, i, search->divisions)) {
        const Op *op = search->divisions.items[i];
        if (!divides_all(inner, op)) continue;
        replace(function, op,
                op->code == OP_MOD ? whole : build_binary(&b, OP_FLOORDIV, group, heads));
    }
    LIST_PUSH(state->arena, &state->joins.multiples, (Multiple){inner->size, inner->of});
}

bool inner_digits_open(Differentiation *state) {
    DivisionSearch search = divisions_of(state->arena, state->primal);
    InnerDigits inner;
    for (LIST_EACH(int, i, search.divisions)) {
        if (!find_inner(search.divisions.items[i], &inner) ||
            !can_be_opened(&search, state->primal, &inner))
            continue;
        open_digits(state, &search, &inner);
        function_drop_dead(state->primal);
        return true;
    }
    return false;
}
