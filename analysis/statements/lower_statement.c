// Statements: blocks, assignments to every kind of target, and what Triton does not compile.
#include "analysis/statements/lower_statement.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/expressions/lower_operator.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/sightings.h"
#include "analysis/frames/tuples.h"
#include "analysis/statements/lower_control.h"
#include "analysis/statements/lower_loop.h"
#include "analysis/syntax/syntax_nodes.h"

static bool is_loop_or_definition(SyntaxKind kind) {
    return kind == SYNTAX_FUNCTION || kind == SYNTAX_CLASS || kind == SYNTAX_LAMBDA;
}

typedef struct KindSearch {
    SyntaxKind kind;
    bool found;
} KindSearch;

static bool visit_kind(void *context, SyntaxNode node) {
    KindSearch *search = context;
    SyntaxKind kind = node_kind(node);
    if (kind == search->kind) search->found = true;
    return !search->found && !is_loop_or_definition(kind);
}

static bool block_contains(SyntaxNode node, SyntaxKind kind) {
    KindSearch search = {kind, false};
    syntax_walk(node, visit_kind, &search);
    return search.found;
}

// --- Names that a piece of syntax assigns

typedef struct AssignedSearch {
    Lowering *lowering;
    Map *names;
    bool has_walrus;  // else expressions assign nothing
} AssignedSearch;

static void visit_name(void *context, SyntaxNode identifier, bool is_item) {
    const AssignedSearch *search = context;
    (void)is_item;
    map_set(search->names, lowering_text(search->lowering, identifier), search->names);
}

static bool visit_assigned(void *context, SyntaxNode node) {
    AssignedSearch *search = context;
    switch (node_kind(node)) {
    case SYNTAX_ASSIGNMENT:
        if (!node_is_null(node_field(node, "right")))
            syntax_targets(node_field(node, "left"), visit_name, search);
        return search->has_walrus || node_kind(node_field(node, "right")) == SYNTAX_ASSIGNMENT;
    case SYNTAX_CALL:
    case SYNTAX_BINARY:
    case SYNTAX_COMPARISON: return search->has_walrus;
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR: syntax_targets(node_field(node, "left"), visit_name, search); return true;
    case SYNTAX_NAMED_EXPRESSION:
        syntax_targets(node_field(node, "name"), visit_name, search);
        return true;
    case SYNTAX_AS_PATTERN:
        syntax_targets(node_field(node, "alias"), visit_name, search);
        return true;
    default: return !is_loop_or_definition(node_kind(node));
    }
}

void names_assigned(Lowering *lowering, SyntaxNode node, Map *names) {
    AssignedSearch search = {lowering, names, text_contains(lowering_text(lowering, node), ":=")};
    syntax_walk(node, visit_assigned, &search);
}

typedef enum Access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITTEN } Access;

static bool target_is(const Lowering *lowering, SyntaxNode target, Str name) {
    return node_kind(target) == SYNTAX_IDENTIFIER &&
           str_equal(lowering_text(lowering, target), name);
}

typedef struct VariableReadSearch {
    const Lowering *lowering;
    Str name;
    bool found;
} VariableReadSearch;

/// Any use of the name but a plain assignment to it.
static bool visit_read(void *context, SyntaxNode node) {
    VariableReadSearch *search = context;
    if (search->found) return false;
    if (node_kind(node) == SYNTAX_KEYWORD_ARGUMENT) {
        syntax_walk(node_field(node, "value"), visit_read, search);
        return false;
    }
    bool is_plain =
        node_kind(node) == SYNTAX_ASSIGNMENT && !node_is_null(node_field(node, "right"));
    if (is_plain && target_is(search->lowering, node_field(node, "left"), search->name)) {
        syntax_walk(node_field(node, "right"), visit_read, search);
        return false;
    }
    search->found = target_is(search->lowering, node, search->name);
    return !search->found;
}

