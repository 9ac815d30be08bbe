// Actors that a module brings along: named factories with a place and a restart rule. The runtime hosts each in an
// actor of its own under the supervisor of its place; a module needs no actor library. All calls to one actor come
// one at a time; different actors run on different threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The one envelope of messages between module actors: a topic and bytes, usually a Cap'n Proto message of the
/// module's own schema. At most 16 MiB.
struct ModuleMessage {
  std::string topic;
  std::vector<std::uint8_t> body;
};

/// What an actor may do. Valid as long as the actor lives; its own thread only.
class ActorContext {
public:
  virtual ~ActorContext();
  virtual std::uint64_t incarnation() const = 0; ///< 1 for the first life, then counting up
  /// Sends to an actor of the module by name, in the same process. Lost when that actor is down.
  virtual void send(std::string_view actor, ModuleMessage message) = 0;
  /// Delivers `message` to this actor itself after `delay`.
  virtual void send_later(std::chrono::milliseconds delay, ModuleMessage message) = 0;
  /// Shows a named number among the metrics of the report, of the worker with rank 0. At most 64 names of 40
  /// characters; the newest value counts.
  virtual void publish(std::string_view metric, double value) = 0;
};

class ModuleActor {
public:
  virtual ~ModuleActor();
  virtual void start(ActorContext&) {}
  /// An exception ends this life; the supervisor answers by the restart rule.
  virtual void on_message(ActorContext&, const ModuleMessage&) = 0;
  virtual void stop(ActorContext&) {}
};

enum class ActorPlace : std::uint8_t { master, node, worker };
enum class ActorRestart : std::uint8_t { permanent, transient, temporary };

struct ActorSpec {
  std::string name;
  ActorPlace place = ActorPlace::worker;
  ActorRestart restart = ActorRestart::permanent;
  std::function<std::unique_ptr<ModuleActor>()> make;
};

class Registry {
public:
  virtual ~Registry();
  /// Throws std::invalid_argument for an empty or repeated name.
  virtual void actor(ActorSpec spec) = 0;
};

} // namespace troupe
