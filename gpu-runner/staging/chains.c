// An operation takes chains if it reads each element of its operands once, in parallel, and in the region that made them.
#include "gpu-runner/staging/chains.h"

#include <ctype.h>

enum {
    LONGEST_CHAIN = 400,  // characters
    SHORT_CHAIN = 100,    // of light ones that are rather written several times than kept,
    SHORT_CHAIN_USES = 4  // up to so many
};

static bool count_uses(void *context, Op *op) {
    Staging *staging = context;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        if (!value) continue;
        ChainUse *use = &staging->uses[value->id];
        bool is_near = value->op && value->op->parent == op->parent;
        use->count++;
        use->as_array = use->as_array || !is_near || !stage_reads_once(op->code);
    }
    return true;
}

void chains_begin(Staging *staging) {
    staging->uses = ARENA_ARRAY(staging->arena, ChainUse, staging->function->value_count + 1);
    region_walk(staging->function->body, count_uses, staging);
}

Staged *chain_new(Staging *staging, TileKind kind, DTypeCode dtype, int rank, const int64_t *dims,
                  const char *text, bool is_light) {
    if (shape_count(rank, dims) == 1 || strlen(text) > LONGEST_CHAIN) {
        Staged *array = staged_new(staging, kind, dtype, rank, dims);
        stage_fill(staging, array, text);
        return array;
    }
    Staged *chain = staged_unnamed(staging, kind, dtype, rank, dims);
    chain->chain = text;
    chain->is_light = is_light;
    return chain;
}

static bool is_letter(char letter) { return isalnum((unsigned char)letter) || letter == '_'; }

const char *chain_at(Staging *staging, const Staged *chain, const char *index) {
    if (strcmp(index, "i") == 0) return arena_printf(staging->arena, "(%s)", chain->chain);
    Buffer text = buffer_new(staging->arena);
    buffer_putc(&text, '(');
    for (const char *at = chain->chain; *at;) {
        size_t length = 0;
        while (is_letter(at[length])) length++;
        if (length == 1 && *at == 'i')
            buffer_printf(&text, "(%s)", index);
        else
            buffer_printf(&text, "%.*s", length ? (int)length : 1, at);
        at += length ? length : 1;
    }
    buffer_putc(&text, ')');
    return buffer_text(&text);
}

const Staged *chain_settled(Staging *staging, const Staged *staged) {
    if (!staged->chain) return staged;
    Staged *array = staged_new(staging, staged->kind, staged->dtype, staged->rank, staged->dims);
    stage_fill(staging, array, chain_at(staging, staged, "i"));
    array->is_weak = staged->is_weak;
    return array;
}

const Staged *chain_bound(Staging *staging, const Value *value, const Staged *staged) {
    if (!staged->chain) return staged;
    const ChainUse *use = &staging->uses[value->id];
    bool is_short = staged->is_light && strlen(staged->chain) <= SHORT_CHAIN;
    int most = is_short ? SHORT_CHAIN_USES : 1;
    return !use->as_array && use->count <= most ? staged : chain_settled(staging, staged);
}

void chains_settle_operands(Staging *staging, const Op *op) {
    int rank = 0;
    int64_t dims[TYPE_MAX_RANK] = {0}, count = 1;
    if (!stage_reads_once(op->code)) return;
    for (int i = 0; i < op->operand_count; i++) {
        const Staged *staged = op->operands[i] ? staging->values[op->operands[i]->id] : NULL;
        bool is_tile = staged && (staged->kind == TILE_NUMBER || staged->kind == TILE_POINTER);
        if (is_tile && staged_shapes_broadcast(&rank, dims, staged))
            count = shape_count(rank, dims);
    }
    for (int i = 0; i < op->operand_count; i++) {
        const Staged *staged = op->operands[i] ? staging->values[op->operands[i]->id] : NULL;
        if (!staged || !staged->chain || staged->is_light) continue;
        if (staged->count != count || op->code == OP_BROADCAST_TO)
            stage_bind(staging, op->operands[i], chain_settled(staging, staged));
    }
}
