#include "actors/node/node_parts.hpp"

#include "actors/atoms.hpp"
#include "actors/kernel/membership.hpp"
#include "base/log.hpp"
#include "troupe/version.hpp"

#include <caf/io/middleman.hpp>

#include <set>
#include <unistd.h>

namespace troupe::node {

namespace {

constexpr auto look_again = std::chrono::milliseconds(20); // between two looks for the master
constexpr std::size_t most_unheard = 2048;                 // reports; some 100 ms of all workers each

} // namespace

void send_report(Self self) {
  auto& st = self->state;
  st.report_due = false;
  NodeReport report;
  report.node = st.node;
  report.agent = st.settings->agent;
  report.term = st.term;
  report.sequence = ++st.sequence;
  report.host = st.settings->host;
  report.pid = ::getpid();
  for (auto& slot : st.slots) {
    if (!slot.runs() && slot.bank)
      slot.fact.holdings = holdings_of(*slot.bank);
    report.slots.push_back(slot.fact);
  }
  to_master(self, Message<schema::NodeReport>::from(report));
}

void tell_progress(Self self, const Message<schema::ProgressReport>& progress) {
  auto& st = self->state;
  if (st.gate && st.unheard.empty())
    return to_master(self, progress);
  if (st.unheard.size() >= most_unheard)
    st.unheard.pop_front();
  st.unheard.push_back(progress);
}

void tell_modes(Self self) {
  for (const auto& slot : self->state.slots)
    if (!slot.modes.empty() || !slot.counts.empty()) {
      WorkerReport report;
      report.fact = slot.fact;
      report.modes = slot.modes;
      report.samples_by_count = slot.counts;
      to_master(self, Message<schema::WorkerReport>::from(report));
    }
}

void report_soon(Self self) {
  if (self->state.report_due)
    return;
  self->state.report_due = true;
  self->send(self, ReportAtom::value);
}

void send_alive(Self self) {
  auto& st = self->state;
  const auto now = monotonic_now();
  Alive alive;
  alive.node = st.node;
  alive.agent = st.settings->agent;
  alive.term = st.term;
  for (const auto& slot : st.slots)
    if (Heard heard;
        heard_of(slot, st.settings->config.limits.heartbeat, st.settings->config.limits, now, heard))
      alive.heard.push_back(heard);
  to_master(self, Message<schema::Alive>::from(alive));
}

void join(Self self, const caf::actor& door) {
  auto& st = self->state;
  st.gate = caf::actor_cast<GateActor>(door);
  self->monitor(door);
  NodeHello hello;
  hello.host = st.settings->host;
  hello.pid = ::getpid();
  hello.agent = st.settings->agent;
  if (st.term > Term{})
    hello.known.push_back(st.node);
  hello.slots = st.settings->slots;
  hello.version = TROUPE_VERSION;
  self->request(st.gate, st.settings->config.limits.request, Message<schema::NodeHello>::from(hello))
    .then(
      [self](const Message<schema::NodeWelcome>& message) {
        auto welcome = message.read();
        if (!welcome || !welcome->refusal.empty())
          return give_up(self, welcome ? "refused: " + welcome->refusal : welcome.error().context);
        auto& state = self->state;
        const bool first = state.term == Term{};
        state.node = welcome->node;
        state.term = welcome->term;
        tell_modes(self); // before the report that ends the job
        send_report(self);
        for (const auto& progress : std::exchange(state.unheard, {}))
          to_master(self, progress);
        if (first)
          self->delayed_send(self, state.settings->config.limits.heartbeat, BeatAtom::value);
      },
      [self, door](const caf::error& e) {
        auto& state = self->state;
        if (caf::actor_cast<caf::actor>(state.gate) != door)
          return; // another door was found since
        log(LogLevel::warn, "master.silent", "{}", caf::to_string(e));
        self->demonitor(caf::actor_cast<caf::actor_addr>(door));
        state.gate = nullptr;
        state.away_since = monotonic_now();
        self->send(self, ConnectAtom::value);
      });
}

void reconnect(Self self) {
  auto& st = self->state;
  if (st.gate || st.stopping)
    return;
  if (monotonic_now() - st.away_since > st.settings->config.limits.master_grace)
    return give_up(self, "the master is gone");
  const auto port = st.settings->master_port();
  if (port == 0) {
    self->delayed_send(self, look_again, ConnectAtom::value);
    return;
  }
  self
    ->request(self->system().middleman().actor_handle(), st.settings->config.limits.request,
              caf::connect_atom::value, st.settings->master_host, port)
    .then(
      [self](const caf::node_id&, const caf::strong_actor_ptr& door, const std::set<std::string>&) {
        if (door && !self->state.gate)
          join(self, caf::actor_cast<caf::actor>(door));
        else
          self->delayed_send(self, look_again, ConnectAtom::value);
      },
      [self](const caf::error&) { self->delayed_send(self, look_again, ConnectAtom::value); });
}

} // namespace troupe::node
