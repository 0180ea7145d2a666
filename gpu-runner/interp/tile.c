// Tiles: pool allocation, element access by index lists, casts. Numbers only; what ops mean is in interp*.c.
#include "gpu-runner/interp/tile.h"

#include <math.h>
#include <string.h>

enum { POOL_SMALLEST = 16 };

/// The power of two that has room for it.
static int size_class(size_t size_bytes) {
    enum { BITS = 8 * sizeof(unsigned long long), LEAST = 4 };
    return size_bytes <= 1 << LEAST ? LEAST : BITS - __builtin_clzll(size_bytes - 1);
}

void *pool_block(TilePool *pool, size_t size_bytes) {
    bool is_exceeded = pool->limit_bytes && (size_bytes > pool->limit_bytes ||
                                             pool->live_bytes > pool->limit_bytes - size_bytes);
    if (is_exceeded) pool->exceeded(pool->context);
    int class = size_class(size_bytes < POOL_SMALLEST ? POOL_SMALLEST : size_bytes);
    size_t size = (size_t)1 << class;
    pool->live_bytes += size;
    void *block = pool->free_blocks[class];
    if (!block) return arena_alloc(pool->arena, size);
    memcpy(&pool->free_blocks[class], block, sizeof(void *));
    return block;
}

void pool_free(TilePool *pool, void *block, size_t size_bytes) {
    if (!block) return;
    int class = size_class(size_bytes < POOL_SMALLEST ? POOL_SMALLEST : size_bytes);
    pool->live_bytes -= (size_t)1 << class;
    memcpy(block, &pool->free_blocks[class], sizeof(void *));
    pool->free_blocks[class] = block;
}

static Tile *tile_header(TilePool *pool, TileKind kind) {
    Tile *tile = pool->free_tiles;
    if (tile) {
        pool->free_tiles = tile->next_free;
        memset(tile, 0, sizeof *tile);
    } else {
        tile = ARENA_NEW(pool->arena, Tile);
    }
    tile->references = 1;
    tile->kind = kind;
    tile->count = 1;
    return tile;
}

int64_t shape_count(int rank, const int64_t *dims) {
    const int64_t beyond_memory = (int64_t)1 << 56;
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(count, dims[i], &count) || count > beyond_memory)
            return beyond_memory;
    return count;
}

Tile *tile_new(TilePool *pool, TileKind kind, DTypeCode dtype, int rank, const int64_t *dims) {
    Tile *tile = tile_header(pool, kind);
    tile->dtype = dtype;
    tile->rank = rank;
    for (int i = 0; i < rank; i++) tile->dims[i] = dims[i];
    tile->count = shape_count(rank, dims);
    size_t size = sizeof(double) * (size_t)tile->count;
    if (kind == TILE_NUMBER && dtype_code_is_float(dtype))
        tile->number = pool_block(pool, size);
    else if (kind == TILE_NUMBER || kind == TILE_POINTER)
        tile->integer = pool_block(pool, size);
    return tile;
}

Tile *tile_like(TilePool *pool, const Tile *shape, DTypeCode dtype) {
    return tile_new(pool, TILE_NUMBER, dtype, shape->rank, shape->dims);
}

Tile *tile_int(TilePool *pool, int64_t value, DTypeCode dtype) {
    Tile *tile = tile_new(pool, TILE_NUMBER, dtype, 0, NULL);
    tile->integer[0] = wrap_integer(value, dtype);
    return tile;
}

Tile *tile_float(TilePool *pool, double value, DTypeCode dtype) {
    Tile *tile = tile_new(pool, TILE_NUMBER, dtype, 0, NULL);
    tile->number[0] = value;
    return tile;
}

Tile *tile_bool(TilePool *pool, bool value) { return tile_int(pool, value, DTYPE_INT1); }

Tile *tile_weak_int(TilePool *pool, int64_t value) {
    DTypeCode dtype = value >= INT32_MIN && value <= INT32_MAX   ? DTYPE_INT32
                      : value > INT32_MAX && value <= UINT32_MAX ? DTYPE_UINT32
                                                                 : DTYPE_INT64;
    Tile *tile = tile_int(pool, value, dtype);
    tile->is_weak = true;
    return tile;
}

