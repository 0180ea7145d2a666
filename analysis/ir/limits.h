// How far the analysis goes where a kernel's own size decides: each limit with its reason, and what follows beyond it. Whoever asks
// is right under that answer: a check says nothing, a mask stays, a gradient is refused or summed by atomics, a proof stays open.
// Each has kernels at its edge in tests/support/edges.py. A fixed array whose size a kernel decides takes it from here
// (tests/test_arrays.py).
#ifndef TAD_ANALYSIS_IR_LIMITS_H
#define TAD_ANALYSIS_IR_LIMITS_H

/* ---- what an array has room for ---- */

enum {
    /// Dimensions of a tile. Kernels in use have five at most, and one place a dimension lies in each value, form and run-time tile.
    /// Beyond: a value of unknown type, and it is said (limit-reached).
    TYPE_MAX_RANK = 8,
    /// Axes of a grid: what CUDA and HIP launch. A launch with more has an error.
    PROGRAM_AXES = 3,
    /// Loops in each other, those of helpers included: each is lowered a few times within those around it.
    /// Beyond: the lowering stops and says so (limit-reached).
    LOOPS_MOST_NESTED = 32,
    /// Branches and loops around an addition that a gradient-reduction kernel sums up. Beyond: it stays an atomic addition.
    REGIONS_MOST_NESTED = 2 * LOOPS_MOST_NESTED,
    /// Digits of an id that numbers batch, head and blocks along two axes at most. Beyond: those above are one.
    TILE_MOST_DIGITS = 4,
    /// Axes that an access may move along: those of the grid, by their digits, and its loops. A gradient-reduction kernel has loops
    /// over programs, too; where there are more around an access, no axis owns what it touches.
    ACCESS_MOST_AXES = TILE_MOST_DIGITS * PROGRAM_AXES + LOOPS_MOST_NESTED,
    /// What an address varies with: axes, digits of them, state of loops. Each is compared with all others. Beyond: no axis owns it.
    ADDRESS_MOST_MOVERS = 32,
    /// Values of which an address takes the rest of a division, so that it wraps. Beyond: an address that is not known.
    ADDRESS_MOST_WRAPS = 4,
    /// Quotients and remainders of one number that an index is a sum of, and loops around it. Beyond: an index that is not known.
    ADDRESS_MOST_DIGITS = 8,
    /// Where such digits begin and end.
    ADDRESS_MOST_PLACES = 3 * ADDRESS_MOST_DIGITS,
    /// Parts that a mask is an `and` of: both ends of each dimension. Beyond: a mask that is not understood.
    MASK_MOST_PARTS = 2 * TYPE_MAX_RANK,
    /// Sets of elements that a mask along one axis leaves out of a tile: one an axis, and those that it does not leave out.
    MASK_MOST_SLOTS = TYPE_MAX_RANK + 1,
    /// Comparisons of a kernel's masks that the check of masks holds against each mask. Beyond: it looks at the first.
    KERNEL_MOST_BOUNDS = 64,
    /// Pairs of dims of a kernel that are called differently and have to be equal, each of which is asked of all configurations and
    /// launches. Beyond: the check looks at the first.
    KERNEL_MOST_MEETINGS = 8,
    /// Sizes and numbers of a launcher that an address, a grid or a buffer of one launch follows from. Beyond: nothing is said of it.
    LAUNCH_MOST_LEAVES = 4 * TYPE_MAX_RANK,
    /// Numbers in the addresses of parameters that may be one tensor: a size and a stride for each dimension.
    /// Beyond: nothing is said of their elements.
    ALIAS_MOST_NUMBERS = 2 * TYPE_MAX_RANK,
    /// Of what a kernel certainly stores of a gradient's buffer: digits of an address (programs, iterations, lanes), which are ranges
    /// in the launcher, too; comparisons that cut them off; divisions of program ids; stores to one buffer. Beyond: nothing is said, and
    /// the buffer is zeroed.
    STORED_MOST_DIGITS = 2 * TYPE_MAX_RANK,
    STORED_MOST_CUTS = 8,
    STORED_MOST_SPLITS = 4,
    STORED_MOST_STORES = 16,
    /// Comparisons that the mask of a store joins, one of which may only choose values. Beyond: the buffer is zeroed.
    MASK_MOST_TERMS = 6,
    /// Terms of an index that is tidied by cancelling some: one a dimension. Beyond: it stays as it is.
    INDEX_MOST_PARTS = TYPE_MAX_RANK,
    /// Operands of an operation that is rebuilt with another one: tl.dot_scaled has the most, eleven. Beyond: it stays as it is.
    OPERATION_MOST_OPERANDS = 16,
    /// Those of which an elementwise operation computes its element: fma and where have three. Beyond: any number may come of it.
    ELEMENTWISE_MOST_OPERANDS = 3,
    /// Values that a reduction or a scan combines at once: merging means and variances takes three.
    /// Beyond: the gradient is refused, and the proof says that it cannot run it.
    COMBINE_MOST_VALUES = 8,
    /// Constants of different sizes in a combine function, each of which is tried. Beyond: what it computes is not known; a refusal.
    COMBINE_MOST_CONSTANTS = 8,
    /// Kernels that sum the gradients of one backward: each computes part of the backward again. Beyond: atomic additions.
    BACKWARD_MOST_REDUCTIONS = 4,
    /// Of a kernel that is proved, in sets of bits. A set takes 64 bytes. Beyond: the proof stays open and says so.
    KERNEL_MOST_PARAMETERS = 512,
    /// Values that a proof tries for a parameter of which no launcher tells, the likeliest first. Beyond: the others are not tried.
    PARAMETER_MOST_CHOICES = 4,
    /// Sizes of which a proof wants each pair to differ: the pairs are 15. Beyond: those of the first.
    COVERAGE_MOST_SIZES = 6,
    /// Strides of a tensor that tell its layout: one a dimension. Beyond: the first tell.
    COVERAGE_MOST_STRIDES = TYPE_MAX_RANK,
    /// Numbers in a list or a tuple of a proof's configuration. Beyond: an error of that configuration.
    CONFIGURATION_MOST_ITEMS = 256,
    /// Of inline assembly, straight lines on 32-bit numbers: registers, arguments (and as many results), elements packed into one call;
    /// words of an opcode, `setp.gt.and.f32`, and operands of an instruction: fma and selp have four. Beyond: assembly that is not understood.
    ASSEMBLY_MOST_REGISTERS = 128,
    ASSEMBLY_MOST_ARGUMENTS = 16,
    ASSEMBLY_MOST_PACKED = 4,
    ASSEMBLY_MOST_WORDS = 8,
    ASSEMBLY_MOST_OPERANDS = 4,
    /// Sequences that host code zips. Beyond: a value that is not known.
    ZIP_MOST_SEQUENCES = 8,
    /// Whole numbers that launches choose between for a constexpr, and digits of one. Beyond: any number may be passed.
    LAUNCH_MOST_VALUES = 4,
    NUMBER_MOST_DIGITS = 10,
    /// Texts that a kernel compares a parameter with, such as "left" and "right". Beyond: some are not tried.
    LAUNCH_MOST_TEXTS = 8,
    /// Conditions that a launch decides, under each of which a kernel's accesses are looked at. Of others a case knows nothing.
    FLAGS_MOST = 3,
    /// Tensors of one call to chunk, split or unbind. Beyond: a value that is not known.
    TENSOR_MOST_PIECES = 64,
    /// Sizes and flags in one condition on the way to a launch, numbers that stand in it, and values that are tried for one of
    /// them: a local search for what launchers ask for, a divisor or a power of two. Beyond: the others stay as they are.
    CONDITION_MOST_INPUTS = 12,
    CONDITION_MOST_NUMBERS = 16,
    CONDITION_MOST_CANDIDATES = 128,
    /// Numbers of a version that is compared, `(3, 9, 0)`. Beyond: a condition that is not known.
    VERSION_MOST_NUMBERS = 4,
    /// Names in `a.b.c`, and one. Beyond: nothing that is known.
    NAME_MOST_PARTS = 16,
    /// Brackets that are open at the cursor, in code that is being typed. Beyond: help for the outer ones.
    BRACKETS_MOST_NESTED = 64,
};

