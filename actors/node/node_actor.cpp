#include "actors/node/node_actor.hpp"

#include "actors/atoms.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/node/fd_channel.hpp"
#include "actors/node/persister.hpp"
#include "actors/supervision/supervisor.hpp"
#include "base/log.hpp"
#include "comm/segment.hpp"
#include "troupe/version.hpp"

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <set>

namespace troupe {

namespace {

using Self = caf::stateful_actor<NodeState>*;
using checkpoint::SlotBank;

constexpr auto look_again = std::chrono::milliseconds(50); // between two looks for the master

// What the master does not hear while it is away is said again, whole, when it is back.
template <class Schema>
void to_master(Self self, const Message<Schema>& message) {
  if (self->state.gate)
    self->send(self->state.gate, message);
}

template <class T>
void to_persister(Self self, T task) {
  if (auto persister = self->state.names->find(role::persister))
    self->send(persister, std::move(task));
}

// --- up -------------------------------------------------------------------------------------------------------------

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

// Several changes that arrive together make one report.
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
    if (Heard heard; heard_of(slot, st.settings->config.limits.heartbeat, st.settings->config.limits, now, heard))
      alive.heard.push_back(heard);
  to_master(self, Message<schema::Alive>::from(alive));
}

// --- workers --------------------------------------------------------------------------------------------------------

void send_order(Self self, Slot& slot) {
  auto& st = self->state;
  if (!slot.worker)
    return;
  WorkerOrder order;
  order.term = st.term;
  order.sequence = ++st.worker_sequence;
  order.generation = st.generation;
  order.save = st.save;
  order.faults = st.faults;
  order.stop = !slot.stop_cause.empty();
  order.cause = slot.stop_cause;
  self->send(slot.worker, Message<schema::WorkerOrder>::from(order));
}

void send_orders(Self self) {
  for (auto& slot : self->state.slots)
    send_order(self, slot);
}

void kill_worker(Slot& slot, std::string_view why) {
  if (!slot.runs())
    return;
  log(LogLevel::info, "worker.kill", "slot={} pid={} why={}", slot.fact.slot.value, slot.process->pid, why);
  slot.killed_at = monotonic_now();
  ::kill(slot.process->pid, SIGKILL);
}

// Ask, wait, kill.
void stop_worker(Self self, Slot& slot, const std::string& cause) {
  if (!slot.runs() || !slot.stop_cause.empty())
    return;
  slot.stop_cause = cause.empty() ? "told to leave" : cause;
  if (!slot.worker) { // it does not listen yet
    ::kill(slot.process->pid, SIGKILL);
    return;
  }
  send_order(self, slot);
  self->delayed_send(self, self->state.settings->config.limits.stop, KillAtom::value, slot.fact.slot.value,
                     slot.fact.incarnation.value);
}

void start_worker(Self self, Slot& slot) {
  auto& st = self->state;
  const auto& s = *st.settings;
  slot.fact.incarnation = slot.order.incarnation;
  slot.fact.phase = WorkerPhase::starting;
  slot.fact.generation = Generation{};
  slot.fact.step = Step{};
  slot.fact.model_digest = 0;
  slot.fact.failure = {};
  slot.fact.times = {};
  slot.fact.restore_source.clear();
  slot.fact.dead_rank = -1;
  slot.fact.cause.clear();
  slot.hello = {};
  slot.worker = nullptr;
  slot.stop_cause.clear();
  slot.killed_at = Time{};
  slot.heard = monotonic_now();
  auto give_up = [&](const Error& error) {
    slot.fact.phase = WorkerPhase::exited;
    slot.fact.failure.kind = FailureClass::startup;
    slot.fact.failure.what = error.context;
    slot.process.reset();
    report_soon(self);
  };
  auto channel = make_fd_channel();
  if (!channel)
    return give_up(channel.error());
  slot.channel = std::move(channel->first);
  UniqueFd log_fd{::open(fmt::format("{}/worker-{}.log", s.log_dir, slot.fact.slot.value).c_str(),
                         O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644)};
  SpawnSpec spec;
  spec.program = s.worker_program;
  spec.arguments = {"--port",        std::to_string(st.port),
                    "--node",        std::to_string(st.node.value),
                    "--slot",        std::to_string(slot.fact.slot.value),
                    "--incarnation", std::to_string(slot.fact.incarnation.value),
                    "--channel",     std::to_string(channel->second.get()),
                    "--config",      std::to_string(s.config_fd)};
  spec.inherit = {channel->second.get(), s.config_fd};
  spec.output = log_fd.get();
  auto process = spawn(spec, SIGKILL);
  if (!process)
    return give_up(process.error());
  slot.fact.pid = process->pid;
  const auto token = st.next_token++;
  st.tokens[token] = {slot.fact.slot.value, slot.fact.incarnation};
  if (auto watched = st.watcher->watch(process->pidfd.get(), token); !watched) {
    ::kill(process->pid, SIGKILL);
    return give_up(watched.error());
  }
  slot.process = std::move(*process);
  log(LogLevel::info, "worker.start", "slot={} incarnation={} pid={}", slot.fact.slot.value,
      slot.fact.incarnation.value, slot.fact.pid);
  report_soon(self);
}

// Makes the slot what its order says, one step at a time; called again when a process ended.
void settle(Self self, Slot& slot) {
  const auto& order = slot.order;
  if (slot.runs()) {
    const bool newer = order.incarnation > slot.fact.incarnation;
    if (order.kill && (newer || !order.run)) {
      if (slot.killed_at == Time{})
        kill_worker(slot, "ordered");
    } else if (newer || !order.run || self->state.stopping)
      stop_worker(self, slot, self->state.stopping ? self->state.stop_cause : "replaced or retired");
    return;
  }
  if (order.run && !self->state.stopping && order.incarnation > slot.fact.incarnation)
    start_worker(self, slot);
}

Slot* slot_of(NodeState& st, SlotId id, Incarnation incarnation) {
  if (id.value >= st.slots.size())
    return nullptr;
  auto& slot = st.slots[id.value];
  return slot.runs() && slot.fact.incarnation == incarnation ? &slot : nullptr;
}

void poison(NodeState& st, Generation upto, std::string_view cause) {
  if (st.segment && st.opened <= upto)
    st.segment->poison(st.segment->size(), PoisonSource::watcher, nobody, cause);
}

void quit_when_empty(Self self) {
  auto& st = self->state;
  const bool busy = std::any_of(st.slots.begin(), st.slots.end(), [](const Slot& s) { return s.runs(); });
  if (st.stopping && !busy)
    self->quit(caf::exit_reason::user_shutdown);
}

void stop_all(Self self, const std::string& cause) {
  auto& st = self->state;
  if (st.stopping)
    return;
  st.stopping = true;
  st.stop_cause = cause.empty() ? "the job ended" : cause;
  for (auto& slot : st.slots)
    settle(self, slot);
  quit_when_empty(self);
}

// --- saves ------------------------------------------------------------------------------------------------------------

// Pinned here and now, so that it stays readable however long the persister takes to come to it.
void persist(Self self, Slot& slot, const SaveReady& ready) {
  auto& st = self->state;
  auto answer = [&](const Error& error) {
    Persisted failed;
    failed.request = ready.request;
    failed.key = ready.key;
    failed.error = error.context;
    to_master(self, Message<schema::Persisted>::from(failed));
  };
  auto bank = SlotBank::attach(slot.bank_fd.get());
  if (!bank)
    return answer(bank.error());
  auto pin = bank->pin(ready.key);
  if (!pin)
    return answer(pin.error());
  to_persister(self, PersistTask{ready, std::make_shared<SlotBank>(std::move(*bank)),
                                       std::make_shared<SlotBank::Pin>(std::move(*pin))});
}

// What is in the slot's memory already needs nobody's help; for the rest the worker is asked.
void save(Self self, const SaveOrder& order) {
  auto& st = self->state;
  if (order.request <= st.save.request && order.term == st.save.term)
    return;
  st.save = order;
  if (order.from.slot.value >= st.slots.size())
    return;
  auto& slot = st.slots[order.from.slot.value];
  if (slot.bank && order.from.incarnation == slot.fact.incarnation)
    if (const auto newest = slot.bank->newest(); newest && newest->key.step >= order.at_least) {
      SaveReady ready;
      ready.request = order.request;
      ready.worker = order.from;
      ready.key = newest->key;
      ready.best = order.best;
      return persist(self, slot, ready);
    }
  send_order(self, slot);
}

// --- a generation ---------------------------------------------------------------------------------------------------

const Member* member_of(const Plan& plan, NodeId node, const Slot& slot) {
  const auto i = std::find_if(plan.members.begin(), plan.members.end(), [&](const Member& m) {
    return m.worker == WorkerKey{node, slot.fact.slot, slot.fact.incarnation};
  });
  return i == plan.members.end() ? nullptr : &*i;
}

// Makes the segment and hands descriptors to the members here. `loaded`: memory with the resume point out of a file.
void open_generation(Self self, const Plan& plan, const std::shared_ptr<UniqueFd>& loaded) {
  auto& st = self->state;
  SegmentSpec spec;
  spec.generation = plan.generation;
  for (const auto& m : plan.members) {
    spec.members.push_back({m.first_virtual, m.virtual_count});
    spec.virtual_total += m.virtual_count;
  }
  for (const auto& slot : st.slots)
    if (member_of(plan, st.node, slot) && slot.hello.layout != 0) {
      spec.f32_count = slot.hello.leaf_floats;
      spec.f64_count = slot.hello.leaf_doubles;
      spec.attachment_bytes = slot.hello.attachment_bytes;
      break;
    }
  auto fd = Segment::create(spec);
  auto mapped = fd ? Segment::attach(fd->get()) : result<std::unique_ptr<Segment>>{tl::make_unexpected(fd.error())};
  if (!mapped) {
    log(LogLevel::error, "segment.failed", "generation={} why={}", plan.generation.value, mapped.error().context);
    return; // members run into their limit and say so
  }
  st.segment = std::move(*mapped);
  st.opened = plan.generation;
  std::vector<SlotId> owners;
  std::vector<int> fds{fd->get()};
  for (const auto& source : plan.sources)
    if (source.tier != Tier::checkpoint && source.node == st.node && source.slot.value < st.slots.size()
        && st.slots[source.slot.value].bank_fd) {
      owners.push_back(source.slot);
      fds.push_back(st.slots[source.slot.value].bank_fd.get());
    }
  if (loaded) {
    owners.push_back(checkpoint_owner);
    fds.push_back(loaded->get());
  }
  for (auto& slot : st.slots)
    if (member_of(plan, st.node, slot) && slot.runs())
      if (auto sent = send_fds(slot.channel.get(), FdPacketKind::generation, plan.generation, owners, fds); !sent)
        log(LogLevel::warn, "fds.unsent", "slot={} why={}", slot.fact.slot.value, sent.error().context);
}

/// File that the plan's state comes from: a checkpoint, or job.init_from for the first generation; empty: none.
std::string file_for(const NodeState& st, const Plan& plan) {
  if (plan.sources.empty())
    return plan.resume == PieceKey{} ? st.settings->config.job.init_from : std::string{};
  for (const auto& source : plan.sources)
    if (source.tier != Tier::checkpoint)
      return {}; // memory first
  return plan.sources.front().path;
}

void load_file(Self self, const Plan& plan, const std::string& path) {
  auto& st = self->state;
  for (const auto& slot : st.slots)
    if (slot.bank) {
      to_persister(self, LoadTask{plan.generation, path, slot.bank->layout(), plan.resume == PieceKey{}});
      return;
    }
}

void obey(Self self, GenerationOrder order) {
  auto& st = self->state;
  if (order.term < st.term || (order.term == st.generation.term && order.sequence < st.generation.sequence))
    return;
  const bool again = order == st.generation;
  st.generation = std::move(order);
  const auto& g = st.generation;
  if (g.command == GenerationCommand::drain)
    poison(st, g.generation, g.cause);
  if (g.command == GenerationCommand::form && g.plan && g.plan->generation > st.opened && !again) {
    poison(st, Generation{g.plan->generation.value - 1}, "a newer generation is formed");
    if (const auto file = file_for(st, *g.plan); !file.empty())
      load_file(self, *g.plan, file);
    else
      open_generation(self, *g.plan, nullptr);
  }
  send_orders(self);
}

void loaded(Self self, const LoadDone& done) {
  auto& st = self->state;
  const auto& g = st.generation;
  if (g.command != GenerationCommand::form || !g.plan || g.plan->generation != done.generation
      || done.generation <= st.opened)
    return;
  if (!done.bank)
    log(LogLevel::error, "checkpoint.unloaded", "path={} why={}", done.path, done.error);
  open_generation(self, *g.plan, done.bank);
  send_orders(self);
}

// --- from workers ---------------------------------------------------------------------------------------------------

void greet(Self self, const WorkerHello& hello, caf::strong_actor_ptr from) {
  auto& st = self->state;
  auto* slot = slot_of(st, hello.slot, hello.incarnation);
  if (slot == nullptr)
    return;
  slot->hello = hello;
  slot->heard = monotonic_now();
  slot->worker = caf::actor_cast<WorkerActor>(from);
  auto refuse = [&](const Error& error) {
    slot->fact.failure.kind = FailureClass::startup;
    slot->fact.failure.what = error.context;
    kill_worker(*slot, error.context);
  };
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(hello.bank.data()), hello.bank.size()};
  auto layout = checkpoint::BankLayout::decode(bytes);
  if (!layout)
    return refuse(layout.error());
  if (!slot->bank || slot->bank->layout().hash() != layout->hash()) {
    slot->bank.reset();
    auto fd = SlotBank::create(*layout, st.settings->config.checkpoint.slots);
    if (!fd)
      return refuse(fd.error());
    auto bank = SlotBank::attach(fd->get());
    if (!bank)
      return refuse(bank.error());
    slot->bank_fd = std::move(*fd);
    slot->bank.emplace(std::move(*bank));
  }
  slot->bank->pulse().killed_ns.store(0);
  if (auto sent = send_fds(slot->channel.get(), FdPacketKind::bank, {}, {slot->fact.slot}, {slot->bank_fd.get()}); !sent)
    log(LogLevel::warn, "fds.unsent", "slot={} why={}", hello.slot.value, sent.error().context);
  send_order(self, *slot);
}