static Tile *tile_weak_float(TilePool *pool, double value) {
    Tile *tile = tile_float(pool, value, DTYPE_FLOAT32);
    tile->is_weak = true;
    return tile;
}

Tile *tile_tuple(TilePool *pool, Tile *const *items, int count) {
    Tile *tile = tile_header(pool, TILE_TUPLE);
    tile->item_count = count;
    tile->items = pool_block(pool, sizeof(Tile *) * (size_t)count);
    if (count) memcpy(tile->items, items, sizeof(Tile *) * (size_t)count);
    return tile;
}

static Tile *tile_numbers(TilePool *pool, const int64_t *numbers, int count) {
    Tile *items[TYPE_MAX_RANK];
    for (int i = 0; i < count; i++) items[i] = tile_int(pool, numbers[i], DTYPE_INT64);
    return tile_tuple(pool, items, count);
}

Tile *tile_descriptor(TilePool *pool, Tile *base, int rank, const int64_t *block,
                      const int64_t *shape, const int64_t *strides) {
    Tile *tile = tile_new(pool, TILE_DESCRIPTOR, base->dtype, rank, block);
    tile->item_count = 3;
    tile->items = pool_block(pool, sizeof(Tile *) * 3);
    tile->items[0] = base;
    tile->items[1] = tile_numbers(pool, shape, rank);
    tile->items[2] = tile_numbers(pool, strides, rank);
    return tile;
}

Tile *tile_special(TilePool *pool, TileKind kind, const Constant *constant) {
    Tile *tile = tile_header(pool, kind);
    tile->constant = constant;
    return tile;
}

Tile *tile_from_constant(TilePool *pool, const Constant *constant) {
    Tile *tile;
    switch (constant->kind) {
    case CONSTANT_NONE: return tile_special(pool, TILE_NONE, NULL);
    case CONSTANT_BOOL:
        tile = tile_bool(pool, constant->integer != 0);
        tile->is_weak = true;
        return tile;
    case CONSTANT_INT: return tile_weak_int(pool, constant->integer);
    case CONSTANT_FLOAT: return tile_weak_float(pool, constant->number);
    case CONSTANT_STRING:
    case CONSTANT_DTYPE:
    case CONSTANT_FUNCTION:
    case CONSTANT_TUPLE: break;
    }
    return tile_special(pool, TILE_CONSTANT, constant);
}

Tile *tile_retain(Tile *tile) {
    tile->references++;
    return tile;
}

void tile_release(TilePool *pool, Tile *tile) {
    if (!tile || --tile->references > 0) return;
    size_t size = sizeof(double) * (size_t)tile->count;
    pool_free(pool, tile->number, size);
    pool_free(pool, tile->integer, size);
    pool_free(pool, tile->tangent, size);
    pool_free(pool, tile->poison, (size_t)tile->count);
    for (int i = 0; i < tile->item_count; i++) tile_release(pool, tile->items[i]);
    pool_free(pool, tile->items, sizeof(Tile *) * (size_t)tile->item_count);
    tile->next_free = pool->free_tiles;
    pool->free_tiles = tile;
}

double *tile_need_tangent(TilePool *pool, Tile *tile) {
    if (!tile->tangent) {
        size_t size = sizeof(double) * (size_t)tile->count;
        tile->tangent = pool_block(pool, size);
        memset(tile->tangent, 0, size);
    }
    return tile->tangent;
}

uint8_t *tile_need_poison(TilePool *pool, Tile *tile) {
    if (!tile->poison) {
        tile->poison = pool_block(pool, (size_t)tile->count);
        memset(tile->poison, 0, (size_t)tile->count);
    }
    return tile->poison;
}

Tile *tile_take(TilePool *pool, const Tile *source, int rank, const int64_t *dims,
                const int64_t *indices) {
    Tile *tile = tile_new(pool, source->kind, source->dtype, rank, dims);
    for (int64_t i = 0; i < tile->count; i++) {
        int64_t from = indices[i];
        if (source->number)
            tile->number[i] = from < 0 ? 0 : source->number[from];
        else
            tile->integer[i] = from < 0 ? 0 : source->integer[from];
    }
    if (source->tangent) {
        double *tangent = tile_need_tangent(pool, tile);
        for (int64_t i = 0; i < tile->count; i++)
            tangent[i] = indices[i] < 0 ? 0 : source->tangent[indices[i]];
    }
    if (source->poison) {
        uint8_t *poison = tile_need_poison(pool, tile);
        for (int64_t i = 0; i < tile->count; i++)
            poison[i] = indices[i] >= 0 && source->poison[indices[i]];
    }
    return tile;
}

