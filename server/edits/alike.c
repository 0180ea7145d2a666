// The trees are walked side by side. Statements are aligned by their shapes, the longest common sequence of them; what then stands
// beside each other is compared part by part, and names are bound to each other on the way.
#include "server/edits/alike.h"

#include <string.h>

/// A local name of a derived function and the one that the written function has for it.
typedef struct NamePair {
    Str derived, written;
} NamePair;

/// A function of each that stand for each other.
typedef struct LikenessScope {
    Map derived, written;  // the names that they bind
    LIST(NamePair) pairs;
    struct LikenessScope *outer;
} LikenessScope;

/// What is told of as one: an argument, an element, a part of a statement.
typedef struct LikenessUnit {
    SyntaxNode derived, written;
    const char *verb;
    Str keyword;
    bool is_argument;  // its own parts are no units
} LikenessUnit;

typedef struct LikenessWalk {
    const Likeness *likeness;
    Arena *arena;
    const Source *derived, *written;
    LikenessScope *scope;
    LikenessFaults *faults;
    LikenessUnit unit;
    bool is_other;  // the statement that is compared is; then what was seen first
    LikenessUnit first;
    const char *words;  // of it, where these are no usual ones
    int depth;
} LikenessWalk;

enum { MOST_FAULTS = 40 };

static bool is_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written);

static bool differ(LikenessWalk *walk, const char *words) {
    if (!walk->is_other) {
        walk->is_other = true;
        walk->first = walk->unit;
        walk->words = words;
    }
    return false;
}

/// In one line, and not too long.
static const char *excerpt(Arena *arena, const Source *source, SyntaxNode node) {
    enum { MOST_BYTES = 72 };
    Buffer out = buffer_new(arena);
    Str text = node_text(source, node);
    for (size_t i = 0; i < text.size; i++) {
        bool is_blank = strchr(" \t\r\n", text.data[i]);
        bool is_inner = out.size && strchr(" ([{", out.data[out.size - 1]);
        if (is_blank && is_inner) continue;
        bool closes = strchr(")]}", text.data[i]) && out.size && out.data[out.size - 1] == ' ';
        if (closes) out.data[--out.size] = 0;
        if (closes && out.size && out.data[out.size - 1] == ',') out.data[--out.size] = 0;
        buffer_putc(&out, is_blank ? ' ' : text.data[i]);
    }
    const char *line = buffer_text(&out);
    if (out.size <= MOST_BYTES) return line;
    size_t size = MOST_BYTES;
    while (size && ((unsigned char)line[size] & 0xC0) == 0x80) size--;
    return arena_printf(arena, "%.*s...", (int)size, line);
}

// --- Names

static bool pair_names(LikenessWalk *walk, LikenessScope *scope, Str derived, Str written) {
    for (LIST_EACH(int, i, scope->pairs)) {
        const NamePair *pair = &scope->pairs.items[i];
        if (str_equal(pair->derived, derived)) return str_equal(pair->written, written);
        if (str_equal(pair->written, written)) return false;
    }
    // What both have under one name is that in both.
    bool is_new = map_has(&scope->written, derived) || map_has(&scope->derived, written);
    if (!str_equal(derived, written) && is_new) return false;
    LIST_PUSH(walk->arena, &scope->pairs, (NamePair){derived, written});
    return true;
}

static bool names_alike(LikenessWalk *walk, Str derived, Str written) {
    for (LikenessScope *scope = walk->scope; scope; scope = scope->outer) {
        bool here = map_has(&scope->derived, derived), there = map_has(&scope->written, written);
        if (here && there) return pair_names(walk, scope, derived, written);
        if (here || there) return false;
    }
    const char *renamed = map_get(&walk->likeness->renamed, derived);
    return renamed ? str_is(written, renamed) : str_equal(derived, written);
}

// --- Calls

typedef struct CallArguments {
    SyntaxParts places, keywords;
} CallArguments;

