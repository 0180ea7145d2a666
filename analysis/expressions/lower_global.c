// Globals of a module that a kernel reads: their values, and whether Triton lets it read them; named tuples.
#include "analysis/expressions/lower_global.h"

#include "analysis/build/build.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/expressions/python_names.h"
#include "analysis/frames/lowering.h"
#include "analysis/syntax/syntax_nodes.h"

/// A value of a region that is thrown away, made again at the builder's place; NULL where it is no constant.
static Value *constant_again(Lowering *lowering, const Value *value) {
    int count;
    if (value->constant) return build_constant(&lowering->builder, *value->constant);
    if (!value_is_tuple(value, &count)) return NULL;
    Value **items = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) {
        items[i] = constant_again(lowering, value->op->operands[i]);
        if (!items[i]) return NULL;
    }
    return build_tuple(&lowering->builder, items, count);
}

/// The value of a global: a constant, or NULL where only Python itself would know.
static Value *global_evaluate(Lowering *lowering, ScopeEntry entry) {
    LoweringFrame frame = {
        .module = entry.module, .source = entry.module->source, .global = entry.node.id};
    Builder outside = lowering->builder;
    lowering->builder.diagnostics = NULL;
    lowering->builder.region = region_new(lowering->builder.function);
    lowering->builder.before = NULL;
    lowering->global_depth++;
    frame_enter(lowering, &frame);
    const Value *value = lower_value(lowering, entry.node);
    frame_leave(lowering, &frame);
    lowering->global_depth--;
    lowering->builder = outside;
    int count;
    if (entry.item >= 0)
        value = value_is_tuple(value, &count) && entry.item < count
                    ? value->op->operands[entry.item]
                    : NULL;
    return value ? constant_again(lowering, value) : NULL;
}

// --- What Triton lets a kernel read

typedef enum GlobalKind {
    GLOBAL_UNKNOWN,
    GLOBAL_PLAIN,      // a Python object: refused
    GLOBAL_CONSTEXPR,  // a tl.constexpr
} GlobalKind;

static GlobalKind expression_kind(Lowering *lowering, const Module *module, SyntaxNode node,
                                  int depth);

static GlobalKind entry_kind(Lowering *lowering, ScopeEntry entry, int depth) {
    if (entry.kind != SCOPE_ASSIGNED || entry.item >= 0) return GLOBAL_UNKNOWN;
    return expression_kind(lowering, entry.module, entry.node, depth + 1);
}

/// tl.constexpr(x) makes a constexpr, Python's own functions and those of `math` do not.
static GlobalKind call_kind(Lowering *lowering, const Module *module, SyntaxNode node) {
    SyntaxNode function = node_field(node, "function");
    ScopeEntry callee = scope_of_expression(lowering->arena, module, function);
    Str language;
    if (callee.kind == SCOPE_EXTERNAL && scope_language_name(callee.dotted, &language))
        return str_is(language, "constexpr") ? GLOBAL_CONSTEXPR : GLOBAL_UNKNOWN;
    bool is_math = callee.kind == SCOPE_EXTERNAL && str_starts(callee.dotted, "math.");
    bool is_python = callee.kind == SCOPE_MISSING && node_kind(function) == SYNTAX_IDENTIFIER &&
                     python_builtin_exists(node_text(module->source, function));
    return is_math || is_python ? GLOBAL_PLAIN : GLOBAL_UNKNOWN;
}

static GlobalKind expression_kind(Lowering *lowering, const Module *module, SyntaxNode node,
                                  int depth) {
    if (depth > 8) return GLOBAL_UNKNOWN;
    switch (node_kind(node)) {
    case SYNTAX_INTEGER:
    case SYNTAX_FLOAT:
    case SYNTAX_TRUE:
    case SYNTAX_FALSE:
    case SYNTAX_STRING:
    case SYNTAX_CONCATENATED_STRING:
    case SYNTAX_TUPLE:
    case SYNTAX_LIST:
    case SYNTAX_DICTIONARY: return GLOBAL_PLAIN;
    case SYNTAX_PARENTHESIZED:
        return expression_kind(lowering, module, node_child(node, 0), depth + 1);
    case SYNTAX_UNARY:
        return expression_kind(lowering, module, node_field(node, "argument"), depth + 1);
    case SYNTAX_BINARY: {
        GlobalKind left = expression_kind(lowering, module, node_field(node, "left"), depth + 1);
        GlobalKind right = expression_kind(lowering, module, node_field(node, "right"), depth + 1);
        if (left == GLOBAL_CONSTEXPR || right == GLOBAL_CONSTEXPR) return GLOBAL_CONSTEXPR;
        return left == GLOBAL_PLAIN && right == GLOBAL_PLAIN ? GLOBAL_PLAIN : GLOBAL_UNKNOWN;
    }
    case SYNTAX_IDENTIFIER:
        return entry_kind(lowering,
                          module_resolve(lowering->arena, module, node_text(module->source, node)),
                          depth);
    case SYNTAX_CALL: return call_kind(lowering, module, node);
    default: return GLOBAL_UNKNOWN;
    }
}