Tile *tile_reshape(TilePool *pool, const Tile *source, int rank, const int64_t *dims) {
    Tile *tile = tile_new(pool, source->kind, source->dtype, rank, dims);
    size_t size = sizeof(double) * (size_t)tile->count;
    if (source->number)
        memcpy(tile->number, source->number, size);
    else
        memcpy(tile->integer, source->integer, size);
    if (source->tangent) memcpy(tile_need_tangent(pool, tile), source->tangent, size);
    if (source->poison) memcpy(tile_need_poison(pool, tile), source->poison, (size_t)tile->count);
    tile->is_weak = source->is_weak && rank == 0;
    return tile;
}

bool shapes_broadcast(int *rank, int64_t *dims, const Tile *tile) {
    int wider = *rank > tile->rank ? *rank : tile->rank;
    int64_t result[TYPE_MAX_RANK];
    for (int i = 0; i < wider; i++) {  // from the last dim backwards; missing leading dims are 1
        int64_t a = i < *rank ? dims[*rank - 1 - i] : 1;
        int64_t b = i < tile->rank ? tile->dims[tile->rank - 1 - i] : 1;
        if (a != b && a != 1 && b != 1) return false;
        result[wider - 1 - i] = a == 1 ? b : a;
    }
    *rank = wider;
    memcpy(dims, result, sizeof(int64_t) * (size_t)wider);
    return true;
}

Tile *tile_take_strided(TilePool *pool, const Tile *source, int rank, const int64_t *dims,
                        const int64_t *strides) {
    int64_t count = shape_count(rank, dims), at[TYPE_MAX_RANK] = {0}, from = 0;
    int64_t *indices = pool_block(pool, sizeof(int64_t) * (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        indices[i] = from;
        for (int d = rank - 1; d >= 0; d--) {
            from += strides[d];
            if (++at[d] < dims[d]) break;
            from -= strides[d] * dims[d];
            at[d] = 0;
        }
    }
    Tile *tile = tile_take(pool, source, rank, dims, indices);
    pool_free(pool, indices, sizeof(int64_t) * (size_t)count);
    return tile;
}

Tile *tile_broadcast(TilePool *pool, Tile *source, int rank, const int64_t *dims) {
    if (source->rank == rank && memcmp(source->dims, dims, sizeof(int64_t) * (size_t)rank) == 0)
        return tile_retain(source);
    int64_t strides[TYPE_MAX_RANK] = {0}, stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        int from = i - (rank - source->rank);
        if (from < 0) continue;
        strides[i] = source->dims[from] == 1 ? 0 : stride;
        stride *= source->dims[from];
    }
    return tile_take_strided(pool, source, rank, dims, strides);
}

int64_t wrap_integer(int64_t value, DTypeCode dtype) {
    switch (dtype) {
    case DTYPE_INT1: return value != 0;
    case DTYPE_INT8: return (int8_t)value;
    case DTYPE_INT16: return (int16_t)value;
    case DTYPE_INT32: return (int32_t)value;
    case DTYPE_UINT8: return (uint8_t)value;
    case DTYPE_UINT16: return (uint16_t)value;
    case DTYPE_UINT32: return (uint32_t)value;
    default: return value;
    }
}

/// Largest finite value and exponent bias where they differ from IEEE's rule for the bit counts.
double float_limit(DTypeCode dtype, int *bias) {
    int exponent = dtype_exponent_bits(dtype), mantissa = dtype_mantissa_bits(dtype);
    *bias = (1 << (exponent - 1)) - 1;
    switch (dtype) {
    case DTYPE_FLOAT8E4NV: return 448;
    case DTYPE_FLOAT8E4B8: *bias = 8; return 240;
    case DTYPE_FLOAT8E4B15: *bias = 15; return 1.75;
    case DTYPE_FLOAT8E5B16: *bias = 16; return 57344;
    default: return ldexp(2 - ldexp(1, -mantissa), *bias);
    }
}

