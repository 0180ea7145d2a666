// Python text in, syntax trees out: each piece of the text that stands on its own is parsed by tree-sitter and its tree
// written down as records. The one file that includes tree-sitter.
#include <string.h>
#include <tree_sitter/api.h>

#include "analysis/syntax/split.h"
#include "analysis/syntax/syntax_comments.h"
#include "analysis/syntax/syntax_records.h"
#include "base/parallel.h"

/// Bytes that take longer to parse than threads take to start.
enum { SHORTEST_FOR_THREADS = 8192 };

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_toml(void);

static const char *const kind_names[SYNTAX_COUNT] = {
    [SYNTAX_OTHER] = "",
#define NODE(id, name) [SYNTAX_##id] = name,
#include "analysis/syntax/syntax.def"
#undef NODE
};

// Kinds by grammar symbol and fields by first letter, filled on first use; racing fillers write the same values.
enum { SYMBOL_LIMIT = 1024, LETTER_LIMIT = 128 };
static _Atomic unsigned char symbol_kinds[SYMBOL_LIMIT];
static _Atomic unsigned char first_fields[LETTER_LIMIT];
static atomic_bool names_ready;

static void names_fill(void) {
    const TSLanguage *language = tree_sitter_python();
    uint32_t count = ts_language_symbol_count(language);
    for (uint32_t symbol = 0; symbol < count && symbol < SYMBOL_LIMIT; symbol++) {
        if (ts_language_symbol_type(language, (TSSymbol)symbol) != TSSymbolTypeRegular) continue;
        const char *name = ts_language_symbol_name(language, (TSSymbol)symbol);
        for (int kind = 1; name && kind < SYNTAX_COUNT; kind++)
            if (strcmp(name, kind_names[kind]) == 0)
                atomic_store_explicit(&symbol_kinds[symbol], (unsigned char)kind,
                                      memory_order_relaxed);
    }
    for (uint32_t id = ts_language_field_count(language); id > 0; id--) {
        const char *name = ts_language_field_name_for_id(language, (TSFieldId)id);
        atomic_store_explicit(&first_fields[name[0] % LETTER_LIMIT], (unsigned char)id,
                              memory_order_relaxed);
    }
    atomic_store(&names_ready, true);
}

static void names_need(void) {
    if (!atomic_load_explicit(&names_ready, memory_order_acquire)) names_fill();
}

uint8_t syntax_field_find(const SyntaxTree *tree, const char *field) {
    if (tree->language != tree_sitter_python())
        return (uint8_t)ts_language_field_id_for_name(tree->language, field,
                                                      (uint32_t)strlen(field));
    names_need();
    // Numbers are in the order of the names.
    uint8_t id = atomic_load_explicit(&first_fields[field[0] % LETTER_LIMIT], memory_order_relaxed);
    for (; id; id++) {
        const char *name = ts_language_field_name_for_id(tree->language, id);
        if (!name || name[0] != field[0]) return 0;
        if (strcmp(name, field) == 0) return id;
    }
    return 0;
}

const char *syntax_symbol_name(const SyntaxTree *tree, uint16_t symbol) {
    return ts_language_symbol_name(tree->language, symbol);
}

/* ---- records ---- */

static SyntaxKind symbol_kind(TSSymbol symbol, const TSLanguage *language) {
    if (symbol == (TSSymbol)-1) return SYNTAX_ERROR;
    if (language != tree_sitter_python() || symbol >= SYMBOL_LIMIT) return SYNTAX_OTHER;
    return (SyntaxKind)atomic_load_explicit(&symbol_kinds[symbol], memory_order_relaxed);
}

/// The node at the cursor; `may_err` where anything in the tree is no Python.
static SyntaxRecord record_of(const TSTreeCursor *cursor, const TSLanguage *language,
                              bool may_err) {
    TSNode node = ts_tree_cursor_current_node(cursor);
    TSSymbol symbol = ts_node_symbol(node);
    SyntaxKind kind = symbol_kind(symbol, language);
    return (SyntaxRecord){
        .start = ts_node_start_byte(node),
        .end = ts_node_end_byte(node),
        .size = 1,
        .symbol = symbol,
        .kind = (uint8_t)kind,
        .field = (uint8_t)ts_tree_cursor_current_field_id(cursor),
        .is_named = ts_node_is_named(node) && kind != SYNTAX_LINE_CONTINUATION,
        .is_extra = ts_node_is_extra(node),
        .is_error = ts_node_is_error(node),
        .is_missing = may_err && ts_node_is_missing(node),
        .has_error = may_err && ts_node_has_error(node),
    };
}

