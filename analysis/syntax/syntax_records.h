// Syntax trees as arrays: every node that tree-sitter shows, parents before children, siblings in order. Private to
// analysis/syntax/.
#ifndef TAD_ANALYSIS_SYNTAX_SYNTAX_RECORDS_H
#define TAD_ANALYSIS_SYNTAX_SYNTAX_RECORDS_H

#include <stdatomic.h>

#include "analysis/syntax/syntax.h"
#include "base/list.h"

/// One node. What is below it follows it.
typedef struct SyntaxRecord {
    uint32_t start;  // bytes from the start of the piece
    uint32_t end;
    uint32_t size;    // how many records it and what is below it take
    uint32_t above;   // how many records back its parent is; 0 for the root of a piece
    uint16_t symbol;  // of the grammar
    uint8_t kind;     // SyntaxKind; SYNTAX_OTHER in a document that is no Python
    uint8_t field;    // of the grammar: what it is to its parent; 0 for none
    uint8_t
        child_count;  // of all; WIDE where there are so many or more, which are in the table of wide records
    bool is_named : 1;
    bool is_extra : 1;  // a comment, or what an error left over
    bool is_error : 1;
    bool is_missing : 1;
    bool has_error : 1;  // or something below
} SyntaxRecord;

/// Records with so many children have them in a table, so that to go through them by number takes no steps squared.
enum { WIDE = 64 };

/// The children of a wide record: how many records behind it each is.
typedef struct WideRecord {
    const SyntaxRecord *record;
    uint32_t *all;
    uint32_t *named;
    uint32_t *fields;  // the first of each field that there is
    uint32_t all_count;
    uint32_t named_count;
    uint32_t field_count;
} WideRecord;

/// Of one piece; counted, immutable. The first is the root.
typedef struct SyntaxRecords {
    atomic_int count;
    Arena *arena;
    SyntaxRecord *items;
    LIST(WideRecord) wide;  // in their order
} SyntaxRecords;

/// Makes the table of wide records, once all records are there.
void records_note_wide(SyntaxRecords *records);
/// The wide record's row; NULL for a record that is not wide.
const WideRecord *record_wide(const SyntaxRecords *records, const SyntaxRecord *record);

/// One piece. Offsets of its nodes count from `start`, so that the records serve wherever the piece moves.
typedef struct Piece {
    SyntaxTree *owner;
    SyntaxRecords *records;
    uint32_t start;
    uint32_t end;
    bool shows_root;  // its root is an error: a child of the whole; else the root's children are
    uint32_t named_count;  // of children of the whole
    uint32_t all_count;
    uint32_t named_before;  // of children in the pieces before
    uint32_t all_before;
    int former;  // the piece of the tree before the edit that this one is, or -1
} Piece;

struct SyntaxTree {
    Arena *arena;
    LIST(Piece) pieces;  // at least one
    const void *language;
    const char *root_name;
    const Source *source;
    bool has_error;
    struct TSTree *latest;  // the parser's own of the piece below, for the next edit of it; or NULL
    int latest_piece;
};

/// The field's number in the tree's grammar, 0 for none.
uint8_t syntax_field_find(const SyntaxTree *tree, const char *field);
const char *syntax_symbol_name(const SyntaxTree *tree, uint16_t symbol);
static inline SyntaxNode record_node(const Piece *piece, const SyntaxRecord *record) {
    return (SyntaxNode){.id = record, .tree = piece};
}

/// The children of `record`: `for (record = record_first(parent); record < record_end(parent); record += record->size)`.
static inline const SyntaxRecord *record_first(const SyntaxRecord *record) { return record + 1; }
static inline const SyntaxRecord *record_end(const SyntaxRecord *record) {
    return record + record->size;
}

static inline uint32_t record_count_children(const SyntaxRecord *record, bool is_named) {
    uint32_t count = 0;
    for (const SyntaxRecord *child = record_first(record); child < record_end(record);
         child += child->size)
        count += !is_named || child->is_named;
    return count;
}

#endif
