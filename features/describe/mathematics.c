// The GRAD column of an operation in, mathematics in Unicode out.
#include "features/describe/mathematics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syntax/syntax.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/list.h"

enum { DEPTH_LIMIT = 40 };

typedef enum Strength {
    STRENGTH_ANY,
    STRENGTH_SUM,
    STRENGTH_PRODUCT,
    STRENGTH_SIGN,
    STRENGTH_ATOM
} Strength;

typedef struct Writer {
    Arena *arena;
    const Source *source;
    OpCode code;
    const char *result;  // the letter of the result
    int depth;
} Writer;

static const Rule written_rules[OP_COUNT] = {
#define RULE(id, computes, derivative) [OP_##id] = {computes, derivative},
#include "features/describe/mathematics.def"
#undef RULE
};

typedef struct NumberName {
    double value;
    const char *name;
} NumberName;

static const NumberName number_names[] = {
    {0.6931471805599453, "ln 2"},
    {1.4426950408889634, "1/ln 2"},
    {2.302585092994046, "ln 10"},
    {0.4342944819032518, "1/ln 10"},
    {3.141592653589793, "π"},
    {1.1283791670955126, "2/√π"},
    {0.5641895835477563, "1/√π"},
    {0.3989422804014327, "1/√(2π)"},
    {2.5066282746310002, "√(2π)"},
    {0.8862269254527580, "√π/2"},
    {0.5, "½"},
};

static bool has_parameter(OpCode code, const char *name) {
    return op_parameter_index(code, str_from(name)) >= 0;
}

/// What a parameter is called in formulas.
static const char *letter_of(Arena *arena, OpCode code, Str name) {
    if (str_is(name, "arg0")) return has_parameter(code, "arg1") ? "a" : "x";
    if (str_is(name, "arg1")) return "b";
    if (str_is(name, "arg2")) return "c";
    if (str_is(name, "arg3")) return "d";
    if (str_is(name, "input")) return "x";
    return str_dup(arena, name);
}

static const char *result_letter(OpCode code) {
    if (!has_parameter(code, "y")) return "y";
    return has_parameter(code, "z") ? "r" : "z";
}

/// One letter has a bar above it, a word one behind its last letter.
static const char *adjoint_of(Arena *arena, const char *letter) {
    // These letters exist with their bar.
    if (strcmp(letter, "a") == 0) return "\xc4\x81";
    if (strcmp(letter, "y") == 0) return "\xc8\xb3";
    return arena_printf(arena, letter[1] ? "%s\xcc\x85" : "%s\xcc\x84", letter);
}

static const char *write_node(Writer *writer, SyntaxNode node, Strength strength);

static const char *enclose(Writer *writer, const char *text, bool needs) {
    return needs ? arena_printf(writer->arena, "(%s)", text) : text;
}

static Str node_source(const Writer *writer, SyntaxNode node) {
    return node_text(writer->source, node);
}

static bool is_zero(const Writer *writer, SyntaxNode node) {
    Str text = node_source(writer, node);
    return str_is(text, "0.0") || str_is(text, "0");
}

static const char *write_number(Writer *writer, SyntaxNode node) {
    char *text = str_dup(writer->arena, node_source(writer, node));
    double value = strtod(text, NULL);
    for (size_t i = 0; i < sizeof number_names / sizeof *number_names; i++) {
        double difference = value - number_names[i].value;
        if (difference < 1e-12 && difference > -1e-12) return number_names[i].name;
    }
    size_t size = strlen(text);
    if (size > 2 && strcmp(text + size - 2, ".0") == 0) text[size - 2] = '\0';
    return text;
}

static const char *superscript(Arena *arena, int power) {
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    return power < 2 ? "" : power < 10 ? digits[power] : arena_printf(arena, "^%d", power);
}

typedef struct Factor {
    const char *text;
    int power;
} Factor;

typedef struct Factors {
    LIST(Factor) above;
    LIST(const char *) below;
    bool is_negative;
} Factors;

static void factor_add(Arena *arena, Factors *factors, const char *text) {
    for (LIST_EACH(int, i, factors->above))
        if (strcmp(factors->above.items[i].text, text) == 0) {
            factors->above.items[i].power++;
            return;
        }
    LIST_PUSH(arena, &factors->above, (Factor){text, 1});
}

static void factors_collect(Writer *writer, SyntaxNode node, Factors *factors) {
    if (node_kind(node) == SYNTAX_UNARY) {
        SyntaxNode argument = node_field(node, "argument");
        if (str_is(node_source(writer, node_field(node, "operator")), "-")) {
            factors->is_negative = !factors->is_negative;
            factors_collect(writer, argument, factors);
            return;
        }
    }
    if (node_kind(node) == SYNTAX_BINARY) {
        Str symbol = node_source(writer, node_field(node, "operator"));
        if (str_is(symbol, "*")) {
            factors_collect(writer, node_field(node, "left"), factors);
            factors_collect(writer, node_field(node, "right"), factors);
            return;
        }
        if (str_is(symbol, "/")) {
            factors_collect(writer, node_field(node, "left"), factors);
            LIST_PUSH(writer->arena, &factors->below,
                      write_node(writer, node_field(node, "right"), STRENGTH_ATOM));
            return;
        }
    }
    factor_add(writer->arena, factors, write_node(writer, node, STRENGTH_PRODUCT));
}