static CallArguments call_arguments(Arena *arena, const Source *source, SyntaxNode list) {
    CallArguments arguments = {0};
    SyntaxParts all = parts_of(arena, source, list);
    for (LIST_EACH(int, i, all)) {
        if (node_kind(all.items[i]) == SYNTAX_KEYWORD_ARGUMENT)
            LIST_PUSH(arena, &arguments.keywords, all.items[i]);
        else
            LIST_PUSH(arena, &arguments.places, all.items[i]);
    }
    return arguments;
}

static bool argument_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written,
                           Str keyword) {
    LikenessUnit outer = walk->unit;
    if (!outer.is_argument) {
        walk->unit = (LikenessUnit){derived, written, outer.verb, keyword, true};
        if (keyword.size || strcmp(outer.verb, "has") == 0) walk->unit.verb = "passes";
    }
    bool alike = is_alike(walk, derived, written);
    walk->unit = outer;
    return alike;
}

static Str keyword_of(const Source *source, SyntaxNode argument) {
    return node_text(source, node_field(argument, "name"));
}

static bool has_parameter(const FunctionDefinition *function, Str name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (str_equal(function->parameters[i].name, name)) return true;
    return false;
}

/// Whether the kernel that both launch has the parameter under another name in the written module.
static bool is_renamed_parameter(const LikenessWalk *walk, SyntaxNode written_list, Str derived,
                                 Str written) {
    SyntaxNode callee = node_field(node_parent(written_list), "function");
    if (node_kind(callee) != SYNTAX_SUBSCRIPT) return false;
    Str name = node_text(walk->written, node_field(callee, "value"));
    const FunctionDefinition *here = module_find_function(walk->likeness->derived, name);
    const FunctionDefinition *there = module_find_function(walk->likeness->written, name);
    return here && there && here->is_jit && has_parameter(here, derived) &&
           !has_parameter(here, written) && has_parameter(there, written) &&
           !has_parameter(there, derived);
}

/// The written argument for a derived keyword: of its name, else the next that is left for a parameter with another name.
static int keyword_place(const LikenessWalk *walk, const CallArguments *written, const bool *taken,
                         SyntaxNode list, Str keyword) {
    for (LIST_EACH(int, i, written->keywords))
        if (str_equal(keyword_of(walk->written, written->keywords.items[i]), keyword)) return i;
    for (LIST_EACH(int, i, written->keywords)) {
        Str name = keyword_of(walk->written, written->keywords.items[i]);
        if (!taken[i] && is_renamed_parameter(walk, list, keyword, name)) return i;
    }
    return -1;
}

static bool keywords_alike(LikenessWalk *walk, const CallArguments *derived,
                           const CallArguments *written, SyntaxNode list) {
    Arena *arena = walk->arena;
    bool *taken = ARENA_ARRAY(arena, bool, written->keywords.count + 1);
    for (LIST_EACH(int, i, derived->keywords)) {
        SyntaxNode argument = derived->keywords.items[i];
        Str keyword = keyword_of(walk->derived, argument);
        int place = keyword_place(walk, written, taken, list, keyword);
        if (place < 0)
            return differ(walk, arena_printf(arena, "does not pass `%s`",
                                             excerpt(arena, walk->derived, argument)));
        taken[place] = true;
        SyntaxNode own = written->keywords.items[place];
        if (!argument_alike(walk, part_bare(node_field(argument, "value")),
                            part_bare(node_field(own, "value")), keyword))
            return false;
    }
    for (LIST_EACH(int, i, written->keywords))
        if (!taken[i])
            return differ(walk,
                          arena_printf(arena, "passes `%s`, which the derived one does not",
                                       excerpt(arena, walk->written, written->keywords.items[i])));
    return true;
}

static bool arguments_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    CallArguments own = call_arguments(walk->arena, walk->derived, derived);
    CallArguments other = call_arguments(walk->arena, walk->written, written);
    if (own.places.count != other.places.count) return differ(walk, NULL);
    for (LIST_EACH(int, i, own.places))
        if (!argument_alike(walk, own.places.items[i], other.places.items[i], (Str){0}))
            return false;
    return keywords_alike(walk, &own, &other, written);
}

// --- Statements

