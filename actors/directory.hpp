// Where the children of one process find each other. A restarted child is a new actor with a new mailbox, so
// handles are looked up by role at each send and never kept. Each announcement counts up the role's life. Any
// thread.
#pragma once

#include <caf/actor.hpp>

#include <map>
#include <mutex>
#include <string>

namespace troupe {

class Directory {
public:
  /// Says that `actor` now plays `role`. Called by whoever spawned it, before anybody else can look for it.
  void announce(const std::string& role, caf::actor actor) {
    std::lock_guard lock(mutex_);
    auto& entry = roles_[role];
    entry.actor = std::move(actor);
    ++entry.life;
  }

  /// Of whoever plays the role now; 0: nobody ever did.
  std::uint64_t life(const std::string& role) const {
    std::lock_guard lock(mutex_);
    const auto i = roles_.find(role);
    return i == roles_.end() ? 0 : i->second.life;
  }

  /// Null while nobody plays it.
  caf::actor find(const std::string& role) const {
    std::lock_guard lock(mutex_);
    const auto i = roles_.find(role);
    return i == roles_.end() ? caf::actor{} : i->second.actor;
  }

  /// Drops all handles, so that no actor is kept alive by its entry.
  void clear() {
    std::lock_guard lock(mutex_);
    for (auto& [role, entry] : roles_)
      entry.actor = nullptr;
  }

private:
  struct Entry {
    caf::actor actor;
    std::uint64_t life = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> roles_;
};

} // namespace troupe
