#include "base/errors.hpp"

#include <cstring>

namespace troupe {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::none: return "none";
    case Errc::retry_later: return "retry_later";
    case Errc::stale: return "stale";
    case Errc::fenced: return "fenced";
    case Errc::peer_lost: return "peer_lost";
    case Errc::aborted: return "aborted";
    case Errc::deadline: return "deadline";
    case Errc::corrupt: return "corrupt";
    case Errc::exhausted: return "exhausted";
    case Errc::invalid: return "invalid";
    case Errc::unsupported: return "unsupported";
  }
  return "unknown";
}

tl::unexpected<Error> fail_errno(Errc code, std::string what, int error_number) {
  char text[128];
  what += ": ";
  what += strerror_r(error_number, text, sizeof text);
  return fail(code, std::move(what));
}

} // namespace troupe
