// A value in; whether its expression prints where it is read, or it is assigned to a name first.
#include "autodiff/emit/emit_inline.h"

#include <string.h>

#include "analysis/ir/walk.h"
#include "autodiff/emit/emit_layout.h"

enum { INLINE_LIMIT = 52, REPEATED_LIMIT = 24 };  // characters

int value_uses(const Emitter *emitter, const Value *value) {
    return (int)(intptr_t)map_get_pointer(&emitter->uses, value);
}

static const Op *only_user(const Emitter *emitter, const Value *value) {
    if (value_uses(emitter, value) != 1) return NULL;
    const OpList *readers = value_readers(&emitter->readers, value);
    return readers->count ? readers->items[0] : NULL;
}

static bool is_loop(const Op *op) { return op_is_loop(op->code); }

static bool is_base_address(const Op *op) {
    return op->code == OP_ADD && op->results[0]->type.kind == TYPE_POINTER &&
           op->results[0]->type.rank == 0;
}

/// Whether only regions further in use this address of a scalar: its pointer may be None where they are left out.
static bool is_for_branches(const Emitter *emitter, const Op *op) {
    const OpList *readers = value_readers(&emitter->readers, op->results[0]);
    for (int i = 0; i < readers->count; i++) {
        const Op *reader = readers->items[i];
        bool is_step_for_branches = is_base_address(reader) && is_for_branches(emitter, reader);
        if (reader->parent == op->parent && !is_step_for_branches) return false;
    }
    return true;
}

/// `-x`, `n - 1` and `n > 0`, as short as a name for them. What a loop carries may have changed where they are read.
static bool is_small_step(const Emitter *emitter, const Op *op) {
    const Value *of = op->operand_count ? op->operands[0] : NULL;
    if (!of || (!of->op && of->region->parent) || op->results[0]->name) return false;
    const EmittedText *name = map_get_pointer(&emitter->texts, of);
    if (!name || name->precedence != PRECEDENCE_ATOM || strpbrk(name->text, "(.[ ")) return false;
    if (op->code == OP_NEG) return true;
    bool is_step = (op->code == OP_ADD || op->code == OP_SUB || op_is_comparison(op->code)) &&
                   op->operands[1]->constant;
    return is_step && of->type.kind == TYPE_NUMBER && of->type.rank == 0;
}

/// Whether the reader stands behind the op, with nothing in between that writes.
static bool nothing_writes_before(const Op *op, const Op *reader) {
    for (op = op->next; op && op != reader; op = op->next)
        if (op->region_count || (!op_is_pure(op) && op->code != OP_LOAD)) return false;
    return op && op == reader;
}

/// Whether printing the op prints a load.
static intptr_t load_is_printed(ValueWalk *walk, const Value *printed) {
    const Emitter *emitter = walk->context;
    const Op *op = printed->op;
    if (op->code == OP_LOAD) return true;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        if (value && value->op && map_has_pointer(&emitter->inlined, value) &&
            walk_ask(walk, value))
            return true;
    }
    return false;
}

static bool prints_load(const Emitter *emitter, const Op *op) {
    return walk_from(op->results[0], load_is_printed, true, emitter);
}

/// Whether a load of this size and the cast that reads it stand on one line.
static bool fits_with_cast(Emitter *emitter, const Op *cast, size_t size) {
    const char *name = cast->results[0]->name, *dtype = emit_value(emitter, cast->operands[1]).text;
    size_t around = strlen(" = .to()") + strlen(dtype) + (name ? strlen(name) : INDENT);
    return size + around + (size_t)(emitter->indent * INDENT) <= LINE_LIMIT;
}

bool op_is_named_number(const Op *op) {
    const Value *value = op->results[0];
    return op->code == OP_FULL && value->type.rank == 0 && value->name &&
           op->operands[1]->constant && op->operands[1]->constant->kind == CONSTANT_FLOAT &&
           value->type.element.code == DTYPE_FLOAT32;
}

bool emit_is_unrolled(const Op *op) {
    for (op = op->parent->parent; op; op = op->parent->parent)
        if (op->code == OP_STATIC_FOR) return true;
    return false;
}

/// emit_is_inlined, where that is not decided yet.
static bool wants_inlining(Emitter *emitter, const Op *op, EmittedText text) {
    const Value *value = op->results[0];
    if (op->code == OP_CONSTANT || op->code == OP_TUPLE || op->code == OP_DTYPE_OF ||
        op->code == OP_ELEMENT_TYPE_OF || op->code == OP_IS_NONE || op->code == OP_UNDEFINED)
        return true;
    size_t size = strlen(text.text);
    const Op *reader = only_user(emitter, value);
    if (op->code == OP_LOAD && reader && reader == op->next && reader->code == OP_CAST &&
        !value->name)
        return fits_with_cast(emitter, reader, size);
    if (prints_load(emitter, op) && !nothing_writes_before(op, reader)) return false;
    if (op->code == OP_LOAD && is_loop(reader)) return true;
    if (!op_is_pure(op) || op->region_count || op_is_named_number(op)) return false;
    if (value->type.is_constexpr && (size <= INLINE_LIMIT || emit_is_unrolled(op))) return true;
    bool is_repeated = op->code == OP_NEG || op_is_comparison(op->code);
    if (is_small_step(emitter, op) && (is_repeated || reader)) return true;
    bool is_argument = op->operand_count > 1 && op->operands[1] &&
                       !op->operands[1]->op;  // a carried name may change
    bool may_be_none = is_base_address(op) && !op->note;
    if (may_be_none && !is_argument && is_for_branches(emitter, op)) return true;
    bool has_name = value->name && *value->name;
    if (!reader || reader->parent != op->parent) {
        bool is_bare_expand = op->code == OP_EXPAND_DIMS && size <= REPEATED_LIMIT && !has_name;
        return is_bare_expand && map_has_pointer(&emitter->texts, op->operands[0]);
    }
    if (is_loop(reader)) return true;  // the initial value of a carried name
    if (reader->code == OP_YIELD) return size <= 2 * INLINE_LIMIT;
    return size <= INLINE_LIMIT && (!has_name || value->type.is_constexpr);
}

bool emit_is_inlined(Emitter *emitter, const Op *op, EmittedText text) {
    const Value *value = op->results[0];
    if (emitter->lifetimes) return map_has_pointer(&emitter->inlined, value);
    bool inlined = wants_inlining(emitter, op, text);
    if (inlined) map_set_pointer(&emitter->inlined, value, (void *)1);
    return inlined;
}
