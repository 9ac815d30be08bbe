// Which schemas carry a kernel's events, actions and state: kernel_schema<MembershipKernel>::Event is
// schema::MembershipEvent. For the generic shell, the journal and replay.
#pragma once

#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/faults.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/kernel/recovery.hpp"
#include "actors/kernel/rendezvous.hpp"
#include "actors/kernel/scaling.hpp"
#include "actors/kernel/shards.hpp"
#include "actors/kernel/worker_machine.hpp"
#include "actors/schemas.hpp"

namespace troupe {

template <class Kernel>
struct kernel_schema;

#define TROUPE_KERNEL_SCHEMA(name, kernel)                                                                    \
  template <>                                                                                                 \
  struct kernel_schema<kernel> {                                                                              \
    using Event = schema::name##Event;                                                                        \
    using Action = schema::name##Action;                                                                      \
    using State = schema::name##State;                                                                        \
  };
TROUPE_KERNELS(TROUPE_KERNEL_SCHEMA)
#undef TROUPE_KERNEL_SCHEMA

} // namespace troupe
