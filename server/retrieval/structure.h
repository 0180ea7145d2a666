// What a kernel is built of, whatever its names are: operations, how they follow each other, loops, accesses. Two kernels are as near as
// what they have in common.
#ifndef TAD_SERVER_RETRIEVAL_STRUCTURE_H
#define TAD_SERVER_RETRIEVAL_STRUCTURE_H

#include "analysis/ir/ir.h"

typedef struct Trait {
    uint64_t hash;   // of its text
    float weight;    // of its kind, and how often it is there; positive
    float reserved;  // 0
} Trait;

typedef struct Structure {
    Trait *traits;  // rising hashes, each once
    int count;
} Structure;

/// Something that was met `count` times; `weight` is that of its kind.
typedef struct CountedTrait {
    uint64_t hash;
    double weight;
    int count;
} CountedTrait;

/// In `arena`. Those of one hash, and so of one kind, become one trait. Sorts `counted`.
Structure structure_counted(Arena *arena, CountedTrait *counted, int count);

/// In `arena`. The same for kernels that differ in their names, numbers and element types only.
Structure structure_of(Arena *arena, const Function *function);
/// Of what traits are: structures of two versions cannot be compared.
uint64_t structure_version(void);
/// The traits as text, a line each with its kind and count, for people and for tests.
const char *structure_text(Arena *arena, const Function *function);

#endif
