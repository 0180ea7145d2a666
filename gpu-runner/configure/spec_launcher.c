// Configurations from the launchers of a module: host code evaluated symbolically (analysis/host/launch.h), small sizes chosen.
#include "gpu-runner/configure/spec_launcher.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_input.h"
#include "analysis/launches/launch_chosen.h"
#include "analysis/launches/launch_functions.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/configure/spec_guess.h"

/// Whether blocks that differ in the launch have to differ: where they would be equal else, or there is no configuration.
typedef enum Apart { APART_NO, APART_ALSO, APART_ONLY } Apart;

enum { EVEN_VARIANTS = 2, VARIANTS = 4 };
/// So many launches of a kernel are tried with the first sizes, and so many with all.
enum { MOST_FIRST = 16, MOST_SITES = 4 };
enum {
    LEAST_BLOCK = 2,
    MOST_KEPT = 64
};  // a larger one that stays would make others too large for a proof

/// What a launch before this one computed: what the launcher filled it with is neither a value to take a derivative at, nor an
/// index, nor the end of a loop.
static bool is_written_before(const ConcreteBuffer *buffer, const ParameterFacts *facts) {
    return buffer->may_be_written && facts->is_loaded && !facts->is_stored && !facts->is_atomic;
}

static Content content_of(const ConcreteBuffer *buffer, const ParameterFacts *facts,
                          DTypeCode dtype, uint64_t seed) {
    if (is_written_before(buffer, facts)) return content_guess(facts, dtype, seed);
    switch (buffer->contents) {
    case CONTENTS_ZEROS: return (Content){.kind = CONTENT_ZERO};
    case CONTENTS_INDICES: return (Content){.kind = CONTENT_MONOTONE, .seed = seed, .high = 1};
    case CONTENTS_FILL:
        return (Content){.kind = dtype_code_is_float(dtype) ? CONTENT_RANDOM : CONTENT_SMALL,
                         .low = buffer->fill,
                         .high = buffer->fill};
    case CONTENTS_INPUT:
    case CONTENTS_EMPTY:
    case CONTENTS_RANDOM:
    case CONTENTS_COMPUTED: break;
    }
    return content_guess(facts, dtype, seed);
}

/// A number that only meets floats: an integer stands for it where the host code does not tell.
static bool is_factor(const ParameterFacts *facts) {
    return facts->is_scale && !facts->is_block && !facts->is_size && !facts->is_stride &&
           !facts->is_trip && !facts->is_divisor && !facts->is_numerator && !facts->is_flag &&
           !facts->is_start && !facts->is_offset && !facts->is_compared_with_loaded;
}

