import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row in tl.range(row_start, n_rows, row_step):
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
        x = x - tl.max(x, axis=0)
        num = tl.exp(x)
        den = tl.sum(num, axis=0)
        if den > 0:
            y = num / den
        else:
            y = num
        tl.store(out_ptr + row * out_stride + cols, y, mask=mask)


@triton.jit
def softmax_backward_kernel(dx_ptr, y_ptr, dy_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(y_ptr + row * stride + cols, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0.0)
    inner = tl.sum(y * dy, axis=0)
    tl.store(dx_ptr + row * stride + cols, y * (dy - inner), mask=mask)


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        rows, cols = x.shape
        y = torch.empty_like(x)
        block = triton.next_power_of_2(cols)
        softmax_kernel[(2,)](y, x, x.stride(0), y.stride(0), rows, cols, BLOCK=block, num_warps=4)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        dy = dy.contiguous()
        dx = torch.empty_like(y)
        rows, cols = y.shape
        block = triton.next_power_of_2(cols)
        softmax_backward_kernel[(rows,)](dx, y, dy, y.stride(0), cols, BLOCK=block)
        return dx


def attention_weights(x, scale):
    """Host operations around the kernel: a product, a transpose and a view."""
    scores = (x @ x.t()) * scale
    return Softmax.apply(scores).view(-1)
