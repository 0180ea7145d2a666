// Operators of host code: arithmetic, comparisons, `and`, `or`, `not` and `if`, and what their use says about operands.
#include "analysis/host/host_operator.h"

#include "analysis/host/host_expression.h"
#include "analysis/host/host_statement.h"
#include "analysis/host/host_tensor.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/host_values/host_writes.h"
#include "analysis/syntax/syntax_nodes.h"

#include <string.h>

bool host_is_tensor_like(const HostValue *value) {
    return value->kind == HOST_TENSOR ||
           (value->kind == HOST_INPUT && value->input->kind == INPUT_TENSOR);
}

static const struct {
    const char *text;
    HostOperation operation;
} binary_operators[] = {
    {"+", HOST_OP_ADD},         {"-", HOST_OP_SUBTRACT},      {"*", HOST_OP_MULTIPLY},
    {"/", HOST_OP_DIVIDE},      {"//", HOST_OP_FLOOR_DIVIDE}, {"%", HOST_OP_MODULO},
    {"**", HOST_OP_POWER},      {"<<", HOST_OP_SHIFT_LEFT},   {">>", HOST_OP_SHIFT_RIGHT},
    {"&", HOST_OP_BIT_AND},     {"|", HOST_OP_BIT_OR},        {"^", HOST_OP_BIT_XOR},
    {"==", HOST_OP_EQUAL},      {"!=", HOST_OP_UNEQUAL},      {"<", HOST_OP_LESS},
    {"<=", HOST_OP_LESS_EQUAL}, {">", HOST_OP_GREATER},       {">=", HOST_OP_GREATER_EQUAL},
};

static bool find_binary(Str text, HostOperation *operation) {
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (str_is(text, binary_operators[i].text))
            return *operation = binary_operators[i].operation, true;
    return false;
}

static const HostValue *repeated(Host *host, const HostValue *sequence, const HostValue *times) {
    int64_t count = 0;
    if (!host_int(times, &count) || count < 0 || count > HOST_MOST_ITEMS ||
        count * sequence->count > HOST_MOST_ITEMS)
        return host_unknown(host, "a repetition that is not known");
    const HostValue **items =
        ARENA_ARRAY(host->arena, const HostValue *, count * sequence->count + 1);
    for (int64_t i = 0; i < count * sequence->count; i++)
        items[i] = sequence->items[i % sequence->count];
    return host_sequence(host, items, (int)(count * sequence->count));
}

const HostValue *host_concatenated(Host *host, const HostValue *a, const HostValue *b) {
    if (a->count + b->count > HOST_MOST_ITEMS)
        return host_unknown(host, "a sequence that grows very long");
    const HostValue **items = ARENA_ARRAY(host->arena, const HostValue *, a->count + b->count + 1);
    for (int i = 0; i < a->count; i++) items[i] = a->items[i];
    for (int i = 0; i < b->count; i++) items[a->count + i] = b->items[i];
    return host_growing(host_sequence(host, items, a->count + b->count), a, b);
}

/// What the use of an operator says about undecided operands.
static void learn_operands(Host *host, HostOperation operation, const HostValue *a,
                           const HostValue *b) {
    bool integers = operation == HOST_OP_FLOOR_DIVIDE || operation == HOST_OP_MODULO ||
                    operation == HOST_OP_SHIFT_LEFT || operation == HOST_OP_SHIFT_RIGHT;
    const HostValue *sides[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const HostValue *other = sides[1 - i];
        bool beside_size = other->kind == HOST_SIZE;
        bool beside_float = other->is_concrete && other->constant.kind == CONSTANT_FLOAT;
        if (integers || beside_size)
            host_want(host, sides[i], INPUT_INT);
        else if (beside_float || operation == HOST_OP_DIVIDE)
            host_guess(host, sides[i], INPUT_FLOAT);
    }
}

static bool is_product_of_sizes(const HostValue *value) {
    if (value->kind == HOST_SIZE) return true;
    bool is_product =
        value->kind == HOST_OPERATION && value->operation == HOST_OP_MULTIPLY && value->count > 0;
    for (int i = 0; is_product && i < value->count; i++)
        is_product = is_product_of_sizes(value->items[i]);
    return is_product;
}

/// A rough division is meant to be exact: H = D // n, and x.numel() // (n * n). Rounding up, (n + b - 1) // b, is not.
void host_expect_quotient(Host *host, const HostValue *a, const HostValue *b) {
    bool sizes = a->kind == HOST_SIZE || (a->kind == HOST_INPUT && a->input->kind == INPUT_INT);
    if (!a->is_concrete || !b->is_concrete) return;
    if (!sizes && is_product_of_sizes(a) && is_product_of_sizes(b))
        host_require(host,
                     host_apply(host, HOST_OP_EQUAL, host_apply(host, HOST_OP_MODULO, a, b),
                                host_of_int(host, 0)),
                     true, HOST_WISH);
    if (!sizes) return;
    host_require(host,
                 host_apply(host, HOST_OP_EQUAL, host_apply(host, HOST_OP_MODULO, a, b),
                            host_of_int(host, 0)),
                 true, HOST_WISH);
    host_require(host, host_apply(host, HOST_OP_GREATER, a, b), true, HOST_WISH);
}

