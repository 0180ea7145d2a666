// One name in, all places of the file that mean it out.
#include "features/names/places.h"

#include "analysis/syntax/syntax_nodes.h"
#include "features/names/arguments.h"

#include <string.h>

/// Whether both stand for the same thing.
static bool name_is_same(FileNames *names, const Name *a, const Name *b) {
    if (a->kind != b->kind || a->kind == NAME_NOTHING) return false;
    switch (a->kind) {
    case NAME_LOCAL: return node_same(a->scope, b->scope) && str_equal(a->text, b->text);
    case NAME_PARAMETER:
        return a->parameter == b->parameter && function_is_same(names, a->function, b->function);
    case NAME_FUNCTION: return function_is_same(names, a->function, b->function);
    case NAME_GLOBAL: return a->entry.module == b->entry.module && str_equal(a->text, b->text);
    case NAME_OPERATION:
    case NAME_METHOD: return a->op == b->op;
    case NAME_DTYPE: return a->dtype == b->dtype;
    case NAME_OPERATION_KEYWORD: return a->op == b->op && a->parameter == b->parameter;
    default: return str_equal(a->text, b->text);
    }
}

typedef struct PlaceSearch {
    FileNames *names;
    const Name *name;
    NamePlaces places;
} PlaceSearch;

static void place_add(PlaceSearch *search, NamePlace place) {
    LIST_PUSH(search->names->arena, &search->places.list, place);
}

static void add_identifiers(PlaceSearch *search) {
    Range scope = range_of(search->names, search->names->root);
    scope.start = 0;
    if (search->name->kind == NAME_LOCAL) scope = range_of(search->names, search->name->scope);
    Words words = words_within(search->names, search->name->text, scope);
    for (LIST_EACH(int, i, words.list)) {
        SyntaxNode node = words.list.items[i];
        Range range = range_of(search->names, node);
        Name found = name_resolve(search->names, node);
        if (name_is_same(search->names, search->name, &found))
            place_add(search, (NamePlace){.range = range, .is_write = found.is_write});
    }
}

static void mentions_add(PlaceSearch *search, const TextMentions *mentions) {
    for (LIST_EACH(int, i, mentions->list)) {
        const TextMention *mention = &mentions->list.items[i];
        place_add(
            search,
            (NamePlace){.range = mention->range, .is_text = true, .is_shared = mention->is_shared});
    }
}

/// The comment right above the function, where it stands now.
static Range comment_of(FileNames *names, const FunctionDefinition *function) {
    Range range = snapshot_range(names->snapshot, function->range);
    uint32_t size = (uint32_t)function->comment.size;
    if (range.source != names->source || size > range.start) return (Range){names->source, 0, 0};
    // Between the comment and the function there are the spaces before `@` or `def`.
    uint32_t line = range.start;
    while (line > 0 && names->source->text.data[line - 1] != '\n') line--;
    return size > line ? (Range){names->source, 0, 0} : (Range){names->source, line - size, line};
}

/// Whether the line that holds `offset` is a launch specification of the function, or gives its derivative.
static bool is_specification(const Source *source, uint32_t offset,
                             const FunctionDefinition *function) {
    uint32_t start = offset;
    while (start > 0 && source->text.data[start - 1] != '\n') start--;
    uint32_t end = offset;
    while (end < source->text.size && source->text.data[end] != '\n') end++;
    Str line = str_trim((Str){source->text.data + start, end - start});
    if (!line.size || line.data[0] != '#') return false;
    line = str_trim((Str){line.data + 1, line.size - 1});
    if (!str_starts(line, "tad:")) return false;
    line = str_trim((Str){line.data + 4, line.size - 4});
    static const char rule[] = "backward of ";
    if (!str_starts(line, rule)) return !str_starts(line, "ignore");
    line = str_trim((Str){line.data + strlen(rule), line.size - strlen(rule)});
    size_t size = function->name.size;
    return line.size > size && memcmp(line.data, function->name.data, size) == 0 &&
           !byte_is_word(line.data[size]);
}

