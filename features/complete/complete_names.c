// Completion of members and of names in scope.
#include "features/complete/complete_names.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "features/complete/complete.h"
#include "features/describe/describe.h"
#include "features/names/targets.h"

typedef struct MemberRow {
    enum { MEMBER_ANY, MEMBER_TILE, MEMBER_DTYPE, MEMBER_CONSTEXPR } kind;
    const char *name;
    const char *type;
    const char *doc;
} MemberRow;

static const MemberRow member_rows[] = {
#define MEMBER(kind, name, type, doc) {MEMBER_##kind, name, type, doc},
#include "features/complete/completion.def"
#undef MEMBER
};

static const char *const common_operations[] = {
#define COMMON(name) name,
#include "features/complete/completion.def"
#undef COMMON
};

static const char *sort_of_operation(Arena *arena, const char *name) {
    for (size_t i = 0; i < sizeof common_operations / sizeof *common_operations; i++)
        if (strcmp(common_operations[i], name) == 0) return arena_printf(arena, "0%02d", (int)i);
    return arena_printf(arena, name[0] == '_' ? "9%s" : "3%s", name);
}

// --- Modules

/// The spellings of an operation below `prefix` ("" or "libdevice."), each offered.
static void add_spelling(Completer *completer, OpCode code, Str name, const char *prefix) {
    size_t size = strlen(prefix);
    name = str_trim(name);
    if (!str_starts(name, prefix)) return;
    Str rest = {name.data + size, name.size - size};
    if (!rest.size || memchr(rest.data, '.', rest.size)) return;
    const char *label = str_dup(completer->arena, rest);
    complete_operation(completer, code, label, false, sort_of_operation(completer->arena, label));
}

static void add_operations(Completer *completer, const char *prefix) {
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        if (row->kind == KIND_REMOVED || !row->name) continue;
        add_spelling(completer, (OpCode)code, str_from(row->name), prefix);
        Str aliases = str_from(row->aliases ? row->aliases : "");
        while (aliases.size) {
            size_t size = 0;
            while (size < aliases.size && aliases.data[size] != ',') size++;
            add_spelling(completer, (OpCode)code, (Str){aliases.data, size}, prefix);
            size_t taken = size < aliases.size ? size + 1 : size;
            aliases = (Str){aliases.data + taken, aliases.size - taken};
        }
    }
}

static void add_dtypes(Completer *completer, const char *before, const char *sort) {
    for (int code = DTYPE_OF_PARAMETER + 1; code < DTYPE_COUNT; code++) {
        const char *name = dtype_name((DTypeCode)code);
        CompletionItem item = {.label = arena_printf(completer->arena, "%s%s", before, name),
                               .kind = COMPLETION_DTYPE,
                               .detail = arena_printf(completer->arena, "%d bits, %s",
                                                      dtype_bits((DTypeCode)code),
                                                      dtype_short_name((DTypeCode)code)),
                               .sort = arena_printf(completer->arena, "%s%s", sort, name)};
        complete_add(completer, item);
    }
}

static void add_namespace(Completer *completer, const char *name, const char *detail) {
    complete_add(completer,
                 (CompletionItem){.label = name, .kind = COMPLETION_NAMESPACE, .detail = detail});
}

