// Pages are made on first touch; a page remembers reads, writes and writers, from which races and bad reads are found.
#include "gpu-runner/interp/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

VirtualMemory *memory_new(Arena *arena) {
    VirtualMemory *memory = ARENA_NEW(arena, VirtualMemory);
    memory->arena = arena;
    memory->kernel = "";
    return memory;
}

MemoryBuffer *memory_add(VirtualMemory *memory, const char *name, DTypeCode dtype,
                         Content content) {
    MemoryBuffer *buffer = ARENA_NEW(memory->arena, MemoryBuffer);
    buffer->name = name;
    buffer->dtype = dtype;
    buffer->content = content;
    buffer->pages = map_new(memory->arena);
    LIST_PUSH(memory->arena, &memory->buffers, buffer);
    buffer->id = memory->buffers.count;
    return buffer;
}

static Map pages_copy(Arena *arena, const Map *pages) {
    Map copies = map_new(arena);
    Page *room = ARENA_ARRAY(arena, Page, pages->count + 1);
    for (int i = 0; i < pages->count; i++) {
        room[i] = *(const Page *)pages->entries[i].value;
        room[i].tangent = NULL;
        map_set_number(&copies, pages->entries[i].number, &room[i]);
    }
    return copies;
}

VirtualMemory *memory_copy(Arena *arena, const VirtualMemory *memory) {
    VirtualMemory *copy = ARENA_NEW(arena, VirtualMemory);
    *copy = *memory;
    copy->arena = arena;
    copy->buffers.items = ARENA_ARRAY(arena, MemoryBuffer *, memory->buffers.count + 1);
    copy->buffers.capacity = memory->buffers.count + 1;
    for (LIST_EACH(int, i, memory->buffers)) {
        MemoryBuffer *buffer = ARENA_NEW(arena, MemoryBuffer);
        *buffer = *memory->buffers.items[i];
        buffer->pages = pages_copy(arena, &buffer->pages);
        buffer->last = NULL;
        copy->buffers.items[i] = buffer;
    }
    memset(&copy->findings, 0, sizeof copy->findings);
    for (LIST_EACH(int, i, memory->findings))
        LIST_PUSH(arena, &copy->findings, memory->findings.items[i]);
    return copy;
}

/// The buffer of an address, or NULL.
static MemoryBuffer *memory_buffer(const VirtualMemory *memory, int64_t address) {
    int64_t id = address >> 48;
    return id >= 1 && id <= memory->buffers.count ? memory->buffers.items[id - 1] : NULL;
}

