// A growing region of memory freed as a whole. Who allocates takes the Arena; nobody outside base/ calls malloc.
#ifndef TAD_BASE_ARENA_H
#define TAD_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

/// From now on the process keeps freed memory for its next arenas: for a program that walks many files and ends.
void arena_keep_freed(void);
/// A new empty arena. Never NULL: running out of memory ends the process with a message.
Arena *arena_new(void);
/// The same for what is known to need about `first_bytes`.
Arena *arena_new_sized(size_t first_bytes);
/// For notes of one function of the calling thread, which frees it: where a BUG ends the function, the guard does.
Arena *arena_new_scratch(void);
/// The newest that this thread has made and not freed, or NULL.
Arena *arena_newest_scratch(void);
/// Frees those that are newer than `oldest`.
void arena_free_scratch(Arena *oldest);
/// Frees the arena and everything allocated from it. NULL is allowed.
void arena_free(Arena *arena);
/// From now on `arena` lives as long as `owner`, which frees it. Who holds it may go on to allocate from it. Two arenas of one thread.
void arena_give(Arena *arena, Arena *owner);
/// Bytes that the arena holds, used or not.
size_t arena_bytes(const Arena *arena);
/// `size_bytes` zeroed bytes, aligned for any type, alive until the arena is freed.
void *arena_alloc(Arena *arena, size_t size_bytes);
/// A larger zero-extended copy of `old`; the old block stays valid.
void *arena_grow(Arena *arena, const void *old, size_t old_bytes, size_t new_bytes);
/// A NUL-terminated copy of `size` bytes at `text`.
char *arena_strndup(Arena *arena, const char *text, size_t size);
char *arena_strdup(Arena *arena, const char *text);
/// printf into the arena.
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) \
    ((Type *)arena_alloc((arena), sizeof(Type) * (size_t)(count)))

#endif
