// Tries launches with numbers: accesses beyond a tensor, elements that nobody stores, programs that have nothing to do.
#include "analysis/checks/check_arguments.h"
#include "analysis/checks/check_instances.h"
#include "analysis/host_values/host_value.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_later.h"
#include "analysis/syntax/syntax_nodes.h"
#include "analysis/trial/leaves.h"
#include "analysis/trial/trial.h"

/// Elements that a trial may compute: a first one, as somebody types, and one that confirms what it found.
enum { FIRST_STEPS = 3000000, CONFIRMING_STEPS = 12000000, MOST_PROGRAMS = 4096 };
/* ---- making a trial ---- */

/// Whether the kernel itself has a number that a launcher's block could be: then blocks stay as they are.
static bool has_blocks_of_its_own(const Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        for (int k = 0; k < op->operand_count; k++) {
            int64_t number;
            const Value *value = op->operands[k];
            if (value && value->type.kind == TYPE_NUMBER && value_is_int(value, &number) &&
                number >= 16 && (number & (number - 1)) == 0)
                return true;
        }
    }
    return false;
}

/// A trial that the steps end is one, too: what it has touched is touched.
static bool try_launch(Check *check, const LaunchSite *site, HostPolicy policy, int64_t steps,
                       TriedLaunch *tried) {
    policy.function = check->function;
    if (!launch_lower(check, site, policy, tried)) return false;
    const int64_t *grid = tried->concrete->grid;
    int64_t programs = grid[0] * grid[1] * grid[2];
    if (programs < 1 || (programs > MOST_PROGRAMS && steps == FIRST_STEPS)) return false;
    for (int i = 0; i < tried->said->list.count; i++)
        if (tried->said->list.items[i].severity == SEVERITY_ERROR) return false;
    tried->trial = trial_new(check->arena, tried->function, tried->concrete, steps);
    if (tried->trial) trial_run_all(tried->trial);
    return tried->trial != NULL;
}

/* ---- telling ---- */

int tried_parameter(const TriedLaunch *tried, int buffer) {
    for (int p = 0; p < tried->concrete->argument_count; p++)
        if (tried->concrete->arguments[p].kind == CONCRETE_TENSOR &&
            tried->concrete->arguments[p].buffer == buffer)
            return p;
    return -1;
}

bool tried_speaks_of(const TriedLaunch *tried, const Leaves *sizes) {
    Leaves spoken = {0};
    for (int i = 0; i < tried->launch->argument_count; i++) {
        leaves_add_argument(&spoken, tried->launch, i);
        spoken.is_open = false;
    }
    for (int axis = 0; axis < tried->launch->grid_rank; axis++) {
        leaves_add_grid(&spoken, tried->launch, axis);
        spoken.is_open = false;
    }
    return leaves_are_among(tried->launch, sizes, &spoken);
}

bool tried_knows_extent(const TriedLaunch *tried, int buffer, const Leaves *extent) {
    const ConcreteBuffer *memory = &tried->concrete->buffers.items[buffer];
    return memory->is_extent_certain ||
           (memory->contents == CONTENTS_INPUT && tried_speaks_of(tried, extent));
}

static Range grid_range(const TriedLaunch *tried) {
    const LaunchSite *site = tried->launch->site;
    return node_range(site->kernel->module->source, launch_grid(site).value);
}

/// Relates the launch, and where its launcher makes the tensor.
static void relate_tensor(Check *check, Diagnostic *said, const TriedLaunch *tried, int parameter) {
    const LaunchSite *site = tried->launch->site;
    launch_relate(check, said, tried);
    const Range range = tried->launch->arguments[parameter].range;
    const Source *source = site->kernel->module->source;
    if (!said || !site->launcher || range.source != source) return;
    SyntaxNode argument = node_at(site->call, range.start, range.end);
    if (node_kind(argument) != SYNTAX_IDENTIFIER) return;
    SyntaxNode made = launcher_binding(site->launcher, node_text(source, argument));
    if (!node_is_null(made) && node_kind(made) == SYNTAX_CALL)
        diagnostic_relate(check->diagnostics, said, node_range(source, made), "made here");
}

