// One kernel does what is no kernel of the user's: it fills, marks and sums, a thread a share of the elements.
#include "gpu-runner/cuda/dense.h"

#include <math.h>

#include "gpu-runner/cuda/device.h"
#include "gpu-runner/staging/lower.h"

enum {
    TASK_BLOCKS_PER_PROCESSOR = 2,
    TASK_THREADS = 256,
    TASK_NUMBERS = 7,  // that each block hands back
    ROOM_BLOCKS_PER_PROCESSOR = 8,
    ROOM_LEAST_BLOCKS_PER_PROCESSOR = 2,
    LAUNCH_LEAST_THREADS = 32,
    LAUNCH_MOST_THREADS = 256,
};
static const int64_t ROOM_BYTES = (int64_t)64
                                  << 20;  // of all blocks' tiles, so that caches hold them
static const int64_t MOST_PROGRAMS = (1 << 21) - 2;  // that the record of users tells apart

/// As the text below declares it.
typedef struct DenseTask {
    int64_t what, count, first;
    uint64_t data, marks, users, results;
    int64_t written_only, weight_kind;
    uint64_t weight_seed;
    double low, high;
    int64_t direction, is_single, single;
    uint64_t direction_seed;
    double step;
} DenseTask;

enum { TASK_FILL, TASK_UNSET, TASK_ZERO, TASK_MARK, TASK_CLEAR_READ, TASK_SUM };
enum { WEIGHT_OF_DIRECTION = -1 };

static const char *const task_text[] = {
    "#ifndef KERNEL\n"
    "#define KERNEL extern \"C\" __global__\n"
    "#define DEVICE static __device__\n"
    "#endif\n"
    "typedef unsigned long long TadWord;\n"
    "typedef struct TadTask {\n"
    "    long long what, count, first;\n"
    "    TadWord data, marks, users, results;\n"
    "    long long written_only, weight_kind;\n"
    "    TadWord weight_seed;\n"
    "    double low, high;\n"
    "    long long direction, is_single, single;\n"
    "    TadWord direction_seed;\n"
    "    double step;\n"
    "} TadTask;\n"
    "DEVICE TadWord tad_mix(TadWord value) {\n"
    "    value += 0x9E3779B97F4A7C15ULL;\n"
    "    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;\n"
    "    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;\n"
    "    return value ^ (value >> 31);\n"
    "}\n"
    "DEVICE double tad_uniform(TadWord seed, long long offset) {\n"
    "    TadWord bits = tad_mix(tad_mix(seed) ^ (TadWord)offset);\n"
    "    return ((double)(bits >> 11) + 0.5) * 0x1p-53;\n"
    "}\n"
    "DEVICE double tad_content(const TadTask *task, long long offset) {\n"
    "    double u = tad_uniform(task->weight_seed, offset);\n"
    "    if (task->weight_kind == 1) return task->low + (task->high - task->low) * u;\n"
    "    return task->weight_kind == 2 ? 2 * u - 1 : 0.0;\n"
    "}\n"
    "DEVICE double tad_component(const TadTask *task, long long offset) {\n"
    "    if (task->is_single) return offset == task->single ? 1.0 : 0.0;\n"
    "    return 2 * tad_uniform(task->direction_seed, offset) - 1;\n"
    "}\n",
    "KERNEL void tad_task(TadTask *task) {\n"
    "    const long long threads = (long long)gridDim.x * blockDim.x;\n"
    "    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    double *data = (double *)task->data, *results = (double *)task->results;\n"
    "    unsigned char *marks = (unsigned char *)task->marks;\n"
    "    const TadWord *users = (const TadWord *)task->users;\n"
    "    double sum = 0, size = 0, square = 0, largest = 0, beyond = 0, infinite = 0, written = 0;\n"
    "    for (long long i = thread; i < task->count; i += threads) {\n"
    "        const long long offset = task->first + i;\n"
    "        if (task->what == 0) {\n"
    "            double number = tad_content(task, offset);\n"
    "            if (task->direction) number += task->step * tad_component(task, offset);\n"
    "            data[i] = number;\n"
    "        } else if (task->what == 1) {\n"
    "            data[i] = __longlong_as_double(0x7ff8000000000000LL);\n"
    "        } else if (task->what == 2) {\n"
    "            data[i] = 0;\n"
    "        } else if (task->what == 3) {\n"
    "            const TadWord user = users[i];\n"
    "            marks[i] = (unsigned char)(((user & 0x1fffffULL) != 0) | (user >> 42 != 0) |\n"
    "                                       (user >> 21 != 0) << 1);\n"
    "        } else if (task->what == 4) {\n"
    "            if (marks[i] == 1) data[i] = 0;\n"
    "        } else {\n"
    "            const double number = data[i];\n"
    "            const int mark = marks ? marks[i] : 1, counts = task->written_only ? mark & 2 : mark;\n"
    "            written += (mark & 2) != 0;\n"
    "            if (!counts) {\n"
    "                if (!(fabs(number) <= beyond || isnan(beyond))) beyond = fabs(number);\n"
    "                continue;\n"
    "            }\n"
    "            const double weight = task->weight_kind < 0 ? tad_component(task, offset) : tad_content(task, offset);\n"
    "            const double term = weight * number;\n"
    "            if (!isfinite(number)) infinite += 1;\n"
    "            else if (fabs(number) > largest) largest = fabs(number);\n"
    "            sum += term, size += fabs(term), square += term * term;\n"
    "        }\n"
    "    }\n"
    "    if (task->what != 5) return;\n"
    "    __shared__ double parts[7 * 256];\n"
    "    double *part = parts + 7 * threadIdx.x;\n"
    "    part[0] = sum, part[1] = size, part[2] = square, part[3] = largest;\n"
    "    part[4] = beyond, part[5] = infinite, part[6] = written;\n"
    "    __syncthreads();\n"
    "    for (int k = threadIdx.x; k < 7; k += blockDim.x) {\n"
    "        double all = 0;\n"
    "        for (unsigned i = 0; i < blockDim.x; i++) {\n"
    "            const double one = parts[7 * i + k];\n"
    "            if (k != 3 && k != 4) all += one;\n"
    "            else if (!(one <= all || isnan(all))) all = one;\n"
    "        }\n"
    "        results[7 * blockIdx.x + k] = all;\n"
    "    }\n"
    "}\n",
};