static void tell(LikenessWalk *walk, SyntaxNode place, const char *words) {
    if (walk->faults->count >= MOST_FAULTS) return;
    LikenessFault fault = {node_range(walk->written, place), words};
    LIST_PUSH(walk->arena, walk->faults, fault);
}

static void tell_first(LikenessWalk *walk) {
    Arena *arena = walk->arena;
    const LikenessUnit *unit = &walk->first;
    const char *own = excerpt(arena, walk->written, unit->written);
    const char *their = excerpt(arena, walk->derived, unit->derived);
    const char *of =
        unit->keyword.size ? arena_printf(arena, " for `%.*s`", STR_ARGS(unit->keyword)) : "";
    const char *words = walk->words;
    if (!words)
        words = arena_printf(arena, "%s `%s`%s where the derived one %s `%s`", unit->verb, own, of,
                             unit->verb, their);
    tell(walk, unit->written, words);
}

static void compare_statement(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    LikenessUnit outer = walk->unit;
    bool returns = node_kind(derived) == SYNTAX_RETURN;
    walk->unit = (LikenessUnit){derived, written, returns ? "returns" : "has", (Str){0}, false};
    walk->is_other = false;
    is_alike(walk, derived, written);
    if (walk->is_other) tell_first(walk);
    walk->is_other = false;
    walk->unit = outer;
}

/// The statements of a block, by their shapes.
typedef struct BlockShapes {
    SyntaxParts statements;
    uint64_t *shapes;
} BlockShapes;

static BlockShapes block_shapes(Arena *arena, const Source *source, SyntaxNode block,
                                const Map *names) {
    BlockShapes shapes = {.statements = parts_of(arena, source, block)};
    shapes.shapes = ARENA_ARRAY(arena, uint64_t, shapes.statements.count + 1);
    for (LIST_EACH(int, i, shapes.statements))
        shapes.shapes[i] =
            map_hash(str_from(part_shape(arena, source, shapes.statements.items[i], names)));
    return shapes;
}

/// For each derived statement the written one that is aligned with it, or -1: a longest common sequence of shapes.
static int *align(Arena *arena, const BlockShapes *derived, const BlockShapes *written) {
    enum { MOST_CELLS = 1 << 20 };
    int rows = derived->statements.count, columns = written->statements.count;
    int *match = ARENA_ARRAY(arena, int, rows + 1);
    for (int i = 0; i < rows; i++) match[i] = -1;
    if ((rows + 1) * (int64_t)(columns + 1) > MOST_CELLS) return match;
    int stride = columns + 1;
    int *length = ARENA_ARRAY(arena, int, (rows + 1) * stride);
    for (int i = rows - 1; i >= 0; i--)
        for (int k = columns - 1; k >= 0; k--) {
            int *cell = &length[i * stride + k], down = cell[stride], right = cell[1];
            *cell = derived->shapes[i] == written->shapes[k] ? cell[stride + 1] + 1
                    : down > right                           ? down
                                                             : right;
        }
    for (int i = 0, k = 0; i < rows && k < columns;) {
        const int *cell = &length[i * stride + k];
        if (derived->shapes[i] == written->shapes[k])
            match[i++] = k++;
        else if (cell[stride] >= cell[1])
            i++;
        else
            k++;
    }
    return match;
}

typedef struct BlockGap {
    int start, end;
} BlockGap;

static void tell_extra(LikenessWalk *walk, SyntaxNode statement) {
    tell(walk, statement,
         arena_printf(walk->arena, "has `%s`, which is not in the derived one",
                      excerpt(walk->arena, walk->written, statement)));
}

