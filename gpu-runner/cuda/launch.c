// One copy to the GPU, one launch, one copy back. Kernels are kept by their text.
#include "gpu-runner/cuda/launch.h"

#include "gpu-runner/cuda/device.h"
#include "gpu-runner/staging/lower.h"

enum {
    LEAST_THREADS = 32,
    MOST_THREADS = 256,
    BLOCKS_PER_PROCESSOR = 8,
};
/// What NVRTC takes for a long text, on a busy machine; and how many times that is to be left.
enum { USUAL_TEXT = 1 << 16, NEEDED_TIMES = 4 };
static const double SECONDS_OF_TEXT = 1.0;
static const int64_t MOST_BYTES = (int64_t)1 << 30;  // of buffers, and of the blocks' tiles

/// Where the parts of a launch lie in its memory on the GPU, from its beginning.
typedef struct LaunchLayout {
    int64_t buffers, arguments, pages, data, tangents, written, room, end;
    int64_t elements, page_count;  // of all buffers
} LaunchLayout;

typedef struct Transfer {
    Arena *arena;  // of this launch alone
    VirtualMemory *memory;
    LoweredLaunch *launch;
    LoweredBuffer *buffers;
    Offsets *pages;  // per buffer
    int64_t *arguments, *data;
    double *tangents;  // of the arguments, and of all elements; NULL: numbers have none
    uint8_t *written;
    char *image;
    LaunchLayout layout;
    unsigned blocks, threads;
} Transfer;

static int64_t aligned(int64_t size) { return (size + 255) / 256 * 256; }

/// Which elements of a buffer go to the GPU.
static Error buffer_plan(Transfer *transfer, int index, const VirtualMemory *footprint) {
    const MemoryBuffer *buffer = transfer->memory->buffers.items[index];
    LoweredBuffer *lowered = &transfer->buffers[index];
    Offsets *pages = &transfer->pages[index];
    lowered->dtype = buffer->dtype;
    if (!footprint) {
        lowered->count = buffer->extent;
        return buffer->extent
                   ? NULL
                   : arena_printf(transfer->arena, "nobody says how large %s is", buffer->name);
    }
    memory_pages(transfer->arena, footprint->buffers.items[index], pages);
    if (!pages->count) return NULL;
    lowered->first = pages->items[0];
    lowered->count = (int64_t)pages->count * PAGE_ELEMENTS;
    if (pages->items[pages->count - 1] + PAGE_ELEMENTS == lowered->first + lowered->count)
        pages->count = 0;  // they follow each other
    lowered->page_count = pages->count;
    transfer->layout.page_count += pages->count;
    return NULL;
}

/// The offset of the buffer's element `at` among those that are copied; `*count`: how many follow each other from there.
static int64_t offset_of(const Transfer *transfer, int buffer, int64_t at, int64_t *count) {
    const Offsets *pages = &transfer->pages[buffer];
    const LoweredBuffer *lowered = &transfer->buffers[buffer];
    *count = pages->count ? PAGE_ELEMENTS : lowered->count - at;
    return pages->count ? pages->items[at / PAGE_ELEMENTS] : lowered->first + at;
}

static Error transfer_plan(Transfer *transfer, const Device *device, const Lowered *lowered,
                           const CudaCall *call) {
    const VirtualMemory *memory = transfer->memory;
    int count = memory->buffers.count, parameters = call->function->parameter_count;
    int64_t programs = call->grid[0] * call->grid[1] * call->grid[2];
    if (programs <= 0) return "a grid without programs";
    transfer->buffers = ARENA_ARRAY(transfer->arena, LoweredBuffer, count + 1);
    transfer->pages = ARENA_ARRAY(transfer->arena, Offsets, count + 1);
    for (int i = 0; i < count; i++) {
        Error error = buffer_plan(transfer, i, call->footprint);
        if (error) return error;
        transfer->layout.elements += transfer->buffers[i].count;
        if (transfer->layout.elements > MOST_BYTES / 8)
            return "its tensors are too large for the GPU's share of memory";
    }
    int64_t most =
        (int64_t)BLOCKS_PER_PROCESSOR * (device->processors > 0 ? device->processors : 1);
    if (lowered->is_ordered || call->in_order) most = 1;
    int64_t blocks = programs < most ? programs : most, room = lowered->room * lowered->room_bytes;
    if (room > MOST_BYTES) return "the tiles of one program are too large for the GPU";
    if (room && blocks > MOST_BYTES / room) blocks = MOST_BYTES / room;
    transfer->blocks = (unsigned)blocks;
    transfer->threads = LEAST_THREADS;
    while (transfer->threads < MOST_THREADS && transfer->threads < lowered->widest)
        transfer->threads *= 2;
    LaunchLayout *layout = &transfer->layout;
    layout->buffers = aligned(sizeof(LoweredLaunch));
    layout->arguments = layout->buffers + aligned(count * (int64_t)sizeof(LoweredBuffer));
    layout->pages = layout->arguments + aligned(8 * (int64_t)parameters);
    layout->data = layout->pages + aligned(8 * layout->page_count);
    layout->tangents = layout->data + aligned(8 * layout->elements);
    const int64_t moved = call->numbers.is_dual ? layout->elements + parameters : 0;
    layout->written = layout->tangents + aligned(8 * moved);
    layout->room = layout->written + aligned(layout->elements);
    layout->end = layout->room + blocks * room;
    return NULL;
}

