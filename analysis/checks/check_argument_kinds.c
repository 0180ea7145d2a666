// From what a launch passes, as it is written, to arguments of another kind than the kernel takes: tuples and tensors for
// numbers, numbers for pointers, methods that are not called.
#include <ctype.h>
#include <string.h>

#include "analysis/checks/check_arguments.h"
#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

typedef enum ArgumentKind {
    KIND_UNCLEAR,
    KIND_NUMBER,
    KIND_TENSOR,
    KIND_TUPLE,
    KIND_TEXT,
    KIND_METHOD,
} ArgumentKind;

static const char *const kind_names[] = {"",        "a number", "a tensor",
                                         "a tuple", "a text",   "a method that is not called"};

static bool is_any(Str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (str_is(text, words[i])) return true;
    return false;
}

/// What a call of a method of a tensor, or of torch, makes.
static ArgumentKind kind_of_call(const Source *source, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function");
    if (node_kind(function) != SYNTAX_ATTRIBUTE) return KIND_UNCLEAR;
    Str name = node_text(source, node_field(function, "attribute"));
    uint32_t count = node_child_count(node_field(call, "arguments"));
    if (str_is(node_text(source, node_field(function, "object")), "torch"))
        return torch_allocation(source, call) ? KIND_TENSOR : KIND_UNCLEAR;
    if (str_is(name, "numel") && count == 0) return KIND_NUMBER;
    if (!str_is(name, "stride") && !str_is(name, "size")) return KIND_UNCLEAR;
    return count == 0 ? KIND_TUPLE : count == 1 ? KIND_NUMBER : KIND_UNCLEAR;
}

static bool is_shape(const Source *source, SyntaxNode node) {
    return node_kind(node) == SYNTAX_ATTRIBUTE &&
           str_is(node_text(source, node_field(node, "attribute")), "shape");
}

static ArgumentKind kind_of(const Source *source, const FunctionDefinition *launcher,
                            SyntaxNode value) {
    static const char *const methods[] = {"numel", "data_ptr", "element_size", "contiguous"};
    switch (node_kind(value)) {
    case SYNTAX_INTEGER:
    case SYNTAX_FLOAT: return KIND_NUMBER;
    case SYNTAX_STRING: return KIND_TEXT;
    case SYNTAX_LIST: return KIND_TUPLE;
    case SYNTAX_CALL: return kind_of_call(source, value);
    case SYNTAX_SUBSCRIPT: {
        SyntaxNode index = node_child(value, 1);
        bool is_axis = node_kind(index) == SYNTAX_INTEGER || node_kind(index) == SYNTAX_UNARY;
        return is_axis && is_shape(source, node_child(value, 0)) ? KIND_NUMBER : KIND_UNCLEAR;
    }
    case SYNTAX_ATTRIBUTE: {
        Str name = node_text(source, node_field(value, "attribute"));
        bool is_method = is_any(name, methods, sizeof methods / sizeof *methods) &&
                         node_kind(node_field(value, "object")) == SYNTAX_IDENTIFIER &&
                         !str_is(node_text(source, node_field(value, "object")), "self");
        return is_method ? KIND_METHOD : is_shape(source, value) ? KIND_TUPLE : KIND_UNCLEAR;
    }
    case SYNTAX_IDENTIFIER: {
        if (launcher_binds_size(launcher, node_text(source, value))) return KIND_NUMBER;
        SyntaxNode bound = launcher_binding(launcher, node_text(source, value));
        bool is_made = !node_is_null(bound) && node_kind(bound) == SYNTAX_CALL;
        return is_made && kind_of_call(source, bound) == KIND_TENSOR ? KIND_TENSOR : KIND_UNCLEAR;
    }
    default: return KIND_UNCLEAR;
    }
}

