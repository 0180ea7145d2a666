// Inside autodiff/: program ids that number the tiles of a grid of rows and columns, in whatever order.
#ifndef TAD_AUTODIFF_SCHEDULE_TILE_ORDERS_H
#define TAD_AUTODIFF_SCHEDULE_TILE_ORDERS_H

#include "analysis/addresses/axis.h"
#include "autodiff/state/differentiation.h"

/// The ids along one axis of the grid number tiles: with `first = id // (group * columns) * group` and
/// `height = min(rows - first, group)` (1 without groups), the tile `rest = id % (group * columns)` of a group lies in row
/// `first + rest % height` and in column `rest // height`. Each tile has one id, and each id below `rows * columns` a tile.
typedef struct TileOrder {
    Value *id;            // NULL: the ids along this axis number no tiles
    const Poly *columns;  // of tiles
    const Poly *rows;     // likewise; NULL: as many as the grid has
    const Poly *group;    // rows of a group; NULL: tiles are numbered row by row
    bool is_rotated;      // the rows of a group begin with another one: `first + id % height`
    // Of more digits than rows and columns, the highest first: how many values each has (NULL: as many as the grid has); 0: no more.
    const Poly *extents[TILE_MOST_DIGITS];
    int digit_count;
} TileOrder;

typedef struct TileOrders {
    TileOrder axes[PROGRAM_AXES];
} TileOrders;

/// Finds the orders, and makes an OP_TILE_INDEX of each row and each column, which hides how it is computed. `most_digits`: of an id that is
/// divided several times over, `id % v`, `id // v % k`, `id // v // k`: 2, rows and columns, or up to TILE_MOST_DIGITS.
TileOrders tile_orders_open(Arena *arena, Function *function, int most_digits);
/// The row (digit 0) or the column (1) that a program's id stands for, of ids that number tiles row by row, for who needs one that the kernel does
/// not compute. A new OP_TILE_INDEX behind the id; NULL of other orders.
Value *tile_order_number(Function *function, const TileOrder *order, int axis, int digit);
/// Whether some id has more digits than rows and columns.
bool tile_orders_has_more_digits(Arena *arena, Function *function);
/// Where ids along two axes of the grid together number its own tiles in another order (`tl.swizzle2d`), and nothing else is made of
/// these ids: each program takes the tile with its own numbers. The same programs run, as other ones. False where there are none.
bool tile_orders_straighten(Arena *arena, Function *function);
/// Takes the OP_TILE_INDEXes away again.
void tile_orders_close(Function *function);

#endif