static const char *write_product(Writer *writer, SyntaxNode node, Strength strength) {
    Factors factors = {0};
    factors_collect(writer, node, &factors);
    Buffer out = buffer_new(writer->arena);
    if (factors.is_negative) buffer_puts(&out, "−");
    for (LIST_EACH(int, i, factors.above)) {
        const Factor *factor = &factors.above.items[i];
        bool is_letters = factor->power > 1 && strlen(factor->text) > 4;
        buffer_printf(&out, is_letters ? "%s(%s)%s" : "%s%s%s", i ? " · " : "", factor->text,
                      superscript(writer->arena, factor->power));
    }
    for (LIST_EACH(int, i, factors.below)) buffer_printf(&out, " / %s", factors.below.items[i]);
    int total = factors.above.count + factors.below.count;
    bool needs = (total > 1 || factors.is_negative) && strength > STRENGTH_PRODUCT;
    return enclose(writer, buffer_text(&out), needs);
}

static const char *write_binary(Writer *writer, SyntaxNode node, Strength strength) {
    Str symbol = node_source(writer, node_field(node, "operator"));
    if (str_is(symbol, "*") || str_is(symbol, "/")) return write_product(writer, node, strength);
    const char *sign = str_is(symbol, "-")   ? "−"
                       : str_is(symbol, "&") ? "and"
                       : str_is(symbol, "|") ? "or"
                                             : str_dup(writer->arena, symbol);
    Strength inner = str_is(symbol, "-") ? STRENGTH_PRODUCT : STRENGTH_SUM;
    const char *text = arena_printf(writer->arena, "%s %s %s",
                                    write_node(writer, node_field(node, "left"), STRENGTH_SUM),
                                    sign, write_node(writer, node_field(node, "right"), inner));
    return enclose(writer, text, strength > STRENGTH_SUM);
}

static const char *write_comparison(Writer *writer, SyntaxNode node) {
    static const char *const signs[][2] = {{"==", "="}, {"!=", "≠"}, {"<=", "≤"}, {">=", "≥"}};
    Str left = node_source(writer, node_child(node, 0));
    Str whole = node_source(writer, node);
    Str right = node_source(writer, node_child(node, 1));
    Str sign = str_trim((Str){whole.data + left.size, whole.size - left.size - right.size});
    const char *written = str_dup(writer->arena, sign);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (str_is(sign, signs[i][0])) written = signs[i][1];
    return arena_printf(writer->arena, "%s %s %s",
                        write_node(writer, node_child(node, 0), STRENGTH_SUM), written,
                        write_node(writer, node_child(node, 1), STRENGTH_SUM));
}

/// where(c, a, 0) is `a where c`; two choices are told one after the other.
static const char *write_where(Writer *writer, SyntaxNode list, Strength strength) {
    const char *condition = write_node(writer, node_child(list, 0), STRENGTH_ANY);
    SyntaxNode first = node_child(list, 1);
    SyntaxNode second = node_child(list, 2);
    const char *text;
    if (is_zero(writer, second))
        text = arena_printf(writer->arena, "%s where %s", write_node(writer, first, STRENGTH_SUM),
                            condition);
    else if (is_zero(writer, first))
        text = arena_printf(writer->arena, "%s where not (%s)",
                            write_node(writer, second, STRENGTH_SUM), condition);
    else
        text = arena_printf(writer->arena, "%s where %s, else %s",
                            write_node(writer, first, STRENGTH_SUM), condition,
                            write_node(writer, second, STRENGTH_ANY));
    return enclose(writer, text, strength > STRENGTH_ANY);
}

static const char *write_call(Writer *writer, SyntaxNode node, Strength strength) {
    SyntaxNode function = node_field(node, "function");
    Str name = node_source(writer, node_kind(function) == SYNTAX_ATTRIBUTE
                                       ? node_field(function, "attribute")
                                       : function);
    SyntaxNode list = node_field(node, "arguments");
    if (str_is(name, "where") && node_child_count(list) == 3)
        return write_where(writer, list, strength);
    if (str_is(name, "sqrt") && node_child_count(list) == 1) {
        const char *inner = write_node(writer, node_child(list, 0), STRENGTH_ANY);
        return arena_printf(writer->arena, inner[1] ? "√(%s)" : "√%s", inner);
    }
    if (str_is(name, "log")) name = STR("ln");
    Buffer out = buffer_new(writer->arena);
    buffer_printf(&out, "%.*s(", STR_ARGS(name));
    for (uint32_t i = 0; i < node_child_count(list); i++)
        buffer_printf(&out, "%s%s", i ? ", " : "",
                      write_node(writer, node_child(list, i), STRENGTH_ANY));
    buffer_puts(&out, ")");
    return buffer_text(&out);
}