/// False where the launcher does not say.
static bool set_argument(const Function *function, const ParameterFacts *facts,
                         const ConcreteLaunch *launch, int index, uint64_t seed,
                         PlanArgument *argument) {
    const ConcreteArgument *given = &launch->arguments[index];
    const Parameter *parameter = &function->parameters[index];
    argument->name = str_from(parameter->name);
    if (given->kind == CONCRETE_NOTHING) return false;
    if (given->kind == CONCRETE_TENSOR) {
        const ConcreteBuffer *buffer = &launch->buffers.items[given->buffer];
        argument->kind = ARGUMENT_POINTER;
        DTypeCode own =
            pointee_guess(parameter,
                          &facts[index]);  // the kernel knows better that a tensor holds indices
        bool is_index = !dtype_code_is_float(own) && dtype_code_is_float(given->dtype);
        argument->dtype = given->dtype > DTYPE_OF_PARAMETER && !is_index ? given->dtype : own;
        argument->is_type_open =
            given->dtype <= DTYPE_OF_PARAMETER && pointee_is_open(parameter, &facts[index]);
        argument->content =
            content_of(buffer, &facts[index], argument->dtype, hash_mix(seed + (uint64_t)index));
        bool is_kept = !is_written_before(buffer, &facts[index]);
        argument->has_known_content = argument->content.kind == CONTENT_ZERO ||
                                      (is_kept && (buffer->contents == CONTENTS_INDICES ||
                                                   buffer->contents == CONTENTS_FILL));
        argument->rank = argument->stride_count = given->rank;
        int64_t extent = 1, dense = 1;
        argument->is_dense = true;
        for (int i = given->rank - 1; i >= 0; i--) {
            argument->is_dense =
                argument->is_dense && (given->dims[i] == 1 || given->strides[i] == dense);
            dense = size_product(dense, given->dims[i]);
            argument->dims[i] = given->dims[i];
            argument->strides[i] = given->strides[i];
            extent += given->dims[i] > 0 ? size_product(given->dims[i] - 1, given->strides[i]) : 0;
        }
        // what a kernel writes to has to hold all of it: no gradient is written around a view
        argument->has_start = true;
        if (!facts[index].is_stored && !facts[index].is_atomic) argument->before = given->offset;
        bool is_described = parameter->value->type.kind == TYPE_DESCRIPTOR;
        if (buffer->is_extent_certain || is_described)
            argument->extent = extent;
        else
            argument->rank = 0;
        return true;
    }
    if (facts[index].is_dtype && given->constant.kind != CONSTANT_DTYPE) return false;
    if (parameter->is_constexpr || given->constant.kind == CONSTANT_NONE ||
        given->constant.kind == CONSTANT_STRING || given->constant.kind == CONSTANT_DTYPE ||
        given->constant.kind == CONSTANT_TUPLE) {
        argument->kind = ARGUMENT_CONSTANT;
        argument->constant = &given->constant;
    } else if (given->constant.kind == CONSTANT_FLOAT ||
               dtype_is_float(parameter->value->type.element) || is_factor(&facts[index])) {
        argument->kind = ARGUMENT_FLOAT;
        argument->dtype = DTYPE_FLOAT32;
        argument->number = given->constant.kind == CONSTANT_FLOAT ? given->constant.number
                                                                  : (double)given->constant.integer;
    } else {
        argument->kind = ARGUMENT_INTEGER;
        bool wide = given->constant.integer > INT32_MAX || given->constant.integer < INT32_MIN;
        argument->dtype = given->constant.kind == CONSTANT_BOOL ? DTYPE_INT1
                          : wide                                ? DTYPE_INT64
                                                                : DTYPE_INT32;
        argument->integer = given->constant.integer;
    }
    return true;
}

/// Of several functions that launches pass for a constexpr, each in turn; the first variant keeps what its own launcher says.
static void choose_function(Arena *arena, const SpecRequest *request, int index, int variant,
                            ConcreteArgument *given) {
    LaunchFunctions functions = launches_functions(arena, request->symbolic, index);
    bool is_said = given->kind == CONCRETE_SCALAR && (given->constant.kind == CONSTANT_FUNCTION ||
                                                      given->constant.kind == CONSTANT_NONE);
    if (functions.count == 0 || (is_said && variant == 0)) return;
    given->kind = CONCRETE_SCALAR;
    given->constant = launch_function_constant(&functions.items[variant % functions.count]);
}

/// Whether all sizes in a value, and numbers of the caller's where these count, are of one input, `*only`, which the first of
/// them decides.
static bool has_one(const HostValue *value, bool with_numbers, const HostInput **only) {
    if (!value) return true;
    bool is_number = value->kind == HOST_INPUT && value->input->kind == INPUT_INT;
    bool is_source =
        value->kind == HOST_SIZE || value->kind == HOST_RANK || (with_numbers && is_number);
    if (is_source && !*only) *only = value->input;
    if (is_source) return *only == value->input;
    for (int i = 0; i < value->count; i++)
        if (!has_one(value->items[i], with_numbers, only)) return false;
    return true;
}

static bool has_one_source(const HostValue *value, const HostInput **only) {
    return has_one(value, false, only);
}

