// Texts of emitted kernels.
#include "autodiff/emit/emitted.h"

#include <string.h>

bool name_is_backward_of(Str name, Str forward) {
    static const char suffix[] = "_backward";
    size_t size = forward.size + sizeof suffix - 1;
    return name.size >= size && memcmp(name.data, forward.data, forward.size) == 0 &&
           memcmp(name.data + forward.size, suffix, sizeof suffix - 1) == 0 &&
           (name.size == size || name.data[size] == '_');
}

const Kernel *kernel_of_backward(const Snapshot *snapshot, const Kernel *backward) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel != backward &&
            name_is_backward_of(backward->definition->name, kernel->definition->name))
            return kernel;
    }
    return NULL;
}
