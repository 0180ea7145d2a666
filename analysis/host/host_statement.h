// Statements of host code: runs a block with the chosen inputs, steering towards the launch.
#ifndef TAD_ANALYSIS_HOST_HOST_STATEMENT_H
#define TAD_ANALYSIS_HOST_HOST_STATEMENT_H

#include "analysis/host_values/host.h"

const HostValue *host_lookup(Host *host, HostFrame *frame, Str name);
/// What a name of a module stands for; `name` is for messages.
const HostValue *host_of_entry(Host *host, ScopeEntry entry, Str name);
HostFrame *host_module_frame(Host *host, const Module *module);
HostFlow host_run_block(Host *host, HostFrame *frame, SyntaxNode block);
HostFlow host_run_statement(Host *host, HostFrame *frame, SyntaxNode node);
void host_assign(Host *host, HostFrame *frame, SyntaxNode target, const HostValue *value);
/// A list or a dictionary was changed in place: whatever name, attribute or container has the old value has the new one.
void host_change(Host *host, const HostValue *old, const HostValue *now);
HostFrame *host_frame(Host *host, HostFrame *outer, const Module *module);
bool host_contains_site(const Host *host, const HostFrame *frame, SyntaxNode node);
/// Whether the kernel of the launch is chosen there, `kernel if flag else other`.
bool host_contains_choice(const Host *host, const HostFrame *frame, SyntaxNode node);

#endif
