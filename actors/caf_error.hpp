// Errors across the border to CAF: troupe::Errc is an error category of its own there, so that a handler's answer and
// an actor's exit reason keep their meaning and their words. Any thread.
#pragma once

#include "actors/caf_compat.hpp"
#include "base/errors.hpp"

#include <caf/atom.hpp>
#include <caf/error.hpp>

#include <exception>
#include <string>

TROUPE_ERROR_CODE(troupe::Errc, "troupe")

namespace troupe {

/// Of caf::exit_reason.
constexpr caf::atom_value exit_category = caf::atom("exit");

caf::error to_caf(const Error& error);
inline caf::error to_caf(Errc code, std::string context) { return to_caf(Error{code, std::move(context)}); }

/// Errors of other categories (CAF's own) become Errc::retry_later for time-outs, peer_lost for lost receivers and
/// connections, invalid for messages that do not fit, and exhausted otherwise.
Error from_caf(const caf::error& error);

/// An exception that left a handler, as the exit reason of its actor: Errc::exhausted with its words.
caf::error exception_to_caf(const std::exception_ptr& exception);

/// What every long-lived actor does first: an error message does not end it, and an exception ends it with its words.
/// `on_error` gets what arrives without having been asked for.
template <class Self, class F>
void install_handlers(Self* self, F on_error) {
  self->set_error_handler([on_error](caf::error& error) { on_error(from_caf(error)); });
  self->set_exception_handler([](std::exception_ptr& exception) { return exception_to_caf(exception); });
}

} // namespace troupe
