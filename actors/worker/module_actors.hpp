// Hosts the actors that a module brings along (troupe/registry.hpp): each on a thread of its own, under one
// supervisor that restarts it by its rule. They see each other by name, and publish numbers through the port.
// When one fails too often the supervisor gives up, and so does the worker.
#pragma once

#include "actors/directory.hpp"
#include "actors/worker/process_port.hpp"
#include "troupe/registry.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

namespace troupe {

/// Errc::unsupported names an actor whose place is not a worker: this version hosts none elsewhere.
result<void> check_places(const std::vector<ActorSpec>& specs);

/// Starts the supervisor with one child per spec. `names` and `port` outlive it.
caf::actor start_module_actors(caf::actor_system& system, const std::vector<ActorSpec>& specs,
                               Directory* names, ProcessPort* port);

} // namespace troupe
