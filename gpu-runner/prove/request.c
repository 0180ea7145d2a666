// Modules from the texts of a request (nothing is read from disk), and concrete kernels.
#include "gpu-runner/prove/request.h"

#include <string.h>

#include "gpu-runner/configure/spec.h"
#include "gpu-runner/cuda/device.h"

static const Module *resolve(void *context, const Source *from, Str dotted, int level) {
    Sources *sources = context;
    for (int i = 0; sources->modules && i < sources->modules->count; i++) {
        const Json *entry = sources->modules->items[i];
        const char *importer = json_get_string(entry, "from", NULL),
                   *name = json_get_string(entry, "dotted", "");
        if (importer && from && strcmp(importer, from->path) != 0) continue;
        size_t dots = strspn(name, ".");
        if ((int)dots != level || !str_is(dotted, name + dots)) continue;
        const Json *text = json_get(entry, "source");
        const char *path = json_get_string(entry, "path", name);
        if (map_get(&sources->building, str_from(path))) return NULL;  // a cycle of imports
        if (text && text->kind == JSON_STRING) return sources_module(sources, path, text->string);
    }
    return NULL;
}

Sources *sources_new(Arena *arena, const Json *params) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    sources->modules = json_get(params, "modules");
    if (sources->modules && sources->modules->kind != JSON_ARRAY) sources->modules = NULL;
    sources->by_path = map_new(arena);
    sources->building = map_new(arena);
    sources->resolver = (Resolver){resolve, sources};
    sources->diagnostics.arena = arena;
    return sources;
}

Module *sources_module(Sources *sources, const char *path, Str text) {
    Module *known = map_get(&sources->by_path, str_from(path));
    if (known && str_equal(known->source->text, text)) return known;
    Source *source = source_new(sources->arena, path, text);
    map_set(&sources->building, str_from(path), source);
    Module *module =
        module_build(sources->arena, source, &sources->resolver, &sources->diagnostics);
    map_set(&sources->building, str_from(path), NULL);
    map_set(&sources->by_path, str_from(path), module);
    LIST_PUSH(sources->arena, &sources->built, module);
    return module;
}

const FunctionDefinition *sources_kernel(Sources *sources, const Json *params, Error *error) {
    const Json *source = json_get(params, "source");
    const char *name = json_get_string(params, "kernel", "");
    if (!source || source->kind != JSON_STRING) {
        *error = "the request needs `source`";
        return NULL;
    }
    const Module *module =
        sources_module(sources, json_get_string(params, "path", ""), source->string);
    const FunctionDefinition *kernel = module_find_function(module, str_from(name));
    int line = json_get_int(params, "line", 0);
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *other = module->functions.items[i];
        if (str_is(other->name, name) && range_line(other->name_range) == line) kernel = other;
    }
    if (!kernel)
        *error = arena_printf(sources->arena, "there is no kernel `%s` in the source", name);
    return kernel;
}

void sources_free(Sources *sources) {
    for (LIST_EACH(int, i, sources->built)) module_release(sources->built.items[i]);
}

Function *lower_concrete(Sources *sources, const FunctionDefinition *definition,
                         const Binding *bindings, int count, Error *error) {
    sources->refusal = DIAGNOSTIC_COUNT;
    Diagnostics diagnostics = {.arena = sources->arena};
    LowerOptions options = {.bindings = bindings, .binding_count = count, .unroll_static = true};
    Function *function = lower_kernel(sources->arena, definition, &options, &diagnostics);
    if (!function) {
        *error = arena_printf(sources->arena, "`%.*s` does not lower", STR_ARGS(definition->name));
        return NULL;
    }
    for (LIST_EACH(int, i, diagnostics.list)) {
        const Diagnostic *diagnostic = &diagnostics.list.items[i];
        // beyond a limit the rest of the kernel is missing
        bool is_cut = diagnostic->id == DIAGNOSTIC_LIMIT_REACHED;
        if (diagnostic->severity != SEVERITY_ERROR && !is_cut) continue;
        sources->refusal = diagnostic->id;
        *error = arena_printf(sources->arena, "line %d: %s", range_line(diagnostic->range),
                              diagnostic->message);
        return NULL;
    }
    return function;
}