void note(Self self, const WorkerReport& report, caf::strong_actor_ptr from) {
  auto& st = self->state;
  auto* slot = slot_of(st, report.fact.slot, report.fact.incarnation);
  if (slot == nullptr)
    return;
  slot->heard = monotonic_now();
  if (!slot->worker) {
    slot->worker = caf::actor_cast<WorkerActor>(from);
    send_order(self, *slot);
  }
  if (report.mismatch.generation > Generation{})
    to_master(self, Message<schema::DigestMismatch>::from(
                          DigestMismatch{report.mismatch.generation, report.mismatch.step, {}}));
  if (report.modes != slot->modes || report.samples_by_count != slot->counts) {
    slot->modes = report.modes;
    slot->counts = report.samples_by_count;
    to_master(self, Message<schema::WorkerReport>::from(report));
  }
  if (report.fact == slot->fact)
    return;
  slot->fact = report.fact;
  report_soon(self);
}

void ended(Self self, const ProcessEnded& end) {
  auto& st = self->state;
  const auto i = st.tokens.find(end.token);
  if (i == st.tokens.end())
    return;
  const auto [index, incarnation] = i->second;
  st.tokens.erase(i);
  auto& slot = st.slots[index];
  if (!slot.runs() || slot.fact.incarnation != incarnation)
    return;
  const bool member = st.generation.plan && member_of(*st.generation.plan, st.node, slot);
  slot.fact.failure = failure_of(slot, end.status);
  slot.fact.phase = WorkerPhase::exited;
  slot.process.reset();
  slot.channel.reset();
  slot.worker = nullptr;
  log(LogLevel::info, "worker.exit", "slot={} incarnation={} code={} signal={}", index, incarnation.value,
      end.status.code, end.status.signal);
  if (member) // second line behind the life-lock
    poison(st, st.opened, fmt::format("worker in slot {} ended", index));
  send_report(self);
  settle(self, slot);
  quit_when_empty(self);
}