/// Relates the program ids that are 0 in all programs: of axes that the grid does not have.
static void relate_missing_axes(Check *check, Diagnostic *said, const TriedLaunch *tried) {
    for (LIST_EACH(int, i, check->program_ids)) {
        const Op *op = check->program_ids.items[i];
        int64_t axis;
        if (value_is_int(op->operands[0], &axis) && axis >= tried->launch->grid_rank && !op->call)
            check_relate(check, said, op, "0 in all programs: the grid does not have this axis");
    }
}

/* ---- beyond a tensor ---- */

/// Whether the author does not count on whole blocks: other masks bound each size of the tensor, or the launch is made for any.
static bool are_bounded_elsewhere(Check *check, const TriedLaunch *tried, const Leaves *extent) {
    Leaves bounds = {0};
    leaves_add_any(&bounds, tried->launch);
    leaves_add_remainders(&bounds, tried->launch, check->function);
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        if (!access->is_open && !access->outside && access->wide &&
            !(access->wide & ~access->bounded))
            leaves_add_bounds(&bounds, tried->launch, check->function, access->op);
    }
    return leaves_are_among(tried->launch, extent, &bounds);
}

/// Whether an address steps by a number that stands in the text.
static intptr_t steps_by_number(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    int64_t number;
    if (!op || (op_rows[op->code].effects & EFFECT_READS)) return false;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        if (op->code == OP_MUL && operand && value_is_int(operand, &number) && number > 1)
            return true;
        if (walk_ask(walk, operand)) return true;
    }
    return false;
}

/// Whether the kernel knows by itself how long a row is: its access, with constexprs open, is at the same place.
static bool has_rows_of_its_own(const Check *check, const Op *access) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->code == access->code && op->range.start == access->range.start &&
            op->range.source == access->range.source && op->operand_count &&
            walk_from(op->operands[0], steps_by_number, false, NULL))
            return true;
    }
    return false;
}

/// Whether the access goes along a block in a loop, as in `for i in range(BLOCK)`, and not as lanes.
static bool loops_along_block(Check *check, const Op *access) {
    for (const Op *outer = access->parent->parent; outer; outer = outer->parent->parent) {
        int64_t end;
        if (outer->code != OP_FOR || !value_is_int(outer->operands[1], &end) || end < 2) continue;
        for (int i = 0; i < outer->regions[0]->argument_count; i++)
            if (value_depends_on(check->arena, access->operands[0], outer->regions[0]->arguments[i],
                                 NULL))
                return true;
    }
    return false;
}

/// Whether the author may count on whole blocks: along some axis, of lanes or of a loop over a block, there is no mask.
static bool counts_on_blocks(Check *check, const TriedLaunch *tried, const TrialAccess *access) {
    return (access->wide & ~access->bounded) ||
           (tried->concrete->buffers.items[access->buffer].contents == CONTENTS_INPUT &&
            loops_along_block(check, access->op));
}

/// Whether the text says how many programs the axis has, and no access has a mask: the author has tensors of one size in mind.
static bool is_made_for_one_size(const Check *check, const TriedLaunch *tried, int axis) {
    for (LIST_EACH(int, i, check->memory)) {
        const Value *mask = check->memory.items[i]->mask;
        if (mask && !value_is_none(mask)) return false;
    }
    return axis < tried->launch->grid_rank && tried->launch->grid[axis]->kind == HOST_CONSTANT;
}

/// Whether strides alone tell some size of the extent: `n` is passed for both axes of a tensor that is taken for a square one.
static bool is_told_by_strides(Check *check, const TriedLaunch *tried, const Leaves *extent) {
    const LaunchSite *site = tried->launch->site;
    const Source *source = site->kernel->module->source;
    CheckedArguments given = arguments_read(check, source, site->launcher, site->call);
    Leaves spoken = {0};
    for (int i = 0; i < tried->launch->argument_count; i++) {
        const CheckedArgument *argument = arguments_find(site->kernel, &given, i);
        bool is_stride = argument && (node_is_null(argument->value) ||
                                      text_contains(node_text(source, argument->value), "stride"));
        if (!is_stride) leaves_add_argument(&spoken, tried->launch, i);
        spoken.is_open = false;
    }
    for (int axis = 0; axis < tried->launch->grid_rank; axis++) {
        leaves_add_grid(&spoken, tried->launch, axis);
        spoken.is_open = false;
    }
    return !leaves_are_among(tried->launch, extent, &spoken);
}

