// An op in, its copy over other operands out; what is shareable is not copied twice.
#include "analysis/build/clone.h"

#include "analysis/build/build.h"

static void value_copy_details(Arena *arena, Value *copy, const Value *value, const Map *values) {
    copy->type = type_mapped(arena, value->type, values);
    copy->name = value->name;
    copy->constant = value->constant;
    copy->range = value->range;
}

static void region_clone_whole(Builder *builder, const Region *from, Op *owner, Map *values) {
    Arena *arena = builder->function->arena;
    Region *copy = op_add_region(builder, owner);
    for (int i = 0; i < from->argument_count; i++) {
        Value *argument = region_add_argument(builder->function, copy, (Type){0}, NULL);
        value_copy_details(arena, argument, from->arguments[i], values);
        map_set_pointer(values, from->arguments[i], argument);
    }
    Builder inner = *builder;
    inner.region = copy;
    inner.before = NULL;
    for (const Op *op = from->first; op; op = op->next) op_clone(&inner, op, values);
}

Op *op_clone(Builder *builder, const Op *op, Map *values) {
    Arena *arena = builder->function->arena;
    Value **operands = ARENA_ARRAY(arena, Value *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++) operands[i] = value_mapped(values, op->operands[i]);
    Value *shared = op_clone_shared(builder, op, operands);
    if (shared) {
        if (!shared->name) shared->name = op->results[0]->name;
        map_set_pointer(values, op->results[0], shared);
        return shared->op;
    }
    Op *copy = op_append(builder, op->code, operands, op->operand_count, op->result_count);
    copy->range = op->range;
    copy->call = op->call;
    copy->note = op->note;
    copy->keyword_count = op->keyword_count;
    copy->keywords = ARENA_ARRAY(arena, Keyword, op->keyword_count);
    for (int i = 0; i < op->keyword_count; i++)
        copy->keywords[i] =
            (Keyword){op->keywords[i].name, value_mapped(values, op->keywords[i].value)};
    for (int i = 0; i < op->result_count; i++) {
        value_copy_details(arena, copy->results[i], op->results[i], values);
        map_set_pointer(values, op->results[i], copy->results[i]);
    }
    for (int i = 0; i < op->region_count; i++)
        region_clone_whole(builder, op->regions[i], copy, values);
    return copy;
}

void region_clone_into(Builder *builder, const Region *from, Map *values) {
    const Op *terminator = region_terminator(from);
    for (const Op *op = from->first; op && op != terminator; op = op->next)
        op_clone(builder, op, values);
}