// Says hello to a door of the master and goes on when it is welcome.
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
          return stop_all(self, welcome ? "refused: " + welcome->refusal : welcome.error().context);
        auto& state = self->state;
        const bool first = state.term == Term{};
        state.node = welcome->node;
        state.term = welcome->term;
        send_report(self);
        if (first)
          self->delayed_send(self, state.settings->config.limits.heartbeat, BeatAtom::value);
      },
      [self](const caf::error& e) {
        log(LogLevel::warn, "master.silent", "{}", caf::to_string(e));
        self->demonitor(caf::actor_cast<caf::actor_addr>(self->state.gate));
        self->state.gate = nullptr;
        self->send(self, ConnectAtom::value);
      });
}

// Looks for the master again, as long as limits.master_grace allows. Workers go on meanwhile.
void reconnect(Self self) {
  auto& st = self->state;
  if (st.gate || st.stopping)
    return;
  if (monotonic_now() - st.away_since > st.settings->config.limits.master_grace)
    return stop_all(self, "the master is gone");
  const auto port = st.settings->master_port();
  if (port == 0) {
    self->delayed_send(self, look_again, ConnectAtom::value);
    return;
  }
  self->request(self->system().middleman().actor_handle(), st.settings->config.limits.request, caf::connect_atom::value,
                st.settings->master_host, port)
    .then(
      [self](const caf::node_id&, const caf::strong_actor_ptr& door, const std::set<std::string>&) {
        if (door && !self->state.gate)
          join(self, caf::actor_cast<caf::actor>(door));
        else
          self->delayed_send(self, look_again, ConnectAtom::value);
      },
      [self](const caf::error&) { self->delayed_send(self, look_again, ConnectAtom::value); });
}

