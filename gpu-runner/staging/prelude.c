// The kernel's launch and buffers as the text declares them (lower.h has them for us), and the VALUE column as functions.
#include "gpu-runner/staging/lower.h"
#include "gpu-runner/staging/staged.h"

static const char *const declarations[] = {
    "#ifndef KERNEL\n",
    "#define KERNEL extern \"C\" __global__\n",
    "#define DEVICE static __device__\n",
    "#define APART static __device__ __noinline__\n",
    "#else\n",
    "#define APART static\n",
    "#endif\n",
    "#define TAD_NAN __longlong_as_double(0x7ff8000000000000LL)\n",
    "#define TAD_INFINITY __longlong_as_double(0x7ff0000000000000LL)\n",
    "#define TAD_U(x) ((unsigned long long)(x))\n",
    "#define EACH(i, n) for (long long i = threadIdx.x; i < (n); i += blockDim.x)\n",
    "\n",
    "typedef struct TadBuffer {\n",
    "    unsigned long long data, written;\n",
    "    long long *pages;\n",
    "    long long first, count, page_count, dtype;\n",
    "} TadBuffer;\n",
    "typedef struct TadLaunch {\n",
    "    long long grid[3], reversed;\n",
    "    TadBuffer *buffers;\n",
    "    long long buffer_count;\n",
    "    long long *arguments;\n",
    "    double *room;\n",
    "    long long room_per_block;\n",
    "    long long fault[5];\n",
    "} TadLaunch;\n",
    "typedef union TadBits { long long integer; double number; } TadBits;\n",
    "\n",
    "DEVICE long long tad_fault(TadLaunch *launch, long long what, long long line, long long program,\n",
    "    long long element, long long offset) {\n",
    "    unsigned long long *first = (unsigned long long *)&launch->fault[0];\n",
    "    if (atomicCAS(first, 0ULL, TAD_U(what)) != 0ULL) return 0;\n",
    "    launch->fault[1] = line, launch->fault[2] = program;\n",
    "    launch->fault[3] = element, launch->fault[4] = offset;\n",
    "    return 0;\n",
    "}\n",
    "/* The place of an element in a buffer of pages, -1 where no page has it. */\n",
    "DEVICE long long tad_paged(const TadBuffer *buffer, long long offset) {\n",
    "    long long low = 0, high = buffer->page_count;\n",
    "    while (low < high) {\n",
    "        long long middle = (low + high) / 2;\n",
    "        if (buffer->pages[middle] <= offset) low = middle + 1;\n",
    "        else high = middle;\n",
    "    }\n",
    "    if (low == 0 || offset - buffer->pages[low - 1] >= TAD_PAGE) return -1;\n",
    "    return (low - 1) * TAD_PAGE + offset - buffer->pages[low - 1];\n",
    "}\n",
    "/* Where an element is: its buffer and the place in it, -1 where it has none. */\n",
    "DEVICE long long tad_place(TadLaunch *launch, long long address, int dtype, TadBuffer *found,\n",
    "    int line, long long program, long long element) {\n",
    "    long long id = address >> 48;\n",
    "    long long offset = (address & 0xffffffffffffLL) - 0x800000000000LL;\n",
    "    if (id >= 1 && id <= launch->buffer_count) *found = launch->buffers[id - 1];\n",
    "    else found->dtype = -1;\n",
    "    if (found->dtype != dtype) {\n",
    "        tad_fault(launch, 2, line, program, element, offset);\n",
    "        return -1;\n",
    "    }\n",
    "    long long at = found->pages ? tad_paged(found, offset) : offset - found->first;\n",
    "    if (at >= 0 && at < found->count) return at;\n",
    "    tad_fault(launch, 1, line, program, element, offset);\n",
    "    return -1;\n",
    "}\n",
    "APART double tad_read(TadLaunch *launch, long long address, int dtype, int line,\n",
    "    long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    return at < 0 ? 0.0 : ((volatile double *)buffer.data)[at];\n",
    "}\n",
    "APART long long tad_read_whole(TadLaunch *launch, long long address, int dtype, int line,\n",
    "    long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    return at < 0 ? 0 : ((volatile long long *)buffer.data)[at];\n",
    "}\n",
    "APART void tad_write(TadLaunch *launch, long long address, int dtype, double value, int line,\n",
    "    long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at < 0) return;\n",
    "    ((volatile double *)buffer.data)[at] = value;\n",
    "    ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "}\n",
    "APART void tad_write_whole(TadLaunch *launch, long long address, int dtype, long long value,\n",
    "    int line, long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at < 0) return;\n",
    "    ((volatile long long *)buffer.data)[at] = value;\n",
    "    ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "}\n",
    "DEVICE double tad_updated(int how, double old, double value) {\n",
    "    return how == 0 ? old + value : how == 1 ? fmax(old, value) : how == 2 ? fmin(old, value) : value;\n",
    "}\n",
    "DEVICE long long tad_updated_whole(int how, long long old, long long value) {\n",
    "    switch (how) {\n",
    "    case 0: return (long long)(TAD_U(old) + TAD_U(value));\n",
    "    case 1: return old > value ? old : value;\n",
    "    case 2: return old < value ? old : value;\n",
    "    case 3: return old & value;\n",
    "    case 4: return old | value;\n",
    "    default: return old ^ value;\n",
    "    }\n",
    "}\n",
    "/* An update of an element, as the interpreter's; of integers wrapped to `bits` bits. */\n",
    "APART void tad_update(TadLaunch *launch, long long address, int dtype, int how, int is_float,\n",
    "    int bits, double number, long long integer, int line, long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at < 0) return;\n",
    "    unsigned long long *place = (unsigned long long *)buffer.data + at;\n",
    "    unsigned long long old = *(volatile unsigned long long *)place, seen;\n",
    "    do {\n",
    "        TadBits value;\n",
    "        seen = old;\n",
    "        value.integer = (long long)seen;\n",
    "        if (is_float) value.number = tad_updated(how, value.number, number);\n",
    "        else value.integer = tad_updated_whole(how, value.integer, integer);\n",
    "        if (!is_float && bits == 32) value.integer = (long long)(int)value.integer;\n",
    "        if (!is_float && bits == -32) value.integer = (long long)(unsigned)value.integer;\n",
    "        old = atomicCAS(place, seen, TAD_U(value.integer));\n",
    "    } while (old != seen);\n",
    "    ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "}\n",
    "DEVICE long long tad_divide(TadLaunch *launch, long long a, long long b) {\n",
    "    if (b == 0) return tad_fault(launch, 3, 0, 0, 0, 0);\n",
    "    return b == -1 ? (long long)(0 - TAD_U(a)) : a / b;\n",
    "}\n",
    "DEVICE long long tad_rest(TadLaunch *launch, long long a, long long b) {\n",
    "    if (b == 0) return tad_fault(launch, 3, 0, 0, 0, 0);\n",
    "    return b == -1 ? 0 : a % b;\n",
    "}\n",
    "DEVICE long long tad_divide_u(TadLaunch *launch, long long a, long long b) {\n",
    "    return b == 0 ? tad_fault(launch, 3, 0, 0, 0, 0) : (long long)(TAD_U(a) / TAD_U(b));\n",
    "}\n",
    "DEVICE long long tad_rest_u(TadLaunch *launch, long long a, long long b) {\n",
    "    return b == 0 ? tad_fault(launch, 3, 0, 0, 0, 0) : (long long)(TAD_U(a) % TAD_U(b));\n",
    "}\n",
    "DEVICE int tad_beyond(double value) {\n",
    "    return !(value > -9223372036854775808.0 && value < 9223372036854775807.0);\n",
    "}\n",
    "DEVICE long long tad_whole(double value, int is_unsigned) {\n",
    "    if (isnan(value)) return 0;\n",
    "    if (is_unsigned && value >= 9223372036854775808.0)\n",
    "        return value >= 18446744073709551616.0 ? -1 : (long long)(unsigned long long)value;\n",
    "    if (value >= 9223372036854775807.0) return 0x7fffffffffffffffLL;\n",
    "    if (value <= -9223372036854775808.0) return -0x7fffffffffffffffLL - 1;\n",
    "    return (long long)value;\n",
    "}\n",
    "DEVICE int tad_better(double a, double b, int largest) {\n",
    "    if (isnan(b)) return !isnan(a);\n",
    "    return largest ? a > b : a < b;\n",
    "}\n",
    "DEVICE int tad_better_whole(long long a, long long b, int largest, int is_unsigned) {\n",
    "    if (is_unsigned) return largest ? TAD_U(a) > TAD_U(b) : TAD_U(a) < TAD_U(b);\n",
    "    return largest ? a > b : a < b;\n",
    "}\n",
};

/// The VALUE column as it is written, or NULL.
static const char *value_text(int code) {
    switch (code) {
#define OP(id, ...)                                                                                \
    case OP_##id: {                                                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
#define VALUE(...) return #__VA_ARGS__;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    default: break;
    }
    return NULL;
}

void prelude_write(Buffer *text, const bool *has_op) {
    buffer_printf(text, "#define TAD_PAGE %d\n", PAGE_ELEMENTS);
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        buffer_puts(text, declarations[i]);
    for (int code = 0; code < OP_COUNT; code++) {
        if (!has_op[code]) continue;
        const char *value = value_text(code);
        buffer_printf(text,
                      "DEVICE double tad_%s(double a, double b, double c) {\n"
                      "    (void)a, (void)b, (void)c;\n"
                      "    return (double)(%s);\n"
                      "}\n",
                      op_rows[code].id, value ? value : "TAD_NAN");
    }
}
