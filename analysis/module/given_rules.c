// Comments that give the derivative of a function: found line by line, taken apart, their function looked up.
#include "analysis/module/given_rules.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

static const char WORDS[] = "backward of";

bool given_rules_may_be(const Module *module) {
    return str_contains(module->source->text, str_from(WORDS)) &&
           str_contains(module->source->text, STR("tad:"));
}

Str given_rule_text(const GivenRule *rule) { return str_trim(source_slice(rule->expressions)); }

/// What is left of `text` behind its first `count` bytes and the blanks there.
static Str behind(Str text, size_t count) {
    Str rest = {text.data + count, text.size - count};
    while (rest.size && (*rest.data == ' ' || *rest.data == '\t'))
        rest = (Str){rest.data + 1, rest.size - 1};
    return rest;
}

static size_t word_size(Str text) {
    size_t size = 0;
    while (size < text.size && byte_is_word(text.data[size])) size++;
    return size;
}

/// Of `helper` or `lib.helper`.
static size_t name_size(Str text) {
    size_t size = word_size(text);
    while (size && size < text.size && text.data[size] == '.') {
        size_t next = word_size((Str){text.data + size + 1, text.size - size - 1});
        if (!next) break;
        size += 1 + next;
    }
    return size;
}

/// The text behind `backward of` where the line is such a comment; empty where it is none.
static bool is_rule(Str line, Str *rest) {
    line = str_trim(line);
    if (!str_starts(line, "#")) return false;
    line = behind(line, 1);
    if (!str_starts(line, "tad:")) return false;
    line = behind(line, strlen("tad:"));
    if (!str_starts(line, WORDS)) return false;
    size_t size = strlen(WORDS);
    *rest = behind(line, size);
    return line.size == size || !byte_is_word(line.data[size]);
}

/// A line of a string is no comment.
static bool is_comment(const Module *module, Range range) {
    SyntaxNode node = node_at(syntax_root(module->tree), range.start, range.end);
    return node_kind(node) == SYNTAX_COMMENT;
}

static const char *WAY = "write it as `# tad: backward of helper(x, y): grad * y, grad * x`";

static void read_head(Arena *arena, GivenRule *rule, Str text) {
    size_t size = name_size(text);
    rule->name = (Str){text.data, size};
    text = behind(text, size);
    const char *close = text.size ? memchr(text.data, ')', text.size) : NULL;
    bool is_call = size && str_starts(text, "(") && close;
    Str rest = is_call ? behind((Str){close, (size_t)(text.data + text.size - close)}, 1) : text;
    if (!is_call || !str_starts(rest, ":")) {
        rule->problem = arena_printf(arena, "this rule cannot be read: %s", WAY);
        return;
    }
    rest = behind(rest, 1);
    uint32_t start = (uint32_t)(rest.data - rule->module->source->text.data);
    rule->expressions = (Range){rule->module->source, start, start + (uint32_t)str_trim(rest).size};
    if (!given_rule_text(rule).size)
        rule->problem = arena_printf(
            arena, "this rule has no expression behind its colon: say what is added to the "
                   "gradient of each argument, over `grad` and `result`");
    for (Str names = {text.data + 1, (size_t)(close - text.data) - 1}; names.size;) {
        const char *comma = memchr(names.data, ',', names.size);
        size_t end = comma ? (size_t)(comma - names.data) : names.size;
        Str name = str_trim((Str){names.data, end});
        if (name.size) LIST_PUSH(arena, &rule->parameters, name);
        names = comma ? (Str){comma + 1, names.size - end - 1} : (Str){0};
    }
}

static int parameter_index(const FunctionDefinition *function, Str name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (str_equal(function->parameters[i].name, name)) return i;
    return -1;
}

static bool is_named(const GivenRule *rule, Str name) {
    for (LIST_EACH(int, i, rule->parameters))
        if (str_equal(rule->parameters.items[i], name)) return true;
    return false;
}

bool given_rule_asks(const GivenRule *rule, Str word) {
    bool is_own = str_is(word, "grad") || str_is(word, "result") || is_named(rule, word);
    return str_is_name(word) && !is_own;
}

/// The expressions up to the first comma that is in no brackets.
static Str first_of(Str text) {
    int depth = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (c == ',' && depth == 0) return (Str){text.data, i};
    }
    return text;
}

static bool is_constexpr_of(const GivenRule *rule, int at) {
    int index = rule->function ? parameter_index(rule->function, rule->parameters.items[at]) : -1;
    return index >= 0 && rule->function->parameters[index].is_constexpr;
}

int given_rule_least(const GivenRule *rule) {
    int least = 0;
    for (LIST_EACH(int, i, rule->parameters)) least += !is_constexpr_of(rule, i);
    return least;
}

int given_rule_expression(const GivenRule *rule, int at, int count) {
    if (count == rule->parameters.count) return at;
    if (is_constexpr_of(rule, at)) return -1;
    int expression = 0;
    for (int i = 0; i < at; i++) expression += !is_constexpr_of(rule, i);
    return expression;
}

/// The expression at a place; empty behind the last. `*count`: of all.
static Str expression_at(Str rest, int place, int *count) {
    Str found = {0};
    for (*count = 0; rest.size; ++*count) {
        Str one = first_of(rest);
        if (*count == place) found = str_trim(one);
        size_t end = one.size < rest.size ? one.size + 1 : rest.size;
        rest = (Str){rest.data + end, rest.size - end};
    }
    return found;
}

