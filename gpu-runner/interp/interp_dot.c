// Matrix products of rank 2 and 3, with accumulator; derivatives by the product rule.
#include <string.h>

#include "gpu-runner/interp/interp.h"
#include "gpu-runner/interp/interp_elementwise.h"

typedef struct DotShape {
    int64_t batch, rows, columns, depth;
} DotShape;

/// result += a @ b
static void multiply(const DotShape *shape, const double *a, const double *b, double *result) {
    for (int64_t n = 0; n < shape->batch; n++) {
        for (int64_t i = 0; i < shape->rows; i++) {
            double *row = result + (n * shape->rows + i) * shape->columns;
            for (int64_t k = 0; k < shape->depth; k++) {
                double factor = a[(n * shape->rows + i) * shape->depth + k];
                const double *other = b + (n * shape->depth + k) * shape->columns;
                for (int64_t j = 0; j < shape->columns; j++) row[j] += factor * other[j];
            }
        }
    }
}

/// The same to the tangents of `result`, summed by itself first: as the cuda backend does, which goes through both products at once.
static void add_product(Interp *interp, const DotShape *shape, const double *a, const double *b,
                        Tile *result) {
    const size_t size_bytes = sizeof(double) * (size_t)result->count;
    double *sums = pool_block(&interp->pool, size_bytes),
           *tangent = tile_need_tangent(&interp->pool, result);
    memset(sums, 0, size_bytes);
    multiply(shape, a, b, sums);
    for (int64_t i = 0; i < result->count; i++) tangent[i] += sums[i];
    pool_free(&interp->pool, sums, size_bytes);
}

/// Undefined lanes of the operands make whole rows and columns undefined.
static void dot_poison(Interp *interp, const DotShape *shape, const Tile *a, const Tile *b,
                       Tile *result) {
    if (!a->poison && !b->poison) return;
    uint8_t *poison = tile_need_poison(&interp->pool, result);
    for (int64_t n = 0; n < shape->batch; n++)
        for (int64_t k = 0; k < shape->depth; k++) {
            const uint8_t *column =
                b->poison ? b->poison + (n * shape->depth + k) * shape->columns : NULL;
            for (int64_t i = 0; i < shape->rows; i++) {
                uint8_t left = a->poison ? a->poison[(n * shape->rows + i) * shape->depth + k] : 0;
                uint8_t *row = poison + (n * shape->rows + i) * shape->columns;
                for (int64_t j = 0; j < shape->columns; j++)
                    row[j] |= left | (column ? column[j] : 0);
            }
        }
}

static Tile *dot_operand(Interp *interp, const Op *op, int index) {
    Tile *tile = operand_number(interp, op, index);
    Tile *wide = tile_cast(&interp->pool, tile, DTYPE_FLOAT64, false);
    if (!interp->rounds || !interp->options.allow_tf32 || tile->dtype != DTYPE_FLOAT32) return wide;
    Str precision = operand_string(interp, op, "input_precision");
    Tile *allowed = operand_named(interp, op, "allow_tf32");
    if (str_starts(precision, "ieee") || str_starts(precision, "tf32x3") ||
        (allowed && !tile_truth(allowed)))
        return wide;
    Tile *rounded = tile_like(&interp->pool, wide, DTYPE_FLOAT64);
    for (int64_t i = 0; i < wide->count; i++) rounded->number[i] = round_tf32(wide->number[i]);
    double *tangent = wide->tangent ? tile_need_tangent(&interp->pool, rounded) : NULL;
    for (int64_t i = 0; tangent && i < wide->count; i++) tangent[i] = round_tf32(wide->tangent[i]);
    if (wide->poison)
        memcpy(tile_need_poison(&interp->pool, rounded), wide->poison, (size_t)wide->count);
    return interp_consume(interp, wide, rounded);
}

static DotShape dot_shape(Interp *interp, const Tile *a, const Tile *b) {
    int rank = a->rank;
    if (rank != b->rank || rank < 2 || rank > 3 || (rank == 3 && a->dims[0] != b->dims[0]) ||
        a->dims[rank - 1] != b->dims[rank - 2])
        interp_stop(interp, "dot of %s and %s", tile_describe(interp->arena, a),
                    tile_describe(interp->arena, b));
    if (tile_is_float(a) != tile_is_float(b))
        interp_stop(interp, "Triton compiles no dot of %s and %s", tile_describe(interp->arena, a),
                    tile_describe(interp->arena, b));
    return (DotShape){rank == 3 ? a->dims[0] : 1, a->dims[rank - 2], b->dims[rank - 1],
                      a->dims[rank - 1]};
}

void run_dot(Interp *interp, const Op *op) {
    Tile *left = operand_number(interp, op, 0), *right = operand_number(interp, op, 1),
         *initial = operand_named(interp, op, "acc");
    DotShape shape = dot_shape(interp, left, right);
    int64_t dims[3] = {shape.batch, shape.rows, shape.columns},
            *kept = left->rank == 3 ? dims : dims + 1;
    bool integers = !tile_is_float(left) && !tile_is_float(right);
    DTypeCode wanted = integers                       ? DTYPE_INT32
                       : left->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64
                                                      : DTYPE_FLOAT32;
    DTypeCode dtype = operand_dtype(
        interp, op, "out_dtype", initial && initial->kind == TILE_NUMBER ? initial->dtype : wanted);
    Tile *a = dot_operand(interp, op, 0), *b = dot_operand(interp, op, 1);
    Tile *result = tile_new(&interp->pool, TILE_NUMBER, DTYPE_FLOAT64, left->rank, kept);
    memset(result->number, 0, sizeof(double) * (size_t)result->count);
    multiply(&shape, a->number, b->number, result->number);
    if (a->tangent)
        multiply(&shape, a->tangent, b->number, tile_need_tangent(&interp->pool, result));
    if (b->tangent) add_product(interp, &shape, a->number, b->tangent, result);
    dot_poison(interp, &shape, a, b, result);
    interp_count(interp, shape.batch * shape.rows * shape.columns * shape.depth / 4);
    tile_release(&interp->pool, a);
    tile_release(&interp->pool, b);
    Tile *cast = interp_consume(interp, result, cast_number(interp, result, dtype));
    if (initial && initial->kind == TILE_NUMBER) {
        Tile *sum = apply_binary(interp, OP_ADD, cast, initial);
        tile_release(&interp->pool, cast);
        cast = interp_consume(interp, sum, cast_number(interp, sum, dtype));
    }
    interp_result(interp, op, cast);
}