void launch_arguments(const CudaCall *call, int64_t *bits, double *tangents) {
    for (int i = 0; i < call->function->parameter_count; i++) {
        const Tile *tile = call->arguments[i];
        if (tile && tile->kind == TILE_DESCRIPTOR) tile = tile->items[0];
        if (!tile || (tile->kind != TILE_NUMBER && tile->kind != TILE_POINTER)) continue;
        if (tangents && tile->tangent) tangents[i] = tile->tangent[0];
        if (tile->number)
            memcpy(&bits[i], tile->number, sizeof(double));
        else
            bits[i] = tile->integer[0];
    }
}

/// Elements and arguments into the image.
static void transfer_fill(Transfer *transfer, const CudaCall *call) {
    const LaunchLayout *layout = &transfer->layout;
    const int parameters = call->function->parameter_count;
    transfer->image = arena_alloc(transfer->arena, (size_t)layout->room);
    transfer->launch = (LoweredLaunch *)(void *)transfer->image;
    transfer->arguments = (int64_t *)(void *)(transfer->image + layout->arguments);
    transfer->data = (int64_t *)(void *)(transfer->image + layout->data);
    if (call->numbers.is_dual)
        transfer->tangents = (double *)(void *)(transfer->image + layout->tangents);
    double *tangents = transfer->tangents ? transfer->tangents + parameters : NULL;
    transfer->written = (uint8_t *)transfer->image + layout->written;
    int64_t at = 0;
    for (LIST_EACH(int, i, transfer->memory->buffers)) {
        MemoryBuffer *buffer = transfer->memory->buffers.items[i];
        const LoweredBuffer *lowered = &transfer->buffers[i];
        bool is_moved = tangents && dtype_code_is_float(buffer->dtype);
        for (int64_t k = 0, count; k < lowered->count; k += count, at += count) {
            const int64_t offset = offset_of(transfer, i, k, &count);
            memory_bits(transfer->memory, buffer, offset, count, transfer->data + at,
                        is_moved ? tangents + at : NULL);
        }
    }
    launch_arguments(call, transfer->arguments, transfer->tangents);
}

/// The addresses that the kernel reads, now that the memory on the GPU is known.
static void transfer_link(Transfer *transfer, uint64_t base, const Lowered *lowered,
                          const CudaCall *call) {
    const int parameters = call->function->parameter_count;
    const LaunchLayout *layout = &transfer->layout;
    const uint64_t tangents = transfer->tangents ? base + (uint64_t)layout->tangents : 0;
    int64_t at = 0, page = 0;
    for (LIST_EACH(int, i, transfer->memory->buffers)) {
        LoweredBuffer *buffer = &transfer->buffers[i];
        int64_t place = layout->pages + 8 * page;
        buffer->pages = buffer->page_count ? base + (uint64_t)place : 0;
        if (buffer->page_count)
            memcpy(transfer->image + place, transfer->pages[i].items,
                   sizeof(int64_t) * (size_t)buffer->page_count);
        page += buffer->page_count;
        buffer->data = base + (uint64_t)(layout->data + 8 * at);
        buffer->written = base + (uint64_t)(layout->written + at);
        if (tangents) buffer->tangents = tangents + 8 * (uint64_t)(parameters + at);
        at += buffer->count;
    }
    memcpy(transfer->image + layout->buffers, transfer->buffers,
           sizeof *transfer->buffers * (size_t)transfer->memory->buffers.count);
    *transfer->launch = (LoweredLaunch){
        .grid = {call->grid[0], call->grid[1], call->grid[2]},
        .reversed = call->reversed,
        .buffers = base + (uint64_t)layout->buffers,
        .buffer_count = transfer->memory->buffers.count,
        .arguments = base + (uint64_t)layout->arguments,
        .tangents = tangents,
        .room = base + (uint64_t)layout->room,
        .room_per_block = lowered->room,
    };
}

