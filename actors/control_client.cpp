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
  self->request(gate, patience, Message<schema::ControlRequest>::from(request))
    .receive([&](const Message<schema::ControlReply>& message) { answer = message.read(); },
             [&](const caf::error& e) { answer = fail(Errc::deadline, caf::to_string(e)); });
  return answer;
}

} // namespace troupe
