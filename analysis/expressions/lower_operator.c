// Operators and comparisons, also of tuples and texts.
#include "analysis/expressions/lower_operator.h"

#include "analysis/build/build.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/tuples.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

// --- Operators

typedef struct OperatorRow {
    const char *symbol;
    OpCode code;
    const char *method;  // `__add__` and `__radd__` without their underlines and the r
} OperatorRow;

static const OperatorRow binary_operators[] = {{"+", OP_ADD, "add"},
                                               {"-", OP_SUB, "sub"},
                                               {"*", OP_MUL, "mul"},
                                               {"/", OP_DIV, "truediv"},
                                               {"//", OP_FLOORDIV, "floordiv"},
                                               {"%", OP_MOD, "mod"},
                                               {"**", OP_POW, NULL},
                                               {"&", OP_AND, "and"},
                                               {"|", OP_OR, "or"},
                                               {"^", OP_XOR, "xor"},
                                               {"<<", OP_SHL, "lshift"},
                                               {">>", OP_SHR, "rshift"},
                                               {"==", OP_EQ, "eq"},
                                               {"!=", OP_NE, "ne"},
                                               {"<", OP_LT, "lt"},
                                               {"<=", OP_LE, "le"},
                                               {">", OP_GT, "gt"},
                                               {">=", OP_GE, "ge"},
                                               {"@", OP_DOT, NULL},
                                               {"and", OP_LOGICAL_AND, NULL},
                                               {"or", OP_LOGICAL_OR, NULL}};

const char *operator_of_method(Str name, bool *is_reflected) {
    *is_reflected = false;
    if (name.size < 5 || !str_starts(name, "__") || !str_ends(name, "__")) return NULL;
    Str plain = {name.data + 2, name.size - 4};
    for (int reflected = 0; reflected < 2; reflected++) {
        if (reflected && (plain.data[0] != 'r' || plain.size < 2)) return NULL;
        Str method = {plain.data + reflected, plain.size - (size_t)reflected};
        for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++) {
            const OperatorRow *row = &binary_operators[i];
            if (!row->method || !str_is(method, row->method)) continue;
            *is_reflected = reflected;
            return row->symbol;
        }
    }
    return NULL;
}

static OpCode binary_code(Str symbol) {
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (str_is(symbol, binary_operators[i].symbol)) return binary_operators[i].code;
    return OP_COUNT;
}

/// `a + b` and `a * n` of tuples; NULL when they are none.
static Value *tuple_operator(Lowering *lowering, OpCode code, Value *left, Value *right,
                             SyntaxNode node) {
    int left_count;
    int right_count;
    if (!value_is_tuple(left, &left_count)) return NULL;
    LIST(Value *) items = {0};
    int64_t times = 1;
    bool repeats = code == OP_MUL && value_is_int(right, &times) && times <= ITERABLE_LIMIT;
    if (repeats && times * left_count <= ITERABLE_LIMIT) {
        for (int64_t i = 0; i < times; i++)
            for (int j = 0; j < left_count; j++)
                LIST_PUSH(lowering->arena, &items, tuple_item(lowering, left, j));
        return tuple_make(lowering, items.items, items.count, node);
    }
    if (code != OP_ADD || !value_is_tuple(right, &right_count)) return NULL;
    for (int j = 0; j < left_count; j++)
        LIST_PUSH(lowering->arena, &items, tuple_item(lowering, left, j));
    for (int j = 0; j < right_count; j++)
        LIST_PUSH(lowering->arena, &items, tuple_item(lowering, right, j));
    return tuple_make(lowering, items.items, items.count, node);
}

