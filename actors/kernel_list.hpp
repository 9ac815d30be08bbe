// Every kernel of a master, for code that is written once for all of them.
#pragma once

#include "actors/kernel_schemas.hpp"

namespace troupe {

/// Calls f(K*) with a null pointer for each, in the order in which a master starts them.
template <class F>
void for_each_kernel(F&& f) {
  f(static_cast<MembershipKernel*>(nullptr));
  f(static_cast<RendezvousKernel*>(nullptr));
  f(static_cast<RecoveryKernel*>(nullptr));
  f(static_cast<ShardsKernel*>(nullptr));
  f(static_cast<CheckpointsKernel*>(nullptr));
  f(static_cast<ScalingKernel*>(nullptr));
  f(static_cast<FaultsKernel*>(nullptr));
}

} // namespace troupe
