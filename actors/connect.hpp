// A connection to a published actor of another process, with an end to the wait: CAF's own remote_actor waits for ever
// for a process that accepts and then says nothing, one that is stopped say.
#pragma once

#include "base/clock.hpp"
#include "base/errors.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// Blocks the calling thread, no actor's. errors: retry_later (nobody is there, or nobody answers in time).
result<caf::actor> connect(caf::actor_system& system, const std::string& host, std::uint16_t port, Duration timeout);

} // namespace troupe
