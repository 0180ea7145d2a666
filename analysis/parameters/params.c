// What unannotated parameters are: pointer, integer or float, and what pointers point to. Read off the IR of a lowering
// pass by how values are used; the next pass starts with it.
#include "analysis/parameters/params.h"

#include <string.h>

#include "analysis/ir/type.h"
#include "analysis/module/module_scope.h"
#include "analysis/parameters/descriptor_blocks.h"
#include "analysis/parameters/pointees.h"
#include "analysis/parameters/roles.h"
#include "analysis/parameters/tuples.h"
#include "analysis/syntax/syntax_nodes.h"

static Type pointer_to(int parameter, DTypeClass class) {
    DType element = {.code = DTYPE_OF_PARAMETER, .parameter = parameter, .parameter_class = class};
    return (Type){.kind = TYPE_POINTER, .element = element};
}

static Type scalar_of(DTypeCode code) {
    return (Type){.kind = TYPE_NUMBER, .element = dtype_of(code)};
}

static Type constexpr_type(Type old, int role, const Parameter *parameter) {
    const Constant *missing = parameter->default_value;
    if (role & ROLE_DTYPE || (missing && missing->kind == CONSTANT_DTYPE))
        return (Type){.kind = TYPE_DTYPE, .is_constexpr = true};
    if (role & ROLE_STRING || (missing && missing->kind == CONSTANT_STRING))
        return (Type){.kind = TYPE_STRING, .is_constexpr = true};
    if (missing && missing->kind == CONSTANT_FUNCTION)
        return (Type){.kind = TYPE_FUNCTION, .is_constexpr = true};
    if (old.kind == TYPE_NUMBER && old.element.code == DTYPE_ANY_NUMBER &&
        (role & ROLE_SIZE ||
         (role & (ROLE_INT | ROLE_REMAINDER | ROLE_WHOLE | ROLE_CUT) && !(role & ROLE_FLOAT))))
        old.element = dtype_of(DTYPE_INT32);
    return old;
}

/// A descriptor that comes from the host: its block's shape is not to be seen here.
static Type descriptor_type(Arena *arena, Type old, int rank, int index, DTypeClass class) {
    if (old.kind == TYPE_DESCRIPTOR &&
        (class == CLASS_UNKNOWN || old.element.parameter_class == class))
        return old;
    Type type = pointer_to(index, class);
    type.kind = TYPE_DESCRIPTOR;
    type.rank = rank < TYPE_MAX_RANK ? rank : 0;
    type.dims = ARENA_ARRAY(arena, const Poly *, type.rank + 1);
    return type;
}

static Type runtime_type(Type old, int role, int index, DTypeClass class) {
    bool is_pointer = role & ROLE_POINTER || old.kind == TYPE_POINTER;
    if (is_pointer) {
        bool is_generic = old.kind != TYPE_POINTER || old.element.code == DTYPE_OF_PARAMETER;
        if (!is_generic) return old;
        DTypeClass known = old.kind == TYPE_POINTER ? old.element.parameter_class : CLASS_UNKNOWN;
        // An integer stays one: what was float by default may turn out to be an index, not the other way round.
        return pointer_to(index, class == CLASS_UNKNOWN || known == CLASS_SIGNED ? known : class);
    }
    if (old.kind == TYPE_NUMBER && old.element.code != DTYPE_FLOAT32) return old;
    if (role & ROLE_INT) return scalar_of(DTYPE_INT32);
    if (role & ROLE_FLOAT) return scalar_of(DTYPE_FLOAT32);
    if (role & (ROLE_REMAINDER | ROLE_WHOLE | ROLE_CUT)) return scalar_of(DTYPE_INT32);
    return old;
}

Type parameter_type_of_annotation(Str annotation) {
    Str text = str_trim(annotation);
    if (text.size > 2 && (text.data[0] == '"' || text.data[0] == '\''))
        text = (Str){text.data + 1, text.size - 2};
    if (text.size && text.data[0] == '*') {
        DTypeCode code = dtype_from_name((Str){text.data + 1, text.size - 1});
        if (code == DTYPE_UNKNOWN) return (Type){0};
        return (Type){.kind = TYPE_POINTER, .element = dtype_of(code)};
    }
    DTypeCode code = dtype_from_name(text_last_component(text));
    if (code != DTYPE_UNKNOWN) return scalar_of(code);
    if (str_is(text, "int")) return scalar_of(DTYPE_INT32);
    if (str_is(text, "float")) return scalar_of(DTYPE_FLOAT32);
    if (str_is(text, "bool")) return scalar_of(DTYPE_INT1);
    return (Type){0};
}