/* ---- what a search may take ---- */

enum {
    /// Values that one walk asks about (walk.h). An address, a mask or a gradient is made of tens; the table takes 16 KB of stack.
    /// Beyond: the walk's answer is `unknown`.
    WALK_MOST_VALUES = 512,
    /// Steps (base/budget.h) of one kernel's analysis: lowering and checks. The largest
    /// kernel in use takes a million, 30,000 operations take three; 0.5 s. Beyond: what was lowered by then stays, its checks end, and it is said (limit-reached).
    KERNEL_MOST_STEPS = 4 << 20,
    /// Every kernel has so many, which do for most: how many kernels there are is bounded by the text's size, 10 MB.
    KERNEL_FEWEST_STEPS = 16 << 10,
    /// Those of one derivation, which copies, walks and emits the kernel several times over: the largest kernel in use takes
    /// twenty million, 2 s. Beyond: one kernel in the forward's schedule, with as many; beyond that, too, a refusal (limit-reached).
    DERIVATION_MOST_STEPS = 32 << 20,
    /// Those of a request on a finished snapshot (hover, completion, tokens): to highlight a name in 20,000 lines takes a million.
    /// All of them are 1 s. Beyond: the request fails and says so.
    REQUEST_MOST_STEPS = 8 << 20,
    /// Those of all kernels of a file together: some 2 s and 0.5 GB, while the server's watchdog waits 30 s.
    /// Where they would not do, each kernel has the same smaller share (snapshot.c).
    FILE_MOST_STEPS = 16 << 20,
};

#endif
