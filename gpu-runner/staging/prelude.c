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
    "#ifdef TAD_DUAL\n",
    "typedef struct TadReal { double v, t; } TadReal;\n",
    "DEVICE TadReal tad_real(double v) { TadReal r; r.v = v, r.t = 0; return r; }\n",
    "/* What does not move moves nothing, however steep. */\n",
    "DEVICE double tad_moved(double slope, double t) { return t == 0 || (slope == 0 && isinf(t)) ? 0 : slope * t; }\n",
    "DEVICE TadReal tad_along(double v, TadReal a, TadReal b, TadReal c, double da, double db, double dc) {\n",
    "    TadReal r;\n",
    "    r.v = v, r.t = tad_moved(da, a.t) + tad_moved(db, b.t) + tad_moved(dc, c.t);\n",
    "    return r;\n",
    "}\n",
    "DEVICE TadReal tad_plus(TadReal a, TadReal b) { a.v += b.v, a.t += b.t; return a; }\n",
    "DEVICE TadReal tad_times(TadReal a, TadReal b) {\n",
    "    TadReal r;\n",
    "    r.v = a.v * b.v, r.t = tad_moved(b.v, a.t) + tad_moved(a.v, b.t);\n",
    "    return r;\n",
    "}\n",
    "/* A sum of products: the values', and what each factor's tangents add to it. */\n",
    "typedef struct TadProduct { double v, left, right; } TadProduct;\n",
    "#define TAD_NO_PRODUCT {0.0, 0.0, 0.0}\n",
    "DEVICE TadProduct tad_product(TadProduct sum, TadReal a, TadReal b) {\n",
    "    sum.v += a.v * b.v;\n",
    "    sum.left += tad_moved(b.v, a.t), sum.right += tad_moved(a.v, b.t);\n",
    "    return sum;\n",
    "}\n",
    "DEVICE TadReal tad_produced(TadProduct sum) {\n",
    "    TadReal r;\n",
    "    r.v = sum.v, r.t = sum.left + sum.right;\n",
    "    return r;\n",
    "}\n",
    "#define TAD_REAL(x) tad_real(x)\n",
    "#define TAD_V(x) ((x).v)\n",
    "#else\n",
    "typedef double TadReal;\n",
    "#define TAD_REAL(x) (x)\n",
    "#define TAD_V(x) (x)\n",
    "#define tad_plus(a, b) ((a) + (b))\n",
    "#define tad_times(a, b) ((a) * (b))\n",
    "typedef double TadProduct;\n",
    "#define TAD_NO_PRODUCT 0.0\n",
    "#define tad_product(sum, a, b) ((sum) + (a) * (b))\n",
    "#define tad_produced(sum) (sum)\n",
    "#endif\n",
    "#ifdef TAD_ROUNDS\n",
    "DEVICE TadReal tad_round_as(TadReal value, int dtype);\n",
    "#endif\n",
    "#define EACH(i, n) for (long long i = threadIdx.x; i < (n); i += blockDim.x)\n",
    "/* Of one element each thread has a variable of its own. */\n",
    "#define EACH_OR_ONE(i, n) for (long long i = (n) > 1 ? threadIdx.x : 0; i < (n); i += (n) > 1 ? blockDim.x : 1)\n",
    "\n",
    "typedef struct TadBuffer {\n",
    "    unsigned long long data, written, users, tangents;\n",
    "    long long *pages;\n",
    "    long long first, count, page_count, dtype;\n",
    "} TadBuffer;\n",
    "typedef struct TadLaunch {\n",
    "    long long grid[3], reversed;\n",
    "    TadBuffer *buffers;\n",
    "    long long buffer_count;\n",
    "    long long *arguments;\n",
    "    double *tangents;\n",
    "    TadReal *room;\n",
    "    long long room_per_block;\n",
    "    long long fault[5];\n",
    "} TadLaunch;\n",
    "typedef union TadBits { long long integer; TadReal number; } TadBits;\n",
    "typedef union TadWord { long long integer; double number; } TadWord;\n",
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
    "/* The reader, the writer and the adder of an element, 21 bits each: a program and 1, or several. */\n",
    "#define TAD_MANY 0x1fffffULL\n",
    "APART void tad_use(TadLaunch *launch, const TadBuffer *buffer, long long at, int how, int line,\n",
    "    long long program, long long element) {\n",
    "    unsigned long long *word = (unsigned long long *)buffer->users + at, me = TAD_U(program) + 1;\n",
    "    unsigned long long old = *(volatile unsigned long long *)word, seen, next;\n",
    "    do {\n",
    "        unsigned long long own;\n",
    "        seen = old;\n",
    "        own = seen >> 21 * how & TAD_MANY;\n",
    "        next = own == me ? seen : own == 0 ? seen | me << 21 * how : seen | TAD_MANY << 21 * how;\n",
    "        if (next == seen) break;\n",
    "        old = atomicCAS(word, seen, next);\n",
    "    } while (old != seen);\n",
    "    unsigned long long reader = next & TAD_MANY, writer = next >> 21 & TAD_MANY;\n",
    "    unsigned long long adder = next >> 42 & TAD_MANY;\n",
    "    if ((writer && ((reader && reader != writer) || (adder && adder != writer) || writer == TAD_MANY)) ||\n",
    "        (reader && adder && reader != adder))\n",
    "        tad_fault(launch, 7, line, program, element, at + buffer->first);\n",
    "}\n",
    "DEVICE TadReal tad_argument(const TadLaunch *launch, int index) {\n",
    "    TadReal number = TAD_REAL(__longlong_as_double(launch->arguments[index]));\n",
    "#ifdef TAD_DUAL\n",
    "    if (launch->tangents) number.t = launch->tangents[index];\n",
    "#endif\n",
    "    return number;\n",
    "}\n",
    "APART TadReal tad_read(TadLaunch *launch, long long address, int dtype, int line,\n",
    "    long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at >= 0 && buffer.users) tad_use(launch, &buffer, at, 0, line, program, element);\n",
    "    TadReal number = TAD_REAL(at < 0 ? 0.0 : ((volatile double *)buffer.data)[at]);\n",
    "#ifdef TAD_DUAL\n",
    "    if (at >= 0 && buffer.tangents) number.t = ((volatile double *)buffer.tangents)[at];\n",
    "#endif\n",
    "    return number;\n",
    "}\n",
    "APART long long tad_read_whole(TadLaunch *launch, long long address, int dtype, int line,\n",
    "    long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at >= 0 && buffer.users) tad_use(launch, &buffer, at, 0, line, program, element);\n",
    "    return at < 0 ? 0 : ((volatile long long *)buffer.data)[at];\n",
    "}\n",
    "APART void tad_write(TadLaunch *launch, long long address, int dtype, TadReal value, int line,\n",
    "    long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at < 0) return;\n",
    "    if (buffer.users) tad_use(launch, &buffer, at, 1, line, program, element);\n",
    "    ((volatile double *)buffer.data)[at] = TAD_V(value);\n",
    "#ifdef TAD_DUAL\n",
    "    if (buffer.tangents) ((volatile double *)buffer.tangents)[at] = value.t;\n",
    "#endif\n",
    "    if (buffer.written) ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "}\n",
    "APART void tad_write_whole(TadLaunch *launch, long long address, int dtype, long long value,\n",
    "    int line, long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at < 0) return;\n",
    "    if (buffer.users) tad_use(launch, &buffer, at, 1, line, program, element);\n",
    "    ((volatile long long *)buffer.data)[at] = value;\n",
    "    if (buffer.written) ((volatile unsigned char *)buffer.written)[at] = 1;\n",
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
    "    case 5: return old ^ value;\n",
    "    default: return value;\n",
    "    }\n",
    "}\n",
    "#ifdef TAD_DUAL\n",
    "DEVICE void tad_add(unsigned long long *place, double number) {\n",
    "    unsigned long long old = *(volatile unsigned long long *)place, seen;\n",
    "    do {\n",
    "        TadWord value;\n",
    "        seen = old;\n",
    "        value.integer = (long long)seen;\n",
    "        value.number += number;\n",
    "        old = atomicCAS(place, seen, TAD_U(value.integer));\n",
    "    } while (old != seen);\n",
    "}\n",
    "#endif\n",
    "/* An update whose turn it is: no other thread updates now. */\n",
    "APART TadReal tad_turn(TadLaunch *launch, long long address, int dtype, int how, TadReal value,\n",
    "    int line, long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    TadReal before = TAD_REAL(0.0), next;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    if (at < 0) return before;\n",
    "    if (buffer.users) tad_use(launch, &buffer, at, 2, line, program, element);\n",
    "    before = TAD_REAL(((volatile double *)buffer.data)[at]);\n",
    "    next = TAD_REAL(tad_updated(how, TAD_V(before), TAD_V(value)));\n",
    "#ifdef TAD_DUAL\n",
    "    if (buffer.tangents) before.t = ((volatile double *)buffer.tangents)[at];\n",
    "    next.t = how == 0 ? before.t + value.t : next.v == value.v ? value.t : before.t;\n",
    "#endif\n",
    "#ifdef TAD_ROUNDS\n",
    "    next = tad_round_as(next, dtype);\n",
    "#endif\n",
    "    ((volatile double *)buffer.data)[at] = TAD_V(next);\n",
    "#ifdef TAD_DUAL\n",
    "    if (buffer.tangents) ((volatile double *)buffer.tangents)[at] = next.t;\n",
    "#endif\n",
    "    if (buffer.written) ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "    return before;\n",
    "}\n",
    "/* An update of an element, as the interpreter's; of integers wrapped to `bits` bits. */\n",
    "APART TadWord tad_update(TadLaunch *launch, long long address, int dtype, int how, int is_float,\n",
    "    int bits, TadReal real, long long integer, int line, long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    TadWord before;\n",
    "    const double number = TAD_V(real);\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    before.integer = 0;\n",
    "    if (at < 0) return before;\n",
    "#ifdef TAD_DUAL\n",
    "    if (is_float && buffer.tangents) tad_add((unsigned long long *)buffer.tangents + at, real.t);\n",
    "#endif\n",
    "    if (buffer.users) tad_use(launch, &buffer, at, 2, line, program, element);\n",
    "    unsigned long long *place = (unsigned long long *)buffer.data + at;\n",
    "    unsigned long long old = *(volatile unsigned long long *)place, seen;\n",
    "    do {\n",
    "        TadWord value;\n",
    "        seen = old;\n",
    "        value.integer = (long long)seen;\n",
    "        if (is_float) value.number = tad_updated(how, value.number, number);\n",
    "        else value.integer = tad_updated_whole(how, value.integer, integer);\n",
    "        if (!is_float && bits == 32) value.integer = (long long)(int)value.integer;\n",
    "        if (!is_float && bits == -32) value.integer = (long long)(unsigned)value.integer;\n",
    "        old = atomicCAS(place, seen, TAD_U(value.integer));\n",
    "    } while (old != seen);\n",
    "    if (buffer.written) ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "    before.integer = (long long)old;\n",
    "    return before;\n",
    "}\n",
    "/* An update where the element is what is wanted: in order, as no other program runs. */\n",
    "APART TadWord tad_swap(TadLaunch *launch, long long address, int dtype, int is_float,\n",
    "    TadWord wanted, TadWord value, int line, long long program, long long element) {\n",
    "    TadBuffer buffer;\n",
    "    TadWord before;\n",
    "    long long at = tad_place(launch, address, dtype, &buffer, line, program, element);\n",
    "    before.integer = 0;\n",
    "    if (at < 0) return before;\n",
    "    if (buffer.users) tad_use(launch, &buffer, at, 2, line, program, element);\n",
    "    before.integer = ((volatile long long *)buffer.data)[at];\n",
    "    if (is_float ? before.number != wanted.number : before.integer != wanted.integer) return before;\n",
    "    ((volatile long long *)buffer.data)[at] = value.integer;\n",
    "    if (buffer.written) ((volatile unsigned char *)buffer.written)[at] = 1;\n",
    "    return before;\n",
    "}\n",
    "DEVICE TadWord tad_word(double number) { TadWord word; word.number = number; return word; }\n",
    "DEVICE TadWord tad_word_whole(long long integer) { TadWord word; word.integer = integer; return word; }\n",
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