typedef struct DenseBuffer {
    uint64_t data, users, marks, tangents;  // addresses on the GPU; 0: none yet
    int64_t first, count;
} DenseBuffer;

struct DenseMemory {
    Arena *arena;
    Device *device;
    LIST(DenseBuffer) buffers;  // by index in the VirtualMemory
    LIST(uint64_t) taken;
    DeviceKernel task;
    uint64_t task_at, results, room, launch;
    int64_t room_bytes, launch_bytes;
    unsigned task_blocks;
};

static Error take(DenseMemory *dense, int64_t size_bytes, uint64_t *address) {
    Error error = device_allocate(dense->device, dense->arena, (size_t)size_bytes, address);
    if (!error) LIST_PUSH(dense->arena, &dense->taken, *address);
    return error;
}

static Error dense_begin(DenseMemory *dense, const CudaCall *calls, int count) {
    Device *device = dense->device = device_open();
    Error error = device_missing(device);
    if (error) return error;
    dense->task_blocks =
        (unsigned)(TASK_BLOCKS_PER_PROCESSOR * (device->processors > 0 ? device->processors : 1));
    const char *text = arena_printf(dense->arena, "%s%s", task_text[0], task_text[1]);
    cuda_prepare(device, text, calls, count, false);
    error = device_kernel(device, dense->arena, text, "tad_task", false, &dense->task);
    if (!error) error = take(dense, sizeof(DenseTask), &dense->task_at);
    if (!error)
        error = take(dense, (int64_t)dense->task_blocks * TASK_NUMBERS * 8, &dense->results);
    return error;
}

DenseMemory *dense_new(Arena *arena, const CudaCall *calls, int count, Error *error) {
    DenseMemory *dense = ARENA_NEW(arena, DenseMemory);
    dense->arena = arena;
    *error = dense_begin(dense, calls, count);
    return dense;
}

