#include "autodiff/backward.h"
const char *backward_module(Arena *arena, const Snapshot *snapshot, Backward *const *backwards, int count,
                            const BackwardOptions *options, Diagnostics *diagnostics) {
    Buffer out = buffer_new(arena);
    (void)snapshot; (void)options; (void)diagnostics;
    buffer_puts(&out, "import triton\nimport triton.language as tl\n");
    for (int i = 0; i < count; i++)
        if (backwards[i]->status == BACKWARD_DERIVED) buffer_printf(&out, "\n\n%s", backwards[i]->kernel_text);
    return buffer_text(&out);
}
