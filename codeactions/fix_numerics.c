// Fixes of precision: sums and accumulators in float32, full-precision products, softmax with its maximum.
#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"

/// `x` of `tl.sum(x, ...)` and of `x.sum(...)`.
static SyntaxNode input_of(const Fix *fix, SyntaxNode call) {
    const char *language = fix_language(fix);
    SyntaxNode function = node_field(call, "function");
    if (!node_is(function, SYNTAX_ATTRIBUTE)) return call_argument(fix, call, "input", 0);
    SyntaxNode object = node_field(function, "object");
    Str text = node_text(fix->source, object);
    bool is_module = (language && str_starts(text, language)) ||
                     str_starts(text, "triton.language") || str_ends(text, "libdevice");
    return is_module ? call_argument(fix, call, "input", 0) : object;
}

void apply_cast_input(Fix *fix) {
    const char *language = fix_language(fix);
    SyntaxNode call = fix_node(fix, fix->range);
    if (!node_is(call, SYNTAX_CALL) || !language) return;
    SyntaxNode input = input_of(fix, call);
    if (node_is_null(input)) return;
    fix_replace_node(fix, input, "%s.to(%s.float32)", fix_operand(fix, input), language);
}

/// `x.to(tl.float16)`: x and the type. False where it is something else.
static bool read_cast(const Fix *fix, SyntaxNode node, SyntaxNode *value, SyntaxNode *type) {
    if (!node_is(node, SYNTAX_CALL)) return false;
    SyntaxNode function = node_field(node, "function");
    if (!node_is(function, SYNTAX_ATTRIBUTE) ||
        !str_is(node_text(fix->source, node_field(function, "attribute")), "to"))
        return false;
    *value = node_field(function, "object");
    *type = call_argument(fix, node, "dtype", 0);
    return !node_is_null(*type);
}

void apply_cast_after_sum(Fix *fix) {
    SyntaxNode call = fix_node(fix, fix->range), value, type;
    if (!node_is(call, SYNTAX_CALL)) return;
    SyntaxNode input = input_of(fix, call);
    if (node_is_null(input) || !read_cast(fix, input, &value, &type)) return;
    uint32_t end = node_range(fix->source, call).end;
    fix_replace_node(fix, input, "%s", fix_text(fix, value));
    fix_replace(fix, end, end, ".to(%s)", fix_text(fix, type));
}

/// The value that the carried `name` of the loop starts from.
static const Value *start_of(const Op *loop, Str name) {
    const Region *body = loop->regions[0];
    for (int i = 1; i < body->argument_count; i++)
        if (body->arguments[i]->name && str_is(name, body->arguments[i]->name) &&
            i + 2 < loop->operand_count)
            return loop->operands[i + 2];
    return NULL;
}

void apply_accumulator(Fix *fix) {
    const char *language = fix_language(fix);
    if (!language || !fix->diagnostic->related_count) return;
    const Op *loop = fix_op(fix, fix->diagnostic->related[0].range, OP_FOR);
    SyntaxNode link = node_at(fix_root(fix), fix->range.start, fix->range.end);
    while (!node_is_null(link) && !node_is(link, SYNTAX_ASSIGNMENT) &&
           !node_is(link, SYNTAX_AUGMENTED_ASSIGNMENT))
        link = node_parent(link);
    if (!loop || node_is_null(link)) return;
    const Value *start = start_of(loop, node_text(fix->source, node_field(link, "left")));
    Range range = start && start->op ? fix_range_of(fix, start->op) : (Range){0};
    SyntaxNode call = range.source ? fix_node(fix, range) : (SyntaxNode){0};
    if (!node_is(call, SYNTAX_CALL)) return;
    const Op *op = start->op;
    if (op->code != OP_FULL) return;
    bool is_full = strstr(fix_text(fix, node_field(call, "function")), "full") != NULL;
    SyntaxNode type = call_argument(fix, call, "dtype", is_full ? 2 : 1);
    if (node_is_null(type)) return;
    fix_replace_node(fix, type, "%s.float32", language);
}

void apply_ieee_dot(Fix *fix) {
    SyntaxNode call = fix_node(fix, fix->range);
    if (!node_is(call, SYNTAX_CALL)) return;
    SyntaxNode precision = call_argument(fix, call, "input_precision", 3);
    SyntaxNode old = call_argument(fix, call, "allow_tf32", 4);
    if (!node_is_null(old))
        fix_replace_node(fix, old, "False");
    else if (!node_is_null(precision))
        fix_replace_node(fix, precision, "\"ieee\"");
    else
        call_add_keyword(fix, call, "input_precision", "\"ieee\"");
    fix_title(fix, "Multiply in full float32 (`input_precision=\"ieee\"`)");
}

void apply_subtract_maximum(Fix *fix) {
    const char *language = fix_language(fix);
    SyntaxNode call = fix_node(fix, fix->range);
    if (!node_is(call, SYNTAX_CALL) || !language || !fix->diagnostic->related_count) return;
    const Op *quotient = fix_op(fix, fix->diagnostic->related[0].range, OP_DIV);
    SyntaxNode input = call_argument(fix, call, "x", 0);
    const Op *exponential = fix_op(fix, fix->range, OP_COUNT);
    if (!quotient || !exponential || node_is_null(input)) return;
    const Value *denominator = quotient->operands[1];
    while (denominator->op && denominator->op->code != OP_SUM && denominator->op->operands[0])
        denominator = denominator->op->operands[0];
    if (!denominator->op || denominator->op->operand_count < 2) return;
    const Value *axis_value = denominator->op->operands[1];
    int rank = exponential->results[0]->type.rank;
    int64_t axis = 0;
    if (axis_value && !value_is_none(axis_value) && !value_is_int(axis_value, &axis)) return;
    if (rank != 1 && (!axis_value || value_is_none(axis_value))) return;
    const char *text = fix_text(fix, input);
    fix_replace_node(fix, input, "%s - %s.max(%s, axis=%d%s)", fix_operand(fix, input), language,
                     text, (int)axis, rank > 1 ? ", keep_dims=True" : "");
}
