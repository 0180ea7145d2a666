// A module and an edit in, what both texts share moved to the next module, and what the edit changed.
#include "analysis/module/module_update.h"

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

/* ---- moving ---- */

typedef struct Move {
    Arena *arena;
    const Source *from;
    const Source *to;
    const SyntaxTree *tree;
    int piece;
    uint32_t shift;  // modulo 2^32
} Move;

static Move move_of(const Module *module, const Module *former, int piece) {
    int old = syntax_piece_former(module->tree, piece);
    uint32_t start = syntax_piece_range(module->tree, module->source, piece).start;
    return (Move){
        module->arena,  former->source,
        module->source, module->tree,
        piece,          start - syntax_piece_range(former->tree, former->source, old).start};
}

static Str text_move(const Move *move, Str text) {
    const char *begin = move->from->text.data;
    if (text.size == 0) return text;
    uint32_t offset = (uint32_t)(text.data - begin) + move->shift;
    return (Str){move->to->text.data + offset, text.size};
}

static Range range_move(const Move *move, Range range) {
    return (Range){move->to, range.start + move->shift, range.end + move->shift};
}

static SyntaxNode node_move(const Move *move, SyntaxNode node) {
    return node_moved(node, move->tree, move->piece);
}

static NodeList nodes_move(const Move *move, NodeList from) {
    NodeList to = {0};
    if (from.count == 0) return to;
    to.items = ARENA_ARRAY(move->arena, SyntaxNode, from.count);
    to.count = to.capacity = from.count;
    for (int i = 0; i < from.count; i++) to.items[i] = node_move(move, from.items[i]);
    return to;
}

static void parameters_move(const Move *move, FunctionDefinition *function,
                            const FunctionDefinition *former) {
    function->parameters =
        ARENA_ARRAY(move->arena, ParameterDefinition, former->parameter_count + 1);
    for (int i = 0; i < former->parameter_count; i++) {
        ParameterDefinition *to = &function->parameters[i];
        *to = former->parameters[i];
        to->name = text_move(move, to->name);
        to->annotation = text_move(move, to->annotation);
        to->default_text = text_move(move, to->default_text);
        to->default_node = node_move(move, to->default_node);
        to->range = range_move(move, to->range);
    }
}

static FunctionFacts *facts_move(const Move *move, const FunctionDefinition *former) {
    FunctionFacts *facts = ARENA_NEW(move->arena, FunctionFacts);
    const FunctionFacts *from = former->facts;
    *facts = *from;
    facts->former = former;
    facts->calls = nodes_move(move, from->calls);
    facts->mentions.items = arena_grow(move->arena, from->mentions.items,
                                       sizeof(Mention) * (size_t)from->mentions.count,
                                       sizeof(Mention) * (size_t)(from->mentions.count + 1));
    facts->mentions.capacity = from->mentions.count + 1;
    facts->has_tuned = false;
    facts->tuned_reads.items = NULL;
    facts->tuned_reads.count = facts->tuned_reads.capacity = 0;
    return facts;
}

FunctionDefinition *function_move(Module *module, const FunctionDefinition *former, int piece) {
    Move move = move_of(module, former->module, piece);
    FunctionDefinition *function = ARENA_NEW(module->arena, FunctionDefinition);
    function->module = module;
    function->name = text_move(&move, former->name);
    function->name_range = range_move(&move, former->name_range);
    function->range = range_move(&move, former->range);
    function->header_range = range_move(&move, former->header_range);
    function->node = node_move(&move, former->node);
    function->body = node_move(&move, former->body);
    function->parameter_count = former->parameter_count;
    parameters_move(&move, function, former);
    function->returns_value = former->returns_value;
    function->facts = facts_move(&move, former);
    for (int i = 0; i < former->facts->decorator_count; i++)
        LIST_PUSH(module->arena, &function->decorators,
                  node_move(&move, former->decorators.items[i]));
    return function;
}

const FunctionDefinition *function_find_former(const Module *module, SyntaxNode definition) {
    const Module *former = module->scope->former;
    int piece = former ? syntax_piece_former(module->tree, node_piece(definition)) : -1;
    if (piece < 0) return NULL;
    // Functions are in order.
    int low = 0;
    int high = former->functions.count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (node_piece(former->functions.items[middle]->node) < piece)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < former->functions.count; low++) {
        const FunctionDefinition *function = former->functions.items[low];
        if (node_piece(function->node) != piece) return NULL;
        if (function->node.id == definition.id) return function;
    }
    return NULL;
}

