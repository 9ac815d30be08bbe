// One question to a running master from a process that is no part of the job.
#pragma once

#include "actors/protocol_types.hpp"
#include "base/clock.hpp"
#include "base/errors.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// Blocks until the answer is there. errors: retry_later (nobody listens there), peer_lost (it died before it
/// answered), deadline or invalid (it listens but gave no answer that can be read within `patience`).
result<ControlReply> ask_master(const std::string& host, std::uint16_t port, const ControlRequest& request,
                                Duration patience);

} // namespace troupe