/// Comparison of tuples item by item, when all of it is known; NULL otherwise.
static Value *tuple_compare(Lowering *lowering, OpCode code, Value *left, Value *right) {
    int left_count;
    int right_count;
    bool both = value_is_tuple(left, &left_count) && value_is_tuple(right, &right_count);
    if (both && code >= OP_LT && code <= OP_GE) {
        // The first items that differ decide; (3, 9) against (3, 9, 0) is decided by length.
        for (int i = 0; i < left_count && i < right_count; i++) {
            int64_t a;
            int64_t b;
            if (!value_is_int(tuple_item(lowering, left, i), &a) ||
                !value_is_int(tuple_item(lowering, right, i), &b))
                return NULL;
            if (a != b)
                return build_bool(&lowering->builder, (a < b) == (code == OP_LT || code == OP_LE));
        }
        Value *lengths[] = {build_int(&lowering->builder, left_count),
                            build_int(&lowering->builder, right_count)};
        return build(&lowering->builder, code, lengths, 2);
    }
    if (!both || (code != OP_EQ && code != OP_NE)) return NULL;
    bool equal = left_count == right_count;
    for (int i = 0; equal && i < left_count; i++) {
        Value *same = lower_operator(lowering, STR("=="), tuple_item(lowering, left, i),
                                     tuple_item(lowering, right, i), (SyntaxNode){0});
        if (!value_truth(same, &equal)) return NULL;
    }
    return build_bool(&lowering->builder, equal == (code == OP_EQ));
}

static Value *text_operator(Lowering *lowering, OpCode code, const Value *left,
                            const Value *right) {
    const Constant *a = left->constant;
    const Constant *b = right->constant;
    if (code != OP_ADD || !a || !b || a->kind != CONSTANT_STRING || b->kind != CONSTANT_STRING)
        return NULL;
    if (a->string.size + b->string.size > TEXT_LIMIT)
        return lowering_opaque(lowering, "a very long text");
    return build_string(&lowering->builder, arena_printf(lowering->arena, "%.*s%.*s",
                                                         STR_ARGS(a->string), STR_ARGS(b->string)));
}

Value *lower_operator(Lowering *lowering, Str symbol, Value *left, Value *right, SyntaxNode node) {
    OpCode code = binary_code(symbol);
    if (code == OP_COUNT)
        return lowering_unknown(lowering, node, "The operator `%.*s` is not understood.",
                                STR_ARGS(symbol));
    Value *special = tuple_operator(lowering, code, left, right, node);
    if (!special) special = tuple_compare(lowering, code, left, right);
    if (!special) special = text_operator(lowering, code, left, right);
    if (special) return special;
    return build_binary(&lowering->builder, code, left, right);
}

