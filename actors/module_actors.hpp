// Hosts the actors that a module brings along (Trainer::actors): each is a child of a supervisor, runs on a
// thread of its own because it may block, and gets its messages one at a time. An exception ends that life,
// and the supervisor answers by the actor's restart rule; when it gives up, training goes on without the
// module's actors and says so. Nothing here crosses a process. The exchange outlives all actors; any thread.
#pragma once

#include "actors/supervision/supervisor.hpp"
#include "troupe/registry.hpp"

#include <atomic>
#include <mutex>

namespace troupe {

/// A message on its way to an actor of the same process.
struct ModuleMail {
  std::shared_ptr<const ModuleMessage> message;
};

/// Who is alive under which name, and where published numbers go.
class ModuleExchange {
public:
  static constexpr std::size_t most_bytes = 16 << 20; ///< of one message
  static constexpr std::uint32_t most_waiting =
    10'000; ///< messages in one mailbox; more are dropped and logged
  using Publish = std::function<void(std::string_view metric, double value)>;

  /// `publish` may be called on any thread.
  explicit ModuleExchange(Publish publish) : publish_(std::move(publish)) {}

  /// Starts a life of `name`: its number, and the count of its waiting messages.
  std::uint64_t enter(const std::string& name, const caf::actor& actor);
  void leave(const std::string& name, std::uint64_t life);
  /// False when the actor is down or its mailbox is full. Throws std::invalid_argument when the message is
  /// too large.
  bool send(std::string_view name, ModuleMessage message);
  void taken(const std::string& name, std::uint64_t life);
  void publish(std::string_view metric, double value) const { publish_(metric, value); }

private:
  struct Seat {
    caf::actor actor;
    std::uint64_t life = 0;
    std::uint32_t waiting = 0;
  };
  Publish publish_;
  std::mutex mutex_;
  std::map<std::string, Seat, std::less<>> seats_;
};

/// Children for a supervisor: the actors of one place.
std::vector<ActorChild> module_children(const std::vector<ActorSpec>& specs, ActorPlace place,
                                        const std::shared_ptr<ModuleExchange>& exchange);

/// A supervisor for them (one_for_one), spawned but not linked; none when the place has no actors.
caf::actor spawn_module_actors(caf::actor_system& system, const std::vector<ActorSpec>& specs,
                               ActorPlace place, const std::shared_ptr<ModuleExchange>& exchange);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ModuleMail)
