#include "actors/control_client.hpp"

#include "actors/connect.hpp"
#include "actors/message.hpp"
#include "actors/system_config.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>

namespace troupe {

result<ControlReply> ask_master(const std::string& host, std::uint16_t port, const ControlRequest& request,
                                Duration patience) {
  SystemConfig config{1};
  caf::actor_system system{config};
  TROUPE_ASSIGN(auto gate, connect(system, host, port, std::min<Duration>(patience, std::chrono::seconds(5))));
  result<ControlReply> answer = fail(Errc::deadline, "no answer");
  caf::scoped_actor self{system};
  // Not a request: CAF never answers one to a process that died, and a save may take minutes.
  self->monitor(gate);
  self->send(gate, Message<schema::ControlRequest>::from(request));
  self->receive([&](const Message<schema::ControlReply>& message) { answer = message.read(); },
                [&](const caf::down_msg&) { answer = fail(Errc::peer_lost, "it died meanwhile; ask again"); },
                caf::after(patience) >> [] {});
  return answer;
}

} // namespace troupe
