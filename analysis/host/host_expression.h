// Expressions of host code: from syntax to a HostValue.
#ifndef TAD_ANALYSIS_HOST_HOST_EXPRESSION_H
#define TAD_ANALYSIS_HOST_HOST_EXPRESSION_H

#include "analysis/host_values/host.h"

// host_expression.c
const HostValue *host_evaluate(Host *host, HostFrame *frame, SyntaxNode node);
/// Whether the items of `node` are meant, `*x.shape`. The grammar reads that as `(*x).shape`; evaluating it drops the star.
bool host_is_spread(SyntaxNode node);
/// The text under which a dictionary keeps `value`; false where it is not known.
bool host_key(Host *host, const HostValue *value, Str *key);
/// What an input that is a dictionary has under this key.
const HostValue *host_keyed(Host *host, const HostInput *input, Str key);
/// Items of an iterable that can be listed (64 at most); false otherwise.
bool host_items(Host *host, const HostValue *value, const HostValue *const **items, int *count);
const HostValue *host_item(Host *host, const HostValue *value, int64_t index);
/// Marks a sequence just made as growing with the input that one of its parts (`b` may be NULL) grows with.
const HostValue *host_growing(const HostValue *sequence, const HostValue *a, const HostValue *b);

#endif
