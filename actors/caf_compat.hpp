// The only file that knows which CAF this is: 0.17.6 on Debian 12, and where cheap also 0.18 and 1.x. Gated on the
// major and minor number; CAF_VERSION of 1.x is an octal literal and is never looked at.
//
//   TROUPE_REPLIES(R, In...)   a handler that answers      TROUPE_REACTS(In...)   one that does not
//   TROUPE_STATE(self)         state of a stateful actor   TROUPE_ERROR_CODE(E, "category")
//   register_types<Block>(cfg) in the constructor of the configuration
//   monitor_once(self, handle) one down_msg; call it once per incarnation
//   spread_node_id(cfg, k)     before the actor_system exists: processes in containers collide in node id
#pragma once

#include <caf/config.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/node_id.hpp>
#include <caf/sec.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <vector>

#if CAF_MAJOR_VERSION == 0 && CAF_MINOR_VERSION < 18
#define TROUPE_CAF_017 1
#else
#define TROUPE_CAF_017 0
#endif

#if TROUPE_CAF_017
#define TROUPE_REPLIES(R, ...) ::caf::replies_to<__VA_ARGS__>::with<R>
#define TROUPE_REACTS(...) ::caf::reacts_to<__VA_ARGS__>
#define TROUPE_STATE(self) ((self)->state)
#define TROUPE_ERROR_CODE(type, category) CAF_ERROR_CODE_ENUM(type, category)
#else
#define TROUPE_REPLIES(R, ...) ::caf::result<R>(__VA_ARGS__)
#define TROUPE_REACTS(...) ::caf::result<void>(__VA_ARGS__)
#if CAF_MAJOR_VERSION == 0
#define TROUPE_STATE(self) ((self)->state)
#else
#define TROUPE_STATE(self) ((self)->state())
#endif
#define TROUPE_ERROR_CODE(type, category) CAF_ERROR_CODE_ENUM(type)
#endif

namespace troupe {

template <class Block>
void register_types([[maybe_unused]] caf::actor_system_config& cfg) {
#if TROUPE_CAF_017
  cfg.add_message_types<Block>();
#else
  caf::init_global_meta_objects<Block>();
#endif
}

template <class Self, class Handle>
void monitor_once(Self* self, const Handle& handle) {
  self->monitor(handle);
}

/// Advances this process's part of CAF's node id `k` times (0 … 255), as two processes that see the same addresses and
/// the same pid (containers) would otherwise be one node to CAF, and the second could not connect.
inline void spread_node_id([[maybe_unused]] const caf::actor_system_config& cfg, [[maybe_unused]] unsigned k) {
#if TROUPE_CAF_017
  for (k %= 256; k > 0; --k)
    caf::node_id::default_data::local(cfg);
#endif
}

/// Bytes through any inspector, with the length checked before memory is taken: what came over the wire is not
/// believed. `name` is what a printer shows.
template <class Inspector>
auto inspect_bounded_bytes(Inspector& f, const char* name, std::vector<std::uint8_t>& bytes, std::size_t at_most) {
#if TROUPE_CAF_017
  if constexpr (Inspector::writes_state) {
    std::size_t size = 0;
    if (auto err = f.begin_sequence(size))
      return err;
    if (size > at_most)
      return caf::error{caf::sec::invalid_argument};
    bytes.resize(size);
    if (size > 0)
      if (auto err = f.apply_raw(size, bytes.data()))
        return err;
    return f.end_sequence();
  } else {
    return f(caf::meta::type_name(name), bytes);
  }
#else
  auto check = [&] { return bytes.size() <= at_most; };
  return f.object(bytes).pretty_name(name).fields(f.field("bytes", bytes).invariant(check));
#endif
}

} // namespace troupe
