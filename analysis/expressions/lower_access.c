// `value.attribute` and `value[subscript]`.
#include "analysis/expressions/lower_access.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/expressions/external_value.h"
#include "analysis/expressions/lower_expression.h"
#include "analysis/expressions/lower_global.h"
#include "analysis/expressions/lower_literal.h"
#include "analysis/expressions/lower_operator.h"
#include "analysis/frames/branches.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/ranges.h"
#include "analysis/frames/tuples.h"
#include "analysis/frames/type_join.h"
#include "analysis/syntax/syntax_nodes.h"

static Entity entity_of(Value *value) { return (Entity){.kind = ENTITY_VALUE, .value = value}; }

// --- Attributes of element types: x.dtype.is_fp16(), ptr.dtype.element_ty

enum { QUESTION_CODES = 5 };  // the table below has rows of four at most

typedef struct DTypeQuestion {
    const char *name;
    DTypeCode codes[QUESTION_CODES];  // ended by DTYPE_UNKNOWN
} DTypeQuestion;

static const DTypeQuestion dtype_questions[] = {
    {"is_fp16", {DTYPE_FLOAT16}},
    {"is_bf16", {DTYPE_BFLOAT16}},
    {"is_fp32", {DTYPE_FLOAT32}},
    {"is_fp64", {DTYPE_FLOAT64}},
    {"is_fp8e4nv", {DTYPE_FLOAT8E4NV}},
    {"is_fp8e4b8", {DTYPE_FLOAT8E4B8}},
    {"is_fp8e4b15", {DTYPE_FLOAT8E4B15}},
    {"is_fp8e5", {DTYPE_FLOAT8E5}},
    {"is_fp8e5b16", {DTYPE_FLOAT8E5B16}},
    {"is_int1", {DTYPE_INT1}},
    {"is_bool", {DTYPE_INT1}},
    {"is_int8", {DTYPE_INT8}},
    {"is_int16", {DTYPE_INT16}},
    {"is_int32", {DTYPE_INT32}},
    {"is_int64", {DTYPE_INT64}},
    {"is_uint8", {DTYPE_UINT8}},
    {"is_uint16", {DTYPE_UINT16}},
    {"is_uint32", {DTYPE_UINT32}},
    {"is_uint64", {DTYPE_UINT64}},
    {"is_fp8",
     {DTYPE_FLOAT8E5, DTYPE_FLOAT8E5B16, DTYPE_FLOAT8E4NV, DTYPE_FLOAT8E4B8, DTYPE_FLOAT8E4B15}},
};

static bool is_concrete(DType dtype) { return dtype.code > DTYPE_OF_PARAMETER; }

/// `dtype.is_...()`; false when the answer is not known.
static bool dtype_answer(DType dtype, bool is_pointer, Str name, bool *answer) {
    if (str_is(name, "is_ptr")) {
        *answer = is_pointer;
        return true;
    }
    if (str_is(name, "is_block")) return false;
    DTypeClass class = is_pointer ? CLASS_UNKNOWN : dtype_class(dtype);
    if (class == CLASS_UNKNOWN && !is_pointer) return false;
    bool is_float = class == CLASS_FLOAT;
    if (str_is(name, "is_floating"))
        *answer = is_float;
    else if (str_is(name, "is_int"))
        *answer = !is_float && !is_pointer;
    else if (str_is(name, "is_int_signed"))
        *answer = class == CLASS_SIGNED || class == CLASS_BOOL;
    else if (str_is(name, "is_int_unsigned"))
        *answer = class == CLASS_UNSIGNED;
    else if (str_is(name, "is_standard_floating") && is_concrete(dtype))
        *answer = dtype_bits(dtype.code) >= 16 && is_float;
    else {
        for (size_t i = 0; i < sizeof dtype_questions / sizeof *dtype_questions; i++) {
            const DTypeQuestion *question = &dtype_questions[i];
            if (!str_is(name, question->name)) continue;
            if (!is_concrete(dtype) &&
                is_float == (dtype_class(dtype_of(question->codes[0])) == CLASS_FLOAT))
                return false;
            *answer = false;
            for (int j = 0; j < QUESTION_CODES && question->codes[j] != DTYPE_UNKNOWN; j++)
                *answer = *answer || dtype.code == question->codes[j];
            return true;
        }
        return false;
    }
    return true;
}

