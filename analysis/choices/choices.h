// What a launcher that is written chooses by itself when it runs, for whoever launches the same kernels without Python. The Python stands in
// autodiff/module/helpers.def, which takes its numbers from here; tests/runner/test_own_tiles.py holds each function against it.
#ifndef TAD_ANALYSIS_CHOICES_CHOICES_H
#define TAD_ANALYSIS_CHOICES_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

/// How many programs share a sum, unless a launch says otherwise: one of each EACH; between LEAST and MOST, so that their sums of the
/// largest tensor are 2**SUMS elements; and never more sums than 2**ROOM elements. Programs with loops or products may have up to 2**BUSY_ROOM
/// elements of sums, until PROGRAMS of them run beside each other.
#define SLICES_LEAST 128
#define SLICES_MOST  1024
#define SLICES_EACH  8
#define SLICES_SUMS  20
#define SLICES_ROOM  24
#define SLICES_BUSY_ROOM 28
#define SLICES_PROGRAMS 2048
/// Where each program may have sums of its own, few more than fill a GPU have them, unless all sums together are small.
#define SLICES_OWN_SUMS 20
#define SLICES_OWN_PROGRAMS 4096

/// What the launcher says instead.
typedef struct SlicesRule {
    int64_t most, each;  // 0: it says nothing
    bool is_busy;        // each program has loops or products, and sums as large as what it reads
} SlicesRule;

/// `_slices`: of the programs of a grid that share sums, for tensors of at most `largest` elements; `others`: groups of such programs.
int64_t choose_slices(SlicesRule rule, double programs, double others, double largest);
/// `_warps`: for a tile of so many elements, and so many bytes of an element of each that is loaded at once.
int choose_warps(double elements, double bytes);
/// The same of so many programs: where these are few, a thread has one element.
int choose_warps_of(double elements, double bytes, int64_t programs);
/// `_byte_warps`: where single bytes are loaded beside elements of up to `widest` bytes; `warps`: that the launch has without.
int choose_byte_warps(double elements, int narrowest, int widest, int warps);
/// A block that rows are walked in: as much of one as so many warps hold, with so many bytes of all tensors a thread, each of which loads so
/// many of one of them. A block above ROW_BLOCK that has too many lanes for its row is cut in four.
#define ROW_WARPS  16
#define ROW_BYTES  256
#define LOAD_BYTES 16
#define ROW_BLOCK  4096
/// Warps of a block whose lanes have many sums, and how many are many.
#define SUM_WARPS 8
#define MANY_SUMS 4

/// Beside a tile of its own, a loop of several products takes so many rows of the forward's block at a time, if that has more.
#define ROWS_OF_A_PART 64

typedef struct RowSizes {
    int64_t size, length;  // the forward's block, and elements of a row
    int64_t lanes;         // elements of the tile for each of the block
    int64_t bytes,
        widest;  // of an element of each tensor that is loaded at once, and of one; 0: there is none
    int sums;    // of each lane, where they are many; else 0
    int warps;   // that the forward's launch says; 0: none
} RowSizes;

typedef struct RowChoice {
    int64_t size;
    int warps;
} RowChoice;

/// `_row_block`.
RowChoice choose_row_block(RowSizes sizes);
/// What the threads of a block hold of a whole row, in bytes each, and the longest block.
#define WHOLE_BYTES 384
#define WHOLE_MOST  16384

/// `_whole_row`: a block that holds a row of so many elements, of which each takes so many bytes of all tensors that are loaded at once, and
/// so many sums in registers; `narrowest`, `widest`: bytes of an element of one of them, or 0. Its size is 0 where none does.
RowChoice choose_whole_row(int64_t length, int64_t bytes, int sums, int narrowest, int widest);
/// `_warps`: a tile of so many elements is one warp's, and one of twice as many two's.
#define SMALL_TILE 128
/// Of a tensor, what a program has to move at the least, what it moves else, and the programs that there have to be for that.
#define WIDE_LEAST    2048
#define WIDE_BYTES    4096
/// The least where owners of a flat index take turns.
#define FLAT_LEAST    8192
#define WIDE_PROGRAMS 2048
/// The lanes that programs which are one have together, at the most.
#define TOGETHER_LANES 1024
#define TOGETHER_WARPS 2

typedef struct WideSizes {
    int64_t size, length;    // the forward's block, and all elements along its axis
    int64_t least;           // bytes; 0: WIDE_LEAST
    int64_t lanes;           // elements of the tile for each of the block
    int64_t programs, axis;  // of the forward's grid, and those along the block's axis
    int64_t bytes, widest;   // as in RowSizes
    int warps;
} WideSizes;

typedef struct WideChoice {
    int64_t size, axis;  // the block, and the programs along its axis
    int warps;
} WideChoice;

/// `_wide_block`.
WideChoice choose_wide_block(WideSizes sizes);
typedef struct TogetherSizes {
    int64_t lanes;           // of one of the forward's programs
    int64_t programs, axis;  // of its grid, and those along the axis
    int64_t bytes;           // of an element of each tensor that is loaded
    int warps;
} TogetherSizes;

typedef struct TogetherChoice {
    int64_t together,
        axis;  // how many programs are one, and how many of these there are along the axis
    int warps;
} TogetherChoice;

/// `_together`.
TogetherChoice choose_together(TogetherSizes sizes);
/// How many iterations are one of a loop over so many programs, which `slices` programs share; `axis` is not looked at.
TogetherChoice choose_at_once(TogetherSizes sizes, int64_t slices);
/// `_stages`: of the tiles that each iteration loads, with so many bytes of an element of all, and of the narrowest.
int choose_stages(double elements, double bytes, int narrowest);

#endif
