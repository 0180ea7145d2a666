// From an element type to its limits.
#include "analysis/ir/type_limits.h"

bool type_limits(DTypeCode code, TypeLimits *limits) {
    static const struct {
        DTypeCode code;
        TypeLimits limits;
    } rows[] = {
        {DTYPE_FLOAT64, {true, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-52, 0, 0, 64}},
        {DTYPE_FLOAT32, {true, 0x1.fffffep127, 0x1p-126, 0x1p-23, 0, 0, 32}},
        {DTYPE_BFLOAT16, {true, 0x1.fep127, 0x1p-126, 0x1p-7, 0, 0, 16}},
        {DTYPE_FLOAT16, {true, 65504, 0x1p-14, 0x1p-10, 0, 0, 16}},
        {DTYPE_FLOAT8E4NV, {true, 448, 0x1p-6, 0x1p-3, 0, 0, 8}},
        {DTYPE_FLOAT8E4B8, {true, 240, 0x1p-7, 0x1p-3, 0, 0, 8}},
        {DTYPE_FLOAT8E5, {true, 57344, 0x1p-14, 0x1p-2, 0, 0, 8}},
        {DTYPE_INT64, {.most = INT64_MAX, .least = INT64_MIN, .bits = 64}},
        {DTYPE_INT32, {.most = INT32_MAX, .least = INT32_MIN, .bits = 32}},
        {DTYPE_INT16, {.most = INT16_MAX, .least = INT16_MIN, .bits = 16}},
        {DTYPE_INT8, {.most = INT8_MAX, .least = INT8_MIN, .bits = 8}},
        {DTYPE_UINT32, {.most = UINT32_MAX, .bits = 32}},
        {DTYPE_UINT16, {.most = UINT16_MAX, .bits = 16}},
        {DTYPE_UINT8, {.most = UINT8_MAX, .bits = 8}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].code != code) continue;
        *limits = rows[i].limits;
        return true;
    }
    return false;
}

DTypeCode dtype_from_library_name(Str name) {
    static const struct {
        const char *name;
        DTypeCode code;
    } names[] = {{"half", DTYPE_FLOAT16},
                 {"float", DTYPE_FLOAT32},
                 {"double", DTYPE_FLOAT64},
                 {"long", DTYPE_INT64},
                 {"int", DTYPE_INT32},
                 {"short", DTYPE_INT16},
                 {"bool", DTYPE_INT1},
                 {"float8_e4m3fn", DTYPE_FLOAT8E4NV},
                 {"float8_e5m2", DTYPE_FLOAT8E5},
                 {"float8_e4m3fnuz", DTYPE_FLOAT8E4B8}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i].name)) return names[i].code;
    return dtype_from_name(name);
}
