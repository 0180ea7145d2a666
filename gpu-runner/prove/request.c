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
        bool is_installed = name[0] == IMPORT_INSTALLED_MARK;
        size_t dots = is_installed ? 1 : strspn(name, ".");
        int asked = is_installed ? IMPORT_INSTALLED : (int)dots;
        if (asked != level || !str_is(dotted, name + dots)) continue;
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
    const Json *modules = json_get(params, "modules");
    if (modules && modules->kind == JSON_ARRAY) sources->modules = json_copy(arena, modules);
    sources->building = map_new(arena);
    sources->lowered = map_new(arena);
    sources->resolver = (Resolver){resolve, sources};
    return sources;
}

Module *sources_module(Sources *sources, const char *path, Str text) {
    for (LIST_EACH(int, i, sources->built)) {
        Module *known = sources->built.items[i];
        if (strcmp(known->source->path, path) == 0 && str_equal(known->source->text, text))
            return known;
    }
    Arena *arena = sources->arena;
    Str own = {arena_strndup(arena, text.data, text.size), text.size};
    Source *source = source_new(arena, arena_strdup(arena, path), own);
    map_set(&sources->building, str_from(source->path), source);
    Diagnostics diagnostics = {.arena = arena};
    sources->depth++;
    Module *module = module_build(arena, source, &sources->resolver, &diagnostics);
    sources->depth--;
    map_set(&sources->building, str_from(source->path), NULL);
    LIST_PUSH(arena, &sources->built, module);
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

// --- kept for the next request ------------------------------------------------------------------------------------------

static Sources *kept;  // of the thread that does requests
static bool is_lent;   // to a request that did not get to its end, where another one asks

static const char *texts_of(Arena *arena, const Json *params) {
    static const char *const of_request[] = {"path", "source", "before", "modules"};
    static const char *const of_backward[] = {"source", "joined"};
    const Json *backward = json_get(params, "backward");
    Json *texts = json_array(arena);
    for (size_t i = 0; i < sizeof of_request / sizeof *of_request; i++) {
        const Json *text = json_get(params, of_request[i]);
        json_push(texts, text ? json_copy(arena, text) : json_null(arena));
    }
    for (size_t i = 0; i < sizeof of_backward / sizeof *of_backward; i++) {
        const Json *text = json_get(backward, of_backward[i]);
        json_push(texts, text ? json_copy(arena, text) : json_null(arena));
    }
    return json_print(arena, texts, false);
}

static void kept_free(void) {
    if (!kept) return;
    sources_free(kept);
    arena_free(kept->arena);
    kept = NULL;
}

Sources *sources_borrow(const Json *params) {
    Arena *arena = arena_new();
    const char *texts = texts_of(arena, params);
    if (is_lent || !kept || strcmp(kept->texts, texts) != 0) {
        kept_free();
        kept = sources_new(arena, params);
        kept->texts = texts;
    } else {
        arena_free(arena);
    }
    is_lent = true;
    return kept;
}

void sources_return(Sources *sources) {
    static const size_t MOST_BYTES = (size_t)64 << 20;
    is_lent = false;
    // what a bug of ours left half built is not used again
    if (sources == kept && (sources->depth || arena_bytes(sources->arena) > MOST_BYTES))
        kept_free();
}

// --- concrete kernels ---------------------------------------------------------------------------------------------------

/// What lower_concrete came to.
typedef struct LoweredKernel {
    Function *function;
    Error error;
    DiagnosticId refusal;
} LoweredKernel;

/// All that tells constants apart: 1 is not True here.
static void write_constant(Buffer *key, const Constant *constant) {
    buffer_printf(key, "%d %lld %a %d.%d.%d %d %p %d %zu:%.*s(", (int)constant->kind,
                  (long long)constant->integer, constant->number, (int)constant->dtype.code,
                  constant->dtype.parameter, (int)constant->dtype.parameter_class,
                  constant->is_pointer, (const void *)constant->function, (int)constant->op,
                  constant->string.size, STR_ARGS(constant->string));
    for (int i = 0; i < constant->item_count; i++) write_constant(key, &constant->items[i]);
    buffer_printf(key, ")");
}

static Str lowering_key(Arena *arena, const FunctionDefinition *definition, const Binding *bindings,
                        int count) {
    Buffer key = buffer_new(arena);
    buffer_printf(&key, "%p", (const void *)definition);
    for (int i = 0; i < count; i++) {
        const Type *type = &bindings[i].type;
        buffer_printf(&key, "\n%.*s=", STR_ARGS(bindings[i].name));
        if (bindings[i].constant)
            write_constant(&key, bindings[i].constant);
        else
            buffer_printf(&key, "%d %d %d.%d.%d %s", (int)type->kind, type->is_constexpr,
                          (int)type->element.code, type->element.parameter,
                          (int)type->element.parameter_class, type_print(arena, *type));
    }
    return (Str){buffer_text(&key), key.size};
}

static Constant constant_copy(Arena *arena, const Constant *constant) {
    Constant copy = *constant;
    copy.string.data = arena_strndup(arena, constant->string.data, constant->string.size);
    Constant *items = ARENA_ARRAY(arena, Constant, constant->item_count + 1);
    for (int i = 0; i < constant->item_count; i++)
        items[i] = constant_copy(arena, &constant->items[i]);
    copy.items = items;
    return copy;
}

/// The bindings for a function that outlives the request.
static Binding *bindings_copy(Arena *arena, const Binding *bindings, int count) {
    Binding *copies = ARENA_ARRAY(arena, Binding, count + 1);
    for (int i = 0; i < count; i++) {
        copies[i].name = (Str){arena_strndup(arena, bindings[i].name.data, bindings[i].name.size),
                               bindings[i].name.size};
        copies[i].type = type_detached(arena, bindings[i].type);
        if (bindings[i].constant)
            copies[i].constant = constant_new(arena, constant_copy(arena, bindings[i].constant));
    }
    return copies;
}

static LoweredKernel lower_bound(Arena *arena, const FunctionDefinition *definition,
                                 const Binding *bindings, int count) {
    Diagnostics diagnostics = {.arena = arena};
    LoweredKernel lowered = {.refusal = DIAGNOSTIC_COUNT};
    LowerOptions options = {.bindings = bindings_copy(arena, bindings, count),
                            .binding_count = count,
                            .unroll_static = true};
    lowered.function = lower_kernel(arena, definition, &options, &diagnostics);
    if (!lowered.function)
        lowered.error = arena_printf(arena, "`%.*s` does not lower", STR_ARGS(definition->name));
    for (int i = 0; i < diagnostics.list.count && !lowered.error; i++) {
        const Diagnostic *diagnostic = &diagnostics.list.items[i];
        // beyond a limit the rest of the kernel is missing
        bool is_cut = diagnostic->id == DIAGNOSTIC_LIMIT_REACHED;
        if (diagnostic->severity != SEVERITY_ERROR && !is_cut) continue;
        lowered.refusal = diagnostic->id;
        lowered.error =
            arena_printf(arena, "line %d: %s", range_line(diagnostic->range), diagnostic->message);
        lowered.function = NULL;
    }
    return lowered;
}

Function *lower_concrete(Sources *sources, const FunctionDefinition *definition,
                         const Binding *bindings, int count, Error *error) {
    Str key = lowering_key(sources->arena, definition, bindings, count);
    LoweredKernel *known = map_get(&sources->lowered, key);
    if (!known) {
        known = ARENA_NEW(sources->arena, LoweredKernel);
        *known = lower_bound(sources->arena, definition, bindings, count);
        map_set(&sources->lowered, key, known);
    }
    sources->refusal = known->refusal;
    if (known->error) *error = known->error;
    return known->function;
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

/// A tile of whole numbers that an iteration of a loop hands on as one of floats.
static bool visit_carried(void *context, Op *op) {
    const Op **found = context;
    if (op->code != OP_FOR || op->region_count == 0) return true;
    const Region *body = op->regions[0];
    const Op *yield = region_terminator(body);
    for (int i = 1; yield && i < body->argument_count && i <= yield->operand_count; i++) {
        const Type carried = body->arguments[i]->type;
        const Value *next = yield->operands[i - 1];
        bool is_tile = carried.kind == TYPE_NUMBER && carried.rank > 0;
        if (is_tile && dtype_is_integer(carried.element) && next &&
            next->type.kind == TYPE_NUMBER && dtype_code_is_float(next->type.element.code))
            *found = op;
    }
    return *found == NULL;
}

Error error_of_carried(Arena *arena, const Function *function) {
    const Op *found = NULL;
    region_walk(function->body, visit_carried, &found);
    return found ? arena_printf(arena,
                                "line %d: Triton compiles no loop that makes floats of a tile of "
                                "whole numbers that it carries",
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
    json_set_number(json, "tangent_launches", (double)use->tangents);
    json_set_number(json, "own_type_launches", (double)use->rounded);
    DeviceTimes now = device_times();
    Json *seconds = json_object(arena);
    json_set_number(seconds, "opening", now.opening - use->before.opening);
    json_set_number(seconds, "compiling", now.compiling - use->before.compiling);
    json_set_number(seconds, "allocating", now.allocating - use->before.allocating);
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
