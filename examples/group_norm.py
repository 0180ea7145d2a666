"""Group normalisation of [batch, channel, height, width]: one group of one image per program."""

import torch
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(
    x_ptr,
    y_ptr,
    weight_ptr,
    bias_ptr,
    mean_ptr,
    rstd_ptr,
    n_groups,
    channels_per_group,
    n_pixels,
    eps,
    BLOCK: tl.constexpr,
):
    image = tl.program_id(0)
    group = tl.program_id(1)
    size = channels_per_group * n_pixels
    start = (image * n_groups + group) * size

    total = 0.0
    total_squares = 0.0
    for off in tl.range(0, size, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + idx, mask=idx < size, other=0.0).to(tl.float32)
        total += tl.sum(x)
        total_squares += tl.sum(x * x)
    mean = total / size
    rstd = tl.rsqrt(total_squares / size - mean * mean + eps)
    tl.store(mean_ptr + image * n_groups + group, mean)
    tl.store(rstd_ptr + image * n_groups + group, rstd)

    for c in range(channels_per_group):
        channel = group * channels_per_group + c
        w = tl.load(weight_ptr + channel)
        b = tl.load(bias_ptr + channel)
        for off in range(0, n_pixels, BLOCK):
            idx = off + tl.arange(0, BLOCK)
            mask = idx < n_pixels
            where = start + c * n_pixels + idx
            x = tl.load(x_ptr + where, mask=mask, other=0.0).to(tl.float32)
            tl.store(y_ptr + where, (x - mean) * rstd * w + b, mask=mask)


def group_norm(x, n_groups, weight, bias, eps=1e-5):
    batch, channels, height, width = x.shape
    assert channels % n_groups == 0
    x = x.contiguous()
    y = torch.empty_like(x)
    mean = torch.empty((batch, n_groups), dtype=torch.float32, device=x.device)
    rstd = torch.empty_like(mean)
    block = min(triton.next_power_of_2(height * width), 1024)
    group_norm_kernel[(batch, n_groups)](
        x,
        y,
        weight,
        bias,
        mean,
        rstd,
        n_groups,
        channels // n_groups,
        height * width,
        eps,
        BLOCK=block,
    )
    return y
