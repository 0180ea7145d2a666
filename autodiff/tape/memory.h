// Inside autodiff/: what a kernel loads and stores through which parameter, and which orders a backward can reverse.
#ifndef TAD_AUTODIFF_TAPE_MEMORY_H
#define TAD_AUTODIFF_TAPE_MEMORY_H

#include "autodiff/state/differentiation.h"

typedef struct Memory {
    Map stored;  // pointer parameters written by stores or atomics -> one such op
    Map loaded;  // pointer parameters read by loads -> one such op
    bool writes;
} Memory;

Memory memory_of(Arena *arena, const Function *function);
/// Every load, store and atomic through `root`, in program order.
OpList memory_accesses(Arena *arena, const Function *function, const Value *root);
/// For each buffer that the kernel stores to: loads of what the program stored become the stored value; loads of what was
/// there before the launch read a parameter `..._before`; loads of what the kernel overwrites later read one that the backward
/// must not need (`lost`). Stores to memory that all launches of the file forget go, where the kernel only stores there. Where the gradient of a buffer changes as the sweep goes, it is marked `running`.
void memory_split_versions(Differentiation *state, const Memory *memory,
                           bool (*wants)(const void *context, const Parameter *parameter),
                           const void *context);
/// Whether each element of `root` that one of `loads` reads is stored only later, by the same program. False where it is not
/// known.
bool memory_loads_come_first(Differentiation *state, const Value *root, const OpList *loads);
/// The same address in another buffer, or NULL where the pointer is chosen at run time.
Value *pointer_rebase(Builder *b, Value *pointer, const Value *root, Value *instead);
/// Refuses a backward that reads values which nobody saved.
void memory_refuse_lost_values(Differentiation *state);

#endif