/// Whether the kernel computes with the parameter as only numbers can.
static bool is_number(const Check *check, const Parameter *parameter) {
    if (parameter->is_constexpr || parameter->value->type.kind != TYPE_NUMBER) return false;
    const Uses *uses = check_uses(check, parameter->value);
    for (LIST_EACH(int, i, uses->list)) {
        OpCode code = uses->list.items[i]->code;
        bool is_numeric = op_is_ordering(code) || code == OP_MUL || code == OP_FLOORDIV;
        if ((is_numeric || code == OP_MOD) && !check_is_optional(uses->list.items[i])) return true;
    }
    return false;
}

/// Whether the kernel loads or stores there, whatever its flags are.
static bool is_pointer(const Check *check, const Parameter *parameter) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->parameter == parameter->value && !check_is_optional(access->op)) return true;
    }
    return false;
}

static bool is_float(const Source *source, const FunctionDefinition *launcher, SyntaxNode value,
                     int depth);

/// The first range that is as long as the constexpr says, whatever the flags are; NULL: it is no length.
static const Op *length_of(const Check *check, const Parameter *parameter) {
    if (!parameter->is_constexpr || !check->is_entry) return NULL;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        bool is_range = (op->code == OP_ARANGE || op->code == OP_FULL) && !op->call;
        const Type type = is_range ? op->results[0]->type : (Type){0};
        for (int k = 0; is_range && k < type.rank; k++)
            if (type.dims[k] && poly_mentions(type.dims[k], parameter->value) &&
                !check_is_optional(op))
                return op;
    }
    return NULL;
}

static void check_length(Check *check, const LaunchSite *site, const CheckedArgument *argument,
                         const Parameter *parameter) {
    const Source *source = site->kernel->module->source;
    const Op *range = length_of(check, parameter);
    if (!range) return;
    ArgumentKind kind = kind_of(source, site->launcher, argument->value);
    bool is_cut = is_float(source, site->launcher, argument->value, 0);
    if (!is_cut && kind <= KIND_NUMBER) return;
    Diagnostic *said =
        check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->value),
                        "%s is the length of a tile, and this is %s: Triton takes a whole number "
                        "of Python",
                        parameter->name, is_cut ? "a float" : kind_names[kind]);
    check_relate(check, said, range, "a tile of this length");
}

static void check_kind(Check *check, const LaunchSite *site, const CheckedArgument *argument,
                       const Parameter *parameter) {
    const Source *source = site->kernel->module->source;
    bool takes_pointer = is_pointer(check, parameter);
    if (!takes_pointer && !is_number(check, parameter)) return;
    ArgumentKind kind = kind_of(source, site->launcher, argument->value);
    bool is_name = node_kind(argument->value) == SYNTAX_IDENTIFIER;
    if (takes_pointer && is_name && kind != KIND_NUMBER) return;
    bool fits = kind == KIND_UNCLEAR || (takes_pointer && kind == KIND_TENSOR);
    if (!fits && takes_pointer)
        check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->value),
                        "%s is a pointer, and this is %s", parameter->name, kind_names[kind]);
    else if (!takes_pointer && kind > KIND_NUMBER)
        check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->value),
                        "%s is a number, and this is %s", parameter->name, kind_names[kind]);
}

/* ---- floats for whole numbers ---- */

static bool is_float_name(Str name) {
    static const char *const functions[] = {"float",    "math.sqrt", "math.log",
                                            "math.exp", "math.log2", "math.pow"};
    return is_any(name, functions, sizeof functions / sizeof *functions);
}