static Access statement_access(const Lowering *lowering, SyntaxNode statement, Str name) {
    VariableReadSearch search = {lowering, name, false};
    syntax_walk(statement, visit_read, &search);
    if (search.found) return ACCESS_READ;
    SyntaxNode first =
        node_kind(statement) == SYNTAX_EXPRESSION_STATEMENT ? node_child(statement, 0) : statement;
    bool is_assigned = node_kind(first) == SYNTAX_ASSIGNMENT &&
                       target_is(lowering, node_field(first, "left"), name);
    return is_assigned ? ACCESS_WRITTEN : ACCESS_NONE;
}

bool rest_reads(const Lowering *lowering, const Rest *rest, Str name) {
    for (; rest; rest = rest->outer)
        for (int i = rest->next; i < rest->count; i++) {
            Access access = statement_access(lowering, rest->items[i], name);
            if (access != ACCESS_NONE) return access == ACCESS_READ;
        }
    return false;
}

typedef struct OtherReadSearch {
    const Lowering *lowering;
    Str name, condition;
    bool found;
} OtherReadSearch;

static bool visit_other_read(void *context, SyntaxNode node);

/// Up to the first branch that the condition leads to: the others behind it are ruled out by it.
static void search_branches(OtherReadSearch *search, SyntaxNode node) {
    for (uint32_t i = 0; i < node_child_count(node); i++) {
        SyntaxNode part = node_child(node, i);
        bool is_elif = node_kind(part) == SYNTAX_ELIF;
        SyntaxNode condition = is_elif ? node_field(part, "condition") : part;
        if ((i == 0 || is_elif) &&
            str_equal(lowering_text(search->lowering, condition), search->condition))
            return;
        syntax_walk(part, visit_other_read, search);
    }
}

static bool visit_other_read(void *context, SyntaxNode node) {
    OtherReadSearch *search = context;
    if (search->found) return false;
    if (node_kind(node) == SYNTAX_IF) {
        search_branches(search, node);
        return false;
    }
    if (node_kind(node) == SYNTAX_KEYWORD_ARGUMENT) {
        syntax_walk(node_field(node, "value"), visit_other_read, search);
        return false;
    }
    search->found = target_is(search->lowering, node, search->name);
    return !search->found;
}

bool rest_reads_by_condition(Lowering *lowering, const Rest *rest, Str name, Str condition) {
    OtherReadSearch search = {lowering, name, condition, false};
    for (; rest; rest = rest->outer)
        for (int i = rest->next; i < rest->count; i++) {
            Map assigned = map_new(lowering->arena);
            names_assigned(lowering, rest->items[i], &assigned);
            syntax_walk(rest->items[i], visit_other_read, &search);
            if (search.found || map_get(&assigned, name)) return false;
        }
    return true;
}

// --- Assignment

static void assign_name(Lowering *lowering, SyntaxNode target, Value *value) {
    Str name = lowering_text(lowering, target);
    bool is_shared = value->constant || value->region;
    if (!value->name && !is_shared) value->name = str_dup(lowering->arena, name);
    variable_set(lowering, name, value);
    lowering_sight(lowering, target, value);
}

/// What a helper returned, of which one branch has as many values as there are names: then no instance that compiles has the other,
/// and the ops of that branch take the place of both.
static Value *fitting_branch(Lowering *lowering, Value *value, int wanted) {
    Op *branch = value->op;
    bool is_last = branch && branch->code == OP_IF && branch->parent == lowering->builder.region &&
                   !branch->next && branch->result_count == 1;
    if (!is_last || !branch->operands[0]->type.is_constexpr) return value;
    int fitting = -1;
    for (int side = 0; side < 2; side++) {
        int count;
        const Op *yield = region_terminator(branch->regions[side]);
        if (!yield || !value_is_tuple(yield->operands[0], &count)) return value;
        if (count == wanted) fitting = fitting < 0 ? side : 2;
    }
    if (fitting < 0 || fitting > 1) return value;
    Map values = map_new(lowering->arena);
    const Region *side = branch->regions[fitting];
    region_clone_into(&lowering->builder, side, &values);
    lowering_assume(lowering, branch->operands[0], fitting == 0, true);
    op_remove(branch);
    return value_mapped(&values, region_terminator(side)->operands[0]);
}

