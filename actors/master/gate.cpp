#include "actors/master/gate.hpp"

#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/kernel/recovery.hpp"
#include "actors/kernel/scaling.hpp"
#include "base/log.hpp"
#include "troupe/version.hpp"

#include <caf/io/middleman.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <unistd.h>

namespace troupe {

namespace {

using GateSelf = caf::stateful_actor<GateState>*;
using Reply = Message<schema::ControlReply>;

constexpr std::uint32_t max_nodes = 1 << 16;

// --- nodes
// ----------------------------------------------------------------------------------------------------------

GateState::Node* node_of(GateState& st, NodeId id) {
  const auto i = std::find_if(st.nodes.begin(), st.nodes.end(), [&](const auto& n) { return n.id == id; });
  return i == st.nodes.end() || !i->actor ? nullptr : &*i;
}

template <class Schema, class T>
void to_all(GateSelf self, const T& statement) {
  const auto message = Message<Schema>::from(statement);
  for (auto& node : self->state.nodes)
    if (node.actor)
      self->send(node.actor, message);
}

template <class Schema, class T>
void to_node(GateSelf self, NodeId id, const T& statement) {
  if (auto* node = node_of(self->state, id))
    self->send(node->actor, Message<Schema>::from(statement));
}

NodeWelcome admit(GateSelf self, const NodeHello& hello, const caf::strong_actor_ptr& from) {
  auto& st = self->state;
  NodeWelcome welcome;
  welcome.term = st.wiring->term;
  if (hello.version != TROUPE_VERSION) {
    welcome.refusal = fmt::format("this node runs version {}, the master {}: install one on both",
                                  hello.version, TROUPE_VERSION);
    return welcome;
  }
  auto node =
    std::find_if(st.nodes.begin(), st.nodes.end(), [&](const auto& n) { return n.agent == hello.agent; });
  if (node == st.nodes.end() && !hello.known.empty()) // it was here before this life of the door
    if (const auto id = hello.known.front(); id.value < max_nodes) {
      while (st.nodes.size() <= id.value)
        st.nodes.push_back({NodeId{static_cast<std::uint32_t>(st.nodes.size())}, {}, {}, {}});
      if (!st.nodes[id.value].actor)
        node = st.nodes.begin() + id.value;
    }
  if (node == st.nodes.end()) // a new process in the place of one that is gone
    node = std::find_if(st.nodes.begin(), st.nodes.end(),
                        [&](const auto& n) { return n.host == hello.host && !n.actor; });
  if (node == st.nodes.end()) {
    st.nodes.push_back(
      {NodeId{static_cast<std::uint32_t>(st.nodes.size())}, hello.agent, hello.host, {}});
    node = st.nodes.end() - 1;
  }
  node->agent = hello.agent;
  node->host = hello.host;
  node->actor = caf::actor_cast<NodeActor>(from);
  welcome.node = node->id;
  self->monitor(node->actor);
  // What is wanted of everybody, at once; the slots' order follows the node's first report.
  if (st.faults)
    to_node<schema::ArmedFaults>(self, node->id, *st.faults);
  if (st.generation)
    to_node<schema::GenerationOrder>(self, node->id, *st.generation);
  if (st.save && st.save->from.node == node->id)
    to_node<schema::SaveOrder>(self, node->id, *st.save);
  if (st.stopped)
    to_node<schema::StopNode>(self, node->id, StopNode{st.wiring->term, "the job ended"});
  return welcome;
}

void node_down(GateSelf self, const caf::down_msg& down) {
  auto& st = self->state;
  for (auto& node : st.nodes)
    if (node.actor && caf::actor_cast<caf::actor_addr>(node.actor) == down.source) {
      node.actor = nullptr;
      tell_kernels(st.wiring->directory, NodeLost{node.id, node.agent, "its process is gone"});
    }
  const bool left =
    std::any_of(st.nodes.begin(), st.nodes.end(), [](const auto& n) { return bool(n.actor); });
  if (st.stopped && !left)
    if (auto console = st.wiring->directory.find(role::console))
      self->send(console, NodesGone{});
}

// --- actions
// --------------------------------------------------------------------------------------------------------

void answer(std::vector<GateState::Asker>& askers, std::uint64_t request, bool ok, const std::string& text) {
  for (auto i = askers.begin(); i != askers.end();)
    if (i->request == request) {
      i->promise.deliver(Reply::from(ControlReply{ok, text, {}}));
      i = askers.erase(i);
    } else {
      ++i;
    }
}

struct Carry {
  GateSelf self;