/// Sizes of different tensors of the caller's may not fit each other, as nothing says that they must.
static bool launch_has_one_source(const HostLaunch *host, const HostInput **only) {
    for (int i = 0; i < host->argument_count; i++) {
        const HostValue *value = host->arguments[i].value;
        bool is_tensor = value && value->kind == HOST_TENSOR;
        if (!is_tensor && !has_one_source(value, only)) return false;
    }
    for (int i = 0; i < host->grid_rank; i++)
        if (!has_one_source(host->grid[i], only)) return false;
    return true;
}

/// Whether the host code asks for sizes of a tensor of which it does not tell how many there are.
static bool guesses_rank(const HostInput *input) {
    bool reads = false;
    for (int i = 0; i < input->rank; i++) reads = reads || input->is_dim_read[i];
    return input->kind == INPUT_TENSOR && !input->is_rank_certain && reads;
}

/// Which tensor of the caller's decides each number, each buffer's size and each axis of the grid. A buffer of a size that the
/// caller passes as a number is as long as that: nothing says that sizes of tensors fit into it.
static void note_sources(const HostLaunch *host, PlanConfiguration *configuration) {
    for (int i = 0; i < host->argument_count; i++) {
        const HostValue *value = host->arguments[i].value;
        const HostInput *only = NULL;
        bool is_tensor = value && value->kind == HOST_TENSOR;
        bool is_one = value && (is_tensor || has_one_source(value, &only));
        for (int d = 0; is_tensor && is_one && d < value->tensor->rank; d++)
            is_one = has_one(value->tensor->dims[d], true, &only);
        configuration->arguments[i].source = only;
        configuration->arguments[i].has_sources = !is_one || (only && guesses_rank(only));
    }
    for (int axis = 0; axis < host->grid_rank; axis++) {
        const HostInput *only = NULL;
        bool is_one = has_one_source(host->grid[axis], &only);
        configuration->has_grid_sources[axis] = !is_one || (only && guesses_rank(only));
        configuration->grid_source[axis] = only;
    }
}

/// How much of an input's name is that of the object which it is read off: 3 of "ctx.n"; 0 of an argument.
static size_t object_name_size(const HostInput *input) {
    const char *dot = strchr(input->name, '.');
    return dot ? (size_t)(dot - input->name) : 0;
}

/// Whether one object gives the launch a whole number and a tensor.
static bool has_numbers_beside_tensors(const HostLaunch *host) {
    for (LIST_EACH(int, i, host->inputs)) {
        const HostInput *number = host->inputs.items[i];
        bool is_whole = number->kind == INPUT_INT || number->kind == INPUT_UNDECIDED;
        size_t size = is_whole ? object_name_size(number) : 0;
        for (int k = 0; size && k < host->inputs.count; k++) {
            const HostInput *tensor = host->inputs.items[k];
            if (tensor->kind == INPUT_TENSOR && object_name_size(tensor) == size &&
                memcmp(tensor->name, number->name, size) == 0)
                return true;
        }
    }
    return false;
}

/// Of a tensor whose rank is a guess an inner stride may be 1 where it is none, so that its rows overlap.
static void note_ranks(const HostLaunch *host, PlanConfiguration *configuration) {
    for (int i = 0; i < host->argument_count; i++) {
        const HostValue *value = host->arguments[i].value;
        const HostInput *like = !value                       ? NULL
                                : value->kind == HOST_TENSOR ? value->tensor->like
                                : value->kind == HOST_INPUT  ? value->input
                                                             : NULL;
        for (LIST_EACH(int, k, host->inputs)) {
            const HostInput *input = host->inputs.items[k];
            if (like && strcmp(like->name, input->name) == 0 && input->is_last_stride_read &&
                !input->is_rank_certain)
                configuration->arguments[i].has_guessed_rank = true;
        }
    }
}

/// Whether the host code is understood up to the launch: nothing in it is made up but the launcher's own arguments.
static bool is_followed(const HostLaunch *host) {
    if (host->reason) return false;
    for (LIST_EACH(int, i, host->inputs)) {
        const HostInput *input = host->inputs.items[i];
        if (!input->is_argument && input->kind != INPUT_OBJECT) return false;
    }
    return true;
}