static void assign_items(Lowering *lowering, SyntaxNode target, Value *value) {
    SyntaxNode *targets;
    int target_count = node_children(lowering->arena, target, &targets);
    if (value->type.kind == TYPE_TUPLE) value = fitting_branch(lowering, value, target_count);
    int count = 0;
    bool is_tuple = value_is_tuple(value, &count);
    int starred = -1;
    for (int i = 0; i < target_count; i++)
        if (node_kind(targets[i]) == SYNTAX_LIST_SPLAT_PATTERN) starred = i;
    if (starred >= 0 && !lowering->global_depth && lowering->frame->module)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, targets[starred],
                        "Triton cannot unpack into a starred name.");
    bool fits = is_tuple && (starred >= 0 ? count >= target_count - 1 : count == target_count);
    if (!fits) {
        if (starred >= 0) tuple_asked_whole(lowering, value);
        if (is_tuple)
            lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, target,
                            "%d values cannot be unpacked into %d %s.", count, target_count,
                            target_count == 1 ? "name" : "names");
        else if (value_is_runtime(value))
            lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, target,
                            "This value is no tuple, so it cannot be unpacked.");
        else if (value->type.kind != TYPE_UNKNOWN && value->type.kind != TYPE_TUPLE)
            lowering_unknown(lowering, target, "This value is no tuple, so it cannot be unpacked.");
        for (int i = 0; i < target_count; i++) {
            Value *operands[] = {value, build_int(&lowering->builder, i)};
            Value *item = value->type.kind == TYPE_TUPLE
                              ? build(&lowering->builder, OP_ITEM, operands, 2)
                          : value_is_passed(value) && starred < 0
                              ? passed_item(lowering, value, operands[1], targets[i])
                              : lowering_silent(lowering, "an item of an unknown tuple");
            lower_assign(lowering, targets[i], item);
        }
        return;
    }
    int from = 0;
    for (int i = 0; i < target_count; i++) {
        if (i != starred) {
            lower_assign(lowering, targets[i], tuple_item(lowering, value, from++));
            continue;
        }
        int taken = count - (target_count - 1);
        Value **items = ARENA_ARRAY(lowering->arena, Value *, taken + 1);
        for (int j = 0; j < taken; j++) items[j] = tuple_item(lowering, value, from++);
        lower_assign(lowering, node_child(targets[i], 0),
                     build_tuple(&lowering->builder, items, taken));
    }
}

/// `items[i] = x` of something whose class is not known.
static bool subscript_is_unknown(Lowering *lowering, SyntaxNode target) {
    SyntaxNode base = node_field(target, "value");
    if (node_kind(base) != SYNTAX_IDENTIFIER) return false;
    const Value *value = variable_get(lowering, lowering_text(lowering, base));
    return value && value->type.kind == TYPE_UNKNOWN && value->type.is_constexpr;
}

static void assign_target(Lowering *lowering, SyntaxNode target, Value *value) {
    switch (node_kind(target)) {
    case SYNTAX_IDENTIFIER: assign_name(lowering, target, value); break;
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN:
    case SYNTAX_LIST_PATTERN:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_TUPLE: assign_items(lowering, target, value); break;
    case SYNTAX_PARENTHESIZED: lower_assign(lowering, node_child(target, 0), value); break;
    case SYNTAX_SUBSCRIPT:
        if (subscript_is_unknown(lowering, target)) break;
        lowering_report(
            lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, target,
            "Triton cannot assign to a part of a value: choose its lanes with tl.where, or "
            "write to memory with tl.store.");
        break;
    case SYNTAX_ATTRIBUTE:
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, target,
                        "Triton cannot assign to an attribute.");
        break;
    default:
        lowering_unknown(lowering, target, "This target of an assignment is not understood.");
        break;
    }
}

void lower_assign(Lowering *lowering, SyntaxNode target, Value *value) {
    if (lowering_deeper(lowering, target)) assign_target(lowering, target, value);
    lowering->depth--;
}