template <class T, class F>
void with(const Message<T>& message, F&& f) {
  if (auto value = message.read())
    f(*value);
  else
    log(LogLevel::error, "message.unreadable", "{}: {}", T::text, value.error().context);
}

} // namespace

caf::behavior node_actor(Self self, const NodeSettings* settings, caf::actor gate, const Directory* names) {
  auto& st = self->state;
  st.settings = settings;
  st.names = names;
  st.slots.resize(settings->slots);
  for (std::uint32_t i = 0; i < settings->slots; ++i)
    st.slots[i].fact.slot = SlotId{i};
  caf::actor me{self};
  st.watcher = std::make_unique<ProcessWatcher>([me](std::uint64_t token, ExitStatus status) {
    caf::anon_send(me, ProcessEnded{token, status});
  });
  self->set_error_handler([](caf::error& e) { log(LogLevel::warn, "node.error", "{}", caf::to_string(e)); });
  self->set_down_handler([self](const caf::down_msg& down) {
    auto& state = self->state;
    if (!state.gate || down.source != caf::actor_cast<caf::actor_addr>(state.gate))
      return;
    log(LogLevel::warn, "master.away", "{}", caf::to_string(down.reason));
    state.gate = nullptr;
    state.away_since = monotonic_now();
    self->send(self, ConnectAtom::value);
  });
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    if (exit.reason == caf::exit_reason::kill)
      self->quit(exit.reason);
    else
      stop_all(self, "the node was told to end");
  });
  auto port = self->system().middleman().publish(self, 0, "127.0.0.1");
  if (!port) {
    log(LogLevel::error, "node.unpublished", "{}", caf::to_string(port.error()));
    self->quit(port.error());
    return {};
  }
  st.port = *port;
  join(self, gate);
  return {
    [self](const Message<schema::SlotsOrder>& m) {
      with(m, [self](SlotsOrder& order) {
        auto& known = self->state.slots_order;
        if (order.term < self->state.term || (order.term == known.term && order.sequence < known.sequence))
          return;
        known = std::move(order);
        for (const auto& wanted : known.slots)
          if (wanted.slot.value < self->state.slots.size()) {
            auto& slot = self->state.slots[wanted.slot.value];
            slot.order = wanted;
            settle(self, slot);
          }
      });
    },
    [self](const Message<schema::GenerationOrder>& m) {
      with(m, [self](GenerationOrder& order) { obey(self, std::move(order)); });
    },
    [self](const Message<schema::SaveOrder>& m) {
      with(m, [self](const SaveOrder& order) { save(self, order); });
    },
    [self](const Message<schema::ArmedFaults>& m) {
      with(m, [self](ArmedFaults& armed) {
        if (armed.sequence < self->state.faults.sequence)
          return;
        self->state.faults = std::move(armed);
        send_orders(self);
      });
    },
    [self](const Message<schema::FireFault>& m) {
      with(m, [self, &m](const FireFault& verdict) {
        auto* slot = slot_of(self->state, verdict.worker.slot, verdict.worker.incarnation);
        if (slot == nullptr || !slot->worker)
          return;
        self->send(slot->worker, m);
        for (const auto& fault : self->state.faults.faults)
          if (fault.id == verdict.id && fault.kind == FaultKind::stop && verdict.fire)
            self->delayed_send(self, fault.lasts, FlushAtom::value, verdict.worker.slot.value,
                               verdict.worker.incarnation.value);
      });
    },
    [self](const Message<schema::KillWorker>& m) {
      with(m, [self](const KillWorker& kill) {
        if (auto* slot = slot_of(self->state, kill.worker.slot, kill.worker.incarnation))
          kill_worker(*slot, kill.reason);
      });
    },
    [self](const Message<schema::DeleteCheckpoint>& m) {
      with(m, [self](const DeleteCheckpoint& order) { to_persister(self, order); });
    },
    [self](const Message<schema::StopNode>& m) {
      with(m, [self](const StopNode& stop) { stop_all(self, stop.cause); });
    },
    [self](const Message<schema::WorkerHello>& m) {
      with(m, [self](const WorkerHello& hello) { greet(self, hello, self->current_sender()); });
    },
    [self](const Message<schema::WorkerReport>& m) {
      with(m, [self](const WorkerReport& report) { note(self, report, self->current_sender()); });
    },
    [self](const Message<schema::ProgressReport>& m) { to_master(self, m); },
    [self](const Message<schema::FaultReached>& m) { to_master(self, m); },
    [self](const Message<schema::SaveReady>& m) {
      with(m, [self](const SaveReady& ready) {
        auto& st = self->state;
        if (ready.worker.slot.value < st.slots.size() && st.slots[ready.worker.slot.value].bank_fd)
          persist(self, st.slots[ready.worker.slot.value], ready);
      });
    },
    [self](const Persisted& done) { to_master(self, Message<schema::Persisted>::from(done)); },
    [self](const LoadDone& done) { loaded(self, done); },
    [self](const ProcessEnded& end) { ended(self, end); },
    [self](ReportAtom) { send_report(self); },
    [self](ConnectAtom) { reconnect(self); },
    [self](BeatAtom) {
      self->delayed_send(self, self->state.settings->config.limits.heartbeat, BeatAtom::value);
      send_alive(self);
    },
    [self](KillAtom, std::uint32_t slot, std::uint64_t incarnation) {
      if (auto* s = slot_of(self->state, SlotId{slot}, Incarnation{incarnation}))
        kill_worker(*s, "did not leave in time");
    },
    [self](FlushAtom, std::uint32_t slot, std::uint64_t incarnation) { // end of an injected stop
      if (auto* s = slot_of(self->state, SlotId{slot}, Incarnation{incarnation}))
        ::kill(s->process->pid, SIGCONT);
    },
    [self](StopAtom, const std::string& cause) { stop_all(self, cause); },
  };
}