/// Whether the access leaves its tensor as well where what is long there is short, and the other way round.
static bool leaves_turned_one(Check *check, const TriedLaunch *tried, const Op *op) {
    bool is_tall = tried->sizes == HOST_SIZES_TALL || tried->sizes == HOST_SIZES_EIGHTFOLD_TALL ||
                   tried->sizes == HOST_SIZES_LONG_TALL;
    bool keeps_blocks = has_blocks_of_its_own(check);
    const HostPolicy policy = {.keep_blocks = keeps_blocks,
                               .divide_blocks = !keeps_blocks,
                               .sizes = is_tall ? HOST_SIZES_USUAL : HOST_SIZES_TALL};
    TriedLaunch turned;
    if (!try_launch(check, tried->launch->site, policy, FIRST_STEPS, &turned)) return true;
    for (LIST_EACH(int, i, turned.trial->accesses)) {
        const TrialAccess *access = &turned.trial->accesses.items[i];
        if (access->outside && access->op->code == op->code &&
            access->op->range.source == op->range.source &&
            access->op->range.start == op->range.start)
            return true;
    }
    return false;
}

static bool is_outside_by_sizes(Check *check, const TriedLaunch *tried, const TrialAccess *access,
                                Leaves *extent) {
    if (!access->outside || access->buffer < 0) return false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (access->program[axis] && is_made_for_one_size(check, tried, axis)) return false;
    int parameter = tried_parameter(tried, access->buffer);
    if (parameter < 0) return false;
    const ConcreteBuffer *memory = &tried->concrete->buffers.items[access->buffer];
    if (memory->contents != CONTENTS_INPUT && !launch_leaves(tried->launch, parameter))
        return false;
    *extent = leaves_of_extent(tried->launch, parameter);
    if (!tried_knows_extent(tried, access->buffer, extent)) return false;
    // a size that the launch does not speak of is what the kernel takes it for: planes in threes
    if (has_rows_of_its_own(check, access->op) && !tried_speaks_of(tried, extent)) return false;
    if (counts_on_blocks(check, tried, access) && tried->sizes != HOST_SIZES_WHOLE &&
        !are_bounded_elsewhere(check, tried, extent))
        return false;
    Leaves leaves = {0};
    leaves_add_access(&leaves, tried->launch, check->function, access->op);
    if (leaves_are_certain(tried->launch, &leaves, extent)) return true;
    // the caller may make a tensor as large as it takes, where another of its sizes is not spoken of
    bool is_made = memory->contents != CONTENTS_INPUT;
    if (has_blocks_of_its_own(check)) return false;  // a size may have to be as large
    return (is_made ||
            (leaves_have_ranks(extent) && leaves_are_among(tried->launch, extent, &leaves))) &&
           leaves_are_apart(tried->launch, check->function, &leaves, extent);
}

static bool is_certainly_outside(Check *check, const TriedLaunch *tried, const TrialAccess *access,
                                 Leaves *extent) {
    return is_outside_by_sizes(check, tried, access, extent) &&
           (!is_told_by_strides(check, tried, extent) ||
            leaves_turned_one(check, tried, access->op));
}

static void relate_mask(Check *check, Diagnostic *said, const Op *access) {
    const Value *mask = check_operand(access, "mask");
    if (mask && mask->op) check_relate(check, said, mask->op, "the mask");
}

static void tell_outside(Check *check, const TriedLaunch *tried, const TrialAccess *access,
                         const Leaves *extent) {
    const TrialBuffer *buffer = &tried->trial->buffers[access->buffer];
    int parameter = tried_parameter(tried, access->buffer);
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_OUT_OF_BOUNDS, access->op,
        "program (%lld, %lld, %lld) touches element %lld of %s, which has %lld, with %s",
        (long long)access->program[0], (long long)access->program[1], (long long)access->program[2],
        (long long)access->element, check->function->parameters[parameter].name,
        (long long)buffer->numel, leaves_print(check->arena, extent));
    relate_mask(check, said, access->op);
    relate_tensor(check, said, tried, parameter);
    // the last program is one too many, or its number goes into the address
    if (said && grid_range(tried).source == said->range.source)
        diagnostic_relate(check->diagnostics, said, grid_range(tried), "the grid");
}