/// `acc: "LIST"`: a text that is no type of Triton's tells another tool, which rewrites the kernel before it is
/// compiled, what the name stands for.
static void declare(Lowering *lowering, SyntaxNode node) {
    SyntaxNode target = node_field(node, "left");
    SyntaxNode type = node_field(node, "type");
    if (node_is_null(type) || node_kind(target) != SYNTAX_IDENTIFIER) return;
    Str text = str_trim(lowering_text(lowering, type));
    bool is_text = text.size > 2 && (text.data[0] == '"' || text.data[0] == '\'');
    if (!is_text || text_contains(text, "tl.") || text_contains(text, "constexpr")) return;
    variable_set(lowering, lowering_text(lowering, target),
                 lowering_opaque(lowering, "what another tool makes of an annotation"));
}

/// `a =` and the next line, which the grammar takes for its value: Python does not.
static bool lacks_value(Lowering *lowering, SyntaxNode node) {
    const Source *source = lowering->frame->module->source;
    Range left = node_range(source, node_field(node, "left"));
    Range right = node_range(source, node_field(node, "right"));
    if (right.start <= left.end) return false;
    Str between = {source->text.data + left.end, right.start - left.end};
    return text_contains(between, "\n") && !text_contains(between, "\\");
}

/// `a = b = 1`, and a constexpr that is defined once more.
static void report_assignment(Lowering *lowering, SyntaxNode node, bool is_chain) {
    SyntaxNode target = node_field(node, "left");
    if (is_chain && lacks_value(lowering, node)) {
        Diagnostic *said = lowering_report(lowering, DIAGNOSTIC_SYNTAX_ERROR, target,
                                           "this is not valid Python: `=` has no value");
        if (said) said->is_of_python = true;
    } else if (is_chain && !module_has_errors(lowering->frame->module))
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                        "Triton cannot assign to two names at once: write an assignment for each.");
    SyntaxNode type = node_field(node, "type");
    if (node_is_null(type) || node_kind(target) != SYNTAX_IDENTIFIER) return;
    if (!str_ends(lowering_text(lowering, type), "constexpr") || lowering->frame->loops > 0) return;
    const Value *former = variable_get(lowering, lowering_text(lowering, target));
    bool is_certain = former && !(former->op && former->op->region_count) &&
                      !(former->region && former->region->parent);
    if (is_certain)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, target,
                        "`%.*s` has a value already; a constexpr cannot be defined once more.",
                        STR_ARGS(lowering_text(lowering, target)));
}

/// Whether Triton makes a tensor of the numbers that a name stands for: they are not annotated as constexprs.
static void note_scalar(Lowering *lowering, SyntaxNode node) {
    SyntaxNode target = node_field(node, "left"), type = node_field(node, "type");
    if (lowering->global_depth || !lowering->frame->module) return;
    if (node_kind(target) != SYNTAX_IDENTIFIER) return;
    bool is_constexpr = !node_is_null(type) && str_ends(lowering_text(lowering, type), "constexpr");
    map_set(&lowering->frame->scalars, lowering_text(lowering, target),
            is_constexpr ? NULL : lowering);
}

static Value *lower_assignment(Lowering *lowering, SyntaxNode node) {
    SyntaxNode right = node_field(node, "right");
    if (node_is_null(right)) {  // `x: int` only
        declare(lowering, node);
        return NULL;
    }
    bool is_chain = node_kind(right) == SYNTAX_ASSIGNMENT;
    Value *value = NULL;
    if (lowering_deeper(lowering, node))
        value = is_chain ? lower_assignment(lowering, right) : lower_value(lowering, right);
    lowering->depth--;
    if (!value) return NULL;
    if (!lowering->global_depth && lowering->frame->module)
        report_assignment(lowering, node, is_chain);
    lower_assign(lowering, node_field(node, "left"), value);
    note_scalar(lowering, node);
    return value;
}

static void lower_augmented(Lowering *lowering, SyntaxNode node) {
    SyntaxNode target = node_field(node, "left");
    Str symbol = lowering_text(lowering, node_field(node, "operator"));
    if (symbol.size) symbol.size--;
    // a part of a tile is refused where it is assigned to: once
    Value *left = node_kind(target) == SYNTAX_SUBSCRIPT && !subscript_is_unknown(lowering, target)
                      ? lowering_silent(lowering, "a part of a tile")
                      : lower_value(lowering, target);
    SyntaxNode second = node_field(node, "right");
    Value *right = lower_value(lowering, second);
    Range former = lowering_at(lowering, node);
    left = lower_named_number(lowering, target, left, right);
    right = lower_named_number(lowering, second, right, left);
    Value *value = lower_operator(lowering, symbol, left, right, node);
    lowering->builder.range = former;
    lower_assign(lowering, target, value);
}

