// Conditions at module level (`if hasattr(tl, "gather"):`) to whether they hold: in the release of Triton that the operation
// table describes, with an environment that sets nothing. What Python alone would know stays unknown.
#include "analysis/module/module_condition.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

enum { CONDITION_DEPTH = 12 };

typedef enum FactKind { FACT_UNKNOWN, FACT_NONE, FACT_NUMBER, FACT_TEXT, FACT_VERSION } FactKind;

/// What an expression comes to.
typedef struct ConditionFact {
    FactKind kind;
    int64_t number;  // also of a bool
    Str text;
    int64_t parts[VERSION_MOST_NUMBERS];  // (3, 9, 0)
    int part_count;
} ConditionFact;

typedef struct Question {
    Arena *arena;
    const Module *module;
    int depth;
} Question;

static ConditionFact fact_of(Question question, SyntaxNode node);

static ConditionFact fact_number(int64_t number) {
    return (ConditionFact){.kind = FACT_NUMBER, .number = number};
}

static ConditionFact fact_text(Str text) {
    return (ConditionFact){.kind = FACT_TEXT, .text = text};
}

static Str text_at(Question question, SyntaxNode node) {
    return node_text(question.module->source, node);
}

static Truth truth_of(ConditionFact fact) {
    bool truth = false;
    switch (fact.kind) {
    case FACT_UNKNOWN: return TRUTH_UNKNOWN;
    case FACT_NONE: break;
    case FACT_NUMBER: truth = fact.number != 0; break;
    case FACT_TEXT: truth = fact.text.size > 0; break;
    case FACT_VERSION: truth = fact.part_count > 0; break;
    }
    return truth ? TRUTH_YES : TRUTH_NO;
}

static ConditionFact fact_of_truth(Truth truth) {
    return truth == TRUTH_UNKNOWN ? (ConditionFact){0} : fact_number(truth == TRUTH_YES);
}

/// A text without prefix or escapes.
static ConditionFact fact_of_string(Str written) {
    bool is_plain = written.size >= 2 && (written.data[0] == '"' || written.data[0] == '\'') &&
                    written.data[written.size - 1] == written.data[0];
    if (!is_plain) return (ConditionFact){0};
    Str text = {written.data + 1, written.size - 2};
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\\' || text.data[i] == written.data[0]) return (ConditionFact){0};
    return fact_text(text);
}

static ConditionFact fact_of_integer(Arena *arena, Str written) {
    char *end;
    const char *text = str_dup(arena, written);
    long long number = strtoll(text, &end, 10);
    return *end ? (ConditionFact){0} : fact_number(number);
}

/// The version that "3.9.0" names.
static ConditionFact fact_of_version(Arena *arena, Str written) {
    ConditionFact fact = {.kind = FACT_VERSION};
    const char *text = str_dup(arena, written);
    while (*text >= '0' && *text <= '9' && fact.part_count < VERSION_MOST_NUMBERS) {
        char *end;
        fact.parts[fact.part_count++] = strtoll(text, &end, 10);
        text = *end == '.' ? end + 1 : end;
    }
    return fact;
}

static ConditionFact fact_of_tuple(Question question, SyntaxNode node) {
    ConditionFact fact = {.kind = FACT_VERSION};
    for (uint32_t i = 0; i < node_child_count(node); i++) {
        ConditionFact item = fact_of(question, node_child(node, i));
        if (item.kind != FACT_NUMBER || fact.part_count == VERSION_MOST_NUMBERS)
            return (ConditionFact){0};
        fact.parts[fact.part_count++] = item.number;
    }
    return fact;
}

/// What a name stands for: a global is followed.
static ConditionFact fact_of_name(Question question, SyntaxNode node) {
    ScopeEntry entry =
        scope_of_expression_at(question.arena, question.module, node, question.depth);
    if (entry.kind == SCOPE_EXTERNAL && str_is(entry.dotted, "triton.__version__"))
        return fact_text(STR(TRITON_VERSION));
    if (entry.kind == SCOPE_EXTERNAL && str_is(entry.dotted, "torch.version.hip"))
        return (ConditionFact){.kind = FACT_NONE};
    if (entry.kind != SCOPE_ASSIGNED || entry.item >= 0) return (ConditionFact){0};
    return fact_of((Question){question.arena, entry.module, question.depth}, entry.node);
}

// --- Comparisons

/// -1, 0, 1 as Python orders texts: by the first character that differs.
static int texts_compare(Str a, Str b) {
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    if (!order) return (a.size > b.size) - (a.size < b.size);
    return order < 0 ? -1 : 1;
}

/// -1, 0, 1 as a < b, a == b, a > b; false where they have no order that is known.
static bool facts_compare(const ConditionFact *a, const ConditionFact *b, int *order) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case FACT_TEXT: *order = texts_compare(a->text, b->text); return true;
    case FACT_NUMBER: *order = (a->number > b->number) - (a->number < b->number); return true;
    case FACT_VERSION:
        for (int i = 0; i < a->part_count && i < b->part_count; i++) {
            if (a->parts[i] == b->parts[i]) continue;
            *order = a->parts[i] < b->parts[i] ? -1 : 1;
            return true;
        }
        *order = (a->part_count > b->part_count) - (a->part_count < b->part_count);
        return true;
    default: return false;
    }
}

