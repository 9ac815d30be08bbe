#include "actors/caf_error.hpp"

#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>
#include <caf/to_string.hpp>

namespace troupe {

namespace {

constexpr auto our_category = caf::atom("troupe");
constexpr auto system_category = caf::atom("system");

std::string words(const caf::error& error) {
  auto& context = error.context();
  if (context.match_elements<std::string>())
    return context.get_as<std::string>(0);
  // make_error of CAF's own codes often has (what, where).
  std::string text;
  for (std::size_t i = 0; i < context.size(); ++i)
    if (context.match_element<std::string>(i))
      text += (text.empty() ? "" : ": ") + context.get_as<std::string>(i);
  return text;
}

Errc from_system(caf::sec code) {
  switch (code) {
  case caf::sec::request_timeout:
  case caf::sec::connection_timeout:
  case caf::sec::cannot_connect_to_node:
  case caf::sec::no_actor_published_at_port:
    return Errc::retry_later;
  case caf::sec::request_receiver_down:
  case caf::sec::disconnect_during_handshake:
  case caf::sec::no_route_to_receiving_node:
    return Errc::peer_lost;
  case caf::sec::unexpected_message:
  case caf::sec::unexpected_response:
  case caf::sec::invalid_argument:
  case caf::sec::unknown_type:
    return Errc::invalid;
  default:
    return Errc::exhausted;
  }
}

} // namespace

caf::error to_caf(const Error& error) { return caf::make_error(error.code, error.context); }

Error from_caf(const caf::error& error) {
  if (!error)
    return {};
  auto text = words(error);
  if (error.category() == our_category)
    return {static_cast<Errc>(error.code()), std::move(text)};
  if (error.category() == system_category) {
    auto code = static_cast<caf::sec>(error.code());
    return {from_system(code), to_string(code) + (text.empty() ? "" : ": " + text)};
  }
  if (error.category() == exit_category) {
    auto code = static_cast<caf::exit_reason>(error.code());
    return {code == caf::exit_reason::remote_link_unreachable ? Errc::peer_lost : Errc::exhausted, to_string(code)};
  }
  return {Errc::exhausted, text.empty() ? to_string(error) : text};
}

caf::error exception_to_caf(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    return to_caf(Errc::exhausted, e.what());
  } catch (...) {
    return to_caf(Errc::exhausted, "an exception that is no std::exception");
  }
}

} // namespace troupe