  void operator()(const SlotsOrder& order) const {
    to_node<schema::SlotsOrder>(self, order.node, order);
  }
  void operator()(const GenerationOrder& order) const {
    auto& newest = self->state.generation;
    if (newest && newest->term == order.term && order.sequence < newest->sequence)
      return; // a form that waited for the journal while a drain went out
    newest = order;
    to_all<schema::GenerationOrder>(self, order);
  }
  void operator()(const SaveOrder& order) const {
    self->state.save = order;
    to_node<schema::SaveOrder>(self, order.from.node, order);
  }
  void operator()(const ArmedFaults& armed) const {
    self->state.faults = armed;
    to_all<schema::ArmedFaults>(self, armed);
  }
  void operator()(const FireFault& verdict) const {
    to_node<schema::FireFault>(self, verdict.worker.node, verdict);
  }
  void operator()(const KillWorker& kill) const { to_node<schema::KillWorker>(self, kill.worker.node, kill); }
  void operator()(const KillMaster& kill) const {
    log(LogLevel::warn, "master.killed", "{}", kill.reason);
    ::kill(::getpid(), SIGKILL);
  }
  void operator()(const DeleteCheckpoint& order) const {
    if (!self->state.nodes.empty())
      to_node<schema::DeleteCheckpoint>(self, self->state.nodes.front().id, order);
  }
  void operator()(const AllStopped& stopped) const {
    auto& st = self->state;
    st.stopped = true;
    to_all<schema::StopNode>(self, StopNode{st.wiring->term, stopped.reason});
    const bool left =
      std::any_of(st.nodes.begin(), st.nodes.end(), [](const auto& n) { return bool(n.actor); });
    if (auto console = st.wiring->directory.find(role::console); console && !left)
      self->send(console, NodesGone{});
  }
  void operator()(const ScaleAnswer& a) const { answer(self->state.scaling, a.request, a.ok, a.reason); }
  void operator()(const SaveDone& done) const {
    if (done.request > 0) // 0: about the save, not to an asker
      answer(self->state.saving, done.request, done.ok, done.ok ? "saved " + done.path : done.reason);
  }
};

template <class... Ts>
void carry_one_of(GateSelf self, const std::any& action) {
  const auto when = [&]<class T>(T*) {
    if (const auto* is = std::any_cast<T>(&action))
      Carry{self}(*is);
  };
  (when(static_cast<Ts*>(nullptr)), ...);
}

/// External actions that no node and no asker has to see are the console's alone.
void carry(GateSelf self, const std::any& action) {
  carry_one_of<SlotsOrder, GenerationOrder, SaveOrder, ArmedFaults, FireFault, KillWorker, KillMaster, DeleteCheckpoint,
               AllStopped, ScaleAnswer, SaveDone>(self, action);
}

// --- control
// --------------------------------------------------------------------------------------------------------

result<std::uint32_t> number(const ControlRequest& request, std::size_t index) {
  std::uint32_t value = 0;
  if (index >= request.arguments.size())
    return fail(Errc::invalid, request.command + " needs a number");
  const auto& text = request.arguments[index];
  if (std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.data() + text.size() ||
      text.empty())
    return fail(Errc::invalid, fmt::format("{} needs a number, got '{}'", request.command, text));
  return value;
}

void control(GateSelf self, const ControlRequest& request, caf::response_promise promise) {
  auto& st = self->state;
  auto& directory = st.wiring->directory;
  auto reply = [&](bool ok, std::string text) {
    promise.deliver(Reply::from(ControlReply{ok, std::move(text), {}}));
  };
  const auto& command = request.command;
  if (command == "status") {
    auto console = directory.find(role::console);
    if (!console)
      return reply(false, "the console is just starting again; ask once more");
    self->request(console, st.wiring->config.limits.request, request)
      .then([promise](const ControlReply& answer) mutable { promise.deliver(Reply::from(answer)); },
            [promise](const caf::error&) mutable {
              promise.deliver(Reply::from(ControlReply{false, "the console did not answer", {}}));
            });
  } else if (command == "scale") {
    auto count = number(request, 0);
    if (!count)
      return reply(false, count.error().context);
    const auto id = ++st.requests;
    st.scaling.push_back({id, promise});
    tell_kernels(directory, ScaleRequest{id, *count, "troupe scale"});
  } else if (command == "pause" || command == "unpause") {
    tell_kernels(directory, Pause{command == "pause", "troupe " + command});
    reply(true, command == "pause" ? "pausing at the next step" : "going on");
  } else if (command == "save") {
    const auto id = ++st.requests;
    st.saving.push_back({id, promise});
    tell_kernels(directory, SaveRequest{"troupe save", id});
  } else if (command == "stop") {
    tell_kernels(directory, StopRequest{true, "troupe stop"});
    reply(true, "stopping after a checkpoint");
  } else if (command == "kill") {
    if (request.arguments.size() == 2 && request.arguments[0] == "actor") {
      auto actor = directory.find(request.arguments[1]);
      if (!actor)
        return reply(false, fmt::format("the master has no actor '{}'", request.arguments[1]));
      self->send_exit(actor, caf::exit_reason::kill);
      return reply(true, fmt::format("killed the master's actor {}", request.arguments[1]));
    }
    if (request.arguments.size() != 2 || request.arguments[0] != "worker")
      return reply(
        false,
        "this version can kill a worker or an actor of the master: troupe kill worker RANK, troupe kill "
        "actor NAME");
    auto rank = number(request, 1);
    if (!rank)
      return reply(false, rank.error().context);
    if (const auto& now = st.generation; now && now->plan)
      if (const auto members = now->plan->members.size(); *rank >= members)
        return reply(false, fmt::format("no worker {}: generation {} has workers 0 to {}", *rank,
                                        now->plan->generation.value, members - 1));
    tell_kernels(directory, KillRequest{*rank, "troupe kill"});
    reply(true, fmt::format("killing worker {}", *rank));
  } else {
    reply(false, fmt::format("unknown command '{}'", command));
  }
}

} // namespace

caf::behavior gate_actor(GateSelf self, MasterWiring* wiring, const GateSettings* settings) {
  auto& mine = self->state;
  mine.wiring = wiring;
  mine.settings = settings;
  mine.requests = static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()); // no life repeats a number
  self->set_error_handler([](caf::error& e) { log(LogLevel::warn, "gate.error", "{}", caf::to_string(e)); });
  self->set_down_handler([self](const caf::down_msg& down) { node_down(self, down); });
  auto port = self->system().middleman().publish(self, 0, settings->listen.c_str());
  if (!port) {
    log(LogLevel::error, "gate.unpublished", "{}", caf::to_string(port.error()));
    self->quit(port.error());
    return {};
  }
  settings->published(*port, self);
  if (wiring->directory.life(role::gate) > 1)
    tell_kernels(wiring->directory, PeerRestarted{role::gate});
  return {
    [self](const Message<schema::NodeHello>& m) {
      NodeWelcome welcome;
      welcome.refusal = "unreadable hello";
      with(m, [&](const NodeHello& hello) { welcome = admit(self, hello, self->current_sender()); });
      return Message<schema::NodeWelcome>::from(welcome);
    },
    [self](const Message<schema::NodeReport>& m) {
      with(m, [self](const NodeReport& report) { tell_kernels(self->state.wiring->directory, report); });
    },
    [self](const Message<schema::Alive>& m) {
      with(m, [self](const Alive& alive) { tell_kernels(self->state.wiring->directory, alive); });
    },
    [self](const Message<schema::FaultReached>& m) {
      with(m, [self](const FaultReached& at) { tell_kernels(self->state.wiring->directory, at); });
    },
    [self](const Message<schema::Persisted>& m) {
      with(m, [self](const Persisted& done) { tell_kernels(self->state.wiring->directory, done); });
    },
    [self](const Message<schema::DigestMismatch>& m) {
      with(m, [self](const DigestMismatch& found) { tell_kernels(self->state.wiring->directory, found); });
    },
    [self](const Message<schema::ProgressReport>& m) {
      with(m, [self](ProgressReport& progress) {
        if (auto console = self->state.wiring->directory.find(role::console))
          self->send(console, std::move(progress));
      });
    },
    [self](const Message<schema::WorkerReport>& m) {
      with(m, [self](WorkerReport& report) {
        if (auto console = self->state.wiring->directory.find(role::console))
          self->send(console, std::move(report));
      });
    },
    [self](const Message<schema::ControlRequest>& m) -> caf::result<Reply> {
      auto promise = self->make_response_promise();
      ControlRequest request;
      with(m, [&](ControlRequest& r) { request = std::move(r); });
      control(self, request, promise);
      return caf::delegated<Reply>{};
    },
    [self](const External& external) { carry(self, external.action); },
    [self](const Interrupt& interrupt) {
      tell_kernels(self->state.wiring->directory, StopRequest{false, interrupt.reason});
    },
  };
}

} // namespace troupe