static const HostValue *combine(Host *host, HostOperation operation, const HostValue *a,
                                const HostValue *b) {
    if (a->kind == HOST_UNKNOWN) return a;
    if (b->kind == HOST_UNKNOWN) return b;
    if (host_is_tensor_like(a) || host_is_tensor_like(b)) {
        HostTensor *left = host_is_tensor_like(a) ? host_as_tensor(host, a) : NULL;
        HostTensor *right = host_is_tensor_like(b) ? host_as_tensor(host, b) : NULL;
        return host_elementwise(host, left ? left : right, left ? right : NULL, NULL);
    }
    if (a->kind == HOST_SEQUENCE && b->kind == HOST_SEQUENCE && operation == HOST_OP_ADD)
        return host_concatenated(host, a, b);
    if (operation == HOST_OP_MULTIPLY && a->kind == HOST_SEQUENCE) return repeated(host, a, b);
    if (operation == HOST_OP_MULTIPLY && b->kind == HOST_SEQUENCE) return repeated(host, b, a);
    learn_operands(host, operation, a, b);
    if (operation == HOST_OP_FLOOR_DIVIDE) host_expect_quotient(host, a, b);
    return host_apply(host, operation, a, b);
}

static const HostValue *is_none(Host *host, const HostValue *value) {
    if (value->kind == HOST_INPUT) {
        value->input->is_optional = true;
        return host_input_property(host, HOST_IS_NONE, value->input, 0);
    }
    if (value->kind == HOST_UNKNOWN) return value;
    return host_of_bool(host, host_is_none(value));
}

static const HostValue *negated(Host *host, const HostValue *value) {
    return value->kind == HOST_UNKNOWN ? value : host_apply(host, HOST_OP_NOT, value, NULL);
}

static const HostValue *contains(Host *host, const HostValue *item, const HostValue *container) {
    const HostValue *const *items = NULL;
    int count = 0;
    if (!host_items(host, container, &items, &count))
        return host_unknown(host, "'in' what is not understood");
    const HostValue *any = host_of_bool(host, false);
    for (int i = 0; i < count; i++) {
        if (item->kind == HOST_INPUT && items[i]->is_concrete &&
            item->input->kind == INPUT_UNDECIDED)
            host_decide(host, item->input,
                        items[i]->constant.kind == CONSTANT_STRING  ? INPUT_STRING
                        : items[i]->constant.kind == CONSTANT_DTYPE ? INPUT_DTYPE
                                                                    : INPUT_INT);
        const HostValue *same = host_equal(host, item, items[i]);
        any = i == 0 ? same : host_apply(host, HOST_OP_OR, any, same);
    }
    return any;
}

static const HostValue *compare(Host *host, Str text, const HostValue *a, const HostValue *b) {
    if (str_is(text, "is") || str_is(text, "is not")) {
        const HostValue *same = host_is_none(b) ? is_none(host, a) : host_equal(host, a, b);
        return str_is(text, "is") ? same : negated(host, same);
    }
    if (str_is(text, "in")) return contains(host, a, b);
    if (str_is(text, "not in")) return negated(host, contains(host, a, b));
    const HostValue *sides[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const HostValue *other = sides[1 - i];
        if (sides[i]->kind != HOST_INPUT || sides[i]->input->kind != INPUT_UNDECIDED ||
            !other->is_concrete)
            continue;
        switch (other->constant.kind) {
        case CONSTANT_STRING: host_decide(host, sides[i]->input, INPUT_STRING); break;
        case CONSTANT_DTYPE: host_decide(host, sides[i]->input, INPUT_DTYPE); break;
        case CONSTANT_FLOAT: host_decide(host, sides[i]->input, INPUT_FLOAT); break;
        case CONSTANT_INT: host_decide(host, sides[i]->input, INPUT_INT); break;
        case CONSTANT_BOOL: host_decide(host, sides[i]->input, INPUT_BOOL); break;
        default: break;
        }
    }
    HostOperation operation = HOST_OP_EQUAL;
    if (!find_binary(text, &operation))
        return host_unknown(host, "a comparison that is not understood");
    if (host_is_tensor_like(a) || host_is_tensor_like(b)) return combine(host, operation, a, b);
    if (operation == HOST_OP_EQUAL) return host_equal(host, a, b);
    if (operation == HOST_OP_UNEQUAL) return negated(host, host_equal(host, a, b));
    return host_apply(host, operation, a, b);
}