/// Whether Python certainly makes a float of it: `dim**-0.5`, `n / 2`, `1.0`.
static bool is_float(const Source *source, const FunctionDefinition *launcher, SyntaxNode value,
                     int depth) {
    enum { DEEPEST = 6 };
    if (depth == DEEPEST) return false;
    switch (node_kind(value)) {
    case SYNTAX_FLOAT: return true;
    case SYNTAX_PARENTHESIZED: return is_float(source, launcher, node_child(value, 0), depth + 1);
    case SYNTAX_UNARY: return is_float(source, launcher, node_field(value, "argument"), depth + 1);
    case SYNTAX_CALL: return is_float_name(node_text(source, node_field(value, "function")));
    case SYNTAX_IDENTIFIER: {
        SyntaxNode bound = launcher_binding(launcher, node_text(source, value));
        return !node_is_null(bound) && is_float(source, launcher, bound, depth + 1);
    }
    case SYNTAX_BINARY: {
        Str sign = node_text(source, node_field(value, "operator"));
        SyntaxNode left = node_field(value, "left"), right = node_field(value, "right");
        bool is_side = is_float(source, launcher, right, depth + 1) ||
                       is_float(source, launcher, left, depth + 1);
        // what is divided may be a tensor, but not by a number that a tensor has
        if (str_is(sign, "/"))
            return is_side || kind_of(source, launcher, left) == KIND_NUMBER ||
                   kind_of(source, launcher, right) == KIND_NUMBER;
        return is_side &&
               (str_is(sign, "**") || str_is(sign, "*") || str_is(sign, "+") || str_is(sign, "-"));
    }
    default: return false;
    }
}

/// The operation by which the kernel counts with the number, as only whole ones can; NULL where there is none.
static const Op *counts_with(const Check *check, const Value *number, bool is_sum) {
    if (number->type.kind != TYPE_NUMBER) return NULL;
    const Uses *uses = check_uses(check, number);
    for (LIST_EACH(int, i, uses->list)) {
        const Op *op = uses->list.items[i];
        bool is_bound = false;
        for (int k = 0; op->code == OP_FOR && k < 3; k++) is_bound |= op->operands[k] == number;
        if (check_is_optional(op)) continue;
        if (is_bound || op->code == OP_FLOORDIV) return op;
        // `tl.cdiv` adds before it divides
        bool adds = op->code == OP_ADD && !is_sum && op->operands[1]->type.is_constexpr;
        const Op *counted = adds ? counts_with(check, op->results[0], true) : NULL;
        if (counted) return counted;
    }
    return NULL;
}

static void check_whole(Check *check, const LaunchSite *site, const CheckedArgument *argument,
                        const Parameter *parameter) {
    const Source *source = site->kernel->module->source;
    const Op *counting = counts_with(check, parameter->value, false);
    if (!counting || !is_float(source, site->launcher, argument->value, 0)) return;
    Diagnostic *said = check_report_at(
        check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->value),
        "%s counts iterations or blocks, and this is a float: a whole number, `//` or `int(...)`",
        parameter->name);
    check_relate(check, said, counting, "counted here");
}

/* ---- a stride and a size that change places ---- */

typedef enum PassedRole {
    ROLE_UNCLEAR,
    ROLE_FACTOR,  // it multiplies, and nothing else
    ROLE_BOUND,   // it ends loops or masks, and multiplies nothing
} PassedRole;

static PassedRole role_of(const Check *check, const Parameter *parameter) {
    if (parameter->is_constexpr || parameter->value->type.kind != TYPE_NUMBER) return ROLE_UNCLEAR;
    const Uses *uses = check_uses(check, parameter->value);
    bool ends = false, multiplies = false, others = false;
    for (LIST_EACH(int, i, uses->list)) {
        const Op *op = uses->list.items[i];
        if (op_is_ordering(op->code) || op->code == OP_FOR)
            ends = true;
        else if (op->code == OP_MUL)
            multiplies = true;
        else if (op->code != OP_CAST && op->code != OP_DIV)
            others = true;
    }
    if (multiplies) return ends || others ? ROLE_UNCLEAR : ROLE_FACTOR;
    return ends && !others ? ROLE_BOUND : ROLE_UNCLEAR;
}

/// What a method of this name gives of one axis: `x.stride(0)`.
static bool is_asked(const Source *source, SyntaxNode value, const char *method) {
    SyntaxNode function = node_field(value, "function");
    return node_kind(value) == SYNTAX_CALL && node_kind(function) == SYNTAX_ATTRIBUTE &&
           str_is(node_text(source, node_field(function, "attribute")), method) &&
           node_child_count(node_field(value, "arguments")) == 1;
}