/// What a value of TYPE_DTYPE stands for, as far as it is known.
static DType dtype_meant(const Value *value, bool *is_pointer) {
    *is_pointer = value->constant && value->constant->is_pointer;
    if (value->constant) return value->constant->dtype;
    if (value->op && value->op->code == OP_DTYPE_OF) {
        const Value *of = value->op->operands[0];
        *is_pointer = of->type.kind == TYPE_POINTER;
        return of->type.element;
    }
    if (value->op && value->op->code == OP_ELEMENT_TYPE_OF)
        return value->op->operands[0]->type.element;
    return value->type.element;
}

/// What a question about an element type gives that only an instance of the kernel answers: a constexpr.
static Value *dtype_asked(Lowering *lowering, Value *value, Str name) {
    Builder *builder = &lowering->builder;
    return build_binary(builder, OP_DTYPE_QUESTION, value,
                        build_string(builder, str_dup(lowering->arena, name)));
}

static bool name_asks_dtype(Str name) {
    if (str_is(name, "is_ptr") || str_is(name, "is_floating") || str_is(name, "is_int"))
        return true;
    for (size_t i = 0; i < sizeof dtype_questions / sizeof *dtype_questions; i++)
        if (str_is(name, dtype_questions[i].name)) return true;
    return str_is(name, "is_int_signed") || str_is(name, "is_int_unsigned") ||
           str_is(name, "is_block");
}

static Value *dtype_attribute(Lowering *lowering, Value *value, Str name) {
    Builder *builder = &lowering->builder;
    bool is_pointer;
    DType dtype = dtype_meant(value, &is_pointer);
    if (str_is(name, "scalar") || str_is(name, "value")) return value;
    if (str_is(name, "element_ty")) {
        if (value->op && value->op->code == OP_DTYPE_OF)
            return build_unary(builder, OP_ELEMENT_TYPE_OF, value->op->operands[0]);
        if (value->constant) return build_dtype(builder, dtype);
    }
    bool is_width = str_is(name, "primitive_bitwidth") || str_is(name, "int_bitwidth") ||
                    str_is(name, "itemsize");
    if (is_width && is_concrete(dtype) && !is_pointer) {
        int bits = dtype_bits(dtype.code);
        return build_int(builder, str_is(name, "itemsize") ? (bits + 7) / 8 : bits);
    }
    if (is_width) return dtype_asked(lowering, value, name);
    if (str_is(name, "name") && is_concrete(dtype))
        return build_string(builder, dtype_short_name(dtype.code));
    return NULL;
}

// --- Attributes of values

static Value *value_dtype(Lowering *lowering, Value *value) {
    if (value->type.kind == TYPE_NUMBER && is_concrete(value->type.element) && !value->constant)
        return build_dtype(&lowering->builder, value->type.element);
    if (value->type.kind == TYPE_DESCRIPTOR && is_concrete(value->type.element))
        return build_dtype(&lowering->builder, value->type.element);
    if (value->type.kind == TYPE_NUMBER && value->constant)
        return build_dtype(&lowering->builder, type_at_runtime(value).element);
    return build_unary(&lowering->builder, OP_DTYPE_OF, value);
}

static Value *value_shape(Lowering *lowering, Value *value) {
    bool has_shape = value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER;
    Value *shape = has_shape ? build_shape(&lowering->builder, value->type) : NULL;
    return shape ? shape : lowering_opaque(lowering, "a shape that is not known");
}

static Value *value_numel(Lowering *lowering, Value *value) {
    Value *shape = value_shape(lowering, value);
    int count;
    if (!value_is_tuple(shape, &count))
        return lowering_opaque(lowering, "a size that is not known");
    Value *total = build_int(&lowering->builder, 1);
    for (int i = 0; i < count; i++)
        total = build_binary(&lowering->builder, OP_MUL, total, tuple_item(lowering, shape, i));
    return total;
}

