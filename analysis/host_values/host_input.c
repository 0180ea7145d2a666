// What host code gets from outside: names it, learns its kind from its uses, gives it a concrete value.
#include "analysis/host_values/host_input.h"

#include "analysis/host_values/host.h"
#include "analysis/host_values/host_value.h"

#include <string.h>

/// A small deterministic number below `bound` for what has this name, under this seed.
static int64_t choose_for(const Host *host, const char *name, int salt, int64_t bound) {
    uint64_t hash = host->policy.seed * 0x9E3779B97F4A7C15u + (uint64_t)salt * 0xD1B54A32D192ED03u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (uint64_t)(unsigned char)*c) * 0x100000001B3u;
    hash ^= hash >> 29;
    return (int64_t)(hash % (uint64_t)bound);
}

static int64_t choose(const Host *host, const HostInput *input, int salt, int64_t bound) {
    return choose_for(host, input->name, salt, bound);
}

/// Sizes that are no multiple of a block of 16; short for what is likely a batch.
static int64_t choose_dim(const Host *host, const HostInput *input, int axis, int rank) {
    static const int64_t inner[HOST_SIZES_COUNT][2][4] = {
        [HOST_SIZES_USUAL] = {{37, 43, 41, 35}, {21, 19, 23, 18}},
        [HOST_SIZES_SEVERAL] = {{37, 43, 41, 35}, {35, 37, 39, 34}},
        [HOST_SIZES_LARGE] = {{67, 73, 71, 69}, {69, 67, 75, 71}},
        [HOST_SIZES_SMALL] = {{11, 13, 9, 7}, {5, 7, 3, 6}},
        [HOST_SIZES_WHOLE] = {{64, 64, 64, 64}, {64, 64, 64, 64}},
        [HOST_SIZES_TINY] = {{2, 2, 2, 2}, {2, 2, 2, 2}},
        [HOST_SIZES_TALL] = {{21, 18, 19, 23}, {33, 29, 41, 25}},
        [HOST_SIZES_EIGHTFOLD] = {{299, 347, 331, 283}, {171, 155, 187, 147}},
        [HOST_SIZES_EIGHTFOLD_TALL] = {{171, 147, 155, 187}, {265, 233, 331, 203}},
        [HOST_SIZES_LONG] = {{299, 347, 331, 283}, {5, 7, 3, 6}},
        [HOST_SIZES_LONG_TALL] = {{11, 13, 9, 7}, {265, 233, 331, 203}},
        [HOST_SIZES_LONGEST] = {{2391, 2777, 2649, 2265}, {5, 7, 3, 6}},
        [HOST_SIZES_DIVISIBLE] = {{36, 24, 60, 36}, {24, 12, 36, 24}},
        [HOST_SIZES_FEW] = {{5, 6, 5, 6}, {4, 4, 4, 4}},
    };
    static const int64_t even[] = {16, 8}, outer[] = {2, 3};
    int from_end = rank - 1 - axis;
    if (host->policy.sizes == HOST_SIZES_EVEN && from_end < 2)
        return even[from_end + choose(host, input, axis, 2 - from_end)];
    // what launchers do not compare has mostly one size in all tensors
    const char *name = host->policy.sizes == HOST_SIZES_SEVERAL ? "" : input->name;
    if (from_end < 2)
        return inner[host->policy.sizes][from_end][choose_for(host, name, from_end, 4)];
    if (!*name) return outer[from_end % 2];
    return outer[(axis + choose(host, input, 7, 2)) % 2];
}

static void choose_dims(const Host *host, HostInput *input) {
    for (int axis = 0; axis < TYPE_MAX_RANK; axis++)
        input->dims[axis] = axis < input->rank ? choose_dim(host, input, axis, input->rank) : 1;
}

HostInput *host_input(Host *host, const char *name) {
    for (int i = 0; i < host->inputs.count; i++)
        if (strcmp(host->inputs.items[i]->name, name) == 0) return host->inputs.items[i];
    HostInput *input = ARENA_NEW(host->arena, HostInput);
    input->name = name;
    input->rank = 2;
    input->argument = -1;
    choose_dims(host, input);
    LIST_PUSH(host->arena, &host->inputs, input);
    return input;
}

bool host_flag_bit(Host *host) {
    int bit = host->flag_count++;
    return bit < 31 && (host->policy.variant >> bit & 1) != 0;
}

/// A whole number that the caller passes; one that divides all sizes where they are to be divisible.
static int64_t choose_number(const Host *host, const HostInput *input) {
    switch (host->policy.sizes) {
    case HOST_SIZES_WHOLE: return 64;
    case HOST_SIZES_EVEN: return 8;
    case HOST_SIZES_DIVISIBLE: return 2 + choose(host, input, 1, 3);
    default: return 4 + choose(host, input, 1, 2);
    }
}

static void set_int(HostInput *input, int64_t value) { input->constant = constant_of_int(value); }