/// Once in a kernel for each global that stands there by its name: of `module.NAME` Triton takes what it is.
static void report_global(Lowering *lowering, ScopeEntry entry, const Value *value, Str name,
                          SyntaxNode node) {
    const Constant *constant = value->constant;
    bool is_data =
        value_is_tuple(value, &(int){0}) ||
        (constant && constant->kind >= CONSTANT_BOOL && constant->kind <= CONSTANT_STRING);
    if (!is_data || lowering->global_depth || !lowering->diagnostics) return;
    if (node_kind(node) == SYNTAX_ATTRIBUTE) return;
    if (entry_kind(lowering, entry, 0) != GLOBAL_PLAIN) return;
    bool is_annotated = text_contains(entry.annotation, "constexpr");
    const char *start = arena_printf(lowering->arena,
                                     is_annotated ? "`%.*s` is annotated as a constexpr, which"
                                                  : "`%.*s` is a plain global",
                                     STR_ARGS(name));
    for (LIST_EACH(int, i, lowering->diagnostics->list)) {
        const Diagnostic *said = &lowering->diagnostics->list.items[i];
        if (said->id == DIAGNOSTIC_GLOBAL_NOT_CONSTEXPR &&
            str_starts(str_from(said->message), start))
            return;
    }
    lowering_report(
        lowering, DIAGNOSTIC_GLOBAL_NOT_CONSTEXPR, node,
        is_annotated ? "%s Triton 3.9 no longer accepts: write `%.*s = tl.constexpr(...)`."
                     : "%s; a kernel can only read constexprs: write `%.*s = tl.constexpr(...)`.",
        start, STR_ARGS(name));
}

/// Globals that name each other many times over are not followed to the end.
enum { GLOBAL_DEPTH_LIMIT = 12, GLOBAL_COUNT_LIMIT = 5000 };

static bool global_is_open(const Lowering *lowering, ScopeEntry entry) {
    for (const LoweringFrame *frame = lowering->frame; frame; frame = frame->caller)
        if (frame->global == entry.node.id) return true;
    return false;
}

/// Whether the kernel's own file calls this global so, too: then a backward in it can name it.
static bool global_has_name(const Lowering *lowering, ScopeEntry entry, Str name) {
    const LoweringFrame *frame = lowering->frame;
    while (frame->caller) frame = frame->caller;
    if (!frame->module || lowering->global_depth) return false;
    ScopeEntry there = module_resolve(lowering->arena, frame->module, name);
    return there.kind == SCOPE_ASSIGNED && there.node.id == entry.node.id &&
           there.item == entry.item;
}

Value *global_value(Lowering *lowering, ScopeEntry entry, Str name, SyntaxNode node) {
    if (lowering->global_depth > GLOBAL_DEPTH_LIMIT || global_is_open(lowering, entry) ||
        ++lowering->global_count > GLOBAL_COUNT_LIMIT)
        return lowering_opaque(lowering, "globals in a circle");
    Value *value = global_evaluate(lowering, entry);
    if (!value) {
        // A number, most likely a flag, that the user's Python computes: a constexpr like a parameter.
        if (global_has_name(lowering, entry, name)) {
            Value *named = build_string(&lowering->builder, str_dup(lowering->arena, name));
            value = build_unary(&lowering->builder, OP_GLOBAL, named);
            value->name = str_dup(lowering->arena, name);
            return value;
        }
        value = lowering_opaque(lowering,
                                arena_printf(lowering->arena, "the global `%.*s`", STR_ARGS(name)));
        value->name = str_dup(lowering->arena, name);
        value->type = (Type){
            .kind = TYPE_NUMBER, .element = dtype_of(DTYPE_ANY_NUMBER), .is_constexpr = true};
        return value;
    }
    report_global(lowering, entry, value, name, node);
    return value;
}

