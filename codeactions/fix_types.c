// Fixes of what Triton refuses to compile: Python operators that tiles do not have, operands of the wrong type.
#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"

void apply_compare_operand(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    if (node_is(node, SYNTAX_NOT)) {
        SyntaxNode argument = node_field(node, "argument");
        fix_replace_node(fix, node, "(%s == 0)", fix_operand(fix, argument));
        return;
    }
    if (!node_is(node, SYNTAX_BOOLEAN)) return;
    static const char *const sides[] = {"left", "right"};
    for (int i = 0; i < 2; i++) {
        SyntaxNode side = node_field(node, sides[i]);
        SyntaxNode bare = side;
        while (node_is(bare, SYNTAX_PARENTHESIZED)) bare = node_child(bare, 0);
        if (node_is(bare, SYNTAX_COMPARISON) || node_is(bare, SYNTAX_BOOLEAN) ||
            node_is(bare, SYNTAX_NOT))
            continue;
        fix_replace_node(fix, side, "(%s != 0)", fix_operand(fix, side));
    }
}

void apply_compare_mask(Fix *fix) {
    SyntaxNode call = fix_call(fix, fix->range);
    SyntaxNode mask = node_is_null(call) ? call : call_argument(fix, call, "mask", -1);
    if (node_is_null(mask)) return;
    fix_replace_node(fix, mask, "%s != 0", fix_operand(fix, mask));
    fix_title(fix, "Compare the mask with 0: `%s != 0`", fix_operand(fix, mask));
}

/// Whether writing the operand twice is no worse than once.
static bool is_cheap(SyntaxNode node) {
    SyntaxKind kind = node_kind(node);
    return kind == SYNTAX_IDENTIFIER || kind == SYNTAX_INTEGER || kind == SYNTAX_FLOAT;
}

static Str without_parentheses(Str text) {
    bool has = text.size > 2 && text.data[0] == '(' && text.data[text.size - 1] == ')';
    return has ? (Str){text.data + 1, text.size - 2} : text;
}

void apply_power(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    const char *language = fix_language(fix);
    if (!node_is(node, SYNTAX_BINARY) || !language) return;
    SyntaxNode base = node_field(node, "left"), exponent = node_field(node, "right");
    Str power = node_text(fix->source, exponent);
    const char *text = fix_text(fix, base), *operand = fix_operand(fix, base);
    const char *result = NULL;
    if (str_is(power, "0.5")) result = arena_printf(fix->arena, "%s.sqrt(%s)", language, text);
    if (str_is(power, "-0.5")) result = arena_printf(fix->arena, "%s.rsqrt(%s)", language, text);
    if (str_is(power, "2") && is_cheap(base))
        result = arena_printf(fix->arena, "(%s * %s)", operand, operand);
    if (str_is(power, "3") && is_cheap(base))
        result = arena_printf(fix->arena, "(%s * %s * %s)", operand, operand, operand);
    if (str_is(power, "-1")) result = arena_printf(fix->arena, "(1.0 / %s)", operand);
    if (!result) return;
    SyntaxKind around = node_kind(node_parent(node));
    if (around == SYNTAX_ARGUMENT_LIST || around == SYNTAX_ASSIGNMENT ||
        around == SYNTAX_KEYWORD_ARGUMENT || around == SYNTAX_PARENTHESIZED)
        result = str_dup(fix->arena, without_parentheses(str_from(result)));
    fix_replace_node(fix, node, "%s", result);
    fix_title(fix, "Write `%s` instead", result);
}

void apply_floor_quotient(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    const char *language = fix_language(fix);
    if (!node_is(node, SYNTAX_BINARY) || !language) return;
    fix_replace_node(fix, node, "%s.floor(%s / %s)", language,
                     fix_operand(fix, node_field(node, "left")),
                     fix_operand(fix, node_field(node, "right")));
}

void apply_dot(Fix *fix) {
    SyntaxNode node = fix_node(fix, fix->range);
    const char *language = fix_language(fix);
    if (!node_is(node, SYNTAX_BINARY) || !language) return;
    fix_replace_node(fix, node, "%s.dot(%s, %s)", language, fix_text(fix, node_field(node, "left")),
                     fix_text(fix, node_field(node, "right")));
}

void apply_cast_dot_operand(Fix *fix) {
    SyntaxNode call = fix_node(fix, fix->range);
    if (!node_is(call, SYNTAX_CALL)) return;
    SyntaxNode a = call_argument(fix, call, "input", 0), b = call_argument(fix, call, "other", 1);
    if (node_is_null(a) || node_is_null(b) || !node_is(a, SYNTAX_IDENTIFIER)) return;
    fix_replace_node(fix, b, "%s.to(%s.dtype)", fix_operand(fix, b), fix_text(fix, a));
    fix_title(fix, "Cast `%s` to the type of `%s`", fix_text(fix, b), fix_text(fix, a));
}

static SyntaxNode static_range_in(const Fix *fix, SyntaxNode node) {
    SyntaxNode loop = node_above(node, SYNTAX_FOR);
    SyntaxNode call = node_is_null(loop) ? loop : node_field(loop, "right");
    bool fits = node_is(call, SYNTAX_CALL) &&
                strstr(fix_text(fix, node_field(call, "function")), "static_range");
    return fits ? call : (SyntaxNode){0};
}

void apply_range(Fix *fix) {
    SyntaxNode call =
        static_range_in(fix, node_at(fix_root(fix), fix->range.start, fix->range.start + 1));
    if (!node_is_null(call)) fix_replace_node(fix, node_field(call, "function"), "range");
}
