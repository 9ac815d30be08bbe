// Tags for the compiled-in schemas: schema::NodeReport is the Cap'n Proto struct of actors/schema/ whose fields are
// those of troupe::NodeReport. Only names here; include the header of a struct to use it. To add one: a line below,
// the struct in a .capnp file, a test does the rest.
#pragma once

// clang-format off
#define TROUPE_SCHEMAS(X)                                                                                     \
  X(NodeReport) X(SlotFact) X(Failure) X(Holding)                                                             \
  X(GenerationOrder) X(SlotsOrder) X(SaveOrder) X(Plan) X(WorkerKey)                                          \
  X(Roster) X(FaultSpec) X(KernelSettings) X(JobConfig)                                                       \
  X(Alive) X(ArmedFaults) X(FaultReached) X(FireFault) X(KillWorker) X(Persisted) X(DeleteCheckpoint)         \
  X(DigestMismatch) X(JobFinished) X(FailJob) X(StopAll)                                                      \
  X(NodeHello) X(NodeWelcome) X(StopNode)                                                                     \
  X(WorkerHello) X(WorkerReport) X(WorkerOrder) X(ProgressReport) X(SaveReady)                                \
  X(ControlRequest) X(ControlReply)                                                                           \
  X(JournalRecord) X(SupervisorStatus)

/// Kernels: each has the schemas …Event, …Action and …State (actors/kernel_schemas.hpp).
#define TROUPE_KERNELS(X)                                                                                     \
  X(Membership, MembershipKernel) X(Rendezvous, RendezvousKernel) X(Recovery, RecoveryKernel)                 \
  X(Shards, ShardsKernel) X(Checkpoints, CheckpointsKernel) X(Scaling, ScalingKernel)                         \
  X(Faults, FaultsKernel) X(WorkerMachine, WorkerMachine)
// clang-format on

namespace troupe {

#define TROUPE_SCHEMA_TAG(name)                                                                               \
  struct name;                                                                                                \
  namespace schema {                                                                                          \
  struct name {                                                                                               \
    using value_type = ::troupe::name;                                                                        \
    static constexpr const char* text = #name;                                                                \
  };                                                                                                          \
  }
TROUPE_SCHEMAS(TROUPE_SCHEMA_TAG)
#undef TROUPE_SCHEMA_TAG

#define TROUPE_SCHEMA_TAG(name, kernel)                                                                       \
  namespace schema {                                                                                          \
  struct name##Event {                                                                                        \
    static constexpr const char* text = #name "Event";                                                        \
  };                                                                                                          \
  struct name##Action {                                                                                       \
    static constexpr const char* text = #name "Action";                                                       \
  };                                                                                                          \
  struct name##State {                                                                                        \
    static constexpr const char* text = #name "State";                                                        \
  };                                                                                                          \
  }
TROUPE_KERNELS(TROUPE_SCHEMA_TAG)
#undef TROUPE_SCHEMA_TAG

struct SchemaHandle;
template <class Schema>
SchemaHandle schema_handle();

#define TROUPE_SCHEMA_HANDLE(name)                                                                            \
  template <>                                                                                                 \
  SchemaHandle schema_handle<schema::name>();
TROUPE_SCHEMAS(TROUPE_SCHEMA_HANDLE)
#define TROUPE_KERNEL_HANDLES(name, kernel)                                                                   \
  TROUPE_SCHEMA_HANDLE(name##Event) TROUPE_SCHEMA_HANDLE(name##Action) TROUPE_SCHEMA_HANDLE(name##State)
TROUPE_KERNELS(TROUPE_KERNEL_HANDLES)
#undef TROUPE_KERNEL_HANDLES
#undef TROUPE_SCHEMA_HANDLE

} // namespace troupe
