// Tensors that a launcher allocates: nobody else has seen them when the kernel is launched.
#ifndef TAD_AUTODIFF_PLAN_FRESH_TENSORS_H
#define TAD_AUTODIFF_PLAN_FRESH_TENSORS_H

#include "analysis/module/module.h"

/// Whether the tensor of that name is the launcher's own at the launch, and nothing else is a view of it.
bool launch_owns(const Module *module, const LaunchSite *site, Str name);
/// Whether nothing that the name is bound to up to the launch has numbers of its own: all are `torch.empty` and its like.
bool launch_owns_empty(const Module *module, const LaunchSite *site, Str name);
/// Whether each binding of the name in the launcher up to the launch is an allocation of its own (torch.empty and its like).
bool launch_allocates(const Module *module, const LaunchSite *site, Str name);

#endif
