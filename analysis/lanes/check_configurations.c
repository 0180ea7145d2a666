// What a configuration of autotune makes of matrix products: inner sides that no tensor core takes.
#include "analysis/checks/check.h"
#include "analysis/checks/check_instances.h"

/// What the shortest inner side of a product has in bits, and the longest type whose products tensor cores make of it.
enum { DOT_BITS = 256, LONGEST_BITS = 32, SHORTEST = DOT_BITS / LONGEST_BITS };

static void check_product(Check *check, const Op *op, const Instances *instances) {
    Type a = op->operands[0]->type;
    int64_t inner;
    const Poly *side = a.rank > 1 ? a.dims[a.rank - 1] : NULL;
    bool is_long = a.element.code == DTYPE_FLOAT64 || a.element.code == DTYPE_INT64;
    if (!side || poly_is_constant(side, &inner) || is_long || check_is_optional(op)) return;
    for (int i = 0; i < instances->count; i++) {
        const TunedValues *configuration = instances->items[i].configuration;
        if (!configuration || !instance_number(check, &instances->items[i], side, &inner) ||
            inner >= SHORTEST)
            continue;
        Diagnostic *said = check_report_at(
            check, DIAGNOSTIC_DOT_TOO_SMALL, configuration->range,
            "%s is %lld here, the inner dimension of a product; NVIDIA GPUs take at least %d "
            "elements of 32 bits, or 16 of 16 bits",
            poly_print(check->arena, side), (long long)inner, SHORTEST);
        check_relate(check, said, op, "the product");
    }
}

void check_configurations(Check *check) {
    bool has_products = false;
    for (LIST_EACH(int, i, check->ops)) has_products |= check->ops.items[i]->code == OP_DOT;
    if (!check->is_entry || !has_products) return;
    Instances instances = instances_find(check);
    if (!instances.count || instances.is_pruned) return;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        bool is_product = op->code == OP_DOT && op->operands[0] && op->operands[1] &&
                          op->operands[0]->type.kind == TYPE_NUMBER;
        if (is_product) check_product(check, op, &instances);
    }
}