/* ---- elements that nobody stores ---- */

/// The launcher's own new memory that this launch alone fills, as far as the text tells.
static bool is_filled_here(const TriedLaunch *tried, int buffer, int parameter) {
    const ConcreteBuffer *memory = &tried->concrete->buffers.items[buffer];
    return memory->contents == CONTENTS_EMPTY && !memory->may_be_written &&
           memory->is_extent_certain && launch_leaves(tried->launch, parameter);
}

/// How many more elements are stored by the programs behind the last one of an axis.
static int64_t stored_beyond(const TriedLaunch *tried, int buffer, int axis) {
    enum { MOST_MORE = 256 };
    const int64_t *grid = tried->concrete->grid;
    TrialBuffer *filled = &tried->trial->buffers[buffer];
    int64_t before = filled->written, program[3];
    int first = (axis + 1) % 3, second = (axis + 2) % 3;
    if (grid[first] * grid[second] > MOST_MORE) return 0;
    program[axis] = grid[axis];
    for (program[first] = 0; program[first] < grid[first]; program[first]++)
        for (program[second] = 0; program[second] < grid[second]; program[second]++)
            if (!tried->trial->is_cut) trial_run_program(tried->trial, program);
    return filled->written - before;
}

/// A buffer that programs fill in part.
typedef struct Unstored {
    int buffer;
    TrialBuffer filled;  // by the programs of the grid
    bool is_triangle;    // several of these store nothing, as where half of a matrix is left out
    Leaves extent;
    int beyond;  // an axis behind whose last program others would store some of the rest, or -1
} Unstored;

static int axis_beyond(Check *check, const TriedLaunch *tried, int buffer) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (check->axes.programs[axis] && stored_beyond(tried, buffer, axis)) return axis;
    return -1;
}

static bool is_partly_filled_when_tiny(Check *check, const TriedLaunch *tried, int buffer) {
    TriedLaunch tiny;
    HostPolicy policy = {.keep_blocks = true, .sizes = HOST_SIZES_TINY};
    if (!try_launch(check, tried->launch->site, policy, CONFIRMING_STEPS, &tiny) ||
        tiny.trial->is_cut || buffer >= tiny.trial->buffer_count)
        return false;
    const TrialBuffer *filled = &tiny.trial->buffers[buffer];
    return !filled->is_open && filled->written && filled->written < filled->numel;
}

/// Whether a length in the extent is rounded up to a multiple, `(n + 127) // 128 * 128`: what is behind it nobody needs.
static bool is_rounded_up(const HostValue *value, int depth) {
    enum { DEEPEST = 8 };
    if (!value || value->kind != HOST_OPERATION || depth == DEEPEST) return false;
    for (int i = 0; i < value->count; i++) {
        const HostValue *item = value->items[i], *other = value->items[value->count - 1 - i];
        bool divides =
            item->kind == HOST_OPERATION && item->count == 2 &&
            (item->operation == HOST_OP_CDIV || item->operation == HOST_OP_FLOOR_DIVIDE) &&
            item->items[1]->kind == HOST_CONSTANT && other->kind == HOST_CONSTANT;
        int64_t by, times;
        if (divides && value->operation == HOST_OP_MULTIPLY && value->count == 2 &&
            host_int(item->items[1], &by) && host_int(other, &times) && by == times)
            return true;
        if (is_rounded_up(item, depth + 1)) return true;
    }
    return false;
}

static bool is_padded(const HostLaunch *launch, int parameter) {
    const HostValue *value = launch->arguments[parameter].value;
    return value && value->kind == HOST_TENSOR && is_rounded_up(value->tensor->buffer->numel, 0);
}