/// Statements that are not aligned: those of a kind, in order, are taken for edits of each other.
static void compare_gap(LikenessWalk *walk, const BlockShapes *derived, BlockGap own,
                        const BlockShapes *written, BlockGap other, SyntaxNode block) {
    Arena *arena = walk->arena;
    for (int i = own.start; i < own.end; i++) {
        SyntaxNode statement = derived->statements.items[i];
        int k = other.start;
        while (k < other.end && !parts_are_of_a_kind(statement, written->statements.items[k])) k++;
        if (k == other.end) {
            bool has_next = other.end < written->statements.count;
            SyntaxNode place = has_next ? written->statements.items[other.end] : block;
            if (!has_next && written->statements.count)
                place = written->statements.items[written->statements.count - 1];
            tell(walk, place,
                 arena_printf(arena, "lacks `%s` of the derived one",
                              excerpt(arena, walk->derived, statement)));
            continue;
        }
        for (; other.start < k; other.start++)
            tell_extra(walk, written->statements.items[other.start]);
        compare_statement(walk, statement, written->statements.items[k]);
        other.start = k + 1;
    }
    for (; other.start < other.end; other.start++)
        tell_extra(walk, written->statements.items[other.start]);
}

static void compare_block(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    Map none = map_new(walk->arena);
    BlockShapes own = block_shapes(walk->arena, walk->derived, derived,
                                   walk->scope ? &walk->scope->derived : &none);
    BlockShapes other = block_shapes(walk->arena, walk->written, written,
                                     walk->scope ? &walk->scope->written : &none);
    int *match = align(walk->arena, &own, &other), i = 0, k = 0;
    for (;;) {
        int next = i;
        while (next < own.statements.count && match[next] < 0) next++;
        bool ends = next == own.statements.count;
        int place = ends ? other.statements.count : match[next];
        compare_gap(walk, &own, (BlockGap){i, next}, &other, (BlockGap){k, place}, written);
        if (ends) return;
        compare_statement(walk, own.statements.items[next], other.statements.items[place]);
        i = next + 1;
        k = place + 1;
    }
}

// --- Parts

static const FunctionDefinition *function_at(const Module *module, SyntaxNode node) {
    for (LIST_EACH(int, i, module->functions))
        if (node_same(module->functions.items[i]->node, node)) return module->functions.items[i];
    return NULL;
}

static bool defaults_alike(LikenessWalk *walk, const FunctionDefinition *derived,
                           const FunctionDefinition *written) {
    for (int i = 0; i < derived->parameter_count; i++)
        for (int k = 0; k < written->parameter_count; k++) {
            const ParameterDefinition *own = &derived->parameters[i];
            const ParameterDefinition *other = &written->parameters[k];
            if (!str_equal(own->name, other->name)) continue;
            bool has = !node_is_null(own->default_node),
                 other_has = !node_is_null(other->default_node);
            if (has != other_has) return differ(walk, NULL);
            if (has && !argument_alike(walk, part_bare(own->default_node),
                                       part_bare(other->default_node), own->name))
                return false;
        }
    return true;
}

/// A kernel: its decorators, and what stands for arguments that nobody passes.
static bool kernel_alike(LikenessWalk *walk, const FunctionDefinition *derived,
                         const FunctionDefinition *written) {
    if (derived->decorators.count != written->decorators.count) {
        walk->unit.written = node_field(written->node, "name");
        return differ(walk, "has other decorators than the derived one");
    }
    for (LIST_EACH(int, i, derived->decorators))
        if (!is_alike(walk, derived->decorators.items[i], written->decorators.items[i]))
            return false;
    return defaults_alike(walk, derived, written);
}

static bool function_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    const FunctionDefinition *own = function_at(walk->likeness->derived, derived);
    const FunctionDefinition *other = function_at(walk->likeness->written, written);
    Str name = node_text(walk->derived, node_field(derived, "name"));
    if (!names_alike(walk, name, node_text(walk->written, node_field(written, "name"))))
        return differ(walk, NULL);
    if (own && other && own->is_jit && other->is_jit) return kernel_alike(walk, own, other);
    LikenessScope scope = {.derived = parts_bind(walk->arena, walk->derived, derived),
                           .written = parts_bind(walk->arena, walk->written, written),
                           .outer = walk->scope};
    walk->scope = &scope;
    bool alike =
        is_alike(walk, node_field(derived, "parameters"), node_field(written, "parameters"));
    if (alike) compare_block(walk, node_field(derived, "body"), node_field(written, "body"));
    walk->scope = scope.outer;
    return alike;
}