static Truth truth_from(bool truth) { return truth ? TRUTH_YES : TRUTH_NO; }

static Truth truth_not(Truth truth) {
    return truth == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : truth_from(truth == TRUTH_NO);
}

static Truth facts_equal(const ConditionFact *a, const ConditionFact *b) {
    int order;
    if (a->kind == FACT_UNKNOWN || b->kind == FACT_UNKNOWN) return TRUTH_UNKNOWN;
    if (a->kind != b->kind) return TRUTH_NO;
    if (a->kind == FACT_NONE) return TRUTH_YES;
    if (a->kind == FACT_TEXT) return truth_from(str_equal(a->text, b->text));
    return facts_compare(a, b, &order) ? truth_from(order == 0) : TRUTH_UNKNOWN;
}

static Truth truth_of_order(Str symbol, const ConditionFact *a, const ConditionFact *b) {
    int order;
    if (!facts_compare(a, b, &order)) return TRUTH_UNKNOWN;
    if (str_is(symbol, "<")) return truth_from(order < 0);
    if (str_is(symbol, "<=")) return truth_from(order <= 0);
    if (str_is(symbol, ">")) return truth_from(order > 0);
    return str_is(symbol, ">=") ? truth_from(order >= 0) : TRUTH_UNKNOWN;
}

/// `name in os.environ`; `x in ("a", "b")`.
static Truth truth_of_membership(Question question, SyntaxNode left, SyntaxNode right) {
    SyntaxKind kind = node_kind(right);
    if (kind == SYNTAX_ATTRIBUTE || kind == SYNTAX_IDENTIFIER) {
        ScopeEntry entry =
            scope_of_expression_at(question.arena, question.module, right, question.depth);
        bool is_environment = entry.kind == SCOPE_EXTERNAL && str_is(entry.dotted, "os.environ");
        return is_environment ? TRUTH_NO : TRUTH_UNKNOWN;
    }
    if (kind != SYNTAX_TUPLE && kind != SYNTAX_LIST && kind != SYNTAX_SET) return TRUTH_UNKNOWN;
    ConditionFact item = fact_of(question, left);
    Truth result = TRUTH_NO;
    for (uint32_t i = 0; i < node_child_count(right); i++) {
        ConditionFact other = fact_of(question, node_child(right, i));
        Truth same = facts_equal(&item, &other);
        if (same == TRUTH_YES) return TRUTH_YES;
        if (same == TRUTH_UNKNOWN) result = TRUTH_UNKNOWN;
    }
    return result;
}

/// Two operands with one operator between them.
static Truth truth_of_comparison(Question question, SyntaxNode node) {
    if (node_child_count(node) != 2) return TRUTH_UNKNOWN;
    SyntaxNode left = node_child(node, 0);
    SyntaxNode right = node_child(node, 1);
    Str a = text_at(question, left);
    Str b = text_at(question, right);
    Str symbol = str_trim((Str){a.data + a.size, (size_t)(b.data - a.data) - a.size});
    bool is_negated = str_starts(symbol, "not") || str_starts(symbol, "!=") ||
                      (str_starts(symbol, "is") && str_ends(symbol, "not"));
    if (str_ends(symbol, "in")) {
        Truth within = truth_of_membership(question, left, right);
        return is_negated ? truth_not(within) : within;
    }
    ConditionFact x = fact_of(question, left);
    ConditionFact y = fact_of(question, right);
    if (str_is(symbol, "==") || is_negated || str_is(symbol, "is")) {
        Truth equal = facts_equal(&x, &y);
        return is_negated ? truth_not(equal) : equal;
    }
    return truth_of_order(symbol, &x, &y);
}

// --- Calls

/// hasattr(triton.language, "gather"): how projects ask which release they run under.
static ConditionFact fact_of_attribute_question(Question question, SyntaxNode list) {
    if (node_child_count(list) != 2) return (ConditionFact){0};
    ScopeEntry object = scope_of_expression_at(question.arena, question.module, node_child(list, 0),
                                               question.depth);
    ConditionFact name = fact_of(question, node_child(list, 1));
    Str language;
    if (object.kind != SCOPE_EXTERNAL || name.kind != FACT_TEXT) return (ConditionFact){0};
    ScopeEntry asked = scope_attribute(question.arena, object, name.text);
    if (!scope_language_name(asked.dotted, &language)) return (ConditionFact){0};
    return fact_number(scope_language_has(language));
}

/// `"text".lower()`, of a text that is known.
static ConditionFact fact_of_method(Question question, SyntaxNode function) {
    Str method = text_at(question, node_field(function, "attribute"));
    if (!str_is(method, "lower") && !str_is(method, "strip") && !str_is(method, "upper"))
        return (ConditionFact){0};
    ConditionFact fact = fact_of(question, node_field(function, "object"));
    if (fact.kind != FACT_TEXT) return (ConditionFact){0};
    if (str_is(method, "strip")) return fact_text(str_trim(fact.text));
    char *copy = str_dup(question.arena, fact.text);
    char first = str_is(method, "lower") ? 'A' : 'a';
    for (size_t i = 0; i < fact.text.size; i++)
        if (copy[i] >= first && copy[i] <= first + ('Z' - 'A')) copy[i] ^= 'a' ^ 'A';
    return fact_text((Str){copy, fact.text.size});
}