// --- Statements

static bool takes_tile(const Op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        if (value && (type_is_tile(value->type) || value->type.kind == TYPE_BLOCK_POINTER))
            return true;
    }
    return false;
}

/// A call of an operation that makes a tile of another and does nothing else: none changes what it is called with.
static void check_unused(Lowering *lowering, SyntaxNode call, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (node_kind(call) != SYNTAX_CALL || !lowering->frame->module || !op) return;
    Range range = node_range(lowering->frame->source, call);
    Str callee = lowering_text(lowering, node_field(call, "function"));
    bool is_made_here = op->call == lowering->builder.call && op->range.source == range.source &&
                        op->range.start == range.start && op->range.end == range.end;
    if (!is_made_here || op_rows[op->code].kind != KIND_ORDINARY || op_rows[op->code].effects ||
        !(type_is_tile(value->type) || value->type.kind == TYPE_BLOCK_POINTER) || !takes_tile(op) ||
        str_ends(callee, "inline_asm_elementwise"))
        return;
    lowering_report(
        lowering, DIAGNOSTIC_UNUSED_RESULT, call,
        "nothing takes the result of `%.*s`, and what it is called with stays as it is: "
        "assign it to a name",
        STR_ARGS(callee));
}

static void lower_expression_statement(Lowering *lowering, SyntaxNode node) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    for (int i = 0; i < count; i++) {
        switch (node_kind(children[i])) {
        case SYNTAX_ASSIGNMENT: lower_assignment(lowering, children[i]); break;
        case SYNTAX_AUGMENTED_ASSIGNMENT: lower_augmented(lowering, children[i]); break;
        case SYNTAX_STRING:
        case SYNTAX_CONCATENATED_STRING:
        case SYNTAX_ELLIPSIS: break;  // documentation
        default: check_unused(lowering, children[i], lower_value(lowering, children[i])); break;
        }
    }
}

static void lower_assert(Lowering *lowering, SyntaxNode node) {
    Value *operands[2] = {lower_value(lowering, node_child(node, 0)), NULL};
    if (node_child_count(node) > 1) operands[1] = lower_value(lowering, node_child(node, 1));
    Range former = lowering_at(lowering, node);
    OpCode code = operands[0]->type.is_constexpr ? OP_STATIC_ASSERT : OP_DEVICE_ASSERT;
    build(&lowering->builder, code, operands, 2);
    lowering->builder.range = former;
}

static Outcome lower_return(Lowering *lowering, SyntaxNode node) {
    Outcome outcome = {.returned = true};
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    if (count) outcome.value = lower_value(lowering, children[0]);
    if (lowering->frame->loops > 0) {
        lowering_report(
            lowering, DIAGNOSTIC_RETURN_IN_LOOP, node,
            "Triton cannot return from inside a loop; compute a condition and return after it.");
        lowering_silent(lowering, "return inside a loop");
        outcome = (Outcome){.returned = false};
    }
    return outcome;
}

static void lower_with(Lowering *lowering, SyntaxNode node) {
    SyntaxNode clause = node_child(node, 0);
    for (uint32_t i = 0; i < node_child_count(clause); i++) {
        SyntaxNode value = node_field(node_child(clause, i), "value");
        if (node_kind(value) == SYNTAX_AS_PATTERN) {
            Value *entered = lower_value(lowering, node_child(value, 0));
            lower_assign(lowering, node_child(node_field(value, "alias"), 0), entered);
        }
    }
}

static void lower_unsupported(Lowering *lowering, SyntaxNode node, const char *what) {
    lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node, "Triton cannot compile %s.",
                    what);
    lowering_silent(lowering, "a statement that Triton cannot compile");
}

/// A helper raises where its callers must not get to; with what it is called decides whether they do.
static void lower_raise(Lowering *lowering, SyntaxNode node) {
    const FunctionDefinition *definition = lowering->builder.function->definition;
    bool depends_on_caller = lowering->frame->unknown_conditions > 0 &&
                             (!definition || definition->is_helper || lowering->global_depth);
    if (!depends_on_caller) lower_unsupported(lowering, node, "`raise`");
}