static double round_mantissa(double value, int mantissa, int smallest_exponent) {
    int exponent = ilogb(value);
    if (exponent < smallest_exponent) exponent = smallest_exponent;
    double quantum = ldexp(1, exponent - mantissa);
    return nearbyint(value / quantum) * quantum;
}

double round_float(double value, DTypeCode dtype) {
    if (dtype == DTYPE_FLOAT64 || !isfinite(value) || value == 0) return value;
    if (dtype == DTYPE_FLOAT32) return (double)(float)value;
    int bias;
    double limit = float_limit(dtype, &bias);
    double rounded = round_mantissa(value, dtype_mantissa_bits(dtype), 1 - bias);
    if (fabs(rounded) <= limit) return rounded;
    bool has_infinity = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    return copysign(has_infinity ? INFINITY : limit, value);
}

double round_tf32(double value) {
    if (!isfinite(value) || value == 0) return value;
    return round_mantissa(value, 10, -126);
}

double round_precision(double value, DTypeCode dtype) {
    if (dtype == DTYPE_FLOAT64 || !isfinite(value) || value == 0) return value;
    return round_mantissa(value, dtype_mantissa_bits(dtype), -900);
}

void tile_round(Tile *tile) {
    for (int64_t i = 0; i < tile->count; i++)
        tile->number[i] = round_float(tile->number[i], tile->dtype);
    for (int64_t i = 0; tile->tangent && i < tile->count; i++)
        tile->tangent[i] = round_precision(tile->tangent[i], tile->dtype);
}