static const char *const rounding[] = {
    "/* To so many bits behind the first, ties to even. */\n",
    "APART double tad_to(double value, int mantissa, int lowest, double limit, int has_infinity) {\n",
    "    if (!isfinite(value) || value == 0) return value;\n",
    "    const int own = ilogb(value), exponent = own < lowest ? lowest : own;\n",
    "    const double quantum = ldexp(1.0, exponent - mantissa);\n",
    "    const double rounded = nearbyint(value / quantum) * quantum;\n",
    "    if (fabs(rounded) <= limit) return rounded;\n",
    "    return copysign(has_infinity ? TAD_INFINITY : limit, value);\n",
    "}\n",
    "DEVICE double tad_tf32(double value) { return tad_to(value, 10, -126, TAD_INFINITY, 1); }\n",
};

/// Of numbers and, where they have one, of their tangents, which have their types' digits and any size.
static const char *const rounding_both[] = {
    "#ifdef TAD_DUAL\n",
    "DEVICE TadReal tad_round_as(TadReal value, int dtype) {\n",
    "    value.v = tad_round_number(value.v, dtype), value.t = tad_round_tangent(value.t, dtype);\n",
    "    return value;\n",
    "}\n",
    "DEVICE TadReal tad_round_loaded(TadReal value, int dtype) {\n",
    "    value.v = tad_round_number(value.v, dtype);\n",
    "    return value;\n",
    "}\n",
    "DEVICE TadReal tad_to_tf32(TadReal value) {\n",
    "    value.v = tad_tf32(value.v), value.t = tad_tf32(value.t);\n",
    "    return value;\n",
    "}\n",
    "#else\n",
    "DEVICE TadReal tad_round_as(TadReal value, int dtype) { return tad_round_number(value, dtype); }\n",
    "DEVICE TadReal tad_round_loaded(TadReal value, int dtype) { return tad_round_number(value, dtype); }\n",
    "DEVICE TadReal tad_to_tf32(TadReal value) { return tad_tf32(value); }\n",
    "#endif\n",
};