const HostValue *host_comparison(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *left = NULL, *result = NULL;
    Str operator_text = STR("");
    for (uint32_t i = 0; i < node_all_child_count(node); i++) {
        SyntaxNode child = node_all_child(node, i);
        const char *kind = node_kind_name(child);
        bool operator_node =
            strchr("<>=!in", kind[0]) != NULL && (strlen(kind) <= 2 || strcmp(kind, "is not") == 0);
        if (operator_node || strcmp(kind, "not in") == 0) {
            operator_text = str_from(kind);
            continue;
        }
        if (node_kind(child) == SYNTAX_COMMENT) continue;
        const HostValue *right = host_evaluate(host, frame, child);
        if (left) {
            const HostValue *link = compare(host, operator_text, left, right);
            result = result ? host_apply(host, HOST_OP_AND, result, link) : link;
        }
        left = right;
    }
    return result ? result : host_unknown(host, "a comparison that is not understood");
}

const HostValue *host_boolean(Host *host, HostFrame *frame, SyntaxNode node) {
    Str text = node_text(frame->module->source, node_field(node, "operator"));
    bool is_and = str_is(text, "and"), known = false;
    const HostValue *a = host_evaluate(host, frame, node_field(node, "left"));
    bool truth = host_truth(a, &known);
    if (known && truth != is_and) return a;  // short circuit; the right side is not looked at
    const HostValue *b = host_evaluate(host, frame, node_field(node, "right"));
    host_note_written(b);  // or it is `a`
    bool scalars = a->kind >= HOST_INPUT && a->kind <= HOST_OPERATION && b->kind >= HOST_CONSTANT &&
                   b->kind <= HOST_OPERATION;
    if (scalars && a->is_concrete && a->constant.kind == CONSTANT_BOOL)
        return host_apply(host, is_and ? HOST_OP_AND : HOST_OP_OR, a, b);
    if (known) return b;
    return a->kind == HOST_UNKNOWN
               ? a
               : host_unknown(host, "'%s' of what is not known", is_and ? "and" : "or");
}

bool host_decides(Host *host, const HostFrame *frame, const HostValue *condition, bool truth) {
    if (condition->kind == HOST_CONSTANT || frame->is_global) return truth;
    int number = host->decision_count++, turned = host->policy.turned;
    if (truth && number < 32) host->decisions |= 1U << number;
    if (turned != number + 1 && turned != -(number + 1)) return truth;
    if (condition->kind != HOST_UNKNOWN) host_require(host, condition, turned > 0, HOST_MUST);
    return turned > 0;
}

const HostValue *host_conditional(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode *parts = NULL;
    if (node_children(host->arena, node, &parts) < 3)
        return host_unknown(host, "a conditional expression");
    const HostValue *condition = host_evaluate(host, frame, parts[1]);
    bool known = false, truth = host_truth(condition, &known);
    if (!known && condition->kind == HOST_INPUT && condition->input->kind == INPUT_UNDECIDED) {
        host_decide(host, condition->input, INPUT_BOOL);
        truth = condition->input->constant.integer != 0;
    }
    bool is_forced = false;
    for (int side = 0; side <= 2; side += 2) {
        if (!host_contains_choice(host, frame, parts[side])) continue;
        is_forced = true;
        truth = side == 0;
        host_require(host,
                     condition->kind == HOST_INPUT ? host_input_value(host, condition->input)
                                                   : condition,
                     truth, HOST_MUST);
    }
    if (!is_forced) truth = host_decides(host, frame, condition, truth);
    const HostValue *value = host_evaluate(host, frame, parts[truth ? 0 : 2]);
    if (!host_call_allocates(frame->module->source, parts[truth ? 2 : 0])) host_note_written(value);
    return value;
}

const HostValue *host_unary(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *value = host_evaluate(host, frame, node_field(node, "argument"));
    Str text = node_text(frame->module->source, node_field(node, "operator"));
    if (host_is_tensor_like(value))
        return host_elementwise(host, host_as_tensor(host, value), NULL, NULL);
    if (str_is(text, "+") || value->kind == HOST_UNKNOWN) return value;
    return host_apply(host, str_is(text, "-") ? HOST_OP_NEGATE : HOST_OP_INVERT, value, NULL);
}

const HostValue *host_not(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *value = host_evaluate(host, frame, node_field(node, "argument"));
    bool known = false, truth = host_truth(value, &known);
    if (value->kind == HOST_SEQUENCE || value->kind == HOST_DICTIONARY)
        return host_of_bool(host, !truth);
    if (value->kind == HOST_INPUT) host_decide(host, value->input, INPUT_BOOL);
    return negated(host, value);
}

const HostValue *host_binary(Host *host, HostFrame *frame, SyntaxNode node) {
    HostOperation operation = HOST_OP_ADD;
    const HostValue *a = host_evaluate(host, frame, node_field(node, "left"));
    const HostValue *b = host_evaluate(host, frame, node_field(node, "right"));
    Str text = node_text(frame->module->source, node_field(node, "operator"));
    return find_binary(text, &operation) ? combine(host, operation, a, b) : NULL;
}