void module_move_pieces(Module *module) {
    int count = syntax_piece_count(module->tree);
    module->scope->pieces = ARENA_ARRAY(module->arena, PieceFacts, count);
    const Module *former = module->scope->former;
    for (int i = 0; former && i < count; i++) {
        int old = syntax_piece_former(module->tree, i);
        if (old < 0) continue;
        Move move = move_of(module, former, i);
        const PieceFacts *from = &former->scope->pieces[old];
        module->scope->pieces[i] = (PieceFacts){true, nodes_move(&move, from->statements),
                                                from->has_calls, nodes_move(&move, from->calls)};
    }
}

/* ---- comparing ---- */

bool definition_is_same(const FunctionDefinition *a, const FunctionDefinition *b) {
    if (!a || !b) return a == b;
    bool same = a->node.id == b->node.id && a->is_jit == b->is_jit &&
                a->is_autotuned == b->is_autotuned && a->has_heuristics == b->has_heuristics &&
                a->decorators.count == b->decorators.count;
    for (int i = 0; same && i < a->decorators.count; i++)
        same = a->decorators.items[i].id == b->decorators.items[i].id;
    return same;
}

static bool condition_is_same(const ScopeCondition *a, const ScopeCondition *b) {
    for (; a && b; a = a->outer, b = b->outer)
        if (a->node.id != b->node.id || a->holds != b->holds) return false;
    return a == b;
}

/// A node that both texts share keeps its id.
static bool entry_is_same(const ScopeEntry *a, const ScopeEntry *b) {
    for (; a && b; a = a->next, b = b->next) {
        bool same = a->kind == b->kind && a->level == b->level && a->item == b->item &&
                    a->node.id == b->node.id && str_equal(a->dotted, b->dotted) &&
                    str_equal(a->name, b->name) && str_equal(a->annotation, b->annotation) &&
                    definition_is_same(a->function, b->function) &&
                    condition_is_same(a->condition, b->condition);
        if (!same) return false;
    }
    return a == b;
}

static void compare_names(const ModuleScope *now, const ModuleScope *before,
                          ModuleChanges *changes) {
    for (int i = 0; i < now->names.count; i++) {
        const MapEntry *entry = &now->names.entries[i];
        bool in_place =
            i < before->names.count && str_equal(before->names.entries[i].key, entry->key);
        const ScopeEntry *old =
            in_place ? before->names.entries[i].value : map_get(&before->names, entry->key);
        if (!entry_is_same(entry->value, old))
            map_set_number(&changes->names, map_hash(entry->key), changes);
    }
    for (int i = 0; i < before->names.count; i++) {
        Str name = before->names.entries[i].key;
        bool in_place = i < now->names.count && str_equal(now->names.entries[i].key, name);
        if (!in_place && !map_has(&now->names, name))
            map_set_number(&changes->names, map_hash(name), changes);
    }
    bool same_stars = now->stars.count == before->stars.count;
    for (int i = 0; same_stars && i < now->stars.count; i++)
        same_stars = entry_is_same(&now->stars.items[i], &before->stars.items[i]);
    if (!same_stars) changes->all = true;
}

void module_compare(const Module *module, ModuleChanges *changes) {
    const Module *former = module->scope->former;
    Arena *arena = changes->names.arena;
    compare_names(module->scope, former->scope, changes);
    bool *is_kept = ARENA_ARRAY(arena, bool, syntax_piece_count(former->tree));
    for (int i = 0; i < syntax_piece_count(module->tree); i++) {
        int old = syntax_piece_former(module->tree, i);
        if (old >= 0)
            is_kept[old] = true;
        else
            LIST_PUSH(arena, &changes->texts,
                      source_slice(syntax_piece_range(module->tree, module->source, i)));
    }
    for (int i = 0; i < syntax_piece_count(former->tree); i++)
        if (!is_kept[i])
            LIST_PUSH(arena, &changes->texts,
                      source_slice(syntax_piece_range(former->tree, former->source, i)));
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (function->facts->former && !definition_is_same(function, function->facts->former))
            LIST_PUSH(arena, &changes->texts, source_slice(function->range));
    }
    changes->has_other_errors = module->has_syntax_errors != former->has_syntax_errors;
}