/// `desc.shape`, `desc.strides`, `desc.block_shape` of a descriptor made in this function.
static Value *descriptor_attribute(const Value *value, Str name) {
    if (!value->op || value->op->code != OP_MAKE_TENSOR_DESCRIPTOR) return NULL;
    int index = op_parameter_index(OP_MAKE_TENSOR_DESCRIPTOR, name);
    return index > 0 && index < value->op->operand_count ? value->op->operands[index] : NULL;
}

static Value *value_attribute(Lowering *lowering, Value *value, Str name) {
    Builder *builder = &lowering->builder;
    bool asks_width = str_is(name, "primitive_bitwidth") || str_is(name, "int_bitwidth");
    if (value->type.kind != TYPE_DTYPE && value->type.is_constexpr && asks_width)
        return dtype_asked(lowering, value, name);
    bool is_data = value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER ||
                   value->type.kind == TYPE_UNKNOWN;
    if (str_is(name, "value") && value->type.is_constexpr) return value;
    if (value->type.kind == TYPE_DTYPE) return dtype_attribute(lowering, value, name);
    if (value->type.kind == TYPE_TUPLE) {
        Value *item = named_item(value, name);
        if (item) return item;
    }
    if (value->type.kind == TYPE_DESCRIPTOR) {
        Value *found = descriptor_attribute(value, name);
        if (found) return found;
    }
    if (str_is(name, "dtype") || str_is(name, "type")) return value_dtype(lowering, value);
    if (!is_data) return NULL;
    if (str_is(name, "T")) return build_unary(builder, OP_TRANS, value);
    if (str_is(name, "shape")) return value_shape(lowering, value);
    if (str_is(name, "numel")) return value_numel(lowering, value);
    if (str_is(name, "value")) return value;  // of a constexpr
    return NULL;
}

OpCode descriptor_method(Lowering *lowering, Str name) {
    return op_find_method(
        str_from(arena_printf(lowering->arena, "descriptor.%.*s", STR_ARGS(name))));
}

static bool name_is_method(const Value *value, Str name) {
    if (value->type.kind == TYPE_DTYPE || value->type.is_constexpr) {
        if (name_asks_dtype(name)) return true;
        if (value->type.kind == TYPE_DTYPE) return str_starts(name, "is_");
    }
    bool is_reflected;
    return op_find_method(name) != OP_COUNT || operator_of_method(name, &is_reflected);
}

/// Projects that run on several vendors' compilers reach libdevice through a module chosen at run time, such as
/// `tl_extra = backend.get_extra()`. Its name and the function's together say what is meant.
static bool is_chosen_libdevice(const Lowering *lowering, Entity object, SyntaxNode node,
                                Str name) {
    if (object.kind != ENTITY_SCOPE) return false;
    if (object.entry.kind != SCOPE_OPAQUE && object.entry.kind != SCOPE_ASSIGNED) return false;
    Str written = lowering_text(lowering, node);
    Str assigned = object.entry.kind == SCOPE_ASSIGNED
                       ? node_text(object.entry.module->source, object.entry.node)
                       : object.entry.dotted;
    static const char *const words[] = {"libdevice", "tldevice", "tl_extra"};
    bool says_so = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        says_so = says_so || text_contains(written, words[i]) || text_contains(assigned, words[i]);
    if (!says_so || name.size > 60) return false;
    char dotted[80] = "libdevice.";
    memcpy(dotted + 10, name.data, name.size);
    return op_find((Str){dotted, name.size + 10}) != OP_COUNT;
}