bool given_rule_may_be_gradient(const GivenRule *rule, Str parameter) {
    int count;
    expression_at(given_rule_text(rule), 0, &count);
    for (LIST_EACH(int, i, rule->parameters)) {
        if (!str_equal(rule->parameters.items[i], parameter)) continue;
        int at = given_rule_expression(rule, i, count);
        bool is_call = count == 1 && rule->parameters.count > 1;
        return at >= 0 &&
               (is_call || !str_is(expression_at(given_rule_text(rule), at, &count), "None"));
    }
    return false;
}

/// Each parameter that is no constexpr has an expression, and each name is a parameter.
static const char *fault_of_parameters(Arena *arena, const GivenRule *rule) {
    const FunctionDefinition *function = rule->function;
    for (LIST_EACH(int, i, rule->parameters)) {
        Str name = rule->parameters.items[i];
        if (parameter_index(function, name) < 0)
            return arena_printf(arena, "`%.*s` has no parameter `%.*s`", STR_ARGS(rule->name),
                                STR_ARGS(name));
    }
    for (int i = 0; i < function->parameter_count; i++) {
        const ParameterDefinition *parameter = &function->parameters[i];
        if (str_is(parameter->name, "grad") || str_is(parameter->name, "result"))
            return arena_printf(arena,
                                "`%.*s` has a parameter `%.*s`, which means something else in a "
                                "rule: give the parameter another name",
                                STR_ARGS(rule->name), STR_ARGS(parameter->name));
        if (parameter->is_variadic)
            return arena_printf(arena,
                                "`%.*s` takes any number of arguments, and a rule is for "
                                "as many as it names",
                                STR_ARGS(rule->name));
        if (!parameter->is_constexpr && !is_named(rule, parameter->name))
            return arena_printf(arena,
                                "the rule leaves out the parameter `%.*s`: name it, and write "
                                "`None` in its place where it has no gradient",
                                STR_ARGS(parameter->name));
    }
    return NULL;
}

static const char *nearest_function(Arena *arena, const Module *module, Str name) {
    const char *nearest = NULL;
    int best = 3;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        int distance = function->is_jit ? str_distance(function->name, name) : best;
        if (distance >= best) continue;
        best = distance;
        nearest = str_dup(arena, function->name);
    }
    return nearest;
}

/// What `lib.helper` stands for.
static ScopeEntry entry_of_name(Arena *arena, const Module *module, Str name) {
    size_t size = word_size(name);
    ScopeEntry entry = module_resolve(arena, module, (Str){name.data, size});
    while (size < name.size) {
        Str rest = {name.data + size + 1, name.size - size - 1};
        entry = scope_attribute(arena, entry, (Str){rest.data, word_size(rest)});
        size += 1 + word_size(rest);
    }
    return entry;
}

static void find_function(Arena *arena, GivenRule *rule) {
    ScopeEntry entry = entry_of_name(arena, rule->module, rule->name);
    const FunctionDefinition *function = entry.kind == SCOPE_FUNCTION ? entry.function : NULL;
    if (!function) function = module_find_function(rule->module, rule->name);
    rule->function = function;
    if (rule->problem) return;
    if (!function) {
        const char *nearest = nearest_function(arena, rule->module, rule->name);
        rule->problem = arena_printf(arena, "there is no function `%.*s` here%s%s%s",
                                     STR_ARGS(rule->name), nearest ? "; did you mean `" : "",
                                     nearest ? nearest : "", nearest ? "`?" : "");
        return;
    }
    if (!function->is_jit)
        rule->problem =
            arena_printf(arena, "`%.*s` is no @triton.jit function", STR_ARGS(rule->name));
    else
        rule->problem = fault_of_parameters(arena, rule);
}

GivenRules given_rules(Arena *arena, const Module *module) {
    GivenRules rules = {0};
    const Source *source = module->source;
    for (int line = 0; given_rules_may_be(module) && line < source->line_count; line++) {
        uint32_t start = source->line_starts[line];
        uint32_t next = line + 1 < source->line_count ? source->line_starts[line + 1]
                                                      : (uint32_t)source->text.size;
        Str text = {source->text.data + start, next - start}, rest;
        if (!is_rule(text, &rest)) continue;
        Str trimmed = str_trim(text);
        uint32_t begin = (uint32_t)(trimmed.data - source->text.data);
        GivenRule rule = {.module = module,
                          .range = {source, begin, begin + (uint32_t)trimmed.size}};
        if (!is_comment(module, rule.range)) continue;
        rest.size = (size_t)(trimmed.data + trimmed.size - rest.data);
        read_head(arena, &rule, rest);
        find_function(arena, &rule);
        for (LIST_EACH(int, i, rules))
            if (!rule.problem && rule.function == rules.items[i].function)
                rule.problem = arena_printf(arena, "`%.*s` has a rule already, in line %d",
                                            STR_ARGS(rule.name), range_line(rules.items[i].range));
        LIST_PUSH(arena, &rules, rule);
    }
    return rules;
}

static const GivenRule *rule_in(Arena *arena, const Module *module,
                                const FunctionDefinition *function) {
    if (!module || !given_rules_may_be(module)) return NULL;
    GivenRules rules = given_rules(arena, module);
    for (LIST_EACH(int, i, rules))
        if (rules.items[i].function == function) return &rules.items[i];
    return NULL;
}

const GivenRule *given_rule_of(Arena *arena, const Module *module,
                               const FunctionDefinition *function) {
    const GivenRule *rule = rule_in(arena, module, function);
    return rule || module == function->module ? rule : rule_in(arena, function->module, function);
}