/// `s = 0.5` makes a float32 tensor of no dimensions: beside half precision it widens, which a bare 0.5 does not.
Value *lower_named_number(Lowering *lowering, SyntaxNode node, Value *value, const Value *beside) {
    const Type other = beside->type;
    bool is_scalar = node_kind(node) == SYNTAX_IDENTIFIER && value->constant &&
                     value->constant->kind == CONSTANT_FLOAT &&
                     map_get(&lowering->frame->scalars, lowering_text(lowering, node));
    bool is_wide = other.element.code == DTYPE_FLOAT32 || other.element.code == DTYPE_FLOAT64;
    if (!is_scalar || other.kind != TYPE_NUMBER || other.is_constexpr || is_wide ||
        !dtype_is_float(other.element))
        return value;
    Builder *b = &lowering->builder;
    Value *tensor = build_ternary(b, OP_FULL, build_tuple(b, NULL, 0), value,
                                  build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    if (!tensor->name) tensor->name = str_dup(lowering->arena, lowering_text(lowering, node));
    return tensor;
}

Value *lower_binary(Lowering *lowering, SyntaxNode node) {
    SyntaxNode first = node_field(node, "left"), second = node_field(node, "right");
    Value *left = lower_value(lowering, first);
    Value *right = lower_value(lowering, second);
    lowering_at(lowering, node);
    left = lower_named_number(lowering, first, left, right);
    right = lower_named_number(lowering, second, right, left);
    return lower_operator(lowering, lowering_text(lowering, node_field(node, "operator")), left,
                          right, node);
}

Value *lower_unary(Lowering *lowering, SyntaxNode node) {
    Value *value = lower_value(lowering, node_field(node, "argument"));
    Str symbol = lowering_text(lowering, node_field(node, "operator"));
    lowering_at(lowering, node);
    if (str_is(symbol, "+")) return value;
    return build_unary(&lowering->builder, str_is(symbol, "~") ? OP_INVERT : OP_NEG, value);
}

Value *lower_not(Lowering *lowering, SyntaxNode node) {
    Value *value = lower_value(lowering, node_field(node, "argument"));
    bool truth;
    lowering_at(lowering, node);
    if (value_truth(value, &truth)) return build_bool(&lowering->builder, !truth);
    return build_unary(&lowering->builder, OP_LOGICAL_NOT, value);
}

/// `and` and `or` look at the right side only when the left one does not decide.
Value *lower_boolean(Lowering *lowering, SyntaxNode node) {
    Str symbol = lowering_text(lowering, node_field(node, "operator"));
    bool is_and = str_is(symbol, "and");
    Value *left = lower_value(lowering, node_field(node, "left"));
    bool truth;
    if (value_truth(left, &truth))
        return truth == is_and ? lower_value(lowering, node_field(node, "right")) : left;
    Value *right = lower_value(lowering, node_field(node, "right"));
    lowering_at(lowering, node);
    // What decides on the right decides for both where only truth matters.
    if (left->type.is_constexpr && value_truth(right, &truth) && truth != is_and &&
        right->constant && right->constant->kind == CONSTANT_BOOL)
        return right;
    return build_binary(&lowering->builder, is_and ? OP_LOGICAL_AND : OP_LOGICAL_OR, left, right);
}

// --- Comparisons

/// Made by an operation: no operation gives None.
static bool is_computed(const Value *value) {
    return value->op && op_rows[value->op->code].kind != KIND_STRUCTURAL;
}

/// Two values of the GPU are never one object of the compiler's: `is` is False, whatever they hold.
static void check_identity(Lowering *lowering, const Value *left, const Value *right, bool negated,
                           SyntaxNode node) {
    const FunctionDefinition *definition = lowering->builder.function->definition;
    bool is_known = !value_is_none(left) && !value_is_none(right) && left != right && definition &&
                    !definition->is_helper && lowering->frame->module;
    bool is_computed_here = is_computed(left) || is_computed(right);
    const Value *sides[] = {left, right};
    for (int i = 0; is_known && i < 2; i++) {
        bool is_number = sides[i]->type.kind == TYPE_NUMBER && !sides[i]->type.is_constexpr &&
                         !sides[i]->constant;
        if (!is_number || !is_computed_here) continue;
        lowering_report(lowering, DIAGNOSTIC_IDENTITY_COMPARISON, node,
                        "`is` asks whether both are one object of the compiler's, so this is "
                        "always %s: compare with `%s`",
                        negated ? "true" : "false", negated ? "!=" : "==");
        return;
    }
}

static Value *lower_is(Lowering *lowering, Value *left, Value *right, bool negated,
                       SyntaxNode node) {
    Value *result;
    check_identity(lowering, left, right, negated, node);
    if ((value_is_none(right) && is_computed(left)) || (value_is_none(left) && is_computed(right)))
        result = build_bool(&lowering->builder, false);
    else if (value_is_none(right))
        result = build_unary(&lowering->builder, OP_IS_NONE, left);
    else if (value_is_none(left))
        result = build_unary(&lowering->builder, OP_IS_NONE, right);
    else if (left == right)
        result = build_bool(&lowering->builder, true);
    else
        result = lower_operator(lowering, STR("=="), left, right, node);
    bool truth;
    if (!negated) return result;
    if (value_truth(result, &truth)) return build_bool(&lowering->builder, !truth);
    return build_unary(&lowering->builder, OP_LOGICAL_NOT, result);
}

static Value *lower_in(Lowering *lowering, Value *left, Value *right, bool negated,
                       SyntaxNode node) {
    int count;
    if (!lowering->global_depth && lowering->frame->module)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                        "Triton cannot compile `in`; compare with each value.");
    if (!value_is_tuple(right, &count)) {
        tuple_asked_whole(lowering, right);
        return lowering_unknown(lowering, node, "`in` is understood for tuples only.");
    }
    Value *result = build_bool(&lowering->builder, false);
    for (int i = 0; i < count; i++) {
        Value *same =
            lower_operator(lowering, STR("=="), left, tuple_item(lowering, right, i), node);
        bool truth;
        if (value_truth(same, &truth)) {
            if (!truth) continue;
            return build_bool(&lowering->builder, !negated);
        }
        result = value_truth(result, &truth)
                     ? same
                     : build_binary(&lowering->builder, OP_LOGICAL_OR, result, same);
    }
    bool truth;
    if (!negated) return result;
    if (value_truth(result, &truth)) return build_bool(&lowering->builder, !truth);
    return build_unary(&lowering->builder, OP_LOGICAL_NOT, result);
}