static bool is_size(const Source *source, const FunctionDefinition *launcher, SyntaxNode value) {
    bool is_name = node_kind(value) == SYNTAX_IDENTIFIER;
    return is_name ? launcher_binds_size(launcher, node_text(source, value))
                   : is_asked(source, value, "size") ||
                         (node_kind(value) == SYNTAX_SUBSCRIPT &&
                          kind_of(source, launcher, value) == KIND_NUMBER);
}

/// A number that ends loops or masks gets a stride, and one that only multiplies gets a size.
static void check_exchanged(Check *check, const LaunchSite *site,
                            const CheckedArguments *arguments) {
    const FunctionDefinition *kernel = site->kernel;
    const Source *source = kernel->module->source;
    int bound = -1, factor = -1;
    for (int p = 0; p < check->function->parameter_count && p < kernel->parameter_count; p++) {
        const CheckedArgument *argument = arguments_find(kernel, arguments, p);
        if (!argument || node_is_null(argument->value)) continue;
        PassedRole role = role_of(check, &check->function->parameters[p]);
        if (role == ROLE_BOUND && is_asked(source, argument->value, "stride")) bound = p;
        if (role == ROLE_FACTOR && is_size(source, site->launcher, argument->value)) factor = p;
    }
    if (bound < 0 || factor < 0 || arguments->has_splat) return;
    Range range = node_range(source, arguments_find(kernel, arguments, bound)->value);
    check_report_at(
        check, DIAGNOSTIC_LAUNCH_UNLIKELY, range,
        "%s ends what the kernel takes, and this is a stride, while %s, which only multiplies, "
        "gets a size: are they exchanged?",
        check->function->parameters[bound].name, check->function->parameters[factor].name);
}

/* ---- names that change places ---- */

/// The name that a plain argument goes by; empty for anything else.
static Str name_of(const Source *source, const CheckedArgument *argument) {
    bool is_plain = argument && !node_is_null(argument->value) && !argument->keyword.size &&
                    node_kind(argument->value) == SYNTAX_IDENTIFIER;
    return is_plain ? node_text(source, argument->value) : (Str){0};
}

/// A parameter's name without what says that it is a pointer.
static Str without_ending(Str parameter) {
    static const char *const endings[] = {"_ptr", "_ptrs", "_pointer", "ptr"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends(parameter, endings[i])) {
            parameter.size -= strlen(endings[i]);
            break;
        }
    return parameter;
}

static int small_letter(char letter) { return tolower((unsigned char)letter); }

/// Whether a parameter is called as the variable is, but for capitals, underscores and what says that it is a pointer.
static bool is_called(Str parameter, Str variable) {
    parameter = without_ending(parameter);
    size_t a = 0, b = 0;
    while (a < parameter.size || b < variable.size) {
        if (a < parameter.size && parameter.data[a] == '_') {
            a++;
        } else if (b < variable.size && variable.data[b] == '_') {
            b++;
        } else {
            if (a == parameter.size || b == variable.size ||
                small_letter(parameter.data[a++]) != small_letter(variable.data[b++]))
                return false;
        }
    }
    return true;
}

/// Whether a parameter of one letter is short for the variable: `W` for `weight`.
static bool is_initial_of(Str parameter, Str variable) {
    parameter = without_ending(parameter);
    return parameter.size == 1 && variable.size > 2 &&
           small_letter(parameter.data[0]) == small_letter(variable.data[0]);
}

/// Whether a parameter gets its name from the variable.
static bool stands_for(Str parameter, Str variable) {
    return is_called(parameter, variable) || is_initial_of(parameter, variable);
}

typedef struct CrossedNames {
    int first, second;  // parameters
    int count;          // such pairs
    int others;         // parameters that get a variable of their own name
} CrossedNames;

