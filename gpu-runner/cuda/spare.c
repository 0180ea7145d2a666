// A table of what was taken; of one thread, as the GPU is.
#include "gpu-runner/cuda/spare.h"

enum { MOST_PIECES = 64 };  // of GPU memory. Beyond: what is given back is freed at once
static const size_t MOST_BYTES = (size_t)2 << 30;  // that are kept

typedef struct SparePiece {
    uint64_t address;  // 0: no piece
    size_t size_bytes;
    bool is_spare;
} SparePiece;

static SparePiece pieces[MOST_PIECES];
static size_t spare_bytes;

static SparePiece *piece_at(uint64_t address) {
    for (int i = 0; i < MOST_PIECES; i++)
        if (pieces[i].address == address) return &pieces[i];
    return NULL;
}

bool spare_is_there(void) { return spare_bytes > 0; }

void spare_free(const Driver *driver) {
    for (int i = 0; i < MOST_PIECES; i++) {
        if (!pieces[i].is_spare) continue;
        driver->memory_free(pieces[i].address);
        pieces[i] = (SparePiece){0};
    }
    spare_bytes = 0;
}

int spare_take(const Driver *driver, size_t size_bytes, uint64_t *address) {
    for (int i = 0; i < MOST_PIECES; i++) {
        if (!pieces[i].is_spare || pieces[i].size_bytes != size_bytes) continue;
        pieces[i].is_spare = false;
        spare_bytes -= size_bytes;
        *address = pieces[i].address;
        return 0;
    }
    int code = driver->memory_allocate(address, size_bytes);
    if (code && spare_is_there()) {
        spare_free(driver);
        code = driver->memory_allocate(address, size_bytes);
    }
    SparePiece *piece = code ? NULL : piece_at(0);
    if (piece) *piece = (SparePiece){.address = *address, .size_bytes = size_bytes};
    return code;
}

void spare_give(const Driver *driver, uint64_t address) {
    SparePiece *piece = piece_at(address);
    if (piece && spare_bytes + piece->size_bytes <= MOST_BYTES) {
        piece->is_spare = true;
        spare_bytes += piece->size_bytes;
        return;
    }
    if (piece) *piece = (SparePiece){0};
    driver->memory_free(address);
}