static bool complete_module(Completer *completer, ScopeEntry entry) {
    Str language;
    if (entry.kind != SCOPE_EXTERNAL || !scope_language_name(entry.dotted, &language)) return false;
    if (!language.size) {
        add_operations(completer, "");
        add_dtypes(completer, "", "1");
        add_namespace(completer, "math", "triton.language.math");
        add_namespace(completer, "extra", "triton.language.extra");
        return true;
    }
    if (str_is(language, "math")) {
        // What tl.math has are operations of triton.language, and a few of libdevice in old releases.
        add_operations(completer, "math.");
        static const char *const names[] = {"exp",   "exp2", "log",  "log2",   "sqrt",  "sqrt_rn",
                                            "rsqrt", "sin",  "cos",  "erf",    "abs",   "floor",
                                            "ceil",  "fma",  "fdiv", "div_rn", "umulhi"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            complete_operation(completer, op_find(str_from(names[i])), names[i], false,
                               arena_printf(completer->arena, "0%02d", (int)i));
        return true;
    }
    if (str_ends(language, "libdevice")) {
        add_operations(completer, "libdevice.");
        return true;
    }
    if (str_is(language, "extra")) {
        add_namespace(completer, "libdevice", "mathematics of the device");
        add_namespace(completer, "cuda", "triton.language.extra.cuda");
        return true;
    }
    if (str_is(language, "extra.cuda")) {
        add_namespace(completer, "libdevice", "mathematics of the device");
        return true;
    }
    return dtype_from_name(language) != DTYPE_UNKNOWN;
}

// --- Values

static bool member_fits(const MemberRow *row, const Value *value) {
    if (!value) return row->kind == MEMBER_ANY || row->kind == MEMBER_TILE;
    switch (row->kind) {
    case MEMBER_ANY:
        return value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER ||
               value->type.kind == TYPE_DESCRIPTOR || value->type.kind == TYPE_UNKNOWN;
    case MEMBER_TILE: return value->type.rank > 0 && value->type.kind == TYPE_NUMBER;
    case MEMBER_DTYPE: return value->type.kind == TYPE_DTYPE;
    case MEMBER_CONSTEXPR: return value->type.is_constexpr;
    }
    return false;
}

static void add_methods(Completer *completer, bool of_descriptor, const Value *value) {
    bool is_pointer = value && value->type.kind == TYPE_POINTER;
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        Str methods = str_from(row->method ? row->method : "");
        while (methods.size) {
            size_t size = 0;
            while (size < methods.size && methods.data[size] != ',') size++;
            Str name = str_trim((Str){methods.data, size});
            bool is_descriptor = str_starts(name, "descriptor.");
            bool is_memory = (row->effects & (EFFECT_READS | EFFECT_WRITES)) != 0;
            bool fits = !value || is_descriptor || is_memory == is_pointer ||
                        value->type.kind == TYPE_UNKNOWN || (code == OP_CAST && is_pointer);
            if (is_descriptor == of_descriptor && fits) {
                Str last = text_last_component(name);
                complete_operation(completer, (OpCode)code, str_dup(completer->arena, last), true,
                                   arena_printf(completer->arena,
                                                str_is(last, "to") ? "0%.*s" : "3%.*s",
                                                STR_ARGS(last)));
            }
            size_t taken = size < methods.size ? size + 1 : size;
            methods = (Str){methods.data + taken, methods.size - taken};
        }
    }
}

static void complete_value(Completer *completer, const Value *value) {
    for (size_t i = 0; i < sizeof member_rows / sizeof *member_rows; i++) {
        const MemberRow *row = &member_rows[i];
        if (!member_fits(row, value)) continue;
        complete_add(completer,
                     (CompletionItem){.label = row->name,
                                      .kind = COMPLETION_METHOD,
                                      .detail = row->type,
                                      .sort = arena_printf(completer->arena, "1%s", row->name),
                                      .key = arena_printf(completer->arena, "text:%s", row->doc)});
    }
    bool is_data = !value || value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER ||
                   value->type.kind == TYPE_UNKNOWN || value->type.kind == TYPE_BLOCK_POINTER;
    if (value && value->type.kind == TYPE_DESCRIPTOR) add_methods(completer, true, value);
    if (is_data && !(value && value->type.is_constexpr)) add_methods(completer, false, value);
}

/// `BLOCK: tl.` of a parameter or a global.
static void complete_annotation(Completer *completer, Range object) {
    const char *text = completer->names->source->text.data;
    uint32_t at = object.start;
    while (at > 0 && text[at - 1] == ' ') at--;
    ScopeEntry entry = entry_of_dotted(completer->names, source_slice(object));
    Str language;
    if (!at || text[at - 1] != ':' || entry.kind != SCOPE_EXTERNAL ||
        !scope_language_name(entry.dotted, &language) || language.size)
        return;
    complete_add(completer, (CompletionItem){.label = "constexpr",
                                             .kind = COMPLETION_DTYPE,
                                             .detail = "known when the kernel is compiled"});
}

bool complete_language(Completer *completer, Range object) {
    const Source *source = completer->names->source;
    Range range = dotted_before(source, object.end);
    uint32_t before = skip_spaces_back(source, range.start);
    bool is_annotation = before > 0 && source->text.data[before - 1] == ':';
    Str text = source_slice(range);
    return text.size && !is_annotation &&
           complete_module(completer, entry_of_dotted(completer->names, text));
}

void complete_members(Completer *completer, Range object) {
    FileNames *names = completer->names;
    Range range = dotted_before(names->source, object.end);
    Str text = source_slice(range);
    char before = object.end > 0 ? names->source->text.data[object.end - 1] : ' ';
    bool is_expression = before == ')' || before == ']';
    if (is_expression) {
        if (completer->kernel) complete_value(completer, NULL);
        return;
    }
    if (!text.size || text.data[0] == '.' || (text.data[0] >= '0' && text.data[0] <= '9')) {
        if (completer->kernel && text.size && text.data[0] == '.') complete_value(completer, NULL);
        return;
    }
    if (!completer->kernel) {
        complete_annotation(completer, range);
        return;
    }
    size_t size = 0;
    while (size < text.size && text.data[size] != '.') size++;
    Str first = {text.data, size};
    const Value *value = variable_before(names, completer->kernel, first, range.start);
    if (value) {
        // `x.dtype.`: the type of an attribute
        Value dtype = {.type = {.kind = TYPE_DTYPE}};
        bool is_plain = size == text.size;
        bool is_dtype = str_ends(text, ".dtype") || str_ends(text, ".element_ty");
        complete_value(completer, is_plain ? value : is_dtype ? &dtype : NULL);
        return;
    }
    complete_module(completer, entry_of_dotted(names, text));
}