enum { LOWEST_OF_TANGENTS = -900 };  // round_precision's

static const char *const on_words[] = {
    "typedef struct TadWords { unsigned long long w[4]; } TadWords;\n",
    "typedef union TadSingle { float number; unsigned bits; } TadSingle;\n",
    "DEVICE unsigned long long tad_high(unsigned long long a, unsigned long long b) {\n",
    "    const unsigned long long low = 0xffffffffULL;\n",
    "    const unsigned long long middle = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);\n",
    "    const unsigned long long other = (a & low) * (b >> 32) + (middle & low);\n",
    "    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);\n",
    "}\n",
    "/* A round of Philox over words of 32 bits, and of 64 where they are `wide`. */\n",
    "APART TadWords tad_philox(unsigned long long a, unsigned long long b, unsigned long long c,\n",
    "    unsigned long long d, unsigned long long key0, unsigned long long key1, long long rounds, int wide) {\n",
    "    const unsigned long long most = wide ? ~0ULL : 0xffffffffULL;\n",
    "    const unsigned long long times0 = wide ? 0xD2E7470EE14C6C93ULL : 0xD2511F53ULL;\n",
    "    const unsigned long long times2 = wide ? 0xCA5A826395121157ULL : 0xCD9E8D57ULL;\n",
    "    const unsigned long long more0 = wide ? 0x9E3779B97F4A7C15ULL : 0x9E3779B9ULL;\n",
    "    const unsigned long long more1 = wide ? 0xBB67AE8584CAA73BULL : 0xBB67AE85ULL;\n",
    "    TadWords drawn;\n",
    "    a &= most, b &= most, c &= most, d &= most, key0 &= most, key1 &= most;\n",
    "    for (long long round = 0; round < rounds; round++) {\n",
    "        const unsigned long long low0 = a * times0, low2 = c * times2;\n",
    "        const unsigned long long high0 = wide ? tad_high(a, times0) : low0 >> 32;\n",
    "        const unsigned long long high2 = wide ? tad_high(c, times2) : low2 >> 32;\n",
    "        a = high2 ^ b ^ key0, c = high0 ^ d ^ key1;\n",
    "        b = low2 & most, d = low0 & most;\n",
    "        key0 = (key0 + more0) & most, key1 = (key1 + more1) & most;\n",
    "    }\n",
    "    drawn.w[0] = a, drawn.w[1] = b, drawn.w[2] = c, drawn.w[3] = d;\n",
    "    return drawn;\n",
    "}\n",
    "DEVICE double tad_part(unsigned long long word, int wide) {\n",
    "    long long value = wide ? (long long)word : (long long)(int)(unsigned)word;\n",
    "    if (value < 0) value = ~value;\n",
    "    return (double)((float)value * (wide ? 1.0842020432385337e-19f : 4.6566127342e-10f));\n",
    "}\n",
    "/* Functions in doubles, rounded: no library's last bit of a float is known. */\n",
    "DEVICE double tad_normal(double u1, double u2, int is_second) {\n",
    "    const float first = (float)u1 > 1.0e-7f ? (float)u1 : 1.0e-7f;\n",
    "    const float angle = 6.283185307179586f * (float)u2;\n",
    "    const float square = -2.0f * (float)log((double)first);\n",
    "    const float radius = (float)sqrt((double)square);\n",
    "    return (double)(radius * (float)(is_second ? sin((double)angle) : cos((double)angle)));\n",
    "}\n",
    "DEVICE long long tad_bits(double value, int is_single) {\n",
    "    TadSingle single;\n",
    "    TadWord word;\n",
    "    single.number = (float)value, word.number = value;\n",
    "    return is_single ? (long long)(int)single.bits : word.integer;\n",
    "}\n",
    "DEVICE double tad_of_bits(long long bits, int is_single) {\n",
    "    TadSingle single;\n",
    "    TadWord word;\n",
    "    single.bits = (unsigned)bits, word.integer = bits;\n",
    "    return is_single ? (double)single.number : word.number;\n",
    "}\n",
};

