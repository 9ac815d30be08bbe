// The one carrier of everything that travels between processes: one serialized Cap'n Proto struct as a CAF message.
// `Message<schema::NodeReport>::from(report)` makes one, `.read()` checks everything and gives the plain struct back.
// CAF sees bytes only, so no float ever passes through its serializer. A copy shares nothing and costs its bytes.
// Values, any thread. What arrives is bounded before memory is taken for it and again before it is parsed.
#pragma once

#include "actors/caf_compat.hpp"
#include "actors/codec.hpp"
#include "actors/fwd.hpp"
#include "base/log.hpp"

#include <string>

namespace troupe {

/// Largest message that is accepted.
constexpr std::size_t max_message_bytes = 4 << 20;

template <class Schema>
class Message {
public:
  using schema = Schema;

  Message() = default;
  explicit Message(Bytes bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  static Message from(const T& value) {
    return Message(encode<Schema>(value));
  }

  /// Errc::invalid names the field that is wrong. T must be a complete type here.
  template <class T = typename Schema::value_type>
  result<T> read() const {
    return decode<Schema, T>(bytes_, DecodeLimits{.bytes = max_message_bytes});
  }

  const Bytes& bytes() const { return bytes_; }

  friend bool operator==(const Message&, const Message&) = default;
  friend std::string to_string(const Message& m) {
    return std::string(Schema::text) + "(" + std::to_string(m.bytes_.size()) + " bytes)";
  }
  template <class Inspector>
  friend auto inspect(Inspector& f, Message& m) {
    return inspect_bounded_bytes(f, Schema::text, m.bytes_, max_message_bytes);
  }

private:
  Bytes bytes_;
};

/// Calls f(struct) with what the message holds; what cannot be read is logged and dropped.
template <class Schema, class F>
void with(const Message<Schema>& message, F&& f) {
  if (auto value = message.read())
    f(*value);
  else
    log(LogLevel::error, "message.unreadable", "{}: {}", Schema::text, value.error().context);
}

/// Every type of the block in fwd.hpp; call it in the constructor of the configuration.
void register_types(caf::actor_system_config& cfg);

} // namespace troupe