/// `Color.RED` of a class with `RED = 1` in its body; the value of an enumeration's member is that, too.
static bool class_attribute(Entity object, Str name, ScopeEntry *entry) {
    if (object.kind != ENTITY_SCOPE || object.entry.kind != SCOPE_CLASS) return false;
    SyntaxNode body = node_field(object.entry.node, "body");
    for (uint32_t i = 0; i < node_child_count(body); i++) {
        SyntaxNode statement = node_child(node_child(body, i), 0);
        SyntaxNode value = node_field(statement, "right");
        if (node_kind(statement) != SYNTAX_ASSIGNMENT || node_is_null(value) ||
            !str_equal(node_text(object.entry.module->source, node_field(statement, "left")), name))
            continue;
        *entry = (ScopeEntry){.kind = SCOPE_ASSIGNED,
                              .module = object.entry.module,
                              .node = value,
                              .item = -1,
                              .annotation = STR("constexpr")};
        return true;
    }
    return false;
}

/// A parameter may be a tuple with names of its own; what an operation made is a tensor.
static bool is_made_tensor(const Value *value) {
    bool is_data = value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER;
    return is_data && value->op && !value->constant &&
           (value->type.rank > 0 || value->op->code == OP_LOAD || value->op->code == OP_PROGRAM_ID);
}

static Value *missing_member(Lowering *lowering, const Value *value, Str name, SyntaxNode node) {
    OpMember nearest = op_suggest_member(name);
    const char *what = value->type.rank > 0 ? "tile" : "scalar";
    bool is_near = nearest.distance <= 2 && 3 * nearest.distance <= (int)name.size + 1;
    OpCode function = op_find(name);
    if (function != OP_COUNT && !op_rows[function].instead && value->type.kind == TYPE_NUMBER) {
        Diagnostic *said = lowering_report(lowering, DIAGNOSTIC_UNKNOWN_OPERATION, node,
                                           "a %s has no `%.*s`: it is a function, `tl.%.*s(...)`.",
                                           what, STR_ARGS(name), STR_ARGS(name));
        if (said) said->severity = SEVERITY_WARNING;
        return lowering_silent(lowering, "an unknown attribute");
    }
    Diagnostic *diagnostic = is_near ? lowering_report(lowering, DIAGNOSTIC_UNKNOWN_OPERATION, node,
                                                       "a %s has no `%.*s`; did you mean `%.*s`?",
                                                       what, STR_ARGS(name), STR_ARGS(nearest.name))
                                     : lowering_report(lowering, DIAGNOSTIC_UNKNOWN_OPERATION, node,
                                                       "a %s has no `%.*s`.", what, STR_ARGS(name));
    // It may be of a release that we do not know.
    if (diagnostic && !is_near) diagnostic->severity = SEVERITY_WARNING;
    return lowering_silent(lowering, "an unknown attribute");
}

/// `tile.type.element_ty`: a block's type has its elements' type, where `.dtype` is that already. Of a pointer, and of a
/// parameter that may be one, it is the type of what it points to.
static bool is_type_of_elements(const Lowering *lowering, const Value *value, SyntaxNode object) {
    if (value->type.kind != TYPE_DTYPE || node_kind(object) != SYNTAX_ATTRIBUTE ||
        !str_is(lowering_text(lowering, node_field(object, "attribute")), "type"))
        return false;
    if (value->constant) return !value->constant->is_pointer;
    if (!value->op || value->op->code != OP_DTYPE_OF) return false;
    const Value *of = value->op->operands[0];
    if (of->type.kind != TYPE_UNKNOWN) return of->type.kind == TYPE_NUMBER;
    return of->op && of->op->code != OP_ADD && of->op->code != OP_SUB;
}

/// `tile.type.shape`, and the method `tile.type.get_block_shapes()`: of a block's type, which has its shape. NULL for other names.
static Value *value_of_block_type(Lowering *lowering, SyntaxNode object, Str name) {
    bool asks = str_is(name, "shape") || str_is(name, "get_block_shapes");
    if (!asks || node_kind(object) != SYNTAX_ATTRIBUTE ||
        !str_is(lowering_text(lowering, node_field(object, "attribute")), "type"))
        return NULL;
    SyntaxNode tile = node_field(object, "object");
    if (node_kind(tile) != SYNTAX_IDENTIFIER) return NULL;
    Entity entity = lower_entity(lowering, tile);
    return entity.kind == ENTITY_VALUE && entity.value->type.rank > 0 ? entity.value : NULL;
}