void dense_free(DenseMemory *dense) {
    for (LIST_EACH(int, i, dense->taken)) device_release(dense->device, dense->taken.items[i]);
    device_release(dense->device, dense->room);
    device_release(dense->device, dense->launch);
    dense->taken.count = 0;
    dense->room = dense->launch = 0;
}

static Error run_task(DenseMemory *dense, const DenseBuffer *buffer, DenseTask *task) {
    task->count = buffer->count;
    task->first = buffer->first;
    task->data = task->data ? task->data : buffer->data;
    task->results = dense->results;
    Error error = device_copy(dense->device, dense->arena, task, sizeof *task, dense->task_at);
    return error ? error
                 : device_launch(dense->device, dense->arena, &dense->task, dense->task_blocks,
                                 TASK_THREADS, dense->task_at);
}

// --- contents -----------------------------------------------------------------------------------------------------------

/// The buffer's place on the GPU, taken where it has none.
static Error place(DenseMemory *dense, const VirtualMemory *memory, int index,
                   DenseBuffer **found) {
    const MemoryBuffer *buffer = memory->buffers.items[index];
    while (dense->buffers.count <= index) {
        DenseBuffer none = {0};
        LIST_PUSH(dense->arena, &dense->buffers, none);
    }
    DenseBuffer *own = *found = &dense->buffers.items[index];
    if (own->data) return NULL;
    if (buffer->extent <= 0)
        return arena_printf(dense->arena, "nobody says how large %s is", buffer->name);
    own->first = buffer->has_start ? -buffer->before : 0;
    own->count = buffer->extent - own->first;
    return take(dense, own->count * 8, &own->data);
}

/// Integers and given numbers are few: they are made here.
static Error fill_from_here(DenseMemory *dense, const VirtualMemory *memory, int index) {
    const DenseBuffer *own = &dense->buffers.items[index];
    Arena *scratch = arena_new();
    int64_t *bits = ARENA_ARRAY(scratch, int64_t, own->count);
    memory_bits(memory, memory->buffers.items[index], own->first, own->count, bits, NULL);
    Error error = device_copy(dense->device, dense->arena, bits, (size_t)own->count * 8, own->data);
    arena_free(scratch);
    return error;
}

static void task_content(DenseTask *task, const Content *content) {
    task->weight_kind = content->kind;
    task->weight_seed = content->seed;
    task->low = content->low;
    task->high = content->high;
}

static void task_direction(DenseTask *task, const Direction *direction) {
    task->direction = direction->active;
    task->is_single = direction->is_single;
    task->single = direction->single;
    task->direction_seed = direction->seed;
    task->step = direction->step;
}

Error dense_fill(DenseMemory *dense, const VirtualMemory *memory, int index) {
    const MemoryBuffer *buffer = memory->buffers.items[index];
    DenseBuffer *own;
    Error error = place(dense, memory, index, &own);
    if (error) return error;
    ContentKind kind = buffer->content.kind;
    bool is_here = kind == CONTENT_ZERO || kind == CONTENT_RANDOM || kind == CONTENT_NORMAL;
    if (!dtype_code_is_float(buffer->dtype) && kind != CONTENT_ZERO) is_here = false;
    if (!is_here || memory->rounds_contents) return fill_from_here(dense, memory, index);
    bool is_unset = buffer->is_uninitialised && buffer->is_gradient;
    DenseTask task = {.what = is_unset                                            ? TASK_UNSET
                              : kind == CONTENT_ZERO && !buffer->direction.active ? TASK_ZERO
                                                                                  : TASK_FILL};
    task_content(&task, &buffer->content);
    task_direction(&task, &buffer->direction);
    return run_task(dense, own, &task);
}

Error dense_fill_tangents(DenseMemory *dense, const VirtualMemory *memory, int index) {
    const MemoryBuffer *buffer = memory->buffers.items[index];
    DenseBuffer *own = &dense->buffers.items[index];
    if (!dtype_code_is_float(buffer->dtype)) return NULL;
    Error error = own->tangents ? NULL : take(dense, own->count * 8, &own->tangents);
    DenseTask task = {.what = buffer->direction.active ? TASK_FILL : TASK_ZERO,
                      .data = own->tangents,
                      .weight_kind = CONTENT_ZERO};
    task_direction(&task, &buffer->direction);
    task.step = 1;
    return error ? error : run_task(dense, own, &task);
}