static ConditionFact fact_of_call(Question question, SyntaxNode node) {
    SyntaxNode function = node_field(node, "function");
    SyntaxNode list = node_field(node, "arguments");
    uint32_t count = node_child_count(list);
    ScopeEntry callee =
        scope_of_expression_at(question.arena, question.module, function, question.depth);
    if (callee.kind == SCOPE_MISSING && node_kind(function) == SYNTAX_IDENTIFIER) {
        Str name = text_at(question, function);
        if (str_is(name, "hasattr")) return fact_of_attribute_question(question, list);
        if (str_is(name, "bool") && count == 1)
            return fact_of_truth(truth_of(fact_of(question, node_child(list, 0))));
        if (!str_is(name, "int") || count != 1) return (ConditionFact){0};
        ConditionFact fact = fact_of(question, node_child(list, 0));
        return fact.kind == FACT_TEXT ? fact_of_integer(question.arena, fact.text) : fact;
    }
    if (callee.kind == SCOPE_EXTERNAL &&
        (str_is(callee.dotted, "os.environ.get") || str_is(callee.dotted, "os.getenv")))
        return count == 2 ? fact_of(question, node_child(list, 1))
                          : (ConditionFact){.kind = FACT_NONE};
    bool is_version =
        callee.kind == SCOPE_EXTERNAL && count == 1 &&
        (str_ends(callee.dotted, "version.parse") || str_ends(callee.dotted, "version.Version"));
    if (is_version) {
        ConditionFact fact = fact_of(question, node_child(list, 0));
        return fact.kind == FACT_TEXT ? fact_of_version(question.arena, fact.text)
                                      : (ConditionFact){0};
    }
    if (node_kind(function) == SYNTAX_ATTRIBUTE && count == 0)
        return fact_of_method(question, function);
    return (ConditionFact){0};
}

// --- Expressions

/// `and` and `or` give one of their operands; one that is unknown leaves open which, unless the other decides.
static ConditionFact fact_of_boolean(Question question, SyntaxNode node) {
    bool is_and = str_is(text_at(question, node_field(node, "operator")), "and");
    ConditionFact left = fact_of(question, node_field(node, "left"));
    ConditionFact right = fact_of(question, node_field(node, "right"));
    Truth decides = is_and ? TRUTH_NO : TRUTH_YES;
    if (truth_of(left) == decides) return left;
    if (truth_of(left) != TRUTH_UNKNOWN) return right;
    return truth_of(right) == decides ? fact_of_truth(decides) : (ConditionFact){0};
}

static ConditionFact fact_of(Question question, SyntaxNode node) {
    if (++question.depth > CONDITION_DEPTH) return (ConditionFact){0};
    switch (node_kind(node)) {
    case SYNTAX_TRUE: return fact_number(1);
    case SYNTAX_FALSE: return fact_number(0);
    case SYNTAX_NONE: return (ConditionFact){.kind = FACT_NONE};
    case SYNTAX_INTEGER: return fact_of_integer(question.arena, text_at(question, node));
    case SYNTAX_STRING: return fact_of_string(text_at(question, node));
    case SYNTAX_TUPLE: return fact_of_tuple(question, node);
    case SYNTAX_PARENTHESIZED: return fact_of(question, node_child(node, 0));
    case SYNTAX_IDENTIFIER:
    case SYNTAX_ATTRIBUTE: return fact_of_name(question, node);
    case SYNTAX_NOT:
        return fact_of_truth(truth_not(truth_of(fact_of(question, node_field(node, "argument")))));
    case SYNTAX_BOOLEAN: return fact_of_boolean(question, node);
    case SYNTAX_COMPARISON: return fact_of_truth(truth_of_comparison(question, node));
    case SYNTAX_CALL: return fact_of_call(question, node);
    default: return (ConditionFact){0};
    }
}

Truth condition_truth(Arena *arena, const Module *module, const ScopeCondition *condition,
                      int depth) {
    Truth all = TRUTH_YES;
    for (; condition; condition = condition->outer) {
        Truth one = truth_of(fact_of((Question){arena, module, depth}, condition->node));
        if (!condition->holds) one = truth_not(one);
        if (one == TRUTH_NO) return TRUTH_NO;
        if (one == TRUTH_UNKNOWN) all = TRUTH_UNKNOWN;
    }
    return all;
}

bool function_is_dead(Arena *arena, const FunctionDefinition *function) {
    return function->condition &&
           condition_truth(arena, function->module, function->condition, 0) == TRUTH_NO;
}

bool function_is_outdone(Arena *arena, const FunctionDefinition *function) {
    if (!function_is_dead(arena, function)) return false;
    ScopeEntry entry = module_resolve(arena, function->module, function->name);
    return entry.kind == SCOPE_FUNCTION && entry.function != function;
}