Error launch_fault(Arena *arena, const LoweredLaunch *launch) {
    static const char *const what[] = {
        [LOWERED_OUTSIDE] = "leaves the elements that were copied",
        [LOWERED_NO_PLACE] = "uses what is no address of a tensor of its type",
        [LOWERED_DIVISION] = "divides by zero",
        [LOWERED_INDEX] = "gathers from outside of a tile",
        [LOWERED_ASSERT] = "breaks a device_assert",
        [LOWERED_ENDLESS] = "does not end a `while`",
        [LOWERED_MEETS] = "uses an element that another program writes",
    };
    int64_t fault = launch->fault[0];
    if (fault == LOWERED_FINE) return NULL;
    bool is_known = fault > 0 && fault < (int64_t)(sizeof what / sizeof *what);
    if (fault == LOWERED_DIVISION) return "a program divides by zero on the GPU";
    return arena_printf(arena, "on the GPU line %lld of program %lld %s (lane %lld, element %lld)",
                        (long long)launch->fault[1], (long long)launch->fault[2],
                        is_known ? what[fault] : "fails", (long long)launch->fault[3],
                        (long long)launch->fault[4]);
}

/// What was written, into the interpreter's memory.
static void transfer_take(Transfer *transfer, const CudaCall *call) {
    const double *tangents =
        transfer->tangents ? transfer->tangents + call->function->parameter_count : NULL;
    int64_t at = 0;
    for (LIST_EACH(int, i, transfer->memory->buffers)) {
        MemoryBuffer *buffer = transfer->memory->buffers.items[i];
        const LoweredBuffer *lowered = &transfer->buffers[i];
        bool is_moved = tangents && dtype_code_is_float(buffer->dtype);
        for (int64_t k = 0, count; k < lowered->count; k += count, at += count) {
            const int64_t offset = offset_of(transfer, i, k, &count);
            memory_take_written(transfer->memory, buffer, offset, count, transfer->written + at,
                                transfer->data + at, is_moved ? tangents + at : NULL);
        }
    }
}

static Error transfer_run(Transfer *transfer, Device *device, Arena *arena,
                          const DeviceKernel *kernel, const Lowered *lowered,
                          const CudaCall *call) {
    uint64_t base = 0;
    size_t size = (size_t)transfer->layout.room;
    Error error = device_allocate(device, arena, (size_t)transfer->layout.end, &base);
    if (!error) {
        transfer_link(transfer, base, lowered, call);
        error = device_copy(device, arena, transfer->image, size, base);
    }
    if (!error)
        error = device_launch(device, arena, kernel, transfer->blocks, transfer->threads, base);
    if (!error) error = device_take(device, arena, base, transfer->image, size);
    device_release(device, base);
    if (!error) error = launch_fault(arena, transfer->launch);
    if (!error) transfer_take(transfer, call);
    return error;
}

Error launch_too_long(Arena *arena, const Lowered *lowered, bool is_quick) {
    const size_t size = strlen(lowered->text);
    if (size <= USUAL_TEXT) return NULL;
    double needed_s = SECONDS_OF_TEXT * (double)size / USUAL_TEXT;
    if (is_quick && device_time_left() >= NEEDED_TIMES * needed_s) return NULL;
    return arena_printf(arena, "a kernel of %zu characters of text takes too long to compile %s",
                        size, is_quick ? "with the time that is left" : "for such sizes");
}

static bool is_among(const char *const *texts, int count, const char *text) {
    for (int i = 0; i < count; i++)
        if (strcmp(texts[i], text) == 0) return true;
    return false;
}

void cuda_prepare(Device *device, const char *first, const CudaCall *calls, int count,
                  bool is_quick) {
    Arena *scratch = arena_new();
    const char **texts = ARENA_ARRAY(scratch, const char *, count + 1);
    int text_count = 0;
    if (first) texts[text_count++] = first;
    for (int i = 0; i < count; i++) {
        Lowered lowered;
        Error error = lower_known(calls[i].texts, scratch, calls[i].function, calls[i].arguments,
                                  calls[i].numbers, &lowered);
        if (!error) error = launch_too_long(scratch, &lowered, is_quick);
        if (!error && !is_among(texts, text_count, lowered.text))
            texts[text_count++] = lowered.text;
    }
    device_prepare(device, texts, text_count, is_quick);
    arena_free(scratch);
}

LoweredTexts *cuda_texts(CudaUse *use) {
    if (!use->texts) use->texts = lowered_texts_new(use->arena);
    return use->texts;
}

Error cuda_launch(Arena *arena, VirtualMemory *memory, const CudaCall *call) {
    Device *device = device_open();
    Error error = device_missing(device);
    if (error) return error;
    Transfer transfer = {.arena = arena_new(), .memory = memory};
    Lowered lowered;
    DeviceKernel kernel;
    error = lower_known(call->texts, transfer.arena, call->function, call->arguments, call->numbers,
                        &lowered);
    if (!error) error = launch_too_long(transfer.arena, &lowered, true);
    if (!error)
        error = device_kernel(device, transfer.arena, lowered.text, LOWERED_NAME, true, &kernel);
    if (!error) error = transfer_plan(&transfer, device, &lowered, call);
    if (!error) {
        transfer_fill(&transfer, call);
        error = transfer_run(&transfer, device, transfer.arena, &kernel, &lowered, call);
    }
    if (error) error = arena_strdup(arena, error);
    arena_free(transfer.arena);
    return error;
}
