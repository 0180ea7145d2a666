// Values of constexprs: literals of the texts that may branch on them, and blocks and counts as launches have them.
#include "gpu-runner/rules/values.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syntax/syntax_nodes.h"

enum { MOST_WHOLES = 96, MOST_TEXTS = 12, LONGEST_TEXT = 32, LARGEST = 1 << 20 };

static const int64_t USUAL[] = {1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 512, 1024};

typedef struct Literals {
    Arena *arena;
    RuleLiterals *found;
    const Source *source;
} Literals;

static void add_whole(Literals *literals, int64_t value) {
    if (value < 0 || value > LARGEST || literals->found->wholes.count >= MOST_WHOLES) return;
    for (LIST_EACH(int, i, literals->found->wholes))
        if (literals->found->wholes.items[i] == value) return;
    LIST_PUSH(literals->arena, &literals->found->wholes, value);
}

static void add_number(Literals *literals, Str text) {
    char digits[24], *end;
    int count = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '_') continue;
        if (count + 1 == sizeof digits) return;
        digits[count++] = text.data[i];
    }
    digits[count] = '\0';
    long long value = strtoll(digits, &end, 0);
    if (end == digits || *end) return;
    for (int apart = -1; apart <= 1; apart++) add_whole(literals, value + apart);
}

static void add_text(Literals *literals, Str quoted) {
    RuleLiterals *found = literals->found;
    if (quoted.size < 2 || quoted.size > LONGEST_TEXT || found->texts.count >= MOST_TEXTS) return;
    char quote = quoted.data[0];
    Str text = {quoted.data + 1, quoted.size - 2};
    if ((quote != '"' && quote != '\'') || quoted.data[quoted.size - 1] != quote ||
        memchr(text.data, '\\', text.size) || memchr(text.data, quote, text.size))
        return;
    for (LIST_EACH(int, i, found->texts))
        if (str_equal(found->texts.items[i], text)) return;
    LIST_PUSH(literals->arena, &found->texts, text);
}

static bool visit_literal(void *context, SyntaxNode node) {
    Literals *literals = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_INTEGER) add_number(literals, node_text(literals->source, node));
    if (kind == SYNTAX_STRING) add_text(literals, node_text(literals->source, node));
    return true;
}

/// The rule is a comment, of which the tree knows no parts.
static void add_rule(Literals *literals, Str text) {
    for (size_t i = 0; i < text.size; i++) {
        size_t start = i;
        char before = start ? text.data[start - 1] : ' ', first = text.data[start];
        if (isdigit((unsigned char)first) && !isalnum((unsigned char)before) && before != '_' &&
            before != '.') {
            while (i < text.size && (isalnum((unsigned char)text.data[i]) || text.data[i] == '_'))
                i++;
            add_number(literals, (Str){text.data + start, i - start});
        } else if (first == '"' || first == '\'') {
            const char *end = memchr(text.data + start + 1, first, text.size - start - 1);
            if (!end) return;
            i = (size_t)(end - text.data);
            add_text(literals, (Str){text.data + start, i + 1 - start});
        }
    }
}

void rule_literals_add(Arena *arena, RuleLiterals *literals, const GivenRule *rule,
                       const FunctionDefinition *helper) {
    Literals adding = {.arena = arena, .found = literals, .source = helper->module->source};
    add_rule(&adding, given_rule_text(rule));
    syntax_walk(helper->body, visit_literal, &adding);
}

void rule_literals_add_module(Arena *arena, RuleLiterals *literals, const Module *module) {
    Literals adding = {.arena = arena, .found = literals, .source = module->source};
    for (LIST_EACH(int, i, module->functions))
        if (module->functions.items[i]->is_jit)
            syntax_walk(module->functions.items[i]->body, visit_literal, &adding);
}

static void add_value(Arena *arena, RuleValues *values, Constant value) {
    for (LIST_EACH(int, i, *values)) {
        bool is_known = true;
        if (constant_equal(values->items[i], &value, &is_known) && is_known) return;
    }
    LIST_PUSH(arena, values, constant_new(arena, value));
}

RuleValues rule_values(Arena *arena, const RuleLiterals *literals, const Constant *own) {
    RuleValues values = {0};
    LIST_PUSH(arena, &values, own);
    switch (own->kind) {
    case CONSTANT_BOOL: add_value(arena, &values, constant_of_bool(!own->integer)); break;
    case CONSTANT_INT:
        for (LIST_EACH(int, i, literals->wholes))
            add_value(arena, &values, constant_of_int(literals->wholes.items[i]));
        for (size_t i = 0; i < sizeof USUAL / sizeof *USUAL; i++)
            add_value(arena, &values, constant_of_int(USUAL[i]));
        break;
    case CONSTANT_STRING:
        for (LIST_EACH(int, i, literals->texts))
            add_value(arena, &values, constant_of_string(literals->texts.items[i]));
        break;
    default: break;
    }
    return values;
}
