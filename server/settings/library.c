// Rows of torch_helpers.def to the text of a module.
#include "server/settings/library.h"

typedef struct LibraryHelper {
    const char *name;
    const char *parameters;
    const char *body;
} LibraryHelper;

static const LibraryHelper helpers[] = {
#define HELPER(name, parameters, body) {name, parameters, body},
#include "server/settings/torch_helpers.def"
#undef HELPER
};

static void helper_write(Buffer *out, const LibraryHelper *helper) {
    buffer_printf(out, "\n\n@triton.jit\ndef %s(%s):\n    ", helper->name, helper->parameters);
    for (const char *c = helper->body; *c; c++) {
        buffer_putc(out, *c);
        if (*c == '\n') buffer_puts(out, "    ");
    }
    buffer_putc(out, '\n');
}

Str library_text(Arena *arena, Str dotted) {
    // Where it was before PyTorch 2.5, and where it is.
    if (!str_is(dotted, "torch._inductor.triton_helpers") &&
        !str_is(dotted, "torch._inductor.runtime.triton_helpers"))
        return (Str){"", 0};
    Buffer out = buffer_new(arena);
    buffer_puts(&out,
                "import triton\nimport triton.language as tl\n"
                "from triton.language import math\nfrom triton.language.extra import libdevice\n");
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) helper_write(&out, &helpers[i]);
    return (Str){out.data, out.size};
}