// --- Named tuples: a tuple whose note has the names, with a comma after each

static bool is_named_tuple_class(Lowering *lowering, const Module *module, SyntaxNode node) {
    ScopeEntry entry = scope_of_expression(lowering->arena, module, node);
    return entry.kind == SCOPE_EXTERNAL && (str_is(entry.dotted, "typing.NamedTuple") ||
                                            str_is(entry.dotted, "collections.namedtuple"));
}

static const char *fields_of_class(Lowering *lowering, ScopeEntry entry) {
    SyntaxNode bases = node_field(entry.node, "superclasses");
    if (node_is_null(bases) || node_child_count(bases) != 1 ||
        !is_named_tuple_class(lowering, entry.module, node_child(bases, 0)))
        return NULL;
    Buffer names = buffer_new(lowering->arena);
    SyntaxNode body = node_field(entry.node, "body");
    for (uint32_t i = 0; i < node_child_count(body); i++) {
        SyntaxNode field = node_child(node_child(body, i), 0);
        if (node_kind(field) != SYNTAX_ASSIGNMENT || node_is_null(node_field(field, "type")))
            continue;
        Str name = node_text(entry.module->source, node_field(field, "left"));
        buffer_printf(&names, "%.*s,", STR_ARGS(name));
    }
    return buffer_text(&names);
}

/// namedtuple("Point", ["x", "y"]) or namedtuple("Point", "x y")
static const char *fields_of_call(Lowering *lowering, ScopeEntry entry) {
    SyntaxNode list = node_field(entry.node, "arguments");
    if (node_kind(entry.node) != SYNTAX_CALL || node_child_count(list) < 2 ||
        !is_named_tuple_class(lowering, entry.module, node_field(entry.node, "function")))
        return NULL;
    Buffer names = buffer_new(lowering->arena);
    // Names are what is left of the text without quotes, brackets and separators.
    Str text = node_text(entry.module->source, node_child(list, 1));
    bool in_name = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool is_part = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || (c & 0x80);
        if (is_part) buffer_putc(&names, c);
        if (!is_part && in_name) buffer_putc(&names, ',');
        in_name = is_part;
    }
    return buffer_text(&names);
}

static int field_index(const char *fields, Str name) {
    int index = 0;
    for (const char *at = fields; *at; index++) {
        const char *end = at;
        while (*end != ',') end++;
        if (str_equal((Str){at, (size_t)(end - at)}, name)) return index;
        at = end + 1;
    }
    return -1;
}

static int field_count(const char *fields) {
    int count = 0;
    for (; *fields; fields++) count += *fields == ',';
    return count;
}

Value *lower_named_tuple(Lowering *lowering, ScopeEntry entry, Arguments *arguments) {
    const char *fields = entry.kind == SCOPE_CLASS      ? fields_of_class(lowering, entry)
                         : entry.kind == SCOPE_ASSIGNED ? fields_of_call(lowering, entry)
                                                        : NULL;
    int count = fields ? field_count(fields) : 0;
    if (!fields || arguments->is_open || arguments->positional.count > count) return NULL;
    Value **items = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (LIST_EACH(int, i, arguments->positional)) items[i] = arguments->positional.items[i];
    for (LIST_EACH(int, i, arguments->keywords)) {
        int index = field_index(fields, str_from(arguments->keywords.items[i].name));
        if (index >= 0) items[index] = arguments->keywords.items[i].value;
    }
    for (int i = 0; i < count; i++)
        if (!items[i]) return NULL;  // a default, most likely
    Value *tuple = build_tuple(&lowering->builder, items, count);
    tuple->op->note = fields;
    return tuple;
}

Value *named_item(const Value *tuple, Str name) {
    int count;
    if (!value_is_tuple(tuple, &count) || !tuple->op->note) return NULL;
    int index = field_index(tuple->op->note, name);
    return index >= 0 && index < count ? tuple->op->operands[index] : NULL;
}