Value *lower_block_shape(Lowering *lowering, Value *tile) { return value_shape(lowering, tile); }

Entity lower_attribute(Lowering *lowering, SyntaxNode node) {
    bool fits = lowering_deeper(lowering, node);
    Entity object = fits ? lower_entity(lowering, node_field(node, "object"))
                         : entity_of(lowering_silent(lowering, "nested too deeply"));
    lowering->depth--;
    Str name = lowering_text(lowering, node_field(node, "attribute"));
    Value *tile = fits ? value_of_block_type(lowering, node_field(node, "object"), name) : NULL;
    if (tile && str_is(name, "shape")) return entity_of(lower_block_shape(lowering, tile));
    if (tile) return (Entity){.kind = ENTITY_METHOD, .value = tile, .name = name};
    if (object.kind == ENTITY_SCOPE &&
        (object.entry.kind == SCOPE_EXTERNAL || object.entry.kind == SCOPE_MODULE)) {
        ScopeEntry entry = scope_attribute(lowering->arena, object.entry, name);
        // tl.float32.primitive_bitwidth: the object is a value after all
        Value *value = object.entry.kind == SCOPE_EXTERNAL
                           ? lower_external_value(lowering, object.entry.dotted)
                           : NULL;
        if (!value || value->type.kind != TYPE_DTYPE)
            return (Entity){.kind = ENTITY_SCOPE, .entry = entry, .name = name};
        object = entity_of(value);
    }
    ScopeEntry member;
    if (class_attribute(object, name, &member))
        return (Entity){.kind = ENTITY_SCOPE, .entry = member, .name = name};
    if (object.kind == ENTITY_SCOPE && object.entry.kind == SCOPE_CLASS) {
        member = scope_attribute(lowering->arena, object.entry, name);
        if (member.kind == SCOPE_FUNCTION)
            return (Entity){.kind = ENTITY_SCOPE, .entry = member, .name = name};
    }
    if (is_chosen_libdevice(lowering, object, node_field(node, "object"), name)) {
        ScopeEntry entry = {
            .kind = SCOPE_EXTERNAL,
            .dotted = str_from(
                arena_printf(lowering->arena, "triton.language.libdevice.%.*s", STR_ARGS(name)))};
        return (Entity){.kind = ENTITY_SCOPE, .entry = entry, .name = name};
    }
    if (object.kind == ENTITY_PYTHON || object.kind == ENTITY_METHOD)
        return entity_of(lowering_opaque(lowering, "an attribute that is not known"));
    Value *value = entity_value(lowering, object, node_field(node, "object"));
    lowering_at(lowering, node);
    if (str_is(name, "element_ty") &&
        is_type_of_elements(lowering, value, node_field(node, "object")))
        return entity_of(value);
    Value *attribute = value_attribute(lowering, value, name);
    if (attribute) return entity_of(attribute);
    Entity method = {.kind = ENTITY_METHOD, .value = value, .name = name};
    bool may_be_descriptor =
        value->type.kind == TYPE_DESCRIPTOR || value->type.kind == TYPE_UNKNOWN;
    bool is_text = value->constant && value->constant->kind == CONSTANT_STRING;
    if (name_is_method(value, name) || (is_text && text_method_exists(name))) return method;
    if (may_be_descriptor && !value->type.is_constexpr &&
        descriptor_method(lowering, name) != OP_COUNT)
        return method;
    if (value->type.kind == TYPE_UNKNOWN || value->type.is_constexpr)
        return entity_of(lowering_opaque(lowering, "an attribute of something that is not known"));
    if (is_made_tensor(value)) return entity_of(missing_member(lowering, value, name, node));
    return entity_of(lowering_unknown(lowering, node, "The attribute `%.*s` is not understood.",
                                      STR_ARGS(name)));
}