caf::actor start_node(caf::actor_system& system, const NodeSettings* settings, const caf::actor& gate, Directory* names) {
  ActorChild persister;
  persister.spec.id = role::persister;
  persister.spec.backoff.first = std::chrono::milliseconds(10);
  persister.start = [=](caf::local_actor* parent) -> caf::actor {
    caf::actor made = parent->spawn<caf::detached>(persister_actor, &settings->config);
    names->announce(role::persister, made);
    return made;
  };
  ActorChild agent;
  agent.spec.id = role::agent;
  agent.spec.restart = Restart::temporary;
  agent.spec.grace = settings->config.limits.stop * 2;
  agent.start = [=](caf::local_actor* parent) -> caf::actor {
    caf::actor made = parent->spawn(node_actor, settings, gate, names);
    names->announce(role::agent, made);
    // Its end is the node's end, in order or not.
    made->attach_functor([parent = caf::actor_cast<caf::actor>(parent)](const caf::error& reason) {
      const bool in_order = !reason || reason == caf::exit_reason::user_shutdown;
      caf::anon_send_exit(parent, in_order ? caf::exit_reason::user_shutdown : caf::exit_reason::unhandled_exception);
    });
    return made;
  };
  SupervisorSpec spec;
  spec.name = "node";
  return system.spawn(supervisor, spec, std::vector<ActorChild>{persister, agent});
}

} // namespace troupe
