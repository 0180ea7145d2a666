// The memory a kernel sees: sparse virtual buffers with made-up, repeatable contents, and a record of who touched what.
#ifndef TAD_GPU_RUNNER_INTERP_MEMORY_H
#define TAD_GPU_RUNNER_INTERP_MEMORY_H

#include "gpu-runner/interp/tile.h"

/// What a buffer holds before anything writes to it, as a pure function of (seed, element offset).
typedef enum ContentKind {
    CONTENT_ZERO,
    CONTENT_RANDOM,    // floats, uniform in [low, high)
    CONTENT_NORMAL,    // floats in (-1, 1), no zeros, no ties
    CONTENT_SMALL,     // integers in [low, high), each third `mark` where there is one
    CONTENT_DISTINCT,  // integers: neighbours swapped, so that each index comes once
    CONTENT_MONOTONE,  // integers: growing by about `high` per element, from 0
    CONTENT_VALUES,    // `values`, then zero
    CONTENT_PARTS,     // integers: a list that goes with others about the same parts of rows
} ContentKind;

/// What such a list says: all of one launch are about the same parts, of 6, 3, 17 and 1 rows, and so on from the first.
typedef enum PartList {
    PART_STARTS,   // of each part, its first row
    PART_ENDS,     // ... the row behind its last
    PART_LENGTHS,  // ... how many rows it has
    PART_ROWS,     // of each row, its part
    PART_BOUNDS,   // of each part, start and end side by side
} PartList;

/// One in so many integers is the mark.
enum { MARK_EACH = 3 };

typedef struct Content {
    ContentKind kind;
    uint64_t seed;
    double low, high;
    bool has_mark;
    int64_t mark;
    const double *values;
    int64_t value_count;
    PartList part;
} Content;

/// A change of a buffer's contents in some direction: by `step` times it, and as the tangent.
typedef struct Direction {
    bool active;
    uint64_t seed;   // random direction
    bool is_single;  // only element `single`
    int64_t single;
    double step;
    bool is_tangent;
} Direction;

enum { PAGE_ELEMENTS = 64 };  // of virtual memory

typedef struct Page {
    int64_t first;  // element offset
    union {
        double number[PAGE_ELEMENTS];
        int64_t integer[PAGE_ELEMENTS];
    } data;
    double *tangent;
    uint64_t read;     // the initial content was read by a program
    uint64_t written;  // by a program, in this launch or an earlier one
    uint64_t poison;
    uint64_t unread;                // stored in this launch and not read since
    uint64_t atomic;                // written by an atomic operation in this launch
    uint64_t contested;             // stored by several programs of one launch
    int32_t epoch;                  // the launch that `writer` and `atomic` are about
    int32_t writer[PAGE_ELEMENTS];  // program + 1, of plain stores
    int32_t adder[PAGE_ELEMENTS];   // program + 1, of atomic operations; -1 where there are several
    int32_t
        reader[PAGE_ELEMENTS];  // program + 1, of reads that nothing was stored before; -1 as above
} Page;

typedef struct MemoryBuffer {
    const char *name;
    int id;
    DTypeCode dtype;
    Content content;
    Direction direction;
    bool
        is_gradient;  // every element has one owner: two plain stores are a race even where values agree
    bool is_uninitialised;  // an output: reading before writing is a finding
    int64_t extent;         // elements, 0: no limit known
    bool has_start;         // there are `before` elements in front of the first, and no more
    int64_t before;
    Map pages;  // first / PAGE_ELEMENTS -> Page
    Page *last;
    int64_t touched_pages;
} MemoryBuffer;

typedef enum FindingKind {
    FINDING_OUT_OF_BOUNDS,
    FINDING_RACE,
    FINDING_UNINITIALISED_READ,
    FINDING_POISON,
    FINDING_UNSUPPORTED,
    FINDING_MISALIGNED,  // with `by_bytes`
} FindingKind;

typedef struct MemoryFinding {
    FindingKind kind;
    const char *kernel;
    int line;
    const char *message;
    const char *buffer;  // NULL: no buffer's
    bool is_certain;     // results differ; not only a suspicion
    int64_t lane;        // of the access, in row-major order; negative: not known
} MemoryFinding;

typedef LIST(MemoryFinding) Findings;

typedef struct VirtualMemory {
    Arena *arena;
    LIST(MemoryBuffer *) buffers;  // id - 1
    Findings findings;
    bool fills_zero;       // masked-off loads without `other` read 0
    bool rounds_contents;  // what buffers hold at first are numbers of their types
    bool by_bytes;  // addresses count bytes, as a GPU's do: what does not fit its type is a finding
    bool
        zeros_yield;  // of two programs that store to an element of a gradient, one a 0, the other counts
    int64_t zeros_yielded;  // how often one did
    // Where execution is, kept by the interpreter.
    int32_t program;
    int64_t lane;  // whose access is at work; negative: none
    int32_t epoch;
    bool
        synchronised;  // this program took a lock (atomic cas or exchange): its plain accesses are ordered
    int64_t new_elements;  // stored in this program that no program of this launch had stored
    int64_t stores;
    int64_t steps;  // elements computed by the latest launch
    const char *
        overwritten;  // an element was stored twice, unread by one program or by two, or read by one and then stored by another: NULL or a sentence
    bool overwritten_by_two;
    const char *overwritten_buffer;
    MemoryFinding
        crossing;  // the first element that one program reads and another stores later; no message: none
    const char *kernel;
    int line;     // of the operation at work; where `place` has a source, that says it
    Range place;  // of the operation itself
} VirtualMemory;