/// Pairs of variables whose names are those of each other's parameters; with `by_letter` names of one letter, and letters for names, too.
static CrossedNames find_crossed(const LaunchSite *site, const CheckedArguments *arguments,
                                 bool by_letter) {
    const FunctionDefinition *kernel = site->kernel;
    const Source *source = kernel->module->source;
    CrossedNames crossed = {.count = 0};
    for (int p = 0; p < kernel->parameter_count; p++) {
        const Str first = name_of(source, arguments_find(kernel, arguments, p));
        const Str one = kernel->parameters[p].name;
        crossed.others += first.size && stands_for(one, first);
        for (int q = p + 1; q < kernel->parameter_count && first.size; q++) {
            const Str second = name_of(source, arguments_find(kernel, arguments, q));
            const Str other = kernel->parameters[q].name;
            bool are_named = is_called(one, second) && is_called(other, first) && first.size > 1 &&
                             second.size > 1;
            bool are_letters = by_letter && stands_for(one, second) && stands_for(other, first);
            if (!second.size || (!are_named && !are_letters) || stands_for(one, first) ||
                stands_for(other, second))
                continue;
            if (!crossed.count++) {
                crossed.first = p;
                crossed.second = q;
            }
        }
    }
    return crossed;
}

/// Whether a text has the word in it, where capitals are letters.
static bool has_word_of(Str text, Str word) {
    for (size_t at = 0; word.size && at + word.size <= text.size; at++) {
        size_t same = 0;
        while (same < word.size &&
               small_letter(text.data[at + same]) == small_letter(word.data[same]))
            same++;
        if (same == word.size) return true;
    }
    return false;
}

static bool ends_in(Str text, Str end) {
    return end.size && end.size < text.size &&
           !memcmp(text.data + text.size - end.size, end.data, end.size);
}

/// Whether an argument goes with one that is exchanged: `input_stride` gets `target.stride(0)` where input gets `target`, and M gets N
/// where LOGM gets LOGN.
static bool goes_along(Str parameter, Str variable, Str beside, Str given) {
    return (has_word_of(beside, without_ending(parameter)) && has_word_of(given, variable)) ||
           (ends_in(parameter, beside) && ends_in(variable, given) && !str_equal(beside, given));
}

/// Whether other arguments are exchanged as well, as in the backward of something symmetric: it is done on purpose.
static bool is_exchanged_throughout(const LaunchSite *site, const CheckedArguments *arguments,
                                    int first, int second) {
    const FunctionDefinition *kernel = site->kernel;
    const Source *source = kernel->module->source;
    const int pair[] = {first, second};
    for (int p = 0; p < kernel->parameter_count; p++) {
        const CheckedArgument *argument = arguments_find(kernel, arguments, p);
        if (p == first || p == second || !argument || node_is_null(argument->value)) continue;
        for (int i = 0; i < 2; i++)
            if (goes_along(kernel->parameters[pair[i]].name,
                           name_of(source, arguments_find(kernel, arguments, pair[i])),
                           kernel->parameters[p].name, node_text(source, argument->value)))
                return true;
    }
    return false;
}

/// Two variables whose names are those of each other's parameters. One letter is a name only where the launch keeps to names all along:
/// `kernel(a, b)` may be launched for (b, a).
static void check_crossed_names(Check *check, const LaunchSite *site,
                                const CheckedArguments *arguments) {
    enum { LEAST_OTHERS = 5 };
    const FunctionDefinition *kernel = site->kernel;
    const Source *source = kernel->module->source;
    if (arguments->has_splat) return;
    CrossedNames crossed = find_crossed(site, arguments, false);
    if (!crossed.count) {
        crossed = find_crossed(site, arguments, true);
        if (crossed.count != 1 || crossed.others < LEAST_OTHERS) return;
    }
    const CheckedArgument *one = arguments_find(kernel, arguments, crossed.first);
    const CheckedArgument *other = arguments_find(kernel, arguments, crossed.second);
    const Str first = kernel->parameters[crossed.first].name;
    const Str second = kernel->parameters[crossed.second].name;
    if (is_exchanged_throughout(site, arguments, crossed.first, crossed.second)) return;
    check_report_at(check, DIAGNOSTIC_LAUNCH_UNLIKELY, node_range(source, other->value),
                    "%.*s gets `%.*s`, and %.*s gets `%.*s`: are they exchanged?", STR_ARGS(first),
                    STR_ARGS(name_of(source, one)), STR_ARGS(second),
                    STR_ARGS(name_of(source, other)));
}