static bool tells_of_parts(SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_TUPLE:
    case SYNTAX_LIST:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_ASSIGNMENT:
    case SYNTAX_RETURN:
    case SYNTAX_IF:
    case SYNTAX_ELIF:
    case SYNTAX_FOR:
    case SYNTAX_WHILE:
    case SYNTAX_PARAMETERS:
    case SYNTAX_AUGMENTED_ASSIGNMENT: return true;
    default: return false;
    }
}

static bool parts_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    SyntaxParts own = parts_of(walk->arena, walk->derived, derived);
    SyntaxParts other = parts_of(walk->arena, walk->written, written);
    if (!own.count && !other.count)
        return str_equal(node_text(walk->derived, derived), node_text(walk->written, written)) ||
               differ(walk, NULL);
    if (own.count != other.count) return differ(walk, NULL);
    LikenessUnit outer = walk->unit;
    bool has_units = !outer.is_argument && tells_of_parts(derived);
    bool alike = true;
    for (int i = 0; i < own.count && alike; i++) {
        if (has_units && node_kind(own.items[i]) != SYNTAX_OTHER) {
            walk->unit.derived = own.items[i];
            walk->unit.written = other.items[i];
        }
        alike = is_alike(walk, own.items[i], other.items[i]);
        walk->unit = outer;
    }
    return alike;
}

static bool has_interpolation(SyntaxNode string) {
    for (uint32_t i = 0; i < node_child_count(string); i++)
        if (node_kind(node_child(string, i)) == SYNTAX_INTERPOLATION) return true;
    return false;
}

static bool strings_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    if (string_parts_equal(walk->derived, derived, walk->written, written)) return true;
    if (!has_interpolation(derived) || !has_interpolation(written)) return false;
    uint32_t count = node_child_count(derived);
    if (node_child_count(written) != count) return false;
    for (uint32_t i = 1; i + 1 < count; i++)  // between the quotes
        if (!is_alike(walk, node_child(derived, i), node_child(written, i))) return false;
    return true;
}

static bool nodes_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    Str own = node_text(walk->derived, derived), other = node_text(walk->written, written);
    if (walk->depth > DEEPEST_PART) return str_equal(own, other) || differ(walk, NULL);
    if (!parts_are_of_a_kind(derived, written)) return differ(walk, NULL);
    switch (node_kind(derived)) {
    case SYNTAX_IDENTIFIER: return names_alike(walk, own, other) || differ(walk, NULL);
    case SYNTAX_INTEGER:
    case SYNTAX_FLOAT: return number_parts_equal(own, other) || differ(walk, NULL);
    case SYNTAX_STRING: return strings_alike(walk, derived, written) || differ(walk, NULL);
    case SYNTAX_ARGUMENT_LIST: return arguments_alike(walk, derived, written);
    case SYNTAX_FUNCTION: return function_alike(walk, derived, written);
    case SYNTAX_ATTRIBUTE:
        if (!str_equal(node_text(walk->derived, node_field(derived, "attribute")),
                       node_text(walk->written, node_field(written, "attribute"))))
            return differ(walk, NULL);
        return is_alike(walk, node_field(derived, "object"), node_field(written, "object"));
    case SYNTAX_MODULE:
    case SYNTAX_BLOCK: compare_block(walk, derived, written); return true;
    default: return parts_alike(walk, derived, written);
    }
}

static bool is_alike(LikenessWalk *walk, SyntaxNode derived, SyntaxNode written) {
    derived = part_bare(derived);
    written = part_bare(written);
    if (node_is_null(derived) || node_is_null(written))
        return node_is_null(derived) == node_is_null(written) || differ(walk, NULL);
    walk->depth++;
    bool alike = nodes_alike(walk, derived, written);
    walk->depth--;
    return alike;
}

void likeness_compare(const Likeness *likeness, SyntaxNode derived, SyntaxNode written,
                      LikenessFaults *faults) {
    LikenessWalk walk = {.likeness = likeness,
                         .arena = likeness->arena,
                         .derived = likeness->derived->source,
                         .written = likeness->written->source,
                         .faults = faults};
    compare_statement(&walk, derived, written);
}
