// The one error enum and result<T>. A value exists only if someone reacts to it; values are grouped by the
// reaction they call for. `Error::context` says what failed on what, in words a user can act on.
#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

enum class Errc : std::uint8_t {
  none = 0,
  retry_later, ///< caller: try again after a pause (peer not up yet, resource busy)
  stale,       ///< receiver: drop it (older incarnation, generation or term)
  fenced,      ///< holder: step down (a newer term or incarnation exists)
  peer_lost,   ///< rendezvous: form the next generation without the peer
  aborted,     ///< trainer thread: return to the last step boundary (the generation was poisoned)
  deadline,    ///< caller: treat the other side as lost
  corrupt,     ///< restore: take another source
  exhausted,   ///< supervisor: escalate (budget, memory, disk)
  invalid,     ///< edge: reject the input and say why
  unsupported, ///< edge: say that this part is not there yet
};

std::string_view to_string(Errc code);

struct Error {
  Errc code = Errc::none;
  std::string context;
};

template <class T>
using result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Errc code, std::string context) {
  return tl::make_unexpected(Error{code, std::move(context)});
}

/// errno as an error: "open /x/y: No such file or directory".
tl::unexpected<Error> fail_errno(Errc code, std::string what, int error_number);

} // namespace troupe

#define TROUPE_CONCAT_(a, b) a##b
#define TROUPE_CONCAT(a, b) TROUPE_CONCAT_(a, b)
/// Returns the error of `expr` from the enclosing function, or goes on.
#define TROUPE_TRY(expr)                                                                                      \
  do {                                                                                                        \
    if (auto troupe_try_ = (expr); !troupe_try_)                                                              \
      return ::tl::make_unexpected(std::move(troupe_try_).error());                                           \
  } while (false)
/// Declares `decl` from the value of `expr`, or returns its error from the enclosing function.
#define TROUPE_ASSIGN(decl, expr)                                                                             \
  auto TROUPE_CONCAT(troupe_result_, __LINE__) = (expr);                                                      \
  if (!TROUPE_CONCAT(troupe_result_, __LINE__))                                                               \
    return ::tl::make_unexpected(std::move(TROUPE_CONCAT(troupe_result_, __LINE__)).error());                 \
  decl = std::move(*TROUPE_CONCAT(troupe_result_, __LINE__))