static bool guesses_ranks(const HostLaunch *host) {
    for (LIST_EACH(int, i, host->inputs))
        if (guesses_rank(host->inputs.items[i])) return true;
    return false;
}

/// Whether the numbers are those that the launcher passes: none was mended to fit the others.
static bool is_kept(const PlanConfiguration *passed, const PlanConfiguration *filled) {
    for (int i = 0; i < passed->argument_count; i++) {
        const PlanArgument *a = &passed->arguments[i], *b = &filled->arguments[i];
        if (a->kind != b->kind || a->extent != b->extent) return false;
        if (a->kind == ARGUMENT_INTEGER && a->integer != b->integer) return false;
        bool is_number = a->kind == ARGUMENT_CONSTANT && a->constant != b->constant &&
                         constant_is_int(a->constant) && constant_is_int(b->constant);
        if (is_number && a->constant->integer != b->constant->integer) return false;
    }
    return memcmp(passed->grid, filled->grid, sizeof passed->grid) == 0;
}

/// Whether Python refuses the launch: what its arguments are is anybody's guess.
static bool is_refused(const HostLaunch *host) {
    for (LIST_EACH(int, i, host->problems)) {
        HostProblemKind kind = host->problems.items[i].kind;
        if (kind == PROBLEM_GIVEN_TWICE || kind == PROBLEM_TOO_MANY_ARGUMENTS) return true;
    }
    return false;
}

/// How many warps and stages the launch asks for.
static void note_options(const HostLaunch *host, PlanConfiguration *configuration) {
    for (LIST_EACH(int, i, host->options)) {
        const HostOption *option = &host->options.items[i];
        const HostValue *value = option->value;
        bool is_number = value && (value->kind == HOST_CONSTANT || value->is_concrete) &&
                         value->constant.kind == CONSTANT_INT && value->constant.integer > 0 &&
                         value->constant.integer <= 64;
        if (is_number && str_is(option->name, "num_warps"))
            configuration->warps = (int)value->constant.integer;
        if (is_number && str_is(option->name, "num_stages"))
            configuration->stages = (int)value->constant.integer;
    }
}

// --- blocks that stay apart ---

static const HostLaunch *evaluate_blocks(const Module *module, const LaunchSite *site,
                                         HostPolicy policy, bool keep_blocks) {
    policy.keep_blocks = keep_blocks;
    policy.apart = policy.apart_kept = 0;
    policy.sizes = HOST_SIZES_USUAL;
    const HostLaunch *host = host_launch(module, site, &policy);
    return host && host->is_reached ? host : NULL;
}

/// Whether the number stands in the host code, as in `min(64, triton.next_power_of_2(n))`.
static bool has_literal(const HostValue *value, int64_t number) {
    bool is_number = value->kind == HOST_CONSTANT || value->kind == HOST_INPUT;  // a default, too
    if (is_number) return value->is_concrete && value->constant.integer == number;
    for (int i = 0; i < value->count; i++)
        if (value->items[i] && has_literal(value->items[i], number)) return true;
    return false;
}

/// The power of two that a launch passes for a constexpr; 0: it passes none, or one that is made of sizes alone.
static int64_t block_of(const HostLaunch *host, int index) {
    const HostValue *value = host->arguments[index].value;
    if (!host->kernel->parameters[index].is_constexpr || !value || !value->is_concrete ||
        value->constant.kind != CONSTANT_INT)
        return 0;
    int64_t block = value->constant.integer;
    bool is_block = block >= LEAST_BLOCK && (block & (block - 1)) == 0;
    return is_block && has_literal(value, block) ? block : 0;
}

