#include "actors/control_client.hpp"

#include "actors/message.hpp"
#include "actors/system_config.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

namespace troupe {

result<ControlReply> ask_master(const std::string& host, std::uint16_t port, const ControlRequest& request,
                                Duration patience) {
  SystemConfig config{1};
  caf::actor_system system{config};
  auto gate = system.middleman().remote_actor<caf::actor>(host, port);
  if (!gate)
    return fail(Errc::retry_later, caf::to_string(gate.error()));
  result<ControlReply> answer = fail(Errc::deadline, "no answer");
  caf::scoped_actor self{system};
  self->request(*gate, patience, Message<schema::ControlRequest>::from(request))
    .receive([&](const Message<schema::ControlReply>& message) { answer = message.read(); },
             [&](const caf::error& e) { answer = fail(Errc::deadline, caf::to_string(e)); });
  return answer;
}

} // namespace troupe