/// A bijective mixer of 64 bits (the finaliser of splitmix64).
uint64_t hash_mix(uint64_t value) {
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

static uint64_t hash_at(uint64_t seed, int64_t offset) {
    return hash_mix(hash_mix(seed) ^ (uint64_t)offset);
}

static double uniform(uint64_t bits) { return ((double)(bits >> 11) + 0.5) * 0x1p-53; }

enum { PARTS_AGAIN = 4 };  // after so many parts their lengths come again
static const int64_t part_starts[PARTS_AGAIN + 1] = {0, 6, 9, 26, 27};

static int64_t part_start(int64_t part) {
    return part_starts[PARTS_AGAIN] * (part / PARTS_AGAIN) + part_starts[part % PARTS_AGAIN];
}

static int64_t part_number(PartList list, int64_t offset) {
    if (offset < 0) return 0;
    switch (list) {
    case PART_STARTS: return part_start(offset);
    case PART_ENDS: return part_start(offset + 1);
    case PART_LENGTHS: return part_start(offset + 1) - part_start(offset);
    case PART_BOUNDS: return part_start(offset / 2 + offset % 2);
    case PART_ROWS: break;
    }
    int64_t part = PARTS_AGAIN * (offset / part_starts[PARTS_AGAIN]);
    while (part_start(part + 1) <= offset) part++;
    return part;
}

double content_number(const Content *content, int64_t offset) {
    double u = uniform(hash_at(content->seed, offset));
    switch (content->kind) {
    case CONTENT_RANDOM: return content->low + (content->high - content->low) * u;
    case CONTENT_NORMAL: return 2 * u - 1;
    case CONTENT_VALUES:
        return offset >= 0 && offset < content->value_count ? content->values[offset] : 0;
    case CONTENT_SMALL:
    case CONTENT_DISTINCT:
    case CONTENT_PARTS:
    case CONTENT_MONOTONE: return (double)content_integer(content, offset);
    case CONTENT_ZERO: break;
    }
    return 0;
}

int64_t content_integer(const Content *content, int64_t offset) {
    uint64_t bits = hash_at(content->seed, offset);
    int64_t low = (int64_t)content->low, width = (int64_t)content->high - low;
    switch (content->kind) {
    case CONTENT_SMALL:
        if (content->has_mark && offset % MARK_EACH == 1) return content->mark;
        return width > 0 ? low + (int64_t)(bits % (uint64_t)width) : low;
    case CONTENT_DISTINCT: return offset ^ 1;
    case CONTENT_MONOTONE:
        return offset <= 0 ? 0 : offset * (int64_t)content->high + (int64_t)(bits % 3) - 1;
    case CONTENT_PARTS: return part_number(content->part, offset);
    case CONTENT_VALUES:
        return offset >= 0 && offset < content->value_count ? (int64_t)content->values[offset] : 0;
    case CONTENT_RANDOM:
    case CONTENT_NORMAL: return (int64_t)(bits % 5);
    case CONTENT_ZERO: break;
    }
    return 0;
}

double direction_at(const Direction *direction, int64_t offset) {
    if (!direction->active) return 0;
    if (direction->is_single) return offset == direction->single ? 1 : 0;
    return 2 * uniform(hash_at(direction->seed, offset)) - 1;
}

typedef union Bits {
    double number;
    int64_t integer;
} Bits;

/// What an element holds before anything writes to it.
static Bits first_content(const VirtualMemory *memory, const MemoryBuffer *buffer, int64_t offset) {
    if (!dtype_code_is_float(buffer->dtype))
        return (Bits){.integer =
                          wrap_integer(content_integer(&buffer->content, offset), buffer->dtype)};
    double number = content_number(&buffer->content, offset);
    if (memory->rounds_contents) number = round_float(number, buffer->dtype);
    const Direction *direction = &buffer->direction;
    if (direction->active) number += direction->step * direction_at(direction, offset);
    return (Bits){.number = number};
}

static Page *page_new(VirtualMemory *memory, MemoryBuffer *buffer, int64_t number) {
    Page *page = ARENA_NEW(memory->arena, Page);
    page->first = number * PAGE_ELEMENTS;
    const Direction *direction = &buffer->direction;
    bool is_float = dtype_code_is_float(buffer->dtype);
    if (direction->active && direction->is_tangent)
        page->tangent = ARENA_ARRAY(memory->arena, double, PAGE_ELEMENTS);
    for (int i = 0; i < PAGE_ELEMENTS; i++) {
        int64_t offset = page->first + i;
        page->data.integer[i] = first_content(memory, buffer, offset).integer;
        if (is_float && page->tangent) page->tangent[i] = direction_at(direction, offset);
    }
    map_set_number(&buffer->pages, (uint64_t)number, page);
    return page;
}

static int64_t page_number(int64_t offset) {
    return offset >= 0 ? offset / PAGE_ELEMENTS : -((-offset + PAGE_ELEMENTS - 1) / PAGE_ELEMENTS);
}

static Page *page_of(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset) {
    int64_t number = page_number(offset);
    Page *page = buffer->last;
    if (!page || page->first != number * PAGE_ELEMENTS) {
        page = map_get_number(&buffer->pages, (uint64_t)number);
        if (!page) page = page_new(memory, buffer, number);
        buffer->last = page;
    }
    if (page->epoch != memory->epoch) {
        page->epoch = memory->epoch;
        page->atomic = 0;
        page->unread = 0;
        memset(page->writer, 0, sizeof page->writer);
        memset(page->adder, 0, sizeof page->adder);
        memset(page->reader, 0, sizeof page->reader);
    }
    return page;
}

// Half of what an offset holds: what is further away has run over into the neighbouring buffer's numbers.
#define FARTHEST_OFFSET ((int64_t)1 << 46)

static int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }

int64_t memory_step(const VirtualMemory *memory, DTypeCode dtype) {
    int bits = dtype_bits(dtype);
    return memory->by_bytes && bits > 8 ? bits / 8 : 1;
}

static MemoryBuffer *buffer_at(VirtualMemory *memory, int64_t address, int64_t *offset,
                               const char *verb) {
    MemoryBuffer *buffer = memory_buffer(memory, address);
    *offset = address_offset(address);
    if (buffer && memory->by_bytes)
        *offset = floor_quotient(*offset, memory_step(memory, buffer->dtype));
    if (!buffer) {
        memory_report(memory, FINDING_OUT_OF_BOUNDS, true, NULL,
                      "%s through an integer that is no address", verb);
        return NULL;
    }
    if (*offset <= -FARTHEST_OFFSET || *offset >= FARTHEST_OFFSET) {
        memory_report(memory, FINDING_OUT_OF_BOUNDS, true, NULL,
                      "%s an element too far away to have an "
                      "address",
                      verb);
        return NULL;
    }
    if (buffer->has_start && *offset < -buffer->before)
        memory_report(memory, FINDING_OUT_OF_BOUNDS, true, buffer,
                      "%s element %lld of %s, in front of it", verb, (long long)*offset,
                      buffer->name);
    else if (buffer->extent && (*offset < 0 || *offset >= buffer->extent))
        memory_report(memory, FINDING_OUT_OF_BOUNDS, true, buffer,
                      "%s element %lld of %s, which has %lld", verb, (long long)*offset,
                      buffer->name, (long long)buffer->extent);
    return buffer;
}

void memory_check_alignment(VirtualMemory *memory, int64_t address, DTypeCode dtype,
                            const char *verb) {
    const MemoryBuffer *buffer = memory_buffer(memory, address);
    int64_t step = memory_step(memory, dtype), offset = address_offset(address);
    if (!buffer || offset % step == 0) return;
    memory_report(memory, FINDING_MISALIGNED, true, buffer,
                  "%s at byte %lld of %s, which is no multiple of the %lld bytes of its type", verb,
                  (long long)offset, buffer->name, (long long)step);
}

static void element_read(const MemoryBuffer *buffer, const Page *page, int at, Element *element) {
    *element = (Element){0};
    if (dtype_code_is_float(buffer->dtype)) {
        element->number = page->data.number[at];
        element->tangent = page->tangent ? page->tangent[at] : 0;
    } else {
        element->integer = page->data.integer[at];
        element->number = (double)element->integer;
    }
    element->poison = (page->poison >> at) & 1;
}

/// Of the operation at work. Few are asked for it.
static int line_of(const VirtualMemory *memory) {
    return memory->place.source ? range_line(memory->place) : memory->line;
}