/// Blocks that the launch passes for different constexprs are noted in the policy, where made small they would be one number,
/// or in another order: what takes one for the other would be right in all of a proof. Nothing is changed where they would not.
static void keep_apart(const Module *module, const LaunchSite *site, HostPolicy *policy) {
    const HostLaunch *written = evaluate_blocks(module, site, *policy, true);
    const HostLaunch *small = written ? evaluate_blocks(module, site, *policy, false) : NULL;
    if (!small || small->argument_count != written->argument_count) return;
    uint64_t apart = 0, kept = 0;
    bool meets = false;
    for (int i = 0; i < written->argument_count; i++) {
        int64_t block = block_of(written, i), made = block_of(small, i);
        if (!block || !made) continue;
        bool is_kept = made == block;
        if (is_kept && block > MOST_KEPT) continue;
        apart |= (uint64_t)block;
        if (is_kept) kept |= (uint64_t)block;
        for (int k = 0; k < i; k++) {
            int64_t other = block_of(written, k), other_made = block_of(small, k);
            bool counts = other && other_made && (apart & (uint64_t)other);
            meets = meets || (counts && other < block && other_made >= made) ||
                    (counts && other > block && other_made <= made);
        }
    }
    if (!meets) return;
    policy->apart = apart;
    policy->apart_kept = kept;
}

/// Notes on each argument which block the launch passes as it is written, under a policy that `keep_apart` may have seen.
static void note_written(const Module *module, const LaunchSite *site, const HostPolicy *policy,
                         PlanConfiguration *configuration) {
    const HostLaunch *written = evaluate_blocks(module, site, *policy, true);
    if (!written || written->argument_count != configuration->argument_count) return;
    for (int i = 0; i < configuration->argument_count; i++)
        configuration->arguments[i].written = block_of(written, i);
}

/// Whether a block that was kept apart from others is larger than it is elsewhere: sizes are not made for it.
static bool is_enlarged(const HostPolicy *policy, const PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count && policy->apart; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->written && argument->kind == ARGUMENT_CONSTANT &&
            constant_is_int(argument->constant) &&
            argument->constant->integer > host_small_block(argument->written))
            return true;
    }
    return false;
}

/// What the launcher leaves open is guessed from the kernel, first candidate only.
static void add_launch(Arena *arena, const SpecRequest *request, const ParameterFacts *facts,
                       const LaunchSite *site, int variant, HostSizes sizes, Apart apart,
                       Configurations *all) {
    HostPolicy policy = {.seed = request->seed + (uint64_t)variant,
                         .variant = variant,
                         .sizes = sizes,
                         .function = request->symbolic};
    if (apart != APART_NO) keep_apart(request->module, site, &policy);
    if (apart == APART_ONLY && !policy.apart) return;
    const HostLaunch *host = host_launch(request->module, site, &policy);
    if (!host || !host->is_reached || is_refused(host) ||
        host->argument_count != request->symbolic->parameter_count)
        return;
    ConcreteLaunch *launch = host_concretize(arena, host);
    PlanConfiguration fixed = configuration_open(arena, request->kernel);
    fixed.origin = SPEC_LAUNCHER;
    fixed.site = site;
    int open = 0;
    for (int i = 0; i < fixed.argument_count; i++) {
        choose_function(arena, request, i, variant, &launch->arguments[i]);
        bool is_chosen = host_argument_is_chosen(&host->arguments[i]);
        if (is_chosen && facts[i].tile_axes)
            launch->arguments[i].constant = constant_of_int(variant % facts[i].tile_axes);
        if (!set_argument(request->symbolic, facts, launch, i, request->seed,
                          &fixed.arguments[i])) {
            open++;
        } else {
            fixed.arguments[i].is_caller_choice = is_chosen;
        }
    }
    if (3 * open > fixed.argument_count) return;
    int64_t programs = launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (programs > 0 && programs < 100000) {
        memcpy(fixed.grid, launch->grid, sizeof fixed.grid);
        fixed.grid_is_known = true;
    }
    Error error = NULL;
    Configurations filled = spec_guess(arena, request, &fixed, &error);
    if (!filled.count) return;
    filled.items[0].is_fallback = sizes == HOST_SIZES_EVEN || sizes == HOST_SIZES_WHOLE;
    filled.items[0].is_divisible = sizes == HOST_SIZES_DIVISIBLE;
    filled.items[0].is_extra = sizes == HOST_SIZES_LARGE || sizes == HOST_SIZES_SMALL ||
                               sizes == HOST_SIZES_DIVISIBLE || sizes == HOST_SIZES_FEW;
    note_ranks(host, &filled.items[0]);
    note_written(request->module, site, &policy, &filled.items[0]);
    note_options(host, &filled.items[0]);
    const HostInput *source = NULL;
    // sizes that are tried for what they show say nothing against a launcher that is made for others
    filled.items[0].is_passed =
        !filled.items[0].is_extra && !is_enlarged(&policy, &filled.items[0]) && open == 0 &&
        fixed.grid_is_known && is_followed(host) && is_kept(&fixed, &filled.items[0]);
    filled.items[0].is_launch =
        filled.items[0].is_passed && !guesses_ranks(host) && launch_has_one_source(host, &source);
    note_sources(host, &filled.items[0]);
    filled.items[0].fits_object = has_numbers_beside_tensors(host);
    LIST_PUSH(arena, all, filled.items[0]);
}

