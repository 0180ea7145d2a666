// What the places of a kernel's text came to.
#include "analysis/frames/sightings.h"

#include "analysis/frames/lowering.h"
#include "analysis/syntax/syntax_nodes.h"

/// Counted from the definition, so that the key holds when the text above it changes.
static uint64_t sighting_key(const FunctionDefinition *definition, uint32_t start, uint32_t end) {
    uint32_t from = definition ? definition->range.start : 0;
    return (uint64_t)(start - from) << 32 | (end - from);
}

void lowering_sight(Lowering *lowering, SyntaxNode node, Value *value) {
    const LoweringFrame *frame = lowering->frame;
    if (!lowering->keeps_sightings || lowering->global_depth) return;
    Function *function = lowering->builder.function;
    if (frame->caller && node_kind(node) != SYNTAX_IDENTIFIER) return;
    Range range = node_range(frame->source, node);
    if (frame->caller)
        lowering_sight_inlined(lowering, range.start, range.end, value);
    else
        map_set_number(&function->sightings,
                       sighting_key(function->definition, range.start, range.end), value);
}

void lowering_sight_inlined(Lowering *lowering, uint32_t start, uint32_t end, Value *value) {
    enum { MOST_TYPES = 4 };
    const FunctionDefinition *helper = lowering->frame->definition;
    bool is_asked = lowering->keeps_sightings && !lowering->global_depth && helper &&
                    lowering->frame->source == lowering->root;
    if (!is_asked || value->type.kind == TYPE_UNKNOWN) return;
    Map *inlined = &lowering->builder.function->inlined;
    Map *places = map_get_pointer(inlined, helper->node.id);
    if (!places) {
        places = ARENA_NEW(lowering->arena, Map);
        *places = map_new(lowering->arena);
        map_set_pointer(inlined, helper->node.id, places);
    }
    uint64_t key = sighting_key(helper, start, end);
    InlinedValue *first = map_get_number(places, key);
    InlinedValue *last = NULL;
    int count = 0;
    for (InlinedValue *each = first; each; each = each->next, count++) {
        if (type_equal(each->value->type, value->type)) return;
        last = each;
    }
    if (count == MOST_TYPES) return;
    InlinedValue *fresh = ARENA_NEW(lowering->arena, InlinedValue);
    fresh->value = value;
    if (last)
        last->next = fresh;
    else
        map_set_number(places, key, fresh);
}

Value *function_value_at(const Function *function, uint32_t start, uint32_t end) {
    return map_get_number(&function->sightings, sighting_key(function->definition, start, end));
}

const InlinedValue *function_inlined_at(const Function *function, const FunctionDefinition *helper,
                                        uint32_t start, uint32_t end) {
    const Map *places = map_get_pointer(&function->inlined, helper->node.id);
    return places ? map_get_number(places, sighting_key(helper, start, end)) : NULL;
}