// --- launches -----------------------------------------------------------------------------------------------------------

/// Room for the tiles of as many blocks as caches and memory hold.
static Error room_take(DenseMemory *dense, const Lowered *lowered, int64_t programs,
                       int64_t *blocks) {
    int64_t processors = dense->device->processors > 0 ? dense->device->processors : 1;
    int64_t most = ROOM_BLOCKS_PER_PROCESSOR * processors,
            room = lowered->room * lowered->room_bytes;
    while (most > ROOM_LEAST_BLOCKS_PER_PROCESSOR * processors && most * room > ROOM_BYTES)
        most /= 2;
    if (lowered->is_ordered) most = 1;
    *blocks = programs < most ? programs : most;
    int64_t wanted = *blocks * room;
    if (wanted <= dense->room_bytes) return NULL;
    device_release(dense->device, dense->room);
    dense->room = 0;
    dense->room_bytes = 0;
    Error error = device_allocate(dense->device, dense->arena, (size_t)wanted, &dense->room);
    if (!error) dense->room_bytes = wanted;
    return error;
}

static Error users_clear(DenseMemory *dense, int count) {
    Error error = NULL;
    for (int i = 0; i < count && !error; i++) {
        DenseBuffer *own = &dense->buffers.items[i];
        if (!own->users) error = take(dense, own->count * 8, &own->users);
        DenseTask task = {.what = TASK_ZERO, .data = own->users};
        if (!error) error = run_task(dense, own, &task);
    }
    return error;
}

/// The launch, its table of buffers and its arguments, one after the other.
static Error send_launch(DenseMemory *dense, const VirtualMemory *memory, const CudaCall *call,
                         const Lowered *lowered, bool traced) {
    int count = memory->buffers.count, parameters = call->function->parameter_count;
    int64_t table = sizeof(LoweredLaunch), numbers = table + count * (int64_t)sizeof(LoweredBuffer),
            tangents = numbers + 8 * (int64_t)(parameters + 1),
            size = tangents + 8 * (int64_t)(parameters + 1);
    if (size > dense->launch_bytes) {
        device_release(dense->device, dense->launch);
        dense->launch = 0;
        dense->launch_bytes = 0;
        Error error = device_allocate(dense->device, dense->arena, (size_t)size, &dense->launch);
        if (error) return error;
        dense->launch_bytes = size;
    }
    char *image = arena_alloc(dense->arena, (size_t)size);
    LoweredLaunch *launch = (LoweredLaunch *)(void *)image;
    LoweredBuffer *buffers = (LoweredBuffer *)(void *)(image + table);
    *launch = (LoweredLaunch){
        .grid = {call->grid[0], call->grid[1], call->grid[2]},
        .reversed = call->reversed,
        .buffers = dense->launch + (uint64_t)table,
        .buffer_count = count,
        .arguments = dense->launch + (uint64_t)numbers,
        .tangents = call->numbers.is_dual ? dense->launch + (uint64_t)tangents : 0,
        .room = dense->room,
        .room_per_block = lowered->room,
    };
    for (int i = 0; i < count; i++) {
        const DenseBuffer *own = &dense->buffers.items[i];
        buffers[i] = (LoweredBuffer){.data = own->data,
                                     .users = traced ? own->users : 0,
                                     .tangents = call->numbers.is_dual ? own->tangents : 0,
                                     .first = own->first,
                                     .count = own->count,
                                     .dtype = memory->buffers.items[i]->dtype};
    }
    launch_arguments(call, (int64_t *)(void *)(image + numbers),
                     (double *)(void *)(image + tangents));
    return device_copy(dense->device, dense->arena, image, (size_t)size, dense->launch);
}