static bool is_partly_filled(Check *check, const TriedLaunch *tried, Unstored *unstored) {
    int buffer = unstored->buffer, parameter = tried_parameter(tried, buffer);
    const TrialBuffer *filled = &tried->trial->buffers[buffer];
    unstored->filled = *filled;
    unstored->is_triangle = tried->trial->idle * 8 > tried->trial->programs;
    if (filled->is_open || !filled->written || filled->written == filled->numel || parameter < 0 ||
        !is_filled_here(tried, buffer, parameter) || is_padded(tried->launch, parameter))
        return false;
    unstored->extent = leaves_of_extent(tried->launch, parameter);
    const Leaves *extent = &unstored->extent;
    Leaves leaves = {0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++) leaves_add_grid(&leaves, tried->launch, axis);
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        if (access->buffer == buffer && (op_rows[access->op->code].effects & EFFECT_WRITES))
            leaves_add_access(&leaves, tried->launch, check->function, access->op);
    }
    if (!leaves_are_certain(tried->launch, &leaves, extent) &&
        !leaves_are_apart(tried->launch, check->function, &leaves, extent))
        return false;
    // where programs store to the same elements, more of them would, too; one program is one on purpose
    if (filled->twice * 2 < filled->numel - filled->written && tried->trial->programs > 1)
        unstored->beyond = axis_beyond(check, tried, buffer);
    if (unstored->beyond >= 0 && is_made_for_one_size(check, tried, unstored->beyond)) return false;
    // a size that has to fit one block is the author's condition: then nothing is missing where all fit
    Leaves handled = {0};
    leaves_add_handled(&handled, tried->launch, check->function);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) leaves_add_grid(&handled, tried->launch, axis);
    handled.is_open = false;  // more than there are is no harm
    return unstored->beyond >= 0 || leaves_are_among(tried->launch, extent, &handled) ||
           is_partly_filled_when_tiny(check, tried, buffer);
}

static const Op *store_to(const TriedLaunch *tried, int buffer) {
    const Op *last = NULL;
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        if (access->buffer == buffer && (op_rows[access->op->code].effects & EFFECT_WRITES))
            last = access->op;
    }
    return last;
}

static bool is_extent_plain(const HostLaunch *launch, int parameter) {
    const HostValue *value = launch->arguments[parameter].value;
    return value && value->kind == HOST_TENSOR && leaves_is_product(value->tensor->buffer->numel);
}

static void tell_unstored(Check *check, const TriedLaunch *tried, const Unstored *unstored) {
    const TrialBuffer *filled = &unstored->filled;
    int parameter = tried_parameter(tried, unstored->buffer);
    const char *name = check->function->parameters[parameter].name;
    const char *sizes = leaves_print(check->arena, &unstored->extent);
    const Op *store = store_to(tried, unstored->buffer);
    int64_t missing = filled->numel - filled->written;
    Diagnostic *said;
    if (unstored->beyond >= 0) {
        said = check_report_at(check, DIAGNOSTIC_GRID_TOO_SMALL, grid_range(tried),
                               "%lld of %lld elements of %s are stored by no program, with %s: the "
                               "next program along axis %d would store some",
                               (long long)missing, (long long)filled->numel, name, sizes,
                               unstored->beyond);
        check_relate(check, said, store, "stored here");
    } else {
        // padding is never stored, either
        if (filled->twice * 2 < missing && missing * 4 < filled->numel * 3 &&
            (unstored->is_triangle || !is_extent_plain(tried->launch, parameter)))
            return;
        said = check_report(check, DIAGNOSTIC_NEVER_STORED, store,
                            "%lld of %lld elements of %s are stored by no program, with %s",
                            (long long)missing, (long long)filled->numel, name, sizes);
    }
    relate_mask(check, said, store);
    relate_missing_axes(check, said, tried);
    relate_tensor(check, said, tried, parameter);
}

/* ---- programs that have nothing to do ---- */

/// Whether programs are shared out by a root or a logarithm: their number is no count of pieces of work, and few have any where a
/// tensor is small.
static bool is_shared_out(const HostValue *programs, int depth) {
    enum { DEEPEST = 8 };
    if (!programs || programs->kind != HOST_OPERATION || depth == DEEPEST) return false;
    if (programs->operation == HOST_OP_SQRT || programs->operation == HOST_OP_RSQRT ||
        programs->operation == HOST_OP_LOG || programs->operation == HOST_OP_LOG2)
        return true;
    for (int i = 0; i < programs->count; i++)
        if (is_shared_out(programs->items[i], depth + 1)) return true;
    return false;
}