static SyntaxRecords *records_new(TSNode root, const TSLanguage *language) {
    if (language == tree_sitter_python()) names_need();
    uint32_t expected = ts_node_descendant_count(root);
    Arena *arena = arena_new_sized(sizeof(SyntaxRecords) + sizeof(SyntaxRecord) * (expected + 2));
    SyntaxRecords *records = ARENA_NEW(arena, SyntaxRecords);
    records->arena = arena;
    atomic_init(&records->count, 1);
    LIST(SyntaxRecord)
    list = {.items = ARENA_ARRAY(arena, SyntaxRecord, expected), .capacity = (int)expected};
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    bool may_err = ts_node_has_error(root);
    int parent = -1;
    bool has_wide = false;
    do {
        SyntaxRecord record = record_of(&cursor, language, may_err);
        int at = list.count;
        record.above = parent < 0 ? 0 : (uint32_t)(at - parent);
        // What an error swept together has no parts.
        if (parent >= 0 && list.items[parent].is_error) record.field = 0;
        if (parent >= 0 && list.items[parent].child_count < WIDE) {
            list.items[parent].child_count++;
            has_wide |= list.items[parent].child_count == WIDE;
        }
        LIST_PUSH(arena, &list, record);
        if (ts_tree_cursor_goto_first_child(&cursor)) {
            parent = at;
            continue;
        }
        while (parent >= 0 && !ts_tree_cursor_goto_next_sibling(&cursor)) {
            ts_tree_cursor_goto_parent(&cursor);
            list.items[parent].size = (uint32_t)(list.count - parent);
            parent = parent == 0 ? -1 : parent - (int)list.items[parent].above;
        }
    } while (parent >= 0);
    ts_tree_cursor_delete(&cursor);
    records->items = list.items;
    if (has_wide) records_note_wide(records);
    return records;
}

static void records_release(SyntaxRecords *records) {
    if (atomic_fetch_sub(&records->count, 1) == 1) arena_free(records->arena);
}

/* ---- trees ---- */

static void tree_add(SyntaxTree *tree, Piece piece) {
    piece.owner = tree;
    const Piece *last = tree->pieces.count ? &tree->pieces.items[tree->pieces.count - 1] : NULL;
    piece.named_before = last ? last->named_before + last->named_count : 0;
    piece.all_before = last ? last->all_before + last->all_count : 0;
    tree->has_error = tree->has_error || piece.records->items->has_error;
    LIST_PUSH(tree->arena, &tree->pieces, piece);
}

static bool tree_has_error(const TSTree *parsed) {
    return ts_node_has_error(ts_tree_root_node(parsed));
}

static const char *read_text(void *payload, uint32_t offset, TSPoint point, uint32_t *size) {
    (void)point;
    const Str *text = payload;
    *size = offset < text->size ? (uint32_t)text->size - offset : 0;
    return text->data + text->size - *size;
}

static bool stops_at_error(TSParseState *state) { return state->has_error; }

/// The tree of `text` made from `former`, or NULL where the text is no Python.
static TSTree *parse_sound(TSParser *parser, const TSTree *former, Str text) {
    TSInput input = {.payload = &text, .read = read_text, .encoding = TSInputEncodingUTF8};
    TSParseOptions options = {.progress_callback = stops_at_error};
    TSTree *tree = ts_parser_parse_with_options(parser, former, input, options);
    if (tree && !tree_has_error(tree)) return tree;
    ts_tree_delete(tree);
    ts_parser_reset(parser);
    return NULL;
}

/// `former`: the tree of the piece before it was edited, told of the edit, or NULL. `*parsed` is set to the parser's own tree,
/// the caller's, where a later edit can start from it: what is no Python is read anew each time, so that what the parser
/// makes of it does not depend on how it came about. `parsed` may be NULL.
static SyntaxRecords *piece_parse(TSParser *parser, Str piece, const TSTree *former,
                                  TSTree **parsed) {
    Arena *scratch = arena_new();
    Str own = comments_join(scratch, piece);
    bool is_own = own.data == piece.data;
    TSTree *tree = is_own && former ? parse_sound(parser, former, own) : NULL;
    if (!tree) tree = ts_parser_parse_string(parser, NULL, own.data, (uint32_t)own.size);
    SyntaxRecords *records = records_new(ts_tree_root_node(tree), ts_parser_language(parser));
    bool is_kept = parsed && is_own && !tree_has_error(tree);
    if (is_kept)
        *parsed = tree;
    else
        ts_tree_delete(tree);
    arena_free(scratch);
    return records;
}

