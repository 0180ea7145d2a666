// What a launch reads when it is tried with numbers: new memory that nobody has written, a part of a tensor again and again.
#include "analysis/checks/check_instances.h"

static bool is_made_here(const TriedLaunch *tried, int buffer) {
    const ConcreteBuffer *memory = &tried->concrete->buffers.items[buffer];
    return memory->contents == CONTENTS_EMPTY && !memory->may_be_written;
}

/// Whether some access may store to the buffer, or to one that is not known.
static bool is_stored(const TriedLaunch *tried, int buffer) {
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        bool may_be = access->buffer < 0 || access->buffer == buffer;
        if (may_be && (op_rows[access->op->code].effects & EFFECT_WRITES)) return true;
    }
    return false;
}

static bool check_unwritten(Check *check, const TriedLaunch *tried, const TrialAccess *access,
                            bool tells) {
    int parameter = tried_parameter(tried, access->buffer);
    if (!access->inside || parameter < 0 || !is_made_here(tried, access->buffer) ||
        is_stored(tried, access->buffer))
        return false;
    if (!tells) return true;
    const char *name = check->function->parameters[parameter].name;
    Diagnostic *said =
        check_report(check, DIAGNOSTIC_UNWRITTEN_READ, access->op,
                     "%s is new memory that nobody has written when it is read here: are tensors "
                     "exchanged at the launch?",
                     name);
    launch_relate(check, said, tried);
    return true;
}

/* ---- the same elements again and again ---- */

typedef struct ReadCount {
    int64_t elements, distinct;  // of all loads
    int loads;
    bool is_open;
} ReadCount;

static ReadCount reads_of(Arena *arena, const TriedLaunch *tried, int buffer) {
    ReadCount reads = {0};
    int64_t bytes = tried->trial->buffers[buffer].numel / 8 + 1;
    uint8_t *seen = ARENA_ARRAY(arena, uint8_t, (size_t)bytes);
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        if (access->buffer >= 0 && access->buffer != buffer) continue;
        reads.is_open |=
            access->buffer < 0 || access->is_open || access->outside || access->op->code != OP_LOAD;
        reads.elements += access->inside;
        reads.loads++;
        for (int64_t k = 0; access->seen && access->seen_of == buffer && k < bytes; k++)
            seen[k] |= access->seen[k];
    }
    for (int64_t k = 0; k < bytes; k++)
        for (uint8_t bits = seen[k]; bits; bits &= (uint8_t)(bits - 1)) reads.distinct++;
    return reads;
}

/// Whether the tensor is the whole buffer, as its owner made it.
static bool is_whole(const TriedLaunch *tried, int parameter, int64_t numel) {
    const ConcreteArgument *argument = &tried->concrete->arguments[parameter];
    int64_t count = 1;
    for (int axis = 0; axis < argument->rank; axis++) count *= argument->dims[axis];
    return argument->offset == 0 && count == numel;
}

/// Whether what is read follows from the sizes of the tensor alone, and from all of them.
static bool are_those_of(const TriedLaunch *tried, const Leaves *leaves, const Leaves *extent) {
    return leaves_are_certain(tried->launch, leaves, extent) &&
           leaves_are_among(tried->launch, extent, leaves);
}

/// Whether a load before this one reads of the same buffer.
static bool is_read_before(const TriedLaunch *tried, const TrialAccess *access) {
    const TrialAccess *first = tried->trial->accesses.items;
    while (first != access && (first->op->code != OP_LOAD || first->buffer != access->buffer))
        first++;
    return first != access;
}

/// As many elements are read as there are, and still not all: something other than their number is wrong.
static bool check_reread(Check *check, const TriedLaunch *tried, const TrialAccess *access,
                         bool tells) {
    int parameter = tried_parameter(tried, access->buffer);
    if (parameter < 0 || access->buffer < 0 || tried->sizes == HOST_SIZES_WHOLE) return false;
    const ConcreteBuffer *memory = &tried->concrete->buffers.items[access->buffer];
    int64_t numel = memory->numel;
    enum { FEWEST = 64 };
    if (memory->contents != CONTENTS_INPUT || numel < FEWEST || !is_whole(tried, parameter, numel))
        return false;
    ReadCount reads = reads_of(check->arena, tried, access->buffer);
    bool is_exact = access->inside == numel || reads.elements == numel;
    if (reads.is_open || !is_exact || reads.distinct * 8 > numel * 7) return false;
    Leaves extent = leaves_of_extent(tried->launch, parameter), leaves = {0};
    if (!tried_knows_extent(tried, access->buffer, &extent)) return false;
    leaves_add_access(&leaves, tried->launch, check->function, access->op);
    if (!are_those_of(tried, &leaves, &extent)) {
        // a size that the address does not have may count the programs
        for (int axis = 0; axis < PROGRAM_AXES; axis++)
            leaves_add_grid(&leaves, tried->launch, axis);
        if (!are_those_of(tried, &leaves, &extent)) return false;
    }
    if (!tells) return true;
    // what several loads read together is said at the first one
    if (access->inside != numel && is_read_before(tried, access)) return true;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_NEVER_READ, access->op,
        "%lld elements of %s are read, as many as it has, but only %lld different ones, with %s",
        (long long)numel, check->function->parameters[parameter].name, (long long)reads.distinct,
        leaves_print(check->arena, &extent));
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *other = &tried->trial->accesses.items[i];
        if (access->inside != numel && other != access && other->op->code == OP_LOAD &&
            other->buffer == access->buffer)
            check_relate(check, said, other->op, "read here, too");
    }
    launch_relate(check, said, tried);
    return true;
}

bool check_reads_of(Check *check, const TriedLaunch *tried, bool tells) {
    bool any = false;
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        if (access->op->code != OP_LOAD || access->is_open || access->buffer < 0 ||
            check_was_said(check, access->op->range))
            continue;
        any |= check_unwritten(check, tried, access, tells) ||
               check_reread(check, tried, access, tells);
    }
    return any;
}
