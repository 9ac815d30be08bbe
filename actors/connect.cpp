#include "actors/connect.hpp"

#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>

#include <set>

namespace troupe {

result<caf::actor> connect(caf::actor_system& system, const std::string& host, std::uint16_t port, Duration timeout) {
  result<caf::actor> found = fail(Errc::retry_later, "no answer");
  caf::scoped_actor self{system};
  self->request(system.middleman().actor_handle(), timeout, caf::connect_atom::value, host, port)
    .receive(
      [&](const caf::node_id&, const caf::strong_actor_ptr& actor, const std::set<std::string>&) {
        if (actor)
          found = caf::actor_cast<caf::actor>(actor);
        else
          found = fail(Errc::retry_later, "nothing is published there");
      },
      [&](const caf::error& e) { found = fail(Errc::retry_later, caf::to_string(e)); });
  return found;
}

} // namespace troupe