/// A statement after which the next one follows.
static void lower_simple(Lowering *lowering, SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_EXPRESSION_STATEMENT: lower_expression_statement(lowering, node); break;
    case SYNTAX_FOR: lower_for(lowering, node); break;
    case SYNTAX_WHILE: lower_while(lowering, node); break;
    case SYNTAX_ASSERT: lower_assert(lowering, node); break;
    case SYNTAX_PASS:
    case SYNTAX_COMMENT:
    case SYNTAX_ERROR: break;
    case SYNTAX_BREAK: lower_unsupported(lowering, node, "`break`"); break;
    case SYNTAX_CONTINUE: lower_unsupported(lowering, node, "`continue`"); break;
    case SYNTAX_TRY: lower_unsupported(lowering, node, "`try`"); break;
    case SYNTAX_CLASS: lower_unsupported(lowering, node, "a class inside a kernel"); break;
    case SYNTAX_FUNCTION:
    case SYNTAX_DECORATED:
        lower_unsupported(lowering, node, "a function defined inside a kernel");
        break;
    case SYNTAX_DELETE: lower_unsupported(lowering, node, "`del`"); break;
    case SYNTAX_RAISE: lower_raise(lowering, node); break;
    case SYNTAX_GLOBAL: lower_unsupported(lowering, node, "`global`"); break;
    case SYNTAX_NONLOCAL: lower_unsupported(lowering, node, "`nonlocal`"); break;
    case SYNTAX_MATCH: lower_unsupported(lowering, node, "`match`"); break;
    case SYNTAX_IMPORT:
    case SYNTAX_IMPORT_FROM: lower_unsupported(lowering, node, "`import` inside a kernel"); break;
    default:
        lowering_unknown(lowering, node, "This statement (%s) is not understood.",
                         node_kind_name(node));
        break;
    }
}

static Outcome rest_lower(Lowering *lowering, const Rest *rest) {
    for (; rest; rest = rest->outer) {
        for (int i = rest->next; i < rest->count; i++) {
            SyntaxNode node = rest->items[i];
            if (lowering_over(lowering, node)) return (Outcome){.returned = true};
            Rest after = {rest->items, rest->count, i + 1, rest->outer};
            SyntaxKind kind = node_kind(node);
            bool has_blocks = kind == SYNTAX_IF || kind == SYNTAX_WITH;
            bool leaves =
                has_blocks && lowering->frame->loops == 0 && block_contains(node, SYNTAX_RETURN);
            switch (kind) {
            case SYNTAX_RETURN: {
                Outcome outcome = lower_return(lowering, node);
                if (outcome.returned) return outcome;
                break;
            }
            case SYNTAX_IF: {
                Outcome outcome = lower_if(lowering, node, &after, leaves);
                if (leaves || outcome.returned || outcome.ended) return outcome;
                break;
            }
            case SYNTAX_WITH: {
                lower_with(lowering, node);
                SyntaxNode *items;
                int count = node_children(lowering->arena, node_field(node, "body"), &items);
                Rest inner = {items, count, 0, leaves ? &after : NULL};
                Outcome outcome = lower_rest(lowering, &inner);
                outcome.ended = false;  // up to the end of the `with`
                if (leaves || outcome.returned) return outcome;
                break;
            }
            default: lower_simple(lowering, node); break;
            }
        }
    }
    return (Outcome){.returned = false};
}

Outcome lower_rest(Lowering *lowering, const Rest *rest) {
    Outcome outcome = {.returned = true};
    if (lowering_deeper(lowering, rest && rest->count ? rest->items[0] : (SyntaxNode){0}))
        outcome = rest_lower(lowering, rest);
    lowering->depth--;
    return outcome;
}

Outcome lower_block(Lowering *lowering, SyntaxNode block) {
    SyntaxNode *items;
    int count = node_children(lowering->arena, block, &items);
    Rest rest = {items, count, 0, NULL};
    return lower_rest(lowering, &rest);
}