static void tree_take(SyntaxTree *tree, SyntaxRecords *records, uint32_t start, uint32_t end) {
    const SyntaxRecord *root = records->items;
    Piece piece = {.records = records,
                   .start = start,
                   .end = end,
                   .shows_root = root->is_error,
                   .named_count = root->is_error ? 1 : record_count_children(root, true),
                   .all_count = root->is_error ? 1 : record_count_children(root, false),
                   .former = -1};
    tree_add(tree, piece);
}

static Str piece_text(const SyntaxTree *tree, uint32_t start, uint32_t end) {
    return (Str){tree->source->text.data + start, end - start};
}

/// Row and column of the byte `offset` of a piece.
static TSPoint point_in(Str piece, uint32_t offset) {
    TSPoint point = {0, offset};
    const char *at = piece.data, *end = piece.data + offset;
    for (const char *newline; at < end && (newline = memchr(at, '\n', (size_t)(end - at)));) {
        at = newline + 1;
        point = (TSPoint){point.row + 1, (uint32_t)(end - at)};
    }
    return point;
}

/// The parser's own tree of the piece of `old` that lies in [start, end) of the edited text, told of the edit; NULL where it was
/// not kept, or where more than the edit sets the two apart.
static TSTree *tree_before(const SyntaxTree *old, Str text, uint32_t start, uint32_t end,
                           Edit edit) {
    if (!old->latest) return NULL;
    const Piece *piece = &old->pieces.items[old->latest_piece];
    bool is_same = piece->start == start && start <= edit.start && edit.old_end <= piece->end &&
                   end - edit.new_end == piece->end - edit.old_end && edit.new_end <= end;
    if (!is_same) return NULL;
    Str before = piece_text(old, piece->start, piece->end);
    TSInputEdit change = {.start_byte = edit.start - start,
                          .old_end_byte = edit.old_end - start,
                          .new_end_byte = edit.new_end - start};
    change.start_point = point_in(text, change.start_byte);
    change.old_end_point = point_in(before, change.old_end_byte);
    change.new_end_point = point_in(text, change.new_end_byte);
    TSTree *copy = ts_tree_copy(old->latest);
    ts_tree_edit(copy, &change);
    return copy;
}

/// The piece [start, end) of a text that came from that of `old` by `edit`.
static void tree_parse(SyntaxTree *tree, TSParser *parser, const SyntaxTree *old, Edit edit,
                       uint32_t start, uint32_t end) {
    Str text = piece_text(tree, start, end);
    TSTree *former = tree_before(old, text, start, end, edit), *parsed = NULL;
    tree_take(tree, piece_parse(parser, text, former, &parsed), start, end);
    ts_tree_delete(former);
    if (!parsed) return;
    ts_tree_delete(tree->latest);
    tree->latest = parsed;
    tree->latest_piece = tree->pieces.count - 1;
}

static void tree_reuse(SyntaxTree *tree, const SyntaxTree *old, int index, uint32_t start) {
    Piece piece = old->pieces.items[index];
    piece.end = start + (piece.end - piece.start);
    piece.start = start;
    piece.former = index;
    atomic_fetch_add(&piece.records->count, 1);
    tree_add(tree, piece);
}

static SyntaxTree *tree_new(const Source *source, const TSLanguage *language,
                            const char *root_name) {
    Arena *arena = arena_new();
    SyntaxTree *tree = ARENA_NEW(arena, SyntaxTree);
    tree->arena = arena;
    tree->source = source;
    tree->language = language;
    tree->root_name = root_name;
    return tree;
}

static TSParser *parser_new(const TSLanguage *language) {
    TSParser *parser = ts_parser_new();
    ts_parser_set_language(parser, language);
    return parser;
}

/// A text in pieces, each parsed by whichever thread comes to it.
typedef struct Parsing {
    const SyntaxTree *tree;
    LIST(uint32_t) ends;      // of the pieces
    SyntaxRecords **records;  // of each piece
    TSParser *parsers[PARALLEL_MOST_WORKERS];
} Parsing;

