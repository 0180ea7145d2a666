// Inside autodiff/: numbers that a tile is multiplied with, moved to where the multiplication costs nothing.
#ifndef TAD_AUTODIFF_PRODUCTS_SCALES_H
#define TAD_AUTODIFF_PRODUCTS_SCALES_H

#include "analysis/ir/ir.h"

/// In loops, (product + row) * p * scale is (product * scale + row * scale) * p: a fused multiplication in the place of an addition
/// and a multiplication of each element. What other statements read stays as it is.
void function_fuse_scales(Function *function);

#endif