static void comment_places(PlaceSearch *search) {
    Range comment = comment_of(search->names, search->name->function);
    const char *text = search->names->source->text.data;
    Str wanted = search->name->text;
    for (uint32_t i = comment.start; i + wanted.size <= comment.end; i++) {
        uint32_t end = i + (uint32_t)wanted.size;
        if (memcmp(text + i, wanted.data, wanted.size) != 0) continue;
        bool is_whole = (i == 0 || !byte_is_word(text[i - 1])) &&
                        (end >= search->names->source->text.size || !byte_is_word(text[end]));
        if (is_whole && is_specification(search->names->source, i, search->name->function))
            place_add(search,
                      (NamePlace){.range = {search->names->source, i, end}, .is_text = true});
    }
}

static int compare_places(const NamePlace *a, const NamePlace *b) {
    return a->range.start < b->range.start ? -1 : a->range.start > b->range.start;
}

/// Insertion sort: the places come nearly in order.
static void places_order(NamePlaces *places) {
    int count = places->list.count;
    NamePlace *items = places->list.items;
    for (int i = 1; i < count; i++) {
        NamePlace moved = items[i];
        int k = i;
        for (; k > 0 && compare_places(&moved, &items[k - 1]) < 0; k--) items[k] = items[k - 1];
        items[k] = moved;
    }
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!kept || items[kept - 1].range.start != items[i].range.start) items[kept++] = items[i];
    places->list.count = kept;
}

NamePlaces places_of(FileNames *names, const Name *name) {
    PlaceSearch search = {.names = names, .name = name};
    if (name->kind == NAME_NOTHING || name->kind == NAME_NAMESPACE) return search.places;
    add_identifiers(&search);
    if (name->kind == NAME_PARAMETER) {
        TextMentions tuned = tuned_mentions(names, name->function, name->text);
        mentions_add(&search, &tuned);
        TextMentions grids = grid_mentions(names, name->function, name->text);
        mentions_add(&search, &grids);
        comment_places(&search);
    }
    places_order(&search.places);
    return search.places;
}

// --- Names in texts

Name parameter_name(FileNames *names, const FunctionDefinition *function, int index, Range range) {
    Name name = {.kind = NAME_PARAMETER,
                 .range = range,
                 .text = function->parameters[index].name,
                 .function = function,
                 .parameter = index,
                 .op = OP_COUNT,
                 .kernel = NULL};
    Range place = snapshot_range(names->snapshot, function->name_range);
    if (place.source == names->source)
        name.scope = function_around(node_at(names->root, place.start, place.end));
    return name;
}

Name name_in_text(FileNames *names, uint32_t offset) {
    Name nothing = {.kind = NAME_NOTHING, .op = OP_COUNT, .parameter = -1};
    const Source *source = names->source;
    if (offset > source->text.size) return nothing;
    uint32_t start = offset;
    while (start > 0 && byte_is_word(source->text.data[start - 1])) start--;
    uint32_t end = offset;
    while (end < source->text.size && byte_is_word(source->text.data[end])) end++;
    Range range = {source, start, end};
    Str text = source_slice(range);
    if (!text.size) return nothing;
    for (LIST_EACH(int, i, names->snapshot->kernels)) {
        const FunctionDefinition *function = names->snapshot->kernels.items[i].definition;
        int index = -1;
        for (int k = 0; k < function->parameter_count; k++)
            if (str_equal(function->parameters[k].name, text)) index = k;
        if (index < 0) continue;
        Name name = parameter_name(names, function, index, range);
        PlaceSearch search = {.names = names, .name = &name};
        TextMentions tuned = tuned_mentions(names, function, text);
        mentions_add(&search, &tuned);
        TextMentions grids = grid_mentions(names, function, text);
        mentions_add(&search, &grids);
        comment_places(&search);
        for (LIST_EACH(int, k, search.places.list))
            if (search.places.list.items[k].range.start == start) return name;
    }
    return nothing;
}

Ranges places_ranges(Arena *arena, const NamePlaces *places, bool include_declaration) {
    Ranges ranges = {0};
    bool is_declared = include_declaration;
    for (LIST_EACH(int, i, places->list)) {
        const NamePlace *place = &places->list.items[i];
        if (place->is_write && !is_declared)
            is_declared = true;
        else
            LIST_PUSH(arena, &ranges.list, place->range);
    }
    return ranges;
}