// --- Names in scope

const char *language_alias(FileNames *names) {
    const Map *globals = &names->snapshot->module->scope->names;
    for (int i = 0; i < globals->count; i++) {
        const ScopeEntry *entry = globals->entries[i].value;
        if (entry->kind != SCOPE_IMPORTED) continue;
        ScopeEntry found =
            module_resolve(names->arena, names->snapshot->module, globals->entries[i].key);
        if (found.kind == SCOPE_EXTERNAL && str_is(found.dotted, "triton.language"))
            return str_dup(names->arena, globals->entries[i].key);
    }
    return "tl";
}

static void add_variable(Completer *completer, Str name, const Value *value, bool is_constexpr) {
    if (!name.size || str_equal(name, source_slice(completer->prefix))) {
        // The word being written is itself an assignment target, or not finished.
        if (!value) return;
    }
    complete_add(
        completer,
        (CompletionItem){.label = str_dup(completer->arena, name),
                         .kind = is_constexpr ? COMPLETION_CONSTEXPR : COMPLETION_VARIABLE,
                         .detail = value_is_told(value) ? value_label(completer->arena, value) : "",
                         .sort = arena_printf(completer->arena, "1%.*s", STR_ARGS(name))});
}

static void add_locals(Completer *completer) {
    FileNames *names = completer->names;
    const Kernel *kernel = completer->kernel;
    SyntaxNode function = node_of_kernel(names, kernel);
    Targets targets = targets_of(names, function);
    Map latest = map_new(names->arena);  // by name: the last value before the cursor
    for (LIST_EACH(int, i, targets.list)) {
        SyntaxNode node = targets.list.items[i].node;
        if (range_of(names, node).end >= completer->prefix.start) break;
        if (!target_is_before(names, &targets.list.items[i], completer->prefix.start)) continue;
        map_set(&latest, text_of(names, node), value_of_node(names, kernel, node));
    }
    for (int i = 0; i < latest.count; i++) {
        const Value *value = latest.entries[i].value;
        add_variable(completer, latest.entries[i].key, value, value && value->constant != NULL);
    }
    for (int i = 0; kernel->function && i < kernel->function->parameter_count; i++) {
        const Parameter *parameter = &kernel->function->parameters[i];
        add_variable(completer, str_from(parameter->name), parameter->value,
                     parameter->is_constexpr);
    }
}

static void add_global(Completer *completer, Str name) {
    FileNames *names = completer->names;
    ScopeEntry entry = module_resolve(names->arena, names->snapshot->module, name);
    CompletionItem item = {.label = str_dup(completer->arena, name)};
    item.sort = arena_printf(completer->arena, "4%s", item.label);
    Str language;
    if (entry.kind == SCOPE_FUNCTION && entry.function->is_jit) {
        if (completer->kernel &&
            function_is_same(names, entry.function, completer->kernel->definition))
            return;
        item.kind = COMPLETION_FUNCTION;
        item.detail = function_label(completer->arena, entry.function);
        Str documentation = function_documentation(entry.function);
        if (documentation.size)
            item.key = arena_printf(completer->arena, "docstring:%.*s", STR_ARGS(documentation));
        if (!completer->has_bracket) {
            item.insert = arena_printf(completer->arena, "%s($0)", item.label);
            item.is_snippet = true;
        }
    } else if (entry.kind == SCOPE_ASSIGNED) {
        Str text = node_text(entry.module->source, entry.node);
        item.kind = COMPLETION_CONSTEXPR;
        if (text.size <= 60) item.detail = str_dup(completer->arena, text);
    } else if (entry.kind == SCOPE_EXTERNAL && scope_language_name(entry.dotted, &language)) {
        OpCode code = scope_find_operation(language);
        if (code != OP_COUNT) {
            complete_operation(completer, code, item.label, false, item.sort);
            return;
        }
        item.kind =
            dtype_from_name(language) == DTYPE_UNKNOWN ? COMPLETION_NAMESPACE : COMPLETION_DTYPE;
        item.detail = str_dup(completer->arena, entry.dotted);
    } else {
        return;
    }
    complete_add(completer, item);
}

void complete_names(Completer *completer) {
    add_locals(completer);
    const Map *globals = &completer->names->snapshot->module->scope->names;
    for (int i = 0; i < globals->count; i++) add_global(completer, globals->entries[i].key);
}
