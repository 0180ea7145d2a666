// Operations of the table and methods: arguments bound to operands.
#include "analysis/calls/lower_operation.h"

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/calls/lower_assembly.h"
#include "analysis/calls/lower_call.h"
#include "analysis/calls/lower_expansion.h"
#include "analysis/expressions/lower_access.h"
#include "analysis/expressions/lower_literal.h"
#include "analysis/expressions/lower_operator.h"
#include "analysis/frames/branches.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/tuples.h"
#include "analysis/syntax/syntax_nodes.h"

/// Keywords that the compiler itself passes; user code may hand them on.
static bool keyword_is_internal(const char *name) { return name[0] == '_'; }

/// `name=value` among the arguments of a call; the call where it is not written there.
static SyntaxNode keyword_node(Lowering *lowering, SyntaxNode call, const char *name) {
    SyntaxNode *arguments;
    int count = node_children(lowering->arena, node_field(call, "arguments"), &arguments);
    for (int i = 0; i < count; i++)
        if (node_kind(arguments[i]) == SYNTAX_KEYWORD_ARGUMENT &&
            str_is(lowering_text(lowering, node_field(arguments[i], "name")), name))
            return arguments[i];
    return call;
}

void lowering_report_keyword(Lowering *lowering, OpCode code, const char *callee,
                             const char *keyword, Str missing, SyntaxNode node) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    const char *nearest = NULL;
    int nearest_distance = 3;
    for (int i = 0; i < count; i++) {
        int distance = str_distance(parameters[i].name, str_from(keyword));
        if (distance >= nearest_distance) continue;
        nearest_distance = distance;
        nearest = str_dup(lowering->arena, parameters[i].name);
    }
    Diagnostic *diagnostic =
        nearest || missing.size
            ? lowering_report(
                  lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` has no parameter `%s`%s `%s`%s",
                  callee, keyword, nearest ? "; did you mean" : ", and needs",
                  nearest ? nearest : str_dup(lowering->arena, missing), nearest ? "?" : ".")
            : lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                              "`%s` has no parameter `%s`.", callee, keyword);
    // A release that we do not know may have it.
    if (diagnostic && !nearest) diagnostic->severity = SEVERITY_WARNING;
}

/// What a keyword that no release we know has does to the operands. False: nobody knows what the operation computes with it.
static bool take_unknown_keyword(Lowering *lowering, OpCode code, const Keyword *keyword,
                                 Value **operands, Str missing, SyntaxNode node) {
    const char *callee = op_rows[code].name ? op_rows[code].name : op_rows[code].id;
    const FormerKeyword *former = op_former_keyword(code, keyword->name);
    SyntaxNode place = keyword_node(lowering, node, keyword->name);
    bool truth = false;
    bool is_known = value_truth(keyword->value, &truth);
    if (!former) {
        lowering_report_keyword(lowering, code, callee, keyword->name, missing, place);
        return is_known && !truth;
    }
    lowering_report(lowering, DIAGNOSTIC_REMOVED_OPERATION, place,
                    "`%s` had `%s` before Triton 2.0 only: write `%s`.", callee, keyword->name,
                    former->instead);
    Value **operand = &operands[former->operand];
    if (truth && *operand) *operand = build_unary(&lowering->builder, former->through, *operand);
    return is_known;
}

static Value *variadic_operand(Lowering *lowering, const Arguments *arguments, int from) {
    int count = arguments->positional.count - from;
    int inner;
    if (count <= 0) return NULL;
    Value *first = arguments->positional.items[from];
    if (count == 1 && (value_is_tuple(first, &inner) || first->type.kind == TYPE_TUPLE))
        return first;
    return build_tuple(&lowering->builder, arguments->positional.items + from, count);
}

/// Operands by the row's parameters. False (reported) when the arguments do not fit.
static bool operands_bind(Lowering *lowering, OpCode code, const Arguments *arguments,
                          Value ***operands, int *operand_count, SyntaxNode node) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    const char *callee = op_rows[code].name ? op_rows[code].name : op_rows[code].id;
    *operands = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    *operand_count = count;
    int position = 0;
    for (int i = 0; i < count && position < arguments->positional.count; i++) {
        if (parameters[i].is_variadic) {
            (*operands)[i] = variadic_operand(lowering, arguments, position);
            position = arguments->positional.count;
        } else if (!parameters[i].is_keyword_only) {
            (*operands)[i] = arguments->positional.items[position++];
        }
    }
    if (position < arguments->positional.count) {
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` takes at most %d %s.",
                        callee, position, position == 1 ? "argument" : "arguments");
        return false;
    }
    for (LIST_EACH(int, k, arguments->keywords)) {
        const Keyword *keyword = &arguments->keywords.items[k];
        int index = op_parameter_index(code, str_from(keyword->name));
        if (index >= 0 && (*operands)[index]) {
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` gets `%s` twice.",
                            callee, keyword->name);
            return false;
        }
        if (index >= 0) (*operands)[index] = keyword->value;
    }
    Str missing = {0};
    for (int i = 0; i < count && !missing.size; i++)
        if (!(*operands)[i] && !parameters[i].default_text.size && !parameters[i].is_variadic)
            missing = parameters[i].name;
    bool is_known = true, has_unknown = false;
    for (LIST_EACH(int, k, arguments->keywords)) {
        const Keyword *keyword = &arguments->keywords.items[k];
        if (op_parameter_index(code, str_from(keyword->name)) >= 0 ||
            keyword_is_internal(keyword->name))
            continue;
        has_unknown = true;
        is_known &= take_unknown_keyword(lowering, code, keyword, *operands, missing, node);
    }
    // what goes by a wrong name is not missing, too
    if (missing.size && !arguments->is_open && !has_unknown)
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node, "`%s` needs `%.*s`.", callee,
                        STR_ARGS(missing));
    return is_known && !missing.size;
}

static Value *combine_argument(Lowering *lowering, Region *region, const Value *item) {
    Type type = item->type;
    type.rank = 0;
    type.dims = NULL;
    type.is_constexpr = false;
    return region_add_argument(lowering->builder.function, region, type, NULL);
}

static Value *lower_combine(Lowering *lowering, OpCode code, Value *const *operands,
                            int operand_count, SyntaxNode node);

typedef struct CombineChoice {
    OpCode code;
    Value *const *operands;
    int operand_count;
    Value *functions[2];
    SyntaxNode node;
} CombineChoice;

static Value *combine_branch(Lowering *lowering, void *context, bool is_first) {
    const CombineChoice *choice = context;
    Value **operands = ARENA_ARRAY(lowering->arena, Value *, choice->operand_count);
    for (int i = 0; i < choice->operand_count; i++) operands[i] = choice->operands[i];
    operands[op_parameter_index(choice->code, STR("combine_fn"))] =
        choice->functions[is_first ? 0 : 1];
    return lower_combine(lowering, choice->code, operands, choice->operand_count, choice->node);
}

/// tl.reduce and tl.associative_scan: the combine function becomes a region.
static Value *lower_combine(Lowering *lowering, OpCode code, Value *const *operands,
                            int operand_count, SyntaxNode node) {
    int function_index = op_parameter_index(code, STR("combine_fn"));
    CombineChoice choice = {code, operands, operand_count, {NULL, NULL}, node};
    Value *condition = function_choice(operands[function_index], choice.functions);
    if (condition) return lower_choice(lowering, condition, combine_branch, &choice);
    const Constant *combine = operands[function_index] ? operands[function_index]->constant : NULL;
    int count = 1;
    bool is_tuple = value_is_tuple(operands[0], &count);
    if (!combine || combine->kind != CONSTANT_FUNCTION)
        return lowering_unknown(lowering, node, "The combine function is not known.");
    int results = infer_result_count(code, operands, operand_count);
    Op *op = op_append(&lowering->builder, code, operands, operand_count, results);
    Region *region = op_add_region(&lowering->builder, op);
    Builder outside = lowering->builder;
    lowering->builder.region = region;
    lowering->builder.before = NULL;
    Arguments arguments = {0};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count; i++) {
            const Value *item = is_tuple ? tuple_item(lowering, operands[0], i) : operands[0];
            LIST_PUSH(lowering->arena, &arguments.positional,
                      combine_argument(lowering, region, item));
        }
    Entity callee = {.kind = ENTITY_VALUE, .value = operands[function_index]};
    Value *combined = lower_entity_call(lowering, callee, &arguments, node);
    int combined_count = 1;
    Value **yields = &combined;
    if (value_is_tuple(combined, &combined_count)) yields = combined->op->operands;
    if (combined_count != count) {
        if (combined->type.kind == TYPE_NUMBER || combined_count > 1)
            lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                            "the combine function returns %d %s where %d %s combined.",
                            combined_count, combined_count == 1 ? "value" : "values", count,
                            count == 1 ? "is" : "are");
        Value **unknown = ARENA_ARRAY(lowering->arena, Value *, count);
        for (int i = 0; i < count; i++)
            unknown[i] = lowering_silent(lowering, "a combine function of another length");
        yields = unknown;
    }
    op_append(&lowering->builder, OP_YIELD, yields, count, 0);
    lowering->builder = outside;
    infer_op(lowering->arena, op, lowering->builder.diagnostics);
    if (results == 1) return op->results[0];
    return build_tuple(&lowering->builder, op->results, results);
}

static Value *lower_removed(Lowering *lowering, OpCode code, Arguments *arguments,
                            SyntaxNode node) {
    const OpRow *row = &op_rows[code];
    lowering_report(lowering, DIAGNOSTIC_REMOVED_OPERATION, node, "Triton no longer has `%s`%s%s.",
                    row->name ? row->name : row->id, row->instead ? "; use " : "",
                    row->instead ? row->instead : "");
    if (row->expands) return lower_expansion(lowering, code, arguments, node);
    return lowering_silent(lowering, "an operation that Triton no longer has");
}

Value *lower_operation(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node) {
    Value **operands;
    int count;
    switch (op_rows[code].kind) {
    case KIND_EXPANDS: return lower_expansion(lowering, code, arguments, node);
    case KIND_REMOVED: return lower_removed(lowering, code, arguments, node);
    case KIND_STRUCTURAL:
        if (code != OP_FOR && code != OP_STATIC_FOR)
            return lowering_unknown(lowering, node, "`tl.%s` is a type, no operation.",
                                    op_rows[code].name);
        return lowering_unknown(lowering, node, "A range has a meaning in a `for` only.");
    default: break;
    }
    if (!operands_bind(lowering, code, arguments, &operands, &count, node)) {
        // What an access goes through is a pointer, whatever else is wrong: while a call is typed, names keep their types.
        bool is_pointer = op_parameter_index(code, STR("pointer")) == 0 && count && operands[0] &&
                          operands[0]->type.kind == TYPE_UNKNOWN && !operands[0]->constant;
        if (is_pointer) build_unary(&lowering->builder, OP_ELEMENT_TYPE_OF, operands[0]);
        return lowering_silent(lowering, "a call with wrong arguments");
    }
    Value *understood = code == OP_INLINE_ASM ? lower_assembly(lowering, operands, count) : NULL;
    if (understood) return understood;
    if (code == OP_REDUCE || code == OP_ASSOCIATIVE_SCAN)
        return lower_combine(lowering, code, operands, count, node);
    Value *value = build(&lowering->builder, code, operands, count);
    return value ? value : build_none(&lowering->builder);
}

static bool has_keyword(const Arguments *arguments, Str name) {
    for (LIST_EACH(int, i, arguments->keywords))
        if (str_is(name, arguments->keywords.items[i].name)) return true;
    return false;
}

static bool has_parameter(const OpParameter *parameters, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (str_is(parameters[i].name, name)) return true;
    return false;
}

/// Whether an operation cannot take these arguments: they are too many or too few, or a keyword names none of its parameters or
/// one that was given before.
static bool takes_others(OpCode code, const Arguments *arguments) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    if (count && parameters[count - 1].is_variadic) return false;
    if (arguments->positional.count > count) return true;
    for (LIST_EACH(int, i, arguments->keywords))
        if (!has_parameter(parameters, count, arguments->keywords.items[i].name)) return true;
    for (int i = 0; i < arguments->positional.count; i++)
        if (has_keyword(arguments, parameters[i].name)) return true;
    for (int i = arguments->positional.count; i < count && !arguments->is_open; i++)
        if (!parameters[i].default_text.size && !has_keyword(arguments, parameters[i].name))
            return true;
    return false;
}

Value *lower_method(Lowering *lowering, Entity method, Arguments *arguments, SyntaxNode node) {
    Value *receiver = method.value;
    if (receiver->constant && receiver->constant->kind == CONSTANT_STRING)
        return lower_text_method(lowering, receiver->constant->string, method.name, arguments);
    bool is_question = str_starts(method.name, "is_") && op_find_method(method.name) == OP_COUNT;
    if (receiver->type.kind == TYPE_DTYPE || is_question)
        return lower_dtype_question(lowering, receiver, method.name);
    Str name = method.name;
    if (str_is(name, "get_block_shapes") && receiver->type.rank > 0)
        return lower_block_shape(lowering, receiver);
    bool is_reflected;
    const char *symbol = operator_of_method(name, &is_reflected);
    if (symbol && arguments->positional.count == 1 && !arguments->keywords.count) {
        Value *other = arguments->positional.items[0];
        return lower_operator(lowering, str_from(symbol), is_reflected ? other : receiver,
                              is_reflected ? receiver : other, node);
    }
    OpCode code = OP_COUNT;
    // `desc.load([x, y])` of what the host made: nothing but a descriptor takes a list.
    int offsets;
    bool takes_list =
        arguments->positional.count && value_is_tuple(arguments->positional.items[0], &offsets);
    if (receiver->type.kind == TYPE_DESCRIPTOR ||
        (receiver->type.kind == TYPE_UNKNOWN && takes_list))
        code = descriptor_method(lowering, name);
    if (code == OP_COUNT) code = op_find_method(name);
    if (code == OP_COUNT)
        return lowering_unknown(lowering, node, "The method `%.*s` is not understood.",
                                STR_ARGS(name));
    Arguments all = *arguments;
    all.positional.items = NULL;
    all.positional.count = all.positional.capacity = 0;
    LIST_PUSH(lowering->arena, &all.positional, receiver);
    for (LIST_EACH(int, i, arguments->positional))
        LIST_PUSH(lowering->arena, &all.positional, arguments->positional.items[i]);
    // `math.sqrt(x)` where nothing defines `math`: only a tensor's methods are ours.
    bool is_open = receiver->type.kind == TYPE_UNKNOWN || receiver->type.is_constexpr;
    if (is_open && takes_others(code, &all))
        return lowering_silent(lowering, "a method of something that is not known");
    return lower_operation(lowering, code, &all, node);
}