/* ---- floats into whole numbers ---- */

/// The type of 32 or 64 bits for whole numbers that a new tensor is made with, as it is written; empty for anything else.
static Str whole_type_of(const Source *source, const FunctionDefinition *launcher,
                         SyntaxNode value) {
    static const char *const types[] = {"torch.int32", "torch.int64", "torch.int", "torch.long"};
    SyntaxNode made = node_kind(value) == SYNTAX_IDENTIFIER
                          ? launcher_binding(launcher, node_text(source, value))
                          : value;
    SyntaxNode list = node_field(made, "arguments");
    if (node_kind(made) != SYNTAX_CALL || !torch_allocation(source, made)) return (Str){0};
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode argument = node_child(list, i);
        if (node_kind(argument) != SYNTAX_KEYWORD_ARGUMENT ||
            !str_is(node_text(source, node_field(argument, "name")), "dtype"))
            continue;
        Str text = node_text(source, node_field(argument, "value"));
        return is_any(text, types, sizeof types / sizeof *types) ? text : (Str){0};
    }
    return (Str){0};
}

/// Whether a cast in the kernel makes it a float: the types of arguments are the caller's.
static bool is_certain_float(const Value *value, int depth) {
    enum { DEEPEST = 8 };
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST || op->region_count || op_is_access(op) || op->code == OP_FLOOR ||
        op->code == OP_CEIL || value->type.kind != TYPE_NUMBER ||
        !dtype_is_float(value->type.element))
        return false;
    if (op->code == OP_CAST) return value->type.element.code == DTYPE_FLOAT32;
    for (int i = 0; i < op->operand_count; i++)
        if (is_certain_float(op->operands[i], depth + 1)) return true;
    return false;
}

static void check_cut_floats(Check *check, const LaunchSite *site, const CheckedArgument *argument,
                             const Parameter *parameter) {
    const Source *source = site->kernel->module->source;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        const Value *stored = check_operand(access->op, "value");
        if (access->op->code != OP_STORE || access->parameter != parameter->value || !stored ||
            stored->constant || !is_certain_float(stored, 0) || check_is_optional(access->op))
            continue;
        Str type = whole_type_of(source, site->launcher, argument->value);
        if (!type.size) return;
        Diagnostic *said = check_report_at(
            check, DIAGNOSTIC_LAUNCH_UNLIKELY, node_range(source, argument->value),
            "%s is made for %.*s, and the kernel stores floats there: what is behind the point is "
            "cut off",
            parameter->name, STR_ARGS(type));
        check_relate(check, said, access->op, "stored here");
        return;
    }
}

void check_argument_kinds(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel || node_has_error(site->call)) continue;
        CheckedArguments arguments =
            arguments_read(check, module->source, site->launcher, site->call);
        for (int p = 0; p < check->function->parameter_count && p < kernel->parameter_count; p++) {
            const CheckedArgument *argument = arguments_find(kernel, &arguments, p);
            if (arguments.has_splat || !argument || node_is_null(argument->value)) continue;
            check_kind(check, site, argument, &check->function->parameters[p]);
            check_whole(check, site, argument, &check->function->parameters[p]);
            check_length(check, site, argument, &check->function->parameters[p]);
            check_cut_floats(check, site, argument, &check->function->parameters[p]);
        }
        check_exchanged(check, site, &arguments);
        check_crossed_names(check, site, &arguments);
    }
}
