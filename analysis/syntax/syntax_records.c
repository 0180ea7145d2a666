// The table of records with many children.
#include "analysis/syntax/syntax_records.h"

static bool has_field(const WideRecord *wide, uint8_t field) {
    for (uint32_t i = 0; i < wide->field_count; i++)
        if (wide->record[wide->fields[i]].field == field) return true;
    return false;
}

static WideRecord wide_of(Arena *arena, const SyntaxRecord *record) {
    WideRecord wide = {.record = record};
    uint32_t count = record_count_children(record, false);
    wide.all = ARENA_ARRAY(arena, uint32_t, count);
    wide.named = ARENA_ARRAY(arena, uint32_t, count);
    wide.fields = ARENA_ARRAY(arena, uint32_t, UINT8_MAX);
    for (const SyntaxRecord *child = record_first(record); child < record_end(record);
         child += child->size) {
        uint32_t behind = (uint32_t)(child - record);
        wide.all[wide.all_count++] = behind;
        if (child->is_named) wide.named[wide.named_count++] = behind;
        if (child->field && !has_field(&wide, child->field))
            wide.fields[wide.field_count++] = behind;
    }
    return wide;
}

void records_note_wide(SyntaxRecords *records) {
    const SyntaxRecord *root = records->items;
    for (const SyntaxRecord *record = root; record < record_end(root); record++)
        if (record->child_count == WIDE)
            LIST_PUSH(records->arena, &records->wide, wide_of(records->arena, record));
}

const WideRecord *record_wide(const SyntaxRecords *records, const SyntaxRecord *record) {
    if (record->child_count < WIDE) return NULL;
    int low = 0;
    for (int high = records->wide.count - 1; low < high;) {
        int middle = low + (high - low + 1) / 2;
        if (records->wide.items[middle].record <= record)
            low = middle;
        else
            high = middle - 1;
    }
    return &records->wide.items[low];
}