static const char *write_name(Writer *writer, SyntaxNode node) {
    Str name = node_source(writer, node);
    if (str_is(name, "grad")) return adjoint_of(writer->arena, writer->result);
    if (str_is(name, "result")) return writer->result;
    return letter_of(writer->arena, writer->code, name);
}

static const char *write_inside(Writer *writer, SyntaxNode node, Strength strength) {
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER: return write_name(writer, node);
    case SYNTAX_INTEGER:
    case SYNTAX_FLOAT: return write_number(writer, node);
    case SYNTAX_PARENTHESIZED: return write_node(writer, node_child(node, 0), strength);
    case SYNTAX_BINARY: return write_binary(writer, node, strength);
    case SYNTAX_UNARY: return write_product(writer, node, strength);
    case SYNTAX_COMPARISON:
        return enclose(writer, write_comparison(writer, node), strength > STRENGTH_SUM);
    case SYNTAX_CALL: return write_call(writer, node, strength);
    default: return str_dup(writer->arena, node_source(writer, node));
    }
}

static const char *write_node(Writer *writer, SyntaxNode node, Strength strength) {
    if (writer->depth >= DEPTH_LIMIT) return "…";
    writer->depth++;
    const char *text = write_inside(writer, node, strength);
    writer->depth--;
    return text;
}

static const char *write_line(Arena *arena, OpCode code, Str line) {
    size_t colon = 0;
    while (colon < line.size && line.data[colon] != ':') colon++;
    if (colon == line.size) return NULL;
    Str parameter = {line.data, colon};
    Str expression = str_trim((Str){line.data + colon + 1, line.size - colon - 1});
    const Source *source = source_new(arena, "", expression);
    SyntaxTree *tree = syntax_parse(source);
    Writer writer = {arena, source, code, result_letter(code), 0};
    SyntaxNode statement = node_child(syntax_root(tree), 0);
    const char *text = write_node(&writer, node_child(statement, 0), STRENGTH_ANY);
    syntax_free(tree);
    const char *adjoint = adjoint_of(arena, letter_of(arena, code, parameter));
    bool is_negative =
        strncmp(text, "−", strlen("−")) == 0 && !strstr(text, " + ") && !strstr(text, " where ");
    return is_negative ? arena_printf(arena, "%s −= %s", adjoint, text + strlen("−"))
                       : arena_printf(arena, "%s += %s", adjoint, text);
}

/// `z = x · y`, `y = exp(x)`.
static const char *write_value(Arena *arena, OpCode code) {
    const OpRow *row = &op_rows[code];
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    const char *result = result_letter(code);
    if (count == 0) return NULL;
    const char *first = letter_of(arena, code, parameters[0].name);
    if (row->symbol && row->precedence) {
        const char *sign = strcmp(row->symbol, "*") == 0   ? "·"
                           : strcmp(row->symbol, "-") == 0 ? "−"
                                                           : row->symbol;
        if (count == 1) return arena_printf(arena, "%s = %s%s", result, sign, first);
        return arena_printf(arena, "%s = %s %s %s", result, first, sign,
                            letter_of(arena, code, parameters[1].name));
    }
    if (!row->name) return NULL;
    const char *dot = strrchr(row->name, '.');
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "%s = %s(", result, dot ? dot + 1 : row->name);
    for (int i = 0; i < count && (i == 0 || !parameters[i].default_text.size); i++)
        buffer_printf(&out, "%s%s", i ? ", " : "", letter_of(arena, code, parameters[i].name));
    buffer_puts(&out, ")");
    return buffer_text(&out);
}

static const char *write_lines(Arena *arena, OpCode code) {
    Buffer out = buffer_new(arena);
    const char *line = op_rows[code].gradient;
    while (line && *line) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        const char *written = write_line(arena, code, (Str){line, size});
        if (written) buffer_printf(&out, "%s%s", out.size ? ";  " : "", written);
        line = end ? end + 1 : line + size;
    }
    return buffer_text(&out);
}

Rule rule_of(Arena *arena, OpCode code) {
    const OpRow *row = &op_rows[code];
    if (code < OP_COUNT && written_rules[code].derivative) return written_rules[code];
    Rule rule = {row->has_value ? write_value(arena, code) : NULL, NULL};
    if (row->gradient)
        rule.derivative = write_lines(arena, code);
    else if (row->gradient_unsupported)
        rule.derivative = arena_printf(arena, "no rule: %s", row->gradient_unsupported);
    else if (row->expands)
        rule.derivative = "follows from its definition";
    else if (row->gradient_special)
        rule.derivative = "by its structure";
    else
        rule.derivative = "none: the result does not change with float inputs";
    return rule;
}