int64_t float_to_bits(double value, DTypeCode dtype) {
    if (dtype == DTYPE_FLOAT64) {
        int64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    if (dtype == DTYPE_FLOAT32) {
        float single = (float)value;
        int32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    int mantissa = dtype_mantissa_bits(dtype), exponent_bits = dtype_exponent_bits(dtype), bias;
    float_limit(dtype, &bias);
    int64_t sign = signbit(value) ? 1 : 0, top = (1 << exponent_bits) - 1, bits;
    double size = fabs(round_float(value, dtype));
    if (isnan(value))
        bits = (top << mantissa) | ((1 << mantissa) - 1);
    else if (isinf(size))
        bits = top << mantissa;
    else if (size < ldexp(1, 1 - bias))
        bits = (int64_t)ldexp(size, bias - 1 + mantissa);
    else {
        int exponent = ilogb(size);
        bits = (int64_t)(exponent + bias) << mantissa;
        bits |= (int64_t)ldexp(size, mantissa - exponent) & ((1 << mantissa) - 1);
    }
    return bits | (sign << (mantissa + exponent_bits));
}

double float_from_bits(int64_t bits, DTypeCode dtype) {
    if (dtype == DTYPE_FLOAT64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (dtype == DTYPE_FLOAT32) {
        int32_t low = (int32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return (double)value;
    }
    int mantissa = dtype_mantissa_bits(dtype), exponent_bits = dtype_exponent_bits(dtype), bias;
    double limit = float_limit(dtype, &bias);
    int64_t fraction = bits & ((1 << mantissa) - 1), top = (1 << exponent_bits) - 1;
    int64_t exponent = (bits >> mantissa) & top;
    double sign = (bits >> (mantissa + exponent_bits)) & 1 ? -1 : 1;
    if (exponent == 0) return sign * ldexp((double)fraction, 1 - bias - mantissa);
    double value = ldexp((double)(fraction | (1 << mantissa)), (int)exponent - bias - mantissa);
    if (value > limit) return fraction ? NAN : sign * INFINITY;
    return sign * value;
}

static double integer_to_double(int64_t value, DTypeCode dtype) {
    return dtype == DTYPE_UINT64 ? (double)(uint64_t)value : (double)value;
}

static int64_t double_to_integer(double value, DTypeCode dtype) {
    if (dtype == DTYPE_INT1) return value != 0;
    if (isnan(value)) return 0;
    if (dtype == DTYPE_UINT64 && value >= 9223372036854775808.0)
        return value >= 18446744073709551616.0 ? -1 : (int64_t)(uint64_t)value;
    if (value >= 9223372036854775807.0) return INT64_MAX;
    if (value <= -9223372036854775808.0) return INT64_MIN;
    return wrap_integer((int64_t)value, dtype);
}

static Tile *cast_to_float(TilePool *pool, const Tile *source, DTypeCode dtype, bool rounds) {
    Tile *tile = tile_like(pool, source, dtype);
    for (int64_t i = 0; i < tile->count; i++) {
        double value = source->number ? source->number[i]
                                      : integer_to_double(source->integer[i], source->dtype);
        tile->number[i] = rounds ? round_float(value, dtype) : value;
    }
    double *tangent = source->tangent ? tile_need_tangent(pool, tile) : NULL;
    for (int64_t i = 0; tangent && i < tile->count; i++)
        tangent[i] = rounds ? round_precision(source->tangent[i], dtype) : source->tangent[i];
    return tile;
}

Tile *tile_cast(TilePool *pool, Tile *source, DTypeCode dtype, bool rounds) {
    if (source->dtype == dtype && source->kind == TILE_NUMBER && !source->is_weak)
        return tile_retain(source);
    Tile *tile;
    if (dtype_code_is_float(dtype)) {
        tile = cast_to_float(pool, source, dtype, rounds);
    } else {
        tile = tile_like(pool, source, dtype);
        for (int64_t i = 0; i < tile->count; i++)
            tile->integer[i] = source->number ? double_to_integer(source->number[i], dtype)
                                              : wrap_integer(source->integer[i], dtype);
    }
    if (source->poison) memcpy(tile_need_poison(pool, tile), source->poison, (size_t)tile->count);
    return tile;
}

Tile *tile_bitcast(TilePool *pool, Tile *source, DTypeCode dtype) {
    if (source->dtype == dtype) return tile_retain(source);
    Tile *tile = tile_like(pool, source, dtype);
    for (int64_t i = 0; i < tile->count; i++) {
        int64_t bits =
            source->number ? float_to_bits(source->number[i], source->dtype) : source->integer[i];
        if (tile->number)
            tile->number[i] = float_from_bits(bits, dtype);
        else
            tile->integer[i] = wrap_integer(bits, dtype);
    }
    if (source->poison) memcpy(tile_need_poison(pool, tile), source->poison, (size_t)tile->count);
    return tile;
}

bool tile_truth(const Tile *tile) {
    switch (tile->kind) {
    case TILE_NUMBER:
    case TILE_POINTER: return tile->count > 0 && tile_number_at(tile, 0) != 0;
    case TILE_TUPLE: return tile->item_count > 0;
    case TILE_CONSTANT:
        return tile->constant->kind != CONSTANT_STRING || tile->constant->string.size > 0;
    case TILE_BLOCK_POINTER:
    case TILE_DESCRIPTOR: return true;
    case TILE_NONE:
    case TILE_UNDEFINED: break;
    }
    return false;
}

const char *tile_describe(Arena *arena, const Tile *tile) {
    static const char *const names[] = {"",      "*",    "block pointer ", "descriptor ",
                                        "tuple", "None", "constant",       "undefined"};
    Buffer text = buffer_new(arena);
    buffer_puts(&text, names[tile->kind]);
    const char *dtype = dtype_short_name(tile->dtype);
    if (tile->kind <= TILE_DESCRIPTOR && dtype) buffer_puts(&text, dtype);
    for (int i = 0; i < tile->rank; i++)
        buffer_printf(&text, "%s%lld", i ? ", " : "[", (long long)tile->dims[i]);
    if (tile->rank) buffer_putc(&text, ']');
    return buffer_text(&text);
}

AxisView axis_view_of(int rank, const int64_t *dims, int axis, bool keeps) {
    AxisView view = {.outer = 1, .length = 1, .inner = 1};
    for (int i = 0; i < rank; i++) {
        bool is_along = axis < 0 || i == axis;
        if (is_along)
            view.length *= dims[i];
        else
            *(i < axis ? &view.outer : &view.inner) *= dims[i];
        if (!is_along || keeps) view.dims[view.rank++] = is_along ? 1 : dims[i];
    }
    return view;
}

DTypeCode dtype_summed(DTypeCode dtype, bool is_sum) {
    if (dtype_code_is_float(dtype) || dtype_bits(dtype) >= 32) return dtype;
    if (is_sum && dtype_class(dtype_of(dtype)) == CLASS_UNSIGNED) return DTYPE_UINT32;
    return DTYPE_INT32;
}