static bool is_address_of_none(const Op *op) {
    bool is_sum = op->code == OP_ADD || op->code == OP_SUB;
    bool is_access = op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_ATOMIC_ADD;
    for (int i = 0; i < op->operand_count && i < (is_sum ? 2 : is_access); i++)
        if (op->operands[i] && value_is_none(op->operands[i])) return true;
    return false;
}

static bool visit_address(void *context, Op *op) {
    const Op **found = context;
    if (is_address_of_none(op)) *found = op;
    return *found == NULL;
}

Error error_of_none(Arena *arena, const Function *function) {
    const Op *found = NULL;
    region_walk(function->body, visit_address, &found);
    return found ? arena_printf(arena, "line %d: Triton compiles no address from None",
                                range_line(found->range))
                 : NULL;
}

static bool visit_assertion(void *context, Op *op) {
    const Op **found = context;
    bool holds;
    if (op->code == OP_STATIC_ASSERT && value_is_bool(op->operands[0], &holds) && !holds)
        *found = op;
    return *found == NULL;
}

Error error_of_assertion(Arena *arena, const Function *function) {
    const Op *found = NULL;
    region_walk(function->body, visit_assertion, &found);
    if (!found) return NULL;
    const Constant *message = found->operand_count > 1 ? found->operands[1]->constant : NULL;
    if (!message || message->kind != CONSTANT_STRING) return "a static assertion of it is false";
    return str_dup(arena, message->string);
}

DTypeCode dtype_from_text(const char *name, DTypeCode missing) {
    if (!name) return missing;
    if (strncmp(name, "tl.", 3) == 0) name += 3;
    DTypeCode code = dtype_from_name(str_from(name));
    return code == DTYPE_UNKNOWN ? missing : code;
}

const Constant *constant_from_json(Arena *arena, const Json *value) {
    if (!value || value->kind == JSON_NULL) return constant_none(arena);
    if (value->kind == JSON_BOOL) return constant_bool(arena, value->number != 0);
    if (value->kind == JSON_STRING) {
        bool is_type = str_starts(value->string, "tl.") &&
                       dtype_from_text(value->string.data, DTYPE_UNKNOWN) != DTYPE_UNKNOWN;
        return is_type ? constant_dtype(arena, dtype_from_text(value->string.data, DTYPE_FLOAT32))
                       : constant_text(arena, value->string);
    }
    if (value->kind != JSON_NUMBER) return NULL;
    bool whole = value->number > -9e15 && value->number < 9e15 &&
                 (double)(int64_t)value->number - value->number == 0;
    return whole ? constant_int(arena, (int64_t)value->number)
                 : constant_float(arena, value->number);
}

Json *finding_json(Arena *arena, const MemoryFinding *finding) {
    Json *json = json_object(arena);
    json_set_string(json, "kind", finding_name(finding->kind));
    json_set_string(json, "kernel", finding->kernel);
    json_set_number(json, "line", finding->line);
    json_set_string(json, "message", finding->message);
    return json;
}

Json *cuda_json(Arena *arena, const CudaUse *use) {
    Json *json = json_object(arena);
    json_set_number(json, "launches", (double)use->launches);
    json_set_number(json, "backward_launches", (double)use->backwards);
    DeviceTimes now = device_times();
    Json *seconds = json_object(arena);
    json_set_number(seconds, "opening", now.opening - use->before.opening);
    json_set_number(seconds, "compiling", now.compiling - use->before.compiling);
    json_set_number(seconds, "copying", now.copying - use->before.copying);
    json_set_number(seconds, "running", now.running - use->before.running);
    json_set_number(seconds, "interpreting", interp_seconds() - use->interpreting);
    if (now.opening > 0) json_set(json, "seconds", seconds);
    if (use->refused) json_set_string(json, "refused", use->refused);
    if (device_is_lost()) json_set_bool(json, "lost", true);
    Error gone = device_gone();
    if (gone) json_set_string(json, "gone", gone);
    return json;
}

double request_seconds(const Json *params) {
    enum { WITHOUT_LIMIT_S = 300, BESIDE_S = 60 };
    double most = json_get_number(params, "max_seconds", WITHOUT_LIMIT_S);
    return 2 * (most > 0 ? most : 0) + BESIDE_S;
}
