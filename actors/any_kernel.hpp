// The kernels of a master behind one face without their types, for whoever treats all of them alike: the shell and
// replay. A statement is a std::any that holds one alternative of some kernel's events; routing is by its type. A
// kernel is used by one thread at a time; everything else here may be called from any.
#pragma once

#include "actors/codec.hpp"
#include "actors/kernel/settings.hpp"
#include "base/clock.hpp"

#include <any>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

namespace troupe {

/// One answer of a kernel to one event.
struct KernelTurn {
  struct Action {
    std::any statement;
    Bytes bytes;
    bool external = false; ///< carried out by the shells, too
    bool urgent = false;   ///< leaves without waiting for the journal
  };
  Bytes event;
  bool transient = false; ///< the event and all its actions are
  std::vector<Action> actions;
};

class AnyKernel {
public:
  virtual ~AnyKernel() = default;
  virtual std::string_view name() const = 0;
  /// `statement` holds an event that this kernel takes.
  virtual KernelTurn on(const std::any& statement, Time now) = 0;
  /// An event as it was journaled. errors: invalid.
  virtual result<KernelTurn> again(const Bytes& event, Time now) = 0;
  virtual Bytes state() const = 0;
  /// errors: invalid, and the state stays as it was.
  virtual result<void> restore(const Bytes& state) = 0;
  /// Of bytes that it wrote itself; what is wrong with them when they are not readable.
  virtual std::string event_json(const Bytes& event) const = 0;
  virtual std::string action_json(const Bytes& action) const = 0;
};

/// In the order in which a master starts them.
const std::vector<std::string>& kernel_names();
/// nullptr: there is no such kernel.
std::unique_ptr<AnyKernel> make_kernel(std::string_view name, const KernelSettings& settings);
/// Names of the kernels that take statements of this type, in the order of kernel_names().
const std::vector<std::string>& kernels_that_take(std::type_index type);

} // namespace troupe