Error dense_launch(DenseMemory *dense, const VirtualMemory *memory, const CudaCall *call,
                   bool traced) {
    Device *device = dense->device;
    int64_t programs = call->grid[0] * call->grid[1] * call->grid[2], blocks = 0;
    if (programs <= 0) return "a grid without programs";
    if (programs > MOST_PROGRAMS) return "more programs than the record of users tells apart";
    Lowered lowered;
    DeviceKernel kernel;
    LoweredLaunch after;
    Error error =
        lower_function(dense->arena, call->function, call->arguments, call->numbers, &lowered);
    if (!error) error = launch_too_long(dense->arena, &lowered, false);
    if (!error && lowered.is_ordered && call->numbers.is_dual)
        error = "tangents of programs that run one after the other take too long at these sizes";
    if (!error)
        error = device_kernel(device, dense->arena, lowered.text, LOWERED_NAME, false, &kernel);
    if (!error) error = room_take(dense, &lowered, programs, &blocks);
    if (!error && traced) error = users_clear(dense, memory->buffers.count);
    if (!error) error = send_launch(dense, memory, call, &lowered, traced);
    unsigned threads = LAUNCH_LEAST_THREADS;
    while (threads < LAUNCH_MOST_THREADS && threads < lowered.widest) threads *= 2;
    if (!error)
        error =
            device_launch(device, dense->arena, &kernel, (unsigned)blocks, threads, dense->launch);
    if (!error) error = device_take(device, dense->arena, dense->launch, &after, sizeof after);
    return error ? error : launch_fault(dense->arena, &after);
}

// --- sums ---------------------------------------------------------------------------------------------------------------

Error dense_mark(DenseMemory *dense, int buffer) {
    DenseBuffer *own = &dense->buffers.items[buffer];
    Error error = own->marks ? NULL : take(dense, own->count, &own->marks);
    DenseTask task = {.what = TASK_MARK, .marks = own->marks, .users = own->users};
    return error ? error : run_task(dense, own, &task);
}

Error dense_clear_read(DenseMemory *dense, int buffer, int marked) {
    const DenseBuffer *own = &dense->buffers.items[buffer], *other = &dense->buffers.items[marked];
    if (own->count != other->count || own->first != other->first)
        return "a gradient that is not as large as its tensor";
    DenseTask task = {.what = TASK_CLEAR_READ, .marks = other->marks};
    return run_task(dense, own, &task);
}

Error dense_sum(DenseMemory *dense, const VirtualMemory *memory, const DenseTerms *terms,
                DenseSum *sum) {
    const DenseBuffer *own = &dense->buffers.items[terms->buffer];
    *sum = (DenseSum){0};
    DenseTask task = {.what = TASK_SUM, .written_only = terms->written_only};
    if (terms->of_tangents) task.data = own->tangents;
    if (terms->marked >= 0) {
        const DenseBuffer *other = &dense->buffers.items[terms->marked];
        if (own->count != other->count || own->first != other->first)
            return arena_printf(dense->arena, "%s is not as large as its tensor",
                                memory->buffers.items[terms->buffer]->name);
        task.marks = other->marks;
    }
    if (terms->content)
        task_content(&task, terms->content);
    else
        task.weight_kind = WEIGHT_OF_DIRECTION;
    if (terms->direction) task_direction(&task, terms->direction);
    Error error = run_task(dense, own, &task);
    if (error) return error;
    Arena *scratch = arena_new();
    int64_t count = (int64_t)dense->task_blocks * TASK_NUMBERS;
    double *numbers = ARENA_ARRAY(scratch, double, count);
    error = device_take(dense->device, dense->arena, dense->results, numbers, (size_t)(count * 8));
    for (int64_t i = 0; i < count && !error; i += TASK_NUMBERS) {
        const double *own_numbers = numbers + i;
        sum->sum += own_numbers[0];
        sum->size += own_numbers[1];
        sum->square += own_numbers[2];
        sum->largest = fmax(sum->largest, own_numbers[3]);
        sum->beyond = isnan(own_numbers[4]) ? INFINITY : fmax(sum->beyond, own_numbers[4]);
        sum->infinite += (int64_t)own_numbers[5];
        sum->written += (int64_t)own_numbers[6];
    }
    arena_free(scratch);
    return error;
}
