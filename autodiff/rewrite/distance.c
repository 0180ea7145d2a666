// An address and what it starts from in; the number of elements between the two as a value out.
#include "autodiff/rewrite/distance.h"

#include "analysis/build/build.h"

enum {
    DEEPEST_ADDRESS = 200
};  // each step is a call: an address of more operations counts as not understood

static Value *distance_at(Builder *builder, Value *pointer, const Value *root, int depth) {
    if (pointer == root) return build_int(builder, 0);
    if (!pointer || !pointer->op || depth > DEEPEST_ADDRESS) return NULL;
    const Op *op = pointer->op;
    Value *first = op->operand_count ? op->operands[0] : NULL,
          *second = op->operand_count > 1 ? op->operands[1] : NULL;
    switch (op->code) {
    case OP_UNDEFINED: return build_int(builder, 0);
    case OP_ADD: {
        bool pointer_first = first->type.kind == TYPE_POINTER;
        Value *inner = distance_at(builder, pointer_first ? first : second, root, depth + 1);
        return inner ? build_binary(builder, OP_ADD, inner, pointer_first ? second : first) : NULL;
    }
    case OP_SUB: {
        Value *inner = distance_at(builder, first, root, depth + 1);
        return inner ? build_binary(builder, OP_SUB, inner, second) : NULL;
    }
    case OP_MULTIPLE_OF:
    case OP_MAX_CONTIGUOUS:
    case OP_CAST: return distance_at(builder, first, root, depth + 1);
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_RESHAPE: {
        Value *inner = distance_at(builder, first, root, depth + 1);
        return inner ? build_binary(builder, op->code, inner, second) : NULL;
    }
    case OP_WHERE: {
        Value *yes = distance_at(builder, second, root, depth + 1);
        Value *no = distance_at(builder, op->operands[2], root, depth + 1);
        return yes && no ? build_ternary(builder, OP_WHERE, first, yes, no) : NULL;
    }
    default: return NULL;
    }
}

Value *pointer_distance(Builder *builder, Value *pointer, const Value *root) {
    return distance_at(builder, pointer, root, 0);
}