/// Whether all of both are sizes of one tensor.
static bool are_of_one_tensor(const Leaves *leaves, const Leaves *others) {
    const HostInput *of = others->count ? others->items[0]->input : NULL;
    for (int i = 0; i < leaves->count; i++)
        if (leaves->items[i]->input != of) return false;
    for (int i = 0; i < others->count; i++)
        if (others->items[i]->input != of) return false;
    return true;
}

static bool is_mostly_idle(Check *check, const TriedLaunch *tried, Leaves *grid) {
    const LaunchTrial *trial = tried->trial;
    int64_t fewest = trial->is_cut ? 64 : 8;
    if (trial->programs < fewest || trial->idle * 4 <= trial->programs * 3) return false;
    for (int axis = 0; axis < tried->launch->grid_rank; axis++)
        if (is_shared_out(tried->launch->grid[axis], 0)) return false;
    bool stores = false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) leaves_add_grid(grid, tried->launch, axis);
    for (LIST_EACH(int, i, trial->accesses)) {
        const TrialAccess *access = &trial->accesses.items[i];
        if (!(op_rows[access->op->code].effects & EFFECT_WRITES)) continue;
        int parameter = access->buffer < 0 ? -1 : tried_parameter(tried, access->buffer);
        if (access->is_open || parameter < 0) return false;
        Leaves extent = leaves_of_extent(tried->launch, parameter), leaves = *grid;
        leaves_add_access(&leaves, tried->launch, check->function, access->op);
        if (!leaves_are_certain(tried->launch, &leaves, &extent) &&
            !leaves_are_apart(tried->launch, check->function, &leaves, &extent))
            return false;
        // a size of another tensor that masks end at callers may have as large as the grid takes it
        Leaves bounds = {0};
        leaves_add_bounds(&bounds, tried->launch, check->function, access->op);
        if (!leaves_are_among(tried->launch, &bounds, grid) && !are_of_one_tensor(&bounds, grid))
            return false;
        stores = true;
    }
    return stores && grid->count;
}

static void tell_idle(Check *check, const TriedLaunch *tried, const Leaves *grid) {
    check_report_at(check, DIAGNOSTIC_GRID_TOO_LARGE, grid_range(tried),
                    "%lld of %s%lld programs store nothing, with %s", (long long)tried->trial->idle,
                    tried->trial->is_cut ? "the first " : "", (long long)tried->trial->programs,
                    leaves_print(check->arena, grid));
}

/* ---- all of a launch ---- */

/// Whether something is certain; said where `tells`.
static bool look_at(Check *check, const TriedLaunch *tried, bool tells) {
    bool any = false;
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        Leaves extent = {0};
        if (check_was_said(check, access->op->range) ||
            !is_certainly_outside(check, tried, access, &extent))
            continue;
        any = true;
        if (tells) tell_outside(check, tried, access, &extent);
    }
    Leaves grid = {0};
    // where steps end a trial, the programs that ran are the first ones, and mostly those with work
    if (is_mostly_idle(check, tried, &grid)) {
        any = true;
        if (tells) tell_idle(check, tried, &grid);
    }
    if (tried->trial->is_cut) return any;
    any |= check_reads_of(check, tried, tells);
    for (int buffer = 0; buffer < tried->trial->buffer_count; buffer++) {
        Unstored unstored = {.buffer = buffer, .beyond = -1};
        if (!is_partly_filled(check, tried, &unstored)) continue;
        any = true;
        // what a store that leaves its tensor does not reach is the same mistake
        const Op *store = store_to(tried, buffer);
        bool is_told = unstored.beyond < 0 && check_was_said(check, store->range);
        if (tells && !is_told) tell_unstored(check, tried, &unstored);
    }
    return any;
}

static bool is_unbounded(Check *check, const TriedLaunch *tried) {
    for (LIST_EACH(int, i, tried->trial->accesses)) {
        const TrialAccess *access = &tried->trial->accesses.items[i];
        if (access->outside && access->buffer >= 0 && counts_on_blocks(check, tried, access))
            return true;
    }
    return false;
}

/// Whether autotune gives the launch one of several configurations.
static bool is_tuned(const TriedLaunch *tried) {
    for (int i = 0; i < tried->launch->argument_count; i++)
        if (tried->launch->arguments[i].is_tuned) return true;
    return false;
}