VirtualMemory *memory_new(Arena *arena);
/// Whether two programs of a launch met at an element, of which one wrote it without an atomic operation.
static inline bool memory_programs_meet(const VirtualMemory *memory) {
    return memory->overwritten_by_two || memory->crossing.message;
}
/// Buffers of the same numbers with what they hold and who touched it, tangents left out. Names and sentences are shared: `memory` is to
/// outlive the copy.
VirtualMemory *memory_copy(Arena *arena, const VirtualMemory *memory);
MemoryBuffer *memory_add(VirtualMemory *memory, const char *name, DTypeCode dtype, Content content);

/// Addresses: buffer id in the top bits, element offset below, so that pointer arithmetic is integer arithmetic.
static inline int64_t address_make(int id, int64_t offset) {
    return ((int64_t)id << 48) + ((int64_t)1 << 47) + offset;
}
static inline int64_t address_offset(int64_t address) {
    return (address & (((int64_t)1 << 48) - 1)) - ((int64_t)1 << 47);
}

/// What an address grows by from one element to the next.
int64_t memory_step(const VirtualMemory *memory, DTypeCode dtype);
/// A finding where an element of `dtype` cannot be at that address; `verb`: what a lane does there.
void memory_check_alignment(VirtualMemory *memory, int64_t address, DTypeCode dtype,
                            const char *verb);

typedef struct Element {
    double number;
    int64_t integer;
    double tangent;
    bool poison;
} Element;

/// Reads through a checked address. False: not an address (a finding says so).
bool memory_load(VirtualMemory *memory, int64_t address, Element *element);
bool memory_store(VirtualMemory *memory, int64_t address, Element element);
/// Replaces the value as an atomic operation does; `element` comes from a memory_load_atomic before it.
bool memory_load_atomic(VirtualMemory *memory, int64_t address, Element *element);
bool memory_store_atomic(VirtualMemory *memory, int64_t address, Element element);

/// Reads or sets without trace (the checker's own access).
double memory_peek(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset);
double memory_peek_tangent(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset);
void memory_poke(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, double value);

/// What `count` elements from `offset` on hold: the bits of doubles, or integers; and their tangents, where `tangents` is not NULL.
void memory_bits(const VirtualMemory *memory, const MemoryBuffer *buffer, int64_t offset,
                 int64_t count, int64_t *bits, double *tangents);
/// An element set, as something that a program wrote.
void memory_take(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, int64_t bits);
/// The same of those elements whose `written` is set, with tangents where these are not NULL.
void memory_take_written(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset, int64_t count,
                         const uint8_t *written, const int64_t *bits, const double *tangents);
/// Notes the reads of `footprint`, the memory of the same launch, whose first buffers are the same.
void memory_take_reads(VirtualMemory *memory, const VirtualMemory *footprint);
typedef LIST(int64_t) Offsets;
/// Offsets whose initial content was read, or which were written, in increasing order.
void memory_touched(Arena *arena, const MemoryBuffer *buffer, bool written, Offsets *offsets);
/// Whether plain stores to it are those of one program, `*writer` (and 1), which is set where it is 0; atomic ones are those of several.
bool memory_has_one_writer(const MemoryBuffer *buffer, int32_t *writer);
/// The first offsets of pages with an element that was read or written, in increasing order.
void memory_pages(Arena *arena, const MemoryBuffer *buffer, Offsets *firsts);
/// Those of the offsets that were not also written, or read.
void memory_touched_only(Arena *arena, const MemoryBuffer *buffer, bool written, Offsets *offsets);

/// An element is one that several programs stored to where another buffer's is.
void memory_take_contested(VirtualMemory *memory, MemoryBuffer *buffer, int64_t offset,
                           const MemoryBuffer *from, int64_t from_offset);

/// Whether all elements of `stored` that several programs stored to, one at least, are read by several in `read`, another
/// run's buffer.
bool memory_meets_as_read(const MemoryBuffer *stored, const MemoryBuffer *read, bool *is_contested);

/// Whether a program stored to an element.
bool memory_is_written(const MemoryBuffer *buffer, int64_t offset);

typedef struct Beyond {
    int64_t offset;
    bool is_write;
} Beyond;
/// The first element of `used` that programs read or wrote and that nobody touched in `footprint`, another run's buffer. The first
/// `readable` elements may be read (0: none).
bool memory_beyond(const MemoryBuffer *used, const MemoryBuffer *footprint, int64_t readable,
                   Beyond *beyond);

double content_number(const Content *content, int64_t offset);
int64_t content_integer(const Content *content, int64_t offset);
/// The direction's component at an element; 0 when not active.
double direction_at(const Direction *direction, int64_t offset);
uint64_t hash_mix(uint64_t value);

void memory_report(VirtualMemory *memory, FindingKind kind, bool is_certain,
                   const MemoryBuffer *buffer, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
bool memory_has_found(const VirtualMemory *memory, FindingKind kind);
const char *finding_name(FindingKind kind);

#endif