void host_decide(Host *host, HostInput *input, HostInputKind kind) {
    bool is_corrected = input->is_guess && kind == INPUT_TENSOR;
    if (input->kind != INPUT_UNDECIDED && !is_corrected) return;
    input->kind = kind;
    input->is_guess = false;
    host->is_changed = true;
    switch (kind) {
    case INPUT_INT: set_int(input, choose_number(host, input)); break;
    case INPUT_FLOAT:
        input->constant = constant_of_float(0.5 + 0.125 * (double)choose(host, input, 1, 4));
        break;
    case INPUT_BOOL: {
        bool on = host_flag_bit(host);
        input->constant = constant_of_bool(on);
        break;
    }
    case INPUT_STRING: input->constant = constant_of_string((Str){0}); break;
    case INPUT_DTYPE: input->dtype = DTYPE_FLOAT32; break;
    default: break;
    }
}

void host_guess(Host *host, const HostValue *value, HostInputKind kind) {
    if (value->kind == HOST_INPUT && value->input->kind == INPUT_UNDECIDED) {
        host_decide(host, value->input, kind);
        value->input->is_guess = true;
    }
    if (value->kind != HOST_OPERATION) return;
    for (int i = 0; i < value->count; i++) host_guess(host, value->items[i], kind);
}

bool host_may_be_tensor(const HostInput *input) {
    return input->kind == INPUT_UNDECIDED || input->is_guess;
}

void host_want(Host *host, const HostValue *value, HostInputKind kind) {
    if (value->kind == HOST_INPUT) host_decide(host, value->input, kind);
    if (value->kind != HOST_OPERATION) return;
    for (int i = 0; i < value->count; i++) host_want(host, value->items[i], kind);
}

void host_set_rank(Host *host, HostInput *input, int rank) {
    if (rank < 0 || rank > TYPE_MAX_RANK) return;
    if (input->rank != rank) {
        input->rank = rank;
        choose_dims(host, input);
        host->is_changed = true;
    }
    input->is_rank_certain = true;
    input->has_more_axes = false;
}

const HostValue *host_look_at(const HostValue *size) {
    if (size->kind == HOST_SIZE) size->input->is_dim_read[size->axis] = true;
    return size;
}

int64_t host_small_block(int64_t value) { return value < 32 ? value : value < 128 ? 16 : 32; }

int64_t host_divided_block(int64_t value) {
    bool is_block = value >= 16 && value <= 4096 && (value & (value - 1)) == 0;
    return is_block ? value / 8 : value;
}

static bool mentions(Str annotation, const char *word) {
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= annotation.size; i++)
        if (memcmp(annotation.data + i, word, size) == 0) return true;
    return false;
}

/// The kind that an annotation such as `torch.Tensor`, `Optional[float]` or `int` names.
static HostInputKind annotated_kind(Str annotation) {
    static const struct {
        const char *word;
        HostInputKind kind;
    } words[] = {{"Tensor", INPUT_TENSOR}, {"Parameter", INPUT_TENSOR}, {"bool", INPUT_BOOL},
                 {"dtype", INPUT_DTYPE},   {"float", INPUT_FLOAT},      {"int", INPUT_INT},
                 {"str", INPUT_STRING}};
    if (mentions(annotation, "List[") || mentions(annotation, "list[") ||
        mentions(annotation, "Tuple[") || mentions(annotation, "tuple[") ||
        mentions(annotation, "Callable"))
        return INPUT_UNDECIDED;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (mentions(annotation, words[i].word)) return words[i].kind;
    return INPUT_UNDECIDED;
}

void host_default(Host *host, HostInput *input, Str annotation, const HostValue *value) {
    HostInputKind kind = annotated_kind(annotation);
    bool optional = mentions(annotation, "Optional") || mentions(annotation, "None") ||
                    (value && host_is_none(value));
    if (value && value->is_concrete) {
        switch (value->constant.kind) {
        case CONSTANT_BOOL: kind = INPUT_BOOL; break;
        case CONSTANT_INT: kind = kind == INPUT_FLOAT ? INPUT_FLOAT : INPUT_INT; break;
        case CONSTANT_FLOAT: kind = INPUT_FLOAT; break;
        case CONSTANT_STRING: kind = INPUT_STRING; break;
        case CONSTANT_DTYPE: kind = INPUT_DTYPE; break;
        default: break;
        }
    }
    bool changed = host->is_changed;
    if (kind != INPUT_UNDECIDED) host_decide(host, input, kind);
    if (optional) {
        input->is_optional = true;
        input->kind_when_given = kind;
        if (!host_flag_bit(host)) input->kind = INPUT_NONE;
    }
    host->is_changed = changed;
    if (!value || !value->is_concrete || value->constant.kind == CONSTANT_NONE) return;
    if (kind == INPUT_DTYPE) {
        input->dtype = value->constant.dtype.code;
    } else if (kind == INPUT_BOOL) {
        bool on = input->constant.integer !=
                  value->constant.integer;  // the variant's bit flips the default
        input->constant = constant_of_bool(on);
    } else {
        input->constant = value->constant;
        input->has_default = true;
        if (kind == INPUT_FLOAT && value->constant.kind == CONSTANT_INT)
            input->constant = constant_of_float((double)value->constant.integer);
    }
}