static Value *lower_compare(Lowering *lowering, Str symbol, Value *left, Value *right,
                            SyntaxNode node) {
    bool negated = text_contains(symbol, "not");
    if (str_starts(symbol, "is")) return lower_is(lowering, left, right, negated, node);
    if (text_contains(symbol, "in")) return lower_in(lowering, left, right, negated, node);
    return lower_operator(lowering, symbol, left, right, node);
}

/// `x.dtype`, `x.type.element_ty`: a type of Triton's.
static bool is_own_type(const Lowering *lowering, SyntaxNode node) {
    if (node_kind(node) != SYNTAX_ATTRIBUTE) return false;
    Str name = lowering_text(lowering, node_field(node, "attribute"));
    return str_is(name, "dtype") || str_is(name, "element_ty");
}

/// `torch.float16`: a type of PyTorch's. Whoever passes one for a constexpr may compare that with another.
static bool is_torch_type(const Lowering *lowering, SyntaxNode node) {
    if (node_kind(node) != SYNTAX_ATTRIBUTE || !lowering->frame->module) return false;
    ScopeEntry entry = scope_of_expression(lowering->arena, lowering->frame->module, node);
    if (entry.kind != SCOPE_EXTERNAL || !str_starts(entry.dotted, "torch.")) return false;
    Str name = {entry.dotted.data + 6, entry.dotted.size - 6};
    return dtype_from_name(name) != DTYPE_UNKNOWN || str_starts(name, "float8_") ||
           str_is(name, "half") || str_is(name, "float") || str_is(name, "double");
}

/// No type of Triton's is one of PyTorch's. NULL: the operands are something else.
static Value *compare_types(Lowering *lowering, Str symbol, SyntaxNode left, SyntaxNode right) {
    bool is_equal = str_is(symbol, "=="), is_unequal = str_is(symbol, "!=");
    bool are_foreign = (is_own_type(lowering, left) && is_torch_type(lowering, right)) ||
                       (is_torch_type(lowering, left) && is_own_type(lowering, right));
    if (!are_foreign || (!is_equal && !is_unequal)) return NULL;
    return build_bool(&lowering->builder, is_unequal);
}

Value *lower_comparison(Lowering *lowering, SyntaxNode node) {
    // Operands and operators alternate; `is not` is two tokens, or one, by grammar version.
    Value *result = NULL;
    Value *left = NULL;
    SyntaxNode former_operand = {0};
    Str symbol = {"", 0};
    SyntaxNode *children;
    int count = node_all_children(lowering->arena, node, &children);
    for (int i = 0; i < count; i++) {
        SyntaxNode child = children[i];
        SyntaxKind kind = node_kind(child);
        if (kind == SYNTAX_COMMENT) continue;
        Str text = lowering_text(lowering, child);
        bool is_operator = str_is(text, node_kind_name(child)) && kind == SYNTAX_OTHER;
        if (is_operator) {
            symbol = symbol.size ? (Str){symbol.data, (size_t)(text.data + text.size - symbol.data)}
                                 : text;
            continue;
        }
        Value *right = lower_value(lowering, child);
        if (left && symbol.size) {
            Range former = lowering_at(lowering, node);
            Value *one = compare_types(lowering, symbol, former_operand, child);
            if (!one) one = lower_compare(lowering, symbol, left, right, node);
            result = result ? build_binary(&lowering->builder, OP_LOGICAL_AND, result, one) : one;
            lowering->builder.range = former;
        }
        left = right;
        former_operand = child;
        symbol = (Str){"", 0};
    }
    return result ? result : lowering_silent(lowering, "an unfinished comparison");
}