/// The VALUE and SLOPE columns as they are written, or NULL.
typedef struct Columns {
    const char *value, *slope;
} Columns;

static Columns columns_of(int code) {
    Columns columns = {0};
    switch (code) {
#define OP(id, ...)                                                                                \
    case OP_##id: {                                                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
#define VALUE(...) columns.value = #__VA_ARGS__;
#define SLOPE(...) columns.slope = #__VA_ARGS__;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    default: break;
    }
    return columns;
}

bool prelude_has_slope(int code) {
    const char *slope = columns_of(code).slope;
    return slope && !strstr(slope, "DIFFERENCE");  // a macro of the table's
}

static void put_rounding_of_tangents(Buffer *text) {
    buffer_puts(
        text, "APART double tad_round_tangent(double value, int dtype) {\n    switch (dtype) {\n");
    for (int code = 0; code < DTYPE_COUNT; code++)
        if (dtype_code_is_float((DTypeCode)code) && code != DTYPE_FLOAT64)
            buffer_printf(text, "    case %d: return tad_to(value, %d, %d, TAD_INFINITY, 1);\n",
                          code, dtype_mantissa_bits((DTypeCode)code), LOWEST_OF_TANGENTS);
    buffer_puts(text, "    default: return value;\n    }\n}\n");
}

