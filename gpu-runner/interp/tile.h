// Run-time values of the interpreter: dynamically typed tiles, counted references, memory from a pool.
#ifndef TAD_GPU_RUNNER_INTERP_TILE_H
#define TAD_GPU_RUNNER_INTERP_TILE_H

#include "analysis/ir/ir.h"

typedef enum TileKind {
    TILE_NUMBER,
    TILE_POINTER,        // `integer` holds addresses (memory.h), dtype is the pointee's
    TILE_BLOCK_POINTER,  // items: base, shape, strides, offsets (tuples of scalars); dims are the block's
    TILE_DESCRIPTOR,  // items: base, shape, strides; dims are the block's
    TILE_TUPLE,
    TILE_NONE,
    TILE_CONSTANT,   // a dtype, string or function: `constant`
    TILE_UNDEFINED,  // a variable that no path has set
} TileKind;

/// One value. Floats are doubles in `number`; integers and bools are int64 in `integer`, wrapped to their
/// width (uint64 by its bit pattern). Row-major. `tangent` (floats) is the derivative in the direction being
/// tried, `poison` marks lanes whose value Triton leaves undefined; both are NULL where nothing is set.
typedef struct Tile {
    int references;
    TileKind kind;
    DTypeCode dtype;
    bool is_weak;  // a Python number: adapts to the type of what it meets, integers do not wrap
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    int64_t count;
    double *number;
    int64_t *integer;
    double *tangent;
    uint8_t *poison;
    struct Tile **items;
    int item_count;
    const Constant *constant;
    struct Tile *next_free;
} Tile;

/// Blocks of power-of-two sizes, reused; grows from an arena. One thread.
typedef struct TilePool {
    Arena *arena;
    void *free_blocks[8 * sizeof(size_t)];  // by the power of two
    Tile *free_tiles;
    size_t live_bytes;
    size_t limit_bytes;               // 0: none
    void (*exceeded)(void *context);  // called where the limit would be passed; does not return
    void *context;
} TilePool;

static inline bool dtype_code_is_float(DTypeCode code) { return code >= DTYPE_FLOAT8E5; }
static inline bool tile_is_float(const Tile *tile) {
    return tile->kind == TILE_NUMBER && dtype_code_is_float(tile->dtype);
}

/// How many elements there are. Where memory has no room for them, or a dim is negative, a number of which this is true as well:
/// of 8 bytes each it does not overflow, and no pool with a limit gives them.
int64_t shape_count(int rank, const int64_t *dims);
/// Contents are not set. References 1, owned by the caller.
Tile *tile_new(TilePool *pool, TileKind kind, DTypeCode dtype, int rank, const int64_t *dims);
Tile *tile_like(TilePool *pool, const Tile *shape, DTypeCode dtype);
Tile *tile_int(TilePool *pool, int64_t value, DTypeCode dtype);
Tile *tile_float(TilePool *pool, double value, DTypeCode dtype);
Tile *tile_bool(TilePool *pool, bool value);
/// A Python number as Triton types it: int32 where it fits, else uint32 / int64; floats float32.
Tile *tile_weak_int(TilePool *pool, int64_t value);
/// Takes over the items' references.
Tile *tile_tuple(TilePool *pool, Tile *const *items, int count);
/// A tensor descriptor. Takes over the reference to `base`, a pointer.
Tile *tile_descriptor(TilePool *pool, Tile *base, int rank, const int64_t *block,
                      const int64_t *shape, const int64_t *strides);
Tile *tile_special(TilePool *pool, TileKind kind, const Constant *constant);
Tile *tile_from_constant(TilePool *pool, const Constant *constant);

Tile *tile_retain(Tile *tile);
void tile_release(TilePool *pool, Tile *tile);
/// Arrays beside the values, zeroed, made on first use.
double *tile_need_tangent(TilePool *pool, Tile *tile);
uint8_t *tile_need_poison(TilePool *pool, Tile *tile);
void *pool_block(TilePool *pool, size_t size_bytes);
void pool_free(TilePool *pool, void *block, size_t size_bytes);

/// result[i] = source[indices[i]], tangent and poison along; -1 gives zero.
Tile *tile_take(TilePool *pool, const Tile *source, int rank, const int64_t *dims,
                const int64_t *indices);
/// The same over all indices of `dims`, each with a stride, in elements of `source`.
Tile *tile_take_strided(TilePool *pool, const Tile *source, int rank, const int64_t *dims,
                        const int64_t *strides);
/// The same values under another shape of equal count.
Tile *tile_reshape(TilePool *pool, const Tile *source, int rank, const int64_t *dims);
/// Broadcast to a shape that `source` broadcasts to. Retains `source` where nothing changes.
Tile *tile_broadcast(TilePool *pool, Tile *source, int rank, const int64_t *dims);
/// The common shape; false where they do not broadcast.
bool shapes_broadcast(int *rank, int64_t *dims, const Tile *tile);

/// Element type conversion as Triton's casts: truncation to integers, wrapping; floats and tangents rounded only when `rounds`.
Tile *tile_cast(TilePool *pool, Tile *source, DTypeCode dtype, bool rounds);
/// Reinterprets bits; dtypes of equal width.
Tile *tile_bitcast(TilePool *pool, Tile *source, DTypeCode dtype);

int64_t wrap_integer(int64_t value, DTypeCode dtype);
/// To the nearest value of the type, ties to even; fp8 saturates, fp16 and bf16 overflow to infinity.
double round_float(double value, DTypeCode dtype);
double round_tf32(double value);
/// The largest number of a type, and the bias of its exponents.
double float_limit(DTypeCode dtype, int *bias);
/// To the bits of the type, with any exponent: a tangent is as large as the direction that it follows.
double round_precision(double value, DTypeCode dtype);
/// The numbers of a float tile to its type, its tangents to the bits of it.
void tile_round(Tile *tile);
int64_t float_to_bits(double value, DTypeCode dtype);
double float_from_bits(int64_t bits, DTypeCode dtype);

/// Element `index` as a double, whatever the tile's type.
static inline double tile_number_at(const Tile *tile, int64_t index) {
    return tile->number ? tile->number[index] : (double)tile->integer[index];
}
static inline int64_t tile_integer_at(const Tile *tile, int64_t index) {
    return tile->integer ? tile->integer[index] : (int64_t)tile->number[index];
}
/// Truth of a scalar; false for None.
bool tile_truth(const Tile *tile);
/// A short text for messages: "f32[16, 8]".
const char *tile_describe(Arena *arena, const Tile *tile);

/// A tile seen as [outer, length, inner] around an axis.
typedef struct AxisView {
    int64_t outer, length, inner;
    int rank;  // of the reduced result
    int64_t dims[TYPE_MAX_RANK];
} AxisView;

/// `axis` -1: everything is the axis. `keeps`: the result has the axis, too, with one element.
AxisView axis_view_of(int rank, const int64_t *dims, int axis, bool keeps);
/// What Triton reduces numbers of a type in: at least 32 bits, unsigned ones as such where they are summed.
DTypeCode dtype_summed(DTypeCode dtype, bool is_sum);

#endif