static bool is_asserted(const Function *function, DType dtype) {
    for (const Op *op = function->body->first; op; op = op->next) {
        const Value *asked = op->code == OP_STATIC_ASSERT ? op->operands[0] : NULL;
        const Op *question = asked ? asked->op : NULL;
        if (!question || question->code != OP_DTYPE_QUESTION) continue;
        const Constant *of = question->operands[0]->constant;
        if (of && dtype_equal(of->dtype, dtype)) return true;
    }
    return false;
}

/// That a tensor holds floats, or integers, is read off how the kernel uses it. An answer that rests on it may be wrong of
/// what is passed: then what is derived of the kernel must not compile.
static void assert_class(Lowering *lowering, DType dtype) {
    Function *function = lowering->builder.function;
    if (dtype.code != DTYPE_OF_PARAMETER || is_asserted(function, dtype)) return;
    Builder builder = {.function = function,
                       .region = function->body,
                       .before = function->body->first,
                       .range = lowering->builder.range};
    bool is_float = dtype_class(dtype) == CLASS_FLOAT;
    Value *asked = build_binary(&builder, OP_DTYPE_QUESTION, build_dtype(&builder, dtype),
                                build_string(&builder, is_float ? "is_floating" : "is_int"));
    if (!asked->op) return;
    builder.before = asked->op->next;
    const char *message =
        is_float ? "the backward is for floats alone" : "the backward is for integers alone";
    Value *operands[] = {asked, build_string(&builder, message)};
    build(&builder, OP_STATIC_ASSERT, operands, 2);
}

/// `x.dtype.is_fp16()` and the like.
Value *lower_dtype_question(Lowering *lowering, Value *value, Str name) {
    bool is_pointer;
    bool answer;
    DType dtype = dtype_meant(value, &is_pointer);
    if (!dtype_answer(dtype, is_pointer, name, &answer)) return dtype_asked(lowering, value, name);
    if (!is_pointer && !is_concrete(dtype)) assert_class(lowering, dtype);
    return build_bool(&lowering->builder, answer);
}

// --- Subscripts

static bool slice_bound(Lowering *lowering, SyntaxNode node, int64_t *value) {
    return value_is_int(lower_value(lowering, node), value);
}

/// `items[first:end:step]` of a tuple.
static Value *tuple_slice(Lowering *lowering, Value *tuple, int count, SyntaxNode slice) {
    int64_t bounds[3] = {0, count, 1};
    bool given[3] = {false, false, false};
    int at = 0;
    for (uint32_t i = 0; i < node_all_child_count(slice); i++) {
        SyntaxNode child = node_all_child(slice, i);
        if (str_is(lowering_text(lowering, child), ":")) {
            at++;
            continue;
        }
        if (at > 2 || !slice_bound(lowering, child, &bounds[at]))
            return lowering_unknown(lowering, slice, "The bounds of this slice are not known.");
        given[at] = true;
    }
    if (bounds[2] == 0) return lowering_silent(lowering, "a slice with step 0");
    if (bounds[2] < 0 && !given[0]) bounds[0] = count - 1;
    if (bounds[2] < 0 && !given[1]) bounds[1] = -1;
    for (int i = 0; i < 2; i++) {
        if (given[i] && bounds[i] < 0) bounds[i] += count;
        if (bounds[i] > count) bounds[i] = count;
        if (bounds[i] < -1) bounds[i] = bounds[2] > 0 ? 0 : -1;
    }
    LIST(Value *) items = {0};
    uint64_t length = range_count(bounds[0], bounds[1], bounds[2]);
    for (uint64_t k = 0; k < length && items.count <= count; k++) {
        int64_t i = range_item(bounds[0], bounds[2], k);
        if (i >= 0 && i < count)
            LIST_PUSH(lowering->arena, &items, tuple_item(lowering, tuple, (int)i));
    }
    return build_tuple(&lowering->builder, items.items, items.count);
}

enum { INDEX_DEPTH = 12 };