/// What a choice of sizes is for.
typedef enum TrialNeed {
    NEED_NONE,
    NEED_UNBOUNDED,    // an access without a mask that left its tensor
    NEED_TUNED,        // configurations of autotune: another one
    NEED_SHORT_LOOPS,  // loops that had one iteration at most
} TrialNeed;

typedef struct TrialChoice {
    HostSizes sizes, real;  // with smaller blocks, and with those that stand there
    HostSizes fewer[2];     // where `real` is too much; HOST_SIZES_COUNT: nothing is
    uint64_t seed;
    TrialNeed need;
} TrialChoice;

static const TrialChoice trial_choices[] = {
    {HOST_SIZES_USUAL, HOST_SIZES_EIGHTFOLD, {HOST_SIZES_LONG, HOST_SIZES_USUAL}, 0, NEED_NONE},
    {HOST_SIZES_TALL,
     HOST_SIZES_EIGHTFOLD_TALL,
     {HOST_SIZES_LONG_TALL, HOST_SIZES_TALL},
     0,
     NEED_NONE},
    {HOST_SIZES_WHOLE, HOST_SIZES_WHOLE, {HOST_SIZES_COUNT}, 1, NEED_UNBOUNDED},
    {HOST_SIZES_USUAL, HOST_SIZES_EIGHTFOLD, {HOST_SIZES_LONG, HOST_SIZES_USUAL}, 1, NEED_TUNED},
    {HOST_SIZES_USUAL, HOST_SIZES_EIGHTFOLD, {HOST_SIZES_LONG, HOST_SIZES_USUAL}, 2, NEED_TUNED},
    {HOST_SIZES_LONG, HOST_SIZES_LONGEST, {HOST_SIZES_COUNT}, 0, NEED_SHORT_LOOPS},
};

/// Looks once more, with the blocks that stand there; what is too much along all axes may be tried along one. Whether something was
/// said.
static bool confirm(Check *check, const LaunchSite *site, const TrialChoice *choice) {
    TriedLaunch tried;
    HostPolicy policy = {.keep_blocks = true, .seed = choice->seed, .sizes = choice->real};
    bool is_tried = try_launch(check, site, policy, CONFIRMING_STEPS, &tried);
    for (int k = 0; k < 2 && choice->fewer[0] != HOST_SIZES_COUNT; k++) {
        if (is_tried && !tried.trial->is_cut) break;
        policy.sizes = choice->fewer[k];
        is_tried = try_launch(check, site, policy, CONFIRMING_STEPS, &tried);
        if (k == 1 || !is_tried) continue;
        if (look_at(check, &tried, true)) return true;
        is_tried = false;
    }
    return is_tried && look_at(check, &tried, true);
}

static void check_trial(Check *check, const LaunchSite *site, bool keeps_blocks) {
    HostPolicy policy = {.keep_blocks = keeps_blocks, .divide_blocks = !keeps_blocks};
    bool meets[] = {
        [NEED_NONE] = true,
        [NEED_UNBOUNDED] = false,
        [NEED_TUNED] = false,
        [NEED_SHORT_LOOPS] = false,
    };
    int64_t turns = -1;
    for (size_t i = 0; i < sizeof trial_choices / sizeof *trial_choices; i++) {
        const TrialChoice *choice = &trial_choices[i];
        TriedLaunch tried;
        policy.sizes = choice->sizes;
        policy.seed = choice->seed;
        meets[NEED_SHORT_LOOPS] = turns == 0 || turns == 1;
        if (!meets[choice->need] || !try_launch(check, site, policy, FIRST_STEPS, &tried)) continue;
        meets[NEED_UNBOUNDED] |= is_unbounded(check, &tried);
        meets[NEED_TUNED] |= is_tuned(&tried);
        if (tried.trial->turns > turns) turns = tried.trial->turns;
        if (!look_at(check, &tried, keeps_blocks)) continue;
        if (keeps_blocks || confirm(check, site, choice)) return;
    }
}

static void try_site(Check *check, const LaunchSite *site) {
    check_trial(check, site, has_blocks_of_its_own(check));
}

void check_trials(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    if (!check->is_entry || check->skips_trials) return;
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        if (site->kernel != kernel || node_has_error(site->call)) continue;
        launch_check_bounded(check, site, check_launch_values);
        launch_check_bounded(check, site, try_site);
    }
}
