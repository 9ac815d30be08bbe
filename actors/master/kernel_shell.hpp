// The one shell around every kernel: turns messages into events, calls the kernel, journals, and carries out the
// actions. Knows nothing of what is decided.
//
// Invariants
//  - The record of an event reaches the journal before any action of it reaches another kernel, so the journal's order
//    is a causal one.
//  - An external action leaves after its record is durable; an urgent one (a drain) at once.
//  - A new life replays the kernel's own records before it takes any event, then gets Started, then tells its peers.
#pragma once

#include "actors/any_kernel.hpp"
#include "actors/master/wiring.hpp"

#include <caf/stateful_actor.hpp>

#include <any>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// Holds an event that the receiving kernel takes. In-process only.
struct Statement {
  std::any what;
};

/// An action that nodes or askers have to see; carried out by the gate. In-process only.
struct External {
  std::any action;
};

struct KernelShellState {
  static inline const char* name = "troupe.kernel";
  MasterWiring* wiring = nullptr;
  std::unique_ptr<AnyKernel> kernel;
  std::string role;
  std::map<std::uint64_t, std::vector<std::any>> held; ///< external actions that wait for Committed
  std::uint64_t tokens = 0;
  std::uint64_t wake = 0; ///< number of the newest timer
  Time wake_at{};
};

/// Sends a statement to every kernel that takes it. Any actor of the master.
void tell_kernels(const Directory& directory, const std::any& statement);

/// `role` is a name of kernel_names().
caf::behavior kernel_shell(caf::stateful_actor<KernelShellState>* self, MasterWiring* wiring, std::string role);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Statement)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::External)