/// The types of floats, with what rounding to them needs.
static void put_roundings(Buffer *text, bool is_dual) {
    for (size_t i = 0; i < sizeof rounding / sizeof *rounding; i++) buffer_puts(text, rounding[i]);
    buffer_puts(text,
                "APART double tad_round_number(double value, int dtype) {\n    switch (dtype) {\n");
    for (int code = 0; code < DTYPE_COUNT; code++) {
        DTypeCode dtype = (DTypeCode)code;
        if (!dtype_code_is_float(dtype) || dtype_bits(dtype) >= 32) continue;
        int bias;
        double limit = float_limit(dtype, &bias);
        bool has_infinity = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
        buffer_printf(text, "    case %d: return tad_to(value, %d, %d, %a, %d);\n", code,
                      dtype_mantissa_bits(dtype), 1 - bias, limit, has_infinity);
    }
    buffer_printf(text, "    case %d: return (double)(float)value;\n", DTYPE_FLOAT32);
    buffer_puts(text, "    default: return value;\n    }\n}\n");
    if (is_dual) put_rounding_of_tangents(text);
    for (size_t i = 0; i < sizeof rounding_both / sizeof *rounding_both; i++)
        buffer_puts(text, rounding_both[i]);
}

void prelude_write(Buffer *text, const Staging *staging) {
    bool is_dual = staging->is_dual;
    if (is_dual) buffer_puts(text, "#define TAD_DUAL 1\n");
    if (staging->rounds) buffer_puts(text, "#define TAD_ROUNDS 1\n");
    buffer_printf(text, "#define TAD_PAGE %d\n", PAGE_ELEMENTS);
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        buffer_puts(text, declarations[i]);
    for (size_t i = 0; staging->draws && i < sizeof on_words / sizeof *on_words; i++)
        buffer_puts(text, on_words[i]);
    if (staging->rounds) put_roundings(text, is_dual);
    for (int code = 0; code < OP_COUNT; code++) {
        if (!staging->has_op[code]) continue;
        Columns columns = columns_of(code);
        buffer_printf(text,
                      "DEVICE TadReal tad_%s(TadReal x, TadReal y, TadReal z) {\n"
                      "    const double a = TAD_V(x), b = TAD_V(y), c = TAD_V(z);\n"
                      "    (void)a, (void)b, (void)c;\n"
                      "    const double r = (double)(%s);\n",
                      op_rows[code].id, columns.value ? columns.value : "TAD_NAN");
        if (is_dual)
            buffer_printf(text, "    return tad_along(r, x, y, z, %s);\n}\n", columns.slope);
        else
            buffer_puts(text, "    return r;\n}\n");
    }
}