static uint32_t piece_start(const Parsing *parsing, int piece) {
    return piece ? parsing->ends.items[piece - 1] : 0;
}

static void parse_piece(void *context, int worker, int piece) {
    Parsing *parsing = context;
    if (!parsing->parsers[worker]) parsing->parsers[worker] = parser_new(tree_sitter_python());
    Str text = piece_text(parsing->tree, piece_start(parsing, piece), parsing->ends.items[piece]);
    parsing->records[piece] = piece_parse(parsing->parsers[worker], text, NULL, NULL);
}

SyntaxTree *syntax_parse(const Source *source) {
    SyntaxTree *tree = tree_new(source, tree_sitter_python(), "module");
    Arena *scratch = arena_new();
    Parsing parsing = {.tree = tree};
    uint32_t end = 0;
    do {
        end = (uint32_t)split_next(source->text, end);
        LIST_PUSH(scratch, &parsing.ends, end);
    } while (end < source->text.size);
    parsing.records = ARENA_ARRAY(scratch, SyntaxRecords *, parsing.ends.count);
    if (source->text.size < SHORTEST_FOR_THREADS)
        for (LIST_EACH(int, i, parsing.ends)) parse_piece(&parsing, 0, i);
    else
        parallel_for(parsing.ends.count, parse_piece, &parsing);
    for (LIST_EACH(int, i, parsing.ends))
        tree_take(tree, parsing.records[i], piece_start(&parsing, i), parsing.ends.items[i]);
    for (int i = 0; i < PARALLEL_MOST_WORKERS; i++) ts_parser_delete(parsing.parsers[i]);
    arena_free(scratch);
    return tree;
}

SyntaxTree *syntax_parse_toml(const Source *source) {
    SyntaxTree *tree = tree_new(source, tree_sitter_toml(), "document");
    TSParser *parser = parser_new(tree->language);
    SyntaxRecords *records = piece_parse(parser, source->text, NULL, NULL);
    tree_take(tree, records, 0, (uint32_t)source->text.size);
    ts_parser_delete(parser);
    return tree;
}

int syntax_piece_at(const SyntaxTree *tree, uint32_t offset) {
    int low = 0;
    int high = tree->pieces.count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (tree->pieces.items[middle].start <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

SyntaxTree *syntax_reparse(const SyntaxTree *old, const Source *source, Edit edit) {
    SyntaxTree *tree = tree_new(source, old->language, old->root_name);
    TSParser *parser = NULL;
    uint32_t start = edit.start, old_end = edit.old_end, new_end = edit.new_end;
    uint32_t size = (uint32_t)source->text.size;
    if (start == old_end && start == new_end) {
        for (LIST_EACH(int, i, old->pieces)) tree_reuse(tree, old, i, old->pieces.items[i].start);
        return tree;
    }
    // Where a piece ends may depend on the one behind it.
    int touched = syntax_piece_at(old, start);
    int next = touched > 0 ? touched - 1 : 0;
    for (int i = 0; i < next; i++) tree_reuse(tree, old, i, old->pieces.items[i].start);
    uint32_t at = old->pieces.items[next].start;
    do {
        int same = at >= new_end ? syntax_piece_at(old, at - new_end + old_end) : -1;
        if (same >= 0 && old->pieces.items[same].start == at - new_end + old_end && at < size) {
            for (int i = same; i < old->pieces.count; i++)
                tree_reuse(tree, old, i, old->pieces.items[i].start - old_end + new_end);
            break;
        }
        uint32_t end = (uint32_t)split_next(source->text, at);
        const Piece *former = &old->pieces.items[next];
        if (next < touched && former->start == at && former->end == end && end <= start) {
            tree_reuse(tree, old, next++, at);
        } else {
            if (!parser) parser = parser_new(tree->language);
            tree_parse(tree, parser, old, edit, at, end);
        }
        at = end;
    } while (at < size);
    if (parser) ts_parser_delete(parser);
    return tree;
}

void syntax_free(SyntaxTree *tree) {
    if (!tree) return;
    for (LIST_EACH(int, i, tree->pieces)) records_release(tree->pieces.items[i].records);
    ts_tree_delete(tree->latest);
    arena_free(tree->arena);
}