/// The condition that a number of compile time is made of, `2 - PACKED`; NULL where there is none, or more than one.
static Value *condition_within(Value *index, int depth) {
    const Op *op = index->op;
    if (!index->type.is_constexpr || index->constant || depth > INDEX_DEPTH) return NULL;
    if (index->type.element.code == DTYPE_INT1) return index;
    bool is_arithmetic = op && (op->code == OP_ADD || op->code == OP_SUB || op->code == OP_MUL);
    if (op && op->code == OP_IF) return op->operands[0];
    if (op && op->code == OP_CAST) return condition_within(op->operands[0], depth + 1);
    if (!is_arithmetic) return NULL;
    Value *found[2];
    for (int i = 0; i < 2; i++) found[i] = condition_within(op->operands[i], depth + 1);
    return !found[0] || found[0] == found[1] ? found[1] : !found[1] ? found[0] : NULL;
}

/// What the number is where the condition is true, or false.
static bool number_where(const Value *index, const Value *condition, bool truth, int depth,
                         int64_t *number) {
    if (value_is_int(index, number)) return true;
    const Op *op = index->op;
    if (index == condition) {
        *number = truth;
        return true;
    }
    if (!op || depth > INDEX_DEPTH) return false;
    if (op->code == OP_IF && op->operands[0] == condition) {
        const Op *yield = region_terminator(op->regions[!truth]);
        return yield &&
               number_where(yield->operands[index->index], condition, truth, depth + 1, number);
    }
    int64_t a, b;
    if (op->code == OP_CAST)
        return number_where(op->operands[0], condition, truth, depth + 1, number);
    if ((op->code != OP_ADD && op->code != OP_SUB && op->code != OP_MUL) ||
        !number_where(op->operands[0], condition, truth, depth + 1, &a) ||
        !number_where(op->operands[1], condition, truth, depth + 1, &b))
        return false;
    return op->code == OP_ADD   ? !__builtin_add_overflow(a, b, number)
           : op->code == OP_SUB ? !__builtin_sub_overflow(a, b, number)
                                : !__builtin_mul_overflow(a, b, number);
}

typedef struct ItemChoice {
    Value *tuple;
    int64_t places[2];  // where the condition is true, and where it is not
} ItemChoice;

static Value *item_at(Lowering *lowering, void *context, bool is_first) {
    const ItemChoice *choice = context;
    int64_t place = choice->places[!is_first];
    int count;
    bool is_known = value_is_tuple(choice->tuple, &count);
    if (is_known && place >= 0 && place < count)
        return tuple_item(lowering, choice->tuple, (int)place);
    return build_binary(&lowering->builder, OP_ITEM, choice->tuple,
                        build_int(&lowering->builder, place));
}

/// `stride[2 - PACKED]`: the item of each way, below the condition. NULL where the place is made of something else.
static Value *item_by_condition(Lowering *lowering, Value *tuple, Value *index) {
    Value *condition = condition_within(index, 0);
    ItemChoice choice = {.tuple = tuple};
    for (int side = 0; condition && side < 2; side++)
        if (!number_where(index, condition, side == 0, 0, &choice.places[side]) ||
            choice.places[side] < 0)
            return NULL;
    return condition ? lower_choice(lowering, condition, item_at, &choice) : NULL;
}

static Value *tuple_subscript(Lowering *lowering, Value *tuple, int count, SyntaxNode index,
                              SyntaxNode node) {
    if (node_kind(index) == SYNTAX_SLICE) return tuple_slice(lowering, tuple, count, index);
    Value *at = lower_value(lowering, index);
    int64_t number;
    lowering_at(lowering, node);
    if (!value_is_int(at, &number)) {
        Value *chosen = item_by_condition(lowering, tuple, at);
        return chosen ? chosen : build_binary(&lowering->builder, OP_ITEM, tuple, at);
    }
    if (number < 0) number += count;
    if (number < 0 || number >= count)
        return lowering_unknown(lowering, node, "This tuple has only %d item%s.", count,
                                count == 1 ? "" : "s");
    return tuple_item(lowering, tuple, (int)number);
}

