// A kernel of the tile IR in, Python source out: decorators, header, body, and the combine functions that come along.
#include "autodiff/emit/emit.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/emit/emit_statement.h"
#include "autodiff/state/differentiation.h"

static const char *parameter_text(Arena *arena, const Parameter *parameter) {
    if (parameter->is_constexpr) {
        if (parameter->default_text.size)
            return arena_printf(arena, "%s: tl.constexpr = %.*s", parameter->name,
                                STR_ARGS(parameter->default_text));
        return arena_printf(arena, "%s: tl.constexpr", parameter->name);
    }
    if (parameter->annotation.size)
        return arena_printf(arena, "%s: %.*s", parameter->name, STR_ARGS(parameter->annotation));
    return parameter->name;
}

static void emit_header(Emitter *emitter, const char *decorators) {
    const Function *function = emitter->function;
    Arena *arena = emitter->arena;
    buffer_puts(&emitter->out, decorators);
    Buffer header = buffer_new(arena);
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        map_set(emitter->names, str_from(parameter->name), parameter->value);
        text_set(emitter, parameter->value, parameter->name, PRECEDENCE_ATOM);
        buffer_printf(&header, "%s%s", i ? ", " : "", parameter_text(arena, parameter));
    }
    const char *line = arena_printf(arena, "def %s(%s):", function->name, buffer_text(&header));
    if (strlen(line) <= LINE_LIMIT) {
        buffer_printf(&emitter->out, "%s\n", line);
        return;
    }
    buffer_printf(&emitter->out, "def %s(\n", function->name);
    for (int i = 0; i < function->parameter_count; i++)
        buffer_printf(&emitter->out, "    %s,\n", parameter_text(arena, &function->parameters[i]));
    buffer_puts(&emitter->out, "):\n");
}

/// What a combine function's region hands on; kernels return nothing.
static void emit_return(Emitter *emitter) {
    const Op *last = emitter->function->body->last;
    if (!last || last->code != OP_YIELD) return;
    Buffer values = buffer_new(emitter->arena);
    for (int i = 0; i < last->operand_count; i++)
        buffer_printf(&values, "%s%s", i ? ", " : "", emit_value(emitter, last->operands[i]).text);
    emit_parts(emitter, "return ", buffer_text(&values), "");
}

static void emit_function(Emitter *emitter, const char *decorators, const char *comment) {
    Map names = map_new(emitter->arena);
    emitter->names = &names;
    emitter->texts = map_new(emitter->arena);
    emitter->promised = map_new(emitter->arena);
    emitter->counters = map_new(emitter->arena);
    emitter->out = buffer_new(emitter->arena);
    emitter->indent = 1;
    emit_header(emitter, decorators);
    buffer_puts(&emitter->out, comment);
    size_t before = emitter->out.size;
    emit_region(emitter, emitter->function->body);
    emit_return(emitter);
    if (emitter->out.size == before) buffer_puts(&emitter->out, "    pass\n");
}

static const char *emit_with(Arena *arena, const Function *function, Map functions,
                             const char *decorators, const char *comment) {
    Emitter emitter = {
        .arena = arena, .function = function, .functions = functions, .inlined = map_new(arena)};
    emitter.uses = function_count_uses(arena, function);
    emitter.readers = function_readers(arena, function);
    emit_function(&emitter, decorators, comment);  // finds what is inlined
    emitter.lifetimes = lifetimes_of(arena, function, &emitter.inlined);
    emit_function(&emitter, decorators, comment);
    return buffer_text(&emitter.out);
}

// --- Combine functions that the kernel's file does not have by their name

typedef struct CombineSearch {
    Arena *arena;
    const Module *module;  // the kernel's
    Map functions;         // FunctionDefinition -> its name in the emitted text
    Buffer out;
} CombineSearch;

/// The region of a combine function, as a function with that one's parameters.
static const char *combine_text(Arena *arena, const FunctionDefinition *definition, Region *region,
                                const char *name) {
    Function function = {.arena = arena, .name = name, .body = region};
    function.parameter_count = region->argument_count;
    function.parameters = ARENA_ARRAY(arena, Parameter, region->argument_count + 1);
    for (int i = 0; i < region->argument_count; i++) {
        bool is_named = i < definition->parameter_count;
        function.parameters[i].name = is_named ? str_dup(arena, definition->parameters[i].name)
                                               : arena_printf(arena, "item_%d", i);
        function.parameters[i].value = region->arguments[i];
    }
    return emit_with(arena, &function, map_new(arena), "@triton.jit\n", "");
}

/// Under its own name or, where that stands for something else here, with a number behind it.
static void add_combine(CombineSearch *search, const FunctionDefinition *definition,
                        Region *region) {
    Arena *arena = search->arena;
    for (int number = 1; number < 100; number++) {
        char *base = str_dup(arena, definition->name);
        char *name = number == 1 ? base : arena_printf(arena, "%s_%d", base, number);
        ScopeEntry entry = module_resolve(arena, search->module, str_from(name));
        const char *text = combine_text(arena, definition, region, name);
        bool is_there =
            entry.kind == SCOPE_FUNCTION &&
            (entry.function == definition ||
             str_equal(str_trim(source_slice(entry.function->range)), str_trim(str_from(text))));
        if (!is_there && entry.kind != SCOPE_MISSING) continue;
        map_set_pointer(&search->functions, definition, name);
        if (!is_there) buffer_printf(&search->out, "%s%s", search->out.size ? "\n\n" : "", text);
        return;
    }
}

static bool visit_combine(void *context, Op *op) {
    CombineSearch *search = context;
    if (op->code != OP_REDUCE && op->code != OP_ASSOCIATIVE_SCAN) return true;
    const Value *value = op->operands[op_parameter_index(op->code, STR("combine_fn"))];
    const FunctionDefinition *definition =
        value && value->constant ? value->constant->function : NULL;
    if (definition && !map_get_pointer(&search->functions, definition))
        add_combine(search, definition, op->regions[0]);
    return true;
}

const char *emit_kernel(Arena *arena, const Function *function, const char *decorators,
                        const char *comment, const char **helpers) {
    CombineSearch search = {.arena = arena,
                            .module = function->definition->module,
                            .functions = map_new(arena),
                            .out = buffer_new(arena)};
    region_walk(function->body, visit_combine, &search);
    *helpers = buffer_text(&search.out);
    return emit_with(arena, function, search.functions, decorators, comment);
}