/// Kernels whose last block may not be cut, or that cover a dimension with one tile.
static void add_even(Arena *arena, const SpecRequest *request, const ParameterFacts *facts,
                     const LaunchSite *site, Configurations *all) {
    add_launch(arena, request, facts, site, 0, HOST_SIZES_WHOLE, APART_ONLY, all);
    for (int variant = 0; variant < EVEN_VARIANTS; variant++)
        add_launch(arena, request, facts, site, variant, HOST_SIZES_EVEN, APART_NO, all);
    add_launch(arena, request, facts, site, 0, HOST_SIZES_WHOLE, APART_NO, all);
}

static void add_usual(Arena *arena, const SpecRequest *request, const ParameterFacts *facts,
                      const LaunchSite *site, Configurations *all) {
    // before the others: what is right with a remainder may be wrong where halves and quarters are whole
    add_launch(arena, request, facts, site, 0, HOST_SIZES_DIVISIBLE, APART_NO, all);
    for (int variant = 0; variant < VARIANTS; variant++)
        add_launch(arena, request, facts, site, variant, HOST_SIZES_USUAL,
                   variant ? APART_ALSO : APART_NO, all);
    for (HostSizes extra = HOST_SIZES_LARGE; extra <= HOST_SIZES_SMALL; extra++)
        add_launch(arena, request, facts, site, 0, extra, APART_NO, all);
    add_launch(arena, request, facts, site, 0, HOST_SIZES_USUAL, APART_ONLY, all);
    bool is_literal = all->count && configuration_has_literal_grid(&all->items[all->count - 1]);
    if (is_literal) add_launch(arena, request, facts, site, 0, HOST_SIZES_FEW, APART_NO, all);
}

Configurations spec_from_launchers(Arena *arena, const SpecRequest *request, bool is_even) {
    Configurations all = {0};
    const ParameterFacts *facts = facts_of(arena, request->symbolic);
    // each launch once, before any is tried with other sizes: programs may meet in one of them alone
    for (int is_first = !is_even; is_first >= 0; is_first--) {
        int sites = 0;
        for (LIST_EACH(int, i, request->module->launches)) {
            const LaunchSite *site = &request->module->launches.items[i];
            if (site->kernel != request->kernel) continue;
            if (sites++ >= (is_first ? MOST_FIRST : MOST_SITES)) break;
            if (is_first)
                add_launch(arena, request, facts, site, 0, HOST_SIZES_SEVERAL, APART_ALSO, &all);
            else if (is_even)
                add_even(arena, request, facts, site, &all);
            else
                add_usual(arena, request, facts, site, &all);
        }
    }
    return all;
}