/// `:`, also where its bounds are written out, as in `[None:]`.
static bool slice_is_whole(SyntaxNode slice) {
    for (uint32_t i = 0; i < node_child_count(slice); i++)
        switch (node_kind(node_child(slice, i))) {
        case SYNTAX_NONE:
        case SYNTAX_COMMENT: break;
        default: return false;
        }
    return true;
}

/// `**meta` of Triton 1.
static bool is_meta(const Value *value) {
    return value->op && value->op->code == OP_UNKNOWN && value->op->note &&
           strcmp(value->op->note, ARGUMENTS_WITHOUT_NUMBER) == 0;
}

/// `x[:, None]`: new axes where None stands.
static Value *tile_subscript(Lowering *lowering, Value *value, SyntaxNode *indices, int count,
                             SyntaxNode node) {
    for (int i = 0; i < count; i++) {
        SyntaxKind kind = node_kind(indices[i]);
        if (kind == SYNTAX_SLICE && slice_is_whole(indices[i])) continue;
        Value *index = kind == SYNTAX_SLICE ? NULL : lower_value(lowering, indices[i]);
        if (!index || !value_is_none(index)) {
            if (value->type.kind == TYPE_UNKNOWN && is_meta(value))
                return lowering_opaque(lowering,
                                       arena_printf(lowering->arena,
                                                    "`%.*s`: Triton has no such dictionary since "
                                                    "2.0, make each of its items a parameter, "
                                                    "`BLOCK: tl.constexpr`",
                                                    STR_ARGS(lowering_text(lowering, node))));
            if (value->type.kind == TYPE_UNKNOWN)
                return lowering_silent(lowering, "a part of something that is not known");
            if (value_is_runtime(value) && value->type.kind == TYPE_NUMBER) {
                lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                                "Triton cannot read a part of a tile: only `:` and `None` can "
                                "stand in its subscript; load that part, or pick its lanes with "
                                "tl.where and tl.sum.");
                return lowering_silent(lowering, "a part of a tile");
            }
            if (value->region && !value->region->parent && value->type.is_constexpr) {
                Value *item = lowering_opaque(
                    lowering, "it is not known how many items a launch passes in this tuple");
                op_append_operand(lowering->builder.function, item->op, value);
                return item;
            }
            if (value->region && !value->region->parent)
                return passed_item(lowering, value, count == 1 ? index : NULL, node);
            return lowering_unknown(lowering, node,
                                    "Only `:` and `None` can stand in a tile's subscript.");
        }
        lowering_at(lowering, node);
        value = build_binary(&lowering->builder, OP_EXPAND_DIMS, value,
                             build_int(&lowering->builder, i));
    }
    return value;
}

Value *lower_subscript(Lowering *lowering, SyntaxNode node) {
    Value *value = lower_value(lowering, node_field(node, "value"));
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    if (count < 2) return lowering_silent(lowering, "an unfinished subscript");
    SyntaxNode *indices = children + 1;
    count--;
    if (count == 1 && node_kind(indices[0]) == SYNTAX_TUPLE) {
        SyntaxNode *inner;
        count = node_children(lowering->arena, indices[0], &inner);
        indices = inner;
    }
    int items;
    if (value_is_tuple(value, &items) && count == 1)
        return tuple_subscript(lowering, value, items, indices[0], node);
    bool is_open_tuple = value->type.kind == TYPE_TUPLE;
    bool is_unknown = value->type.kind == TYPE_UNKNOWN && count == 1;
    bool may_be_tuple = is_unknown && node_kind(indices[0]) == SYNTAX_INTEGER;
    if (is_open_tuple || may_be_tuple) {
        Value *index = lower_value(lowering, indices[0]);
        lowering_at(lowering, node);
        return build_binary(&lowering->builder, OP_ITEM, value, index);
    }
    if (is_unknown && node_kind(indices[0]) == SYNTAX_IDENTIFIER) {
        Value *chosen = item_by_condition(lowering, value, lower_value(lowering, indices[0]));
        if (chosen) return chosen;
    }
    return tile_subscript(lowering, value, indices, count, node);
}