static bool same_value(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

bool memory_load(VirtualMemory *memory, int64_t address, Element *element) {
    int64_t offset;
    MemoryBuffer *buffer = buffer_at(memory, address, &offset, "reads");
    if (!buffer) return false;
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    uint64_t bit = (uint64_t)1 << at;
    if (!(page->written & bit)) {
        page->read |= bit;
        if (buffer->is_uninitialised)
            memory_report(memory, FINDING_UNINITIALISED_READ, false, buffer,
                          "reads element %lld of %s, which nothing has written", (long long)offset,
                          buffer->name);
    }
    int32_t reader = memory->program + 1;
    if (!page->writer[at])
        page->reader[at] = page->reader[at] == 0 || page->reader[at] == reader ? reader : -1;
    bool by_other = page->writer[at] && page->writer[at] != reader;
    bool added_by_other =
        (page->atomic & bit) && page->adder[at] != reader && dtype_code_is_float(buffer->dtype);
    if ((by_other || added_by_other) && !memory->synchronised)
        memory_report(memory, FINDING_RACE, false, buffer,
                      "reads element %lld of %s, which another program of the launch writes",
                      (long long)offset, buffer->name);
    element_read(buffer, page, at, element);
    page->unread &= ~bit;
    return true;
}

static void element_write(VirtualMemory *memory, const MemoryBuffer *buffer, Page *page, int at,
                          const Element *element) {
    uint64_t bit = (uint64_t)1 << at;
    if (dtype_code_is_float(buffer->dtype)) {
        page->data.number[at] = element->number;
        if (!page->tangent && element->tangent != 0)
            page->tangent = ARENA_ARRAY(memory->arena, double, PAGE_ELEMENTS);
        if (page->tangent) page->tangent[at] = element->tangent;
    } else {
        page->data.integer[at] = wrap_integer(element->integer, buffer->dtype);
    }
    page->written |= bit;
    page->poison = element->poison ? page->poison | bit : page->poison & ~bit;
}

static void check_owner(VirtualMemory *memory, const MemoryBuffer *buffer, Page *page, int at,
                        const Element *element) {
    uint64_t bit = (uint64_t)1 << at;
    bool by_other = page->writer[at] && page->writer[at] != memory->program + 1;
    bool added_by_other = (page->atomic & bit) && page->adder[at] != memory->program + 1;
    if ((!by_other && !added_by_other) || memory->synchronised) return;
    page->contested |= bit;
    bool same = dtype_code_is_float(buffer->dtype)
                    ? same_value(page->data.number[at], element->number)
                    : page->data.integer[at] == element->integer;
    long long offset = (long long)(page->first + at);
    if (!same)
        memory_report(memory, FINDING_RACE, true, buffer,
                      "element %lld of %s is stored by two programs with different values", offset,
                      buffer->name);
    else if (buffer->is_gradient)
        memory_report(memory, FINDING_RACE, false, buffer,
                      "element %lld of %s is stored by two programs", offset, buffer->name);
    if (!same || buffer->is_gradient) return;
    if (memory->overwritten || !dtype_code_is_float(buffer->dtype)) return;
    memory->overwritten_by_two = true;
    memory->overwritten_buffer = buffer->name;
    memory->overwritten = arena_printf(
        memory->arena,
        "%s, line %d: two programs store element %lld of %s, whose gradient is counted twice",
        memory->kernel, line_of(memory), offset, buffer->name);
}

/// Lanes or iterations that meet in one element: usually strides that do not fit the sizes.
static void note_overwrite(VirtualMemory *memory, const MemoryBuffer *buffer, Page *page, int at) {
    uint64_t bit = (uint64_t)1 << at;
    bool again = (page->unread & bit) && page->writer[at] == memory->program + 1;
    page->unread |= bit;
    if (!again || memory->overwritten || !dtype_code_is_float(buffer->dtype)) return;
    memory->overwritten_buffer = buffer->name;
    memory->overwritten =
        arena_printf(memory->arena, "%s, line %d: one program stores element %lld of %s twice",
                     memory->kernel, line_of(memory), (long long)(page->first + at), buffer->name);
}

/// A program that runs first reads what another one stores.
static void note_reader(VirtualMemory *memory, const MemoryBuffer *buffer, const Page *page,
                        int at) {
    bool by_other = page->reader[at] && page->reader[at] != memory->program + 1;
    if (!by_other || memory->synchronised) return;
    if (!memory->crossing.message)
        memory->crossing = (MemoryFinding){
            .kind = FINDING_RACE,
            .kernel = memory->kernel,
            .line = line_of(memory),
            .message = arena_printf(memory->arena,
                                    "stores element %lld of %s, which another program reads",
                                    (long long)(page->first + at), buffer->name),
            .buffer = buffer->name,
        };
    if (memory->overwritten || !dtype_code_is_float(buffer->dtype)) return;
    memory->overwritten_by_two = true;
    memory->overwritten_buffer = buffer->name;
    memory->overwritten = arena_printf(
        memory->arena,
        "%s, line %d: one program stores element %lld of %s, which another one reads before",
        memory->kernel, line_of(memory), (long long)(page->first + at), buffer->name);
}

/// A 0 where another program has stored to.
static bool yields(const VirtualMemory *memory, const MemoryBuffer *buffer, const Page *page,
                   int at, const Element *element) {
    bool by_other = page->writer[at] && page->writer[at] != memory->program + 1;
    return memory->zeros_yield && buffer->is_gradient && by_other && element->number == 0;
}

bool memory_store(VirtualMemory *memory, int64_t address, Element element) {
    int64_t offset;
    MemoryBuffer *buffer = buffer_at(memory, address, &offset, "writes");
    if (!buffer) return false;
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    if (yields(memory, buffer, page, at, &element)) {
        memory->zeros_yielded++;
        return true;
    }
    check_owner(memory, buffer, page, at, &element);
    note_overwrite(memory, buffer, page, at);
    note_reader(memory, buffer, page, at);
    memory->stores++;
    if (!page->writer[at]) memory->new_elements++;
    page->writer[at] = memory->program + 1;
    if (element.poison)
        memory_report(memory, FINDING_POISON, false, buffer,
                      "stores to %s what a masked-off load without `other` read", buffer->name);
    element_write(memory, buffer, page, at, &element);
    return true;
}

bool memory_load_atomic(VirtualMemory *memory, int64_t address, Element *element) {
    int64_t offset;
    MemoryBuffer *buffer = buffer_at(memory, address, &offset, "atomically updates");
    if (!buffer) return false;
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    if (!(page->written & ((uint64_t)1 << at))) page->read |= (uint64_t)1 << at;
    element_read(buffer, page, at, element);
    return true;
}

bool memory_store_atomic(VirtualMemory *memory, int64_t address, Element element) {
    int64_t offset;
    MemoryBuffer *buffer = buffer_at(memory, address, &offset, "atomically updates");
    if (!buffer) return false;
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    memory->stores++;
    memory->new_elements++;
    page->atomic |= (uint64_t)1 << at;
    int32_t adder = memory->program + 1;
    page->adder[at] = page->adder[at] == 0 || page->adder[at] == adder ? adder : -1;
    element_write(memory, buffer, page, at, &element);
    return true;
}

double memory_peek(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset) {
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    return dtype_code_is_float(buffer->dtype) ? page->data.number[at]
                                              : (double)page->data.integer[at];
}

double memory_peek_tangent(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset) {
    Page *page = page_of(memory, buffer, offset);
    return page->tangent ? page->tangent[offset - page->first] : 0;
}

void memory_poke(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, double value) {
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    if (dtype_code_is_float(buffer->dtype))
        page->data.number[at] = value;
    else
        page->data.integer[at] = (int64_t)value;
}

/// How many elements of `count` from `offset` on lie in its page.
static int64_t count_in_page(int64_t offset, int64_t count) {
    const int64_t left = (page_number(offset) + 1) * PAGE_ELEMENTS - offset;
    return left < count ? left : count;
}

/// Elements of one page.
static void page_bits(const VirtualMemory *memory, const MemoryBuffer *buffer, int64_t offset,
                      int64_t count, int64_t *bits, double *tangents) {
    const Page *page = map_get_number(&buffer->pages, (uint64_t)page_number(offset));
    for (int64_t i = 0; !page && i < count; i++) {
        bits[i] = first_content(memory, buffer, offset + i).integer;
        if (tangents)
            tangents[i] =
                buffer->direction.is_tangent ? direction_at(&buffer->direction, offset + i) : 0;
    }
    if (!page) return;
    const size_t size = (size_t)count * sizeof *bits;
    memcpy(bits, page->data.integer + (offset - page->first), size);
    if (!tangents) return;
    if (page->tangent)
        memcpy(tangents, page->tangent + (offset - page->first), size);
    else
        memset(tangents, 0, size);
}

void memory_bits(const VirtualMemory *memory, const MemoryBuffer *buffer, int64_t offset,
                 int64_t count, int64_t *bits, double *tangents) {
    for (int64_t i = 0, some; i < count; i += some) {
        some = count_in_page(offset + i, count - i);
        page_bits(memory, buffer, offset + i, some, bits + i, tangents ? tangents + i : NULL);
    }
}

void memory_take(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, int64_t bits) {
    Page *page = page_of(memory, buffer, offset);
    int at = (int)(offset - page->first);
    page->data.integer[at] = bits;
    page->written |= (uint64_t)1 << at;
}

static bool any_of(const uint8_t *flags, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (flags[i]) return true;
    return false;
}

/// Elements of one page, of which some were written.
static void page_take(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, int64_t count,
                      const uint8_t *written, const int64_t *bits, const double *tangents) {
    Page *page = page_of(memory, buffer, offset);
    const int64_t from = offset - page->first;
    for (int64_t i = 0; i < count; i++) {
        if (!written[i]) continue;
        page->data.integer[from + i] = bits[i];
        page->written |= (uint64_t)1 << (from + i);
        if (!tangents) continue;
        if (!page->tangent && tangents[i] != 0)
            page->tangent = ARENA_ARRAY(memory->arena, double, PAGE_ELEMENTS);
        if (page->tangent) page->tangent[from + i] = tangents[i];
    }
}

void memory_take_written(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, int64_t count,
                         const uint8_t *written, const int64_t *bits, const double *tangents) {
    for (int64_t i = 0, some; i < count; i += some) {
        some = count_in_page(offset + i, count - i);
        if (any_of(written + i, some))
            page_take(memory, buffer, offset + i, some, written + i, bits + i,
                      tangents ? tangents + i : NULL);
    }
}

void memory_take_reads(VirtualMemory *memory, const VirtualMemory *footprint) {
    for (int i = 0; i < memory->buffers.count && i < footprint->buffers.count; i++) {
        const Map *pages = &footprint->buffers.items[i]->pages;
        for (int k = 0; k < pages->count; k++) {
            const Page *page = pages->entries[k].value;
            if (page->read)
                page_of(memory, memory->buffers.items[i], page->first)->read |= page->read;
        }
    }
}

static int compare_pages(const void *a, const void *b) {
    const Page *const *left = a, *const *right = b;
    return ((*left)->first > (*right)->first) - ((*left)->first < (*right)->first);
}

static const Page **pages_in_order(Arena *arena, const MemoryBuffer *buffer) {
    int count = buffer->pages.count;
    const Page **pages = ARENA_ARRAY(arena, const Page *, count + 1);
    for (int i = 0; i < count; i++) pages[i] = buffer->pages.entries[i].value;
    qsort(pages, (size_t)count, sizeof *pages, compare_pages);
    return pages;
}

void memory_pages(Arena *arena, const MemoryBuffer *buffer, Offsets *firsts) {
    const Page **pages = pages_in_order(arena, buffer);
    for (int i = 0; i < buffer->pages.count; i++)
        if (pages[i]->read | pages[i]->written) LIST_PUSH(arena, firsts, pages[i]->first);
}

static void touched(Arena *arena, const MemoryBuffer *buffer, bool written, bool only,
                    Offsets *offsets) {
    const Page **pages = pages_in_order(arena, buffer);
    for (int i = 0; i < buffer->pages.count; i++) {
        uint64_t bits = written ? pages[i]->written : pages[i]->read;
        if (only) bits &= ~(written ? pages[i]->read : pages[i]->written);
        for (int at = 0; at < PAGE_ELEMENTS; at++)
            if ((bits >> at) & 1) LIST_PUSH(arena, offsets, pages[i]->first + at);
    }
}

bool memory_has_one_writer(const MemoryBuffer *buffer, int32_t *writer) {
    for (int i = 0; i < buffer->pages.count; i++) {
        const Page *page = buffer->pages.entries[i].value;
        if (page->atomic) return false;
        for (int at = 0; at < PAGE_ELEMENTS; at++) {
            int32_t own = (page->written >> at) & 1 ? page->writer[at] : 0;
            if (own && *writer && own != *writer) return false;
            if (own) *writer = own;
        }
    }
    return true;
}

void memory_touched(Arena *arena, const MemoryBuffer *buffer, bool written, Offsets *offsets) {
    touched(arena, buffer, written, false, offsets);
}

void memory_touched_only(Arena *arena, const MemoryBuffer *buffer, bool written, Offsets *offsets) {
    touched(arena, buffer, written, true, offsets);
}

bool memory_is_written(const MemoryBuffer *buffer, int64_t offset) {
    const Page *page = map_get_number(&buffer->pages, (uint64_t)page_number(offset));
    return page && ((page->written >> (offset - page->first)) & 1);
}

void memory_take_contested(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset,
                           const MemoryBuffer *from, int64_t from_offset) {
    const Page *page = map_get_number(&from->pages, (uint64_t)page_number(from_offset));
    if (!page || !((page->contested >> (from_offset - page->first)) & 1)) return;
    Page *own = page_of(memory, buffer, offset);
    own->contested |= (uint64_t)1 << (offset - own->first);
}

bool memory_meets_as_read(const MemoryBuffer *stored, const MemoryBuffer *read,
                          bool *is_contested) {
    for (int i = 0; i < stored->pages.count; i++) {
        const Page *page = stored->pages.entries[i].value;
        const Page *known = map_get_number(&read->pages, (uint64_t)(page->first / PAGE_ELEMENTS));
        for (int at = 0; at < PAGE_ELEMENTS && page->contested >> at; at++) {
            if (!((page->contested >> at) & 1)) continue;
            *is_contested = true;
            if (!known || known->reader[at] != -1) return false;
        }
    }
    return true;
}

bool memory_beyond(const MemoryBuffer *used, const MemoryBuffer *footprint, int64_t readable,
                   Beyond *beyond) {
    bool found = false;
    for (int i = 0; i < used->pages.count; i++) {
        const Page *page = used->pages.entries[i].value;
        const Page *known =
            map_get_number(&footprint->pages, (uint64_t)(page->first / PAGE_ELEMENTS));
        uint64_t extra = (page->read | page->written) & ~(known ? known->read | known->written : 0);
        for (int at = 0; at < PAGE_ELEMENTS && extra >> at; at++) {
            if (!((extra >> at) & 1) || (found && beyond->offset <= page->first + at)) continue;
            bool is_allowed = page->first + at >= 0 && page->first + at < readable;
            if (is_allowed && !((page->written >> at) & 1)) continue;
            *beyond = (Beyond){.offset = page->first + at, .is_write = (page->written >> at) & 1};
            found = true;
        }
    }
    return found;
}

void memory_report(VirtualMemory *memory, FindingKind kind, bool is_certain,
                   const MemoryBuffer *buffer, const char *format, ...) {
    const int line = line_of(memory);
    for (LIST_EACH(int, i, memory->findings)) {  // one finding of a kind per line
        MemoryFinding *known = &memory->findings.items[i];
        if (known->kind != kind || known->line != line ||
            strcmp(known->kernel, memory->kernel) != 0)
            continue;
        if (known->is_certain || !is_certain) return;
        known->is_certain = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(memory->arena, format, arguments);
    va_end(arguments);
    MemoryFinding finding = {.kind = kind,
                             .kernel = memory->kernel,
                             .line = line,
                             .message = message,
                             .buffer = buffer ? buffer->name : NULL,
                             .is_certain = is_certain,
                             .lane = memory->lane};
    LIST_PUSH(memory->arena, &memory->findings, finding);
}

bool memory_has_found(const VirtualMemory *memory, FindingKind kind) {
    for (LIST_EACH(int, i, memory->findings))
        if (memory->findings.items[i].kind == kind) return true;
    return false;
}

const char *finding_name(FindingKind kind) {
    switch (kind) {
    case FINDING_OUT_OF_BOUNDS: return "out-of-bounds";
    case FINDING_RACE: return "race";
    case FINDING_UNINITIALISED_READ: return "uninitialised-read";
    case FINDING_POISON: return "undefined-value";
    case FINDING_MISALIGNED: return "misaligned";
    case FINDING_UNSUPPORTED: break;
    }
    return "unsupported";
}
