// Operators of host code: arithmetic, comparisons, `and`, `or`, `not` and `if`, and what their use says about operands.
#ifndef TAD_ANALYSIS_HOST_HOST_OPERATOR_H
#define TAD_ANALYSIS_HOST_HOST_OPERATOR_H

#include "analysis/host_values/host.h"

// host_operator.c
bool host_is_tensor_like(const HostValue *value);
const HostValue *host_concatenated(Host *host, const HostValue *a, const HostValue *b);
/// NULL where the operator is none that is known.
const HostValue *host_binary(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_unary(Host *host, HostFrame *frame, SyntaxNode node);
/// Wishes for sizes by which `a // b` is exact, and not 1: what is divided into groups is to have several in each.
void host_expect_quotient(Host *host, const HostValue *a, const HostValue *b);
const HostValue *host_not(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_boolean(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_comparison(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_conditional(Host *host, HostFrame *frame, SyntaxNode node);

/// Which way a decision goes: as its condition says, or the other one where the policy turns it. Notes those that rest on what the caller
/// passes.
bool host_decides(Host *host, const HostFrame *frame, const HostValue *condition, bool truth);

#endif