bool parameters_learn(Arena *arena, Function *function, const bool *is_fixed,
                      ParameterKnowledge *knowledge) {
    Roles roles = roles_find(arena, function);
    Pointees pointees = pointees_find(arena, function, &roles);
    bool learnt = descriptor_blocks_learn(arena, function, knowledge);
    learnt |= tuples_learn(arena, function, &roles, is_fixed, knowledge);
    for (int i = 0; i < knowledge->count; i++) {
        const Parameter *parameter = &function->parameters[i];
        if (is_fixed[i]) continue;
        int role = role_of(&roles, parameter->value);
        Type old = knowledge->types[i];
        if (old.kind == TYPE_TUPLE) continue;
        DTypeClass class = pointee_class(pointees.loaded[i], pointees.stored[i]);
        knowledge->is_cut[i] = pointees.loaded[i] & ROLE_CUT && class != CLASS_FLOAT;
        knowledge->is_kept[i] = role & ROLE_KEPT;
        // Of what may be either the kernel makes a descriptor itself.
        bool is_either = role & ROLE_DESCRIPTOR && role & ROLE_POINTER;
        bool is_described = role & ROLE_DESCRIPTOR && !is_either;
        if (is_either) knowledge->may_be_descriptor[i] = true;
        Type new = parameter->is_constexpr ? constexpr_type(old, role, parameter)
                   : is_described || old.kind == TYPE_DESCRIPTOR
                       ? descriptor_type(arena, old, roles.ranks[parameter->value->id], i, class)
                       : runtime_type(old, role, i, class);
        bool is_known = new.kind == old.kind &&dtype_equal(new.element, old.element) &&
                        new.element.parameter_class == old.element.parameter_class;
        if (is_known) continue;
        knowledge->types[i] = new;
        learnt = true;
    }
    return learnt;
}

static bool points_to_unknown(const Type *type) {
    return (type->kind == TYPE_POINTER || type->kind == TYPE_DESCRIPTOR) &&
           type->element.code == DTYPE_OF_PARAMETER &&
           type->element.parameter_class == CLASS_UNKNOWN;
}

/// Whether the text of the body has the parameter's name anywhere, be it in a comment.
static bool is_mentioned(const Function *function, int parameter) {
    const FunctionDefinition *definition = function->definition;
    if (!definition) return true;
    Str body = node_text(definition->module->source, definition->body);
    return str_contains(body, definition->parameters[parameter].name);
}

bool parameters_settle(const Function *function, ParameterKnowledge *knowledge,
                       const bool *is_fixed, bool at_once) {
    bool changed = false;
    bool is_kernel = !function->definition || !function->definition->is_helper;
    for (int i = 0; i < knowledge->count; i++) {
        const Parameter *parameter = &function->parameters[i];
        Type *type = &knowledge->types[i];
        if (is_fixed[i] || parameter->is_constexpr) continue;
        const Constant *missing = parameter->default_value;
        if (points_to_unknown(type)) {
            if (knowledge->is_cut[i]) continue;  // meets a float perhaps, once the others are known
            type->element.parameter_class = CLASS_FLOAT;
            changed = true;
        } else if (type->kind == TYPE_UNKNOWN && missing && missing->kind != CONSTANT_NONE) {
            *type = scalar_of(missing->kind == CONSTANT_FLOAT  ? DTYPE_FLOAT32
                              : missing->kind == CONSTANT_BOOL ? DTYPE_INT1
                                                               : DTYPE_INT32);
            changed = true;
        }
    }
    for (int i = 0; i < knowledge->count && (at_once || !changed); i++) {
        if (is_fixed[i] || !points_to_unknown(&knowledge->types[i])) continue;
        knowledge->types[i].element.parameter_class = CLASS_SIGNED;
        changed = true;
    }
    // What is left decides nothing; a kernel's parameter is a scalar then, of floats if it ends among them. A helper's may be a
    // tile of any number.
    bool may_decide = at_once || !changed;
    for (int i = 0; i < knowledge->count; i++) {
        const Parameter *parameter = &function->parameters[i];
        if (is_fixed[i] || parameter->is_constexpr || knowledge->types[i].kind != TYPE_UNKNOWN)
            continue;
        if (function->definition && function->definition->parameters[i].is_variadic) continue;
        bool decides = is_mentioned(function, i);
        if (decides && !may_decide) continue;
        knowledge->types[i] = scalar_of(!is_kernel              ? DTYPE_ANY_NUMBER
                                        : knowledge->is_kept[i] ? DTYPE_FLOAT32
                                                                : DTYPE_INT32);
        may_decide = at_once || (may_decide && !decides);
        changed = true;
    }
    return changed;
}

bool parameters_are_settled(Arena *arena, const Function *function,
                            const ParameterKnowledge *knowledge, const bool *is_fixed) {
    ParameterKnowledge trial = *knowledge;
    size_t bytes = sizeof *trial.types * (size_t)trial.count;
    trial.types = arena_grow(arena, trial.types, bytes, bytes);
    return !parameters_settle(function, &trial, is_fixed, false);
}

void parameters_describe(Function *function) {
    Arena *scratch = arena_new_scratch();
    Roles roles = roles_find(scratch, function);
    pointees_find(scratch, function, &roles);
    optionals_find(function);
    for (int i = 0; i < function->parameter_count; i++) {
        const Constant *missing = function->parameters[i].default_value;
        if (missing && missing->kind == CONSTANT_NONE) function->parameters[i].is_optional = true;
    }
    arena_free(scratch);
}
