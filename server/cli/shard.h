// One machine's part of a check that several share: `--shard 3/16`. Each of them makes the same plan by itself, from the files alone.
#ifndef TAD_SERVER_CLI_SHARD_H
#define TAD_SERVER_CLI_SHARD_H

#include "base/list.h"
#include "server/settings/options.h"
#include "server/system/files.h"

enum { MOST_SHARDS = 100000 };

/// Some kernels of a file: those whose names stand in [start, end) of its text.
typedef struct ShardPart {
    int file;             // its index in the list that was planned for
    bool is_first;        // the findings of the file belong to this one
    uint32_t start, end;  // bytes
} ShardPart;

typedef struct Shard {
    int number, count;      // 3 and 16 of `3/16`
    uint64_t tree;          // of paths and texts: the same where two plans are of the same files
    LIST(ShardPart) parts;  // of this one, by file, then by place
    int kernels;            // of this one, as the texts show them
    int all_kernels;        // of all shards
} Shard;

/// `3/16`; NULL is 1/1. Otherwise a sentence in `arena`.
Error shard_parse(Arena *arena, const char *text, Shard *shard);
/// Fills the shard's parts. In: its number and count; all files, in any order. `by_kernel`: a file of many kernels may be divided, as
/// proofs take most of the time. Out: each kernel of each file in one of the shards, as evenly as their numbers allow.
void shard_plan(Arena *arena, const FileList *files, bool by_kernel, Shard *shard);
/// "part 3 of 16: 5 of 96 kernels, in 2 of 40 files", of a shard that was planned for `file_count` files.
const char *shard_text(Arena *arena, const Shard *shard, int file_count);
/// The same of a run that nobody shares: all of each file, in order. The texts are not read.
void shard_whole(Arena *arena, const FileList *files, Shard *shard);
/// The words of the command line by which more or less is found, in one order; "" where there are none.
const char *shard_words(Arena *arena, const Options *options);

#endif
