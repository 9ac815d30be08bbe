#include "actors/node/node_parts.hpp"

#include "actors/atoms.hpp"
#include "actors/node/fd_channel.hpp"
#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fcntl.h>

namespace troupe::node {

using checkpoint::SlotBank;

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
  send_signal(*slot.process, SIGKILL);
}

namespace {

// Ask, wait, kill.
void stop_worker(Self self, Slot& slot, const std::string& cause) {
  if (!slot.runs() || !slot.stop_cause.empty())
    return;
  slot.stop_cause = cause.empty() ? "told to leave" : cause;
  if (!slot.worker) { // it does not listen yet
    send_signal(*slot.process, SIGKILL);
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
  auto no_start = [&](const Error& error) {
    slot.fact.phase = WorkerPhase::exited;
    slot.fact.failure.kind = FailureClass::startup;
    slot.fact.failure.what = error.context;
    slot.process.reset();
    report_soon(self);
  };
  auto channel = make_fd_channel();
  if (!channel)
    return no_start(channel.error());
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
    return no_start(process.error());
  slot.fact.pid = process->pid;
  const auto token = st.next_token++;
  st.tokens[token] = {slot.fact.slot.value, slot.fact.incarnation};
  if (auto watched = st.watcher->watch(process->pidfd.get(), token); !watched) {
    st.tokens.erase(token);
    send_signal(*process, SIGKILL);
    (void)reap(*process);
    return no_start(watched.error());
  }
  slot.process = std::move(*process);
  log(LogLevel::info, "worker.start", "slot={} incarnation={} pid={}", slot.fact.slot.value,
      slot.fact.incarnation.value, slot.fact.pid);
  report_soon(self);
}

} // namespace

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

namespace {

void quit_when_empty(Self self) {
  auto& st = self->state;
  const bool busy = std::any_of(st.slots.begin(), st.slots.end(), [](const Slot& s) { return s.runs(); });
  if (st.stopping && !busy)
    self->quit(st.gave_up ? caf::make_error(caf::sec::runtime_error, st.stop_cause)
                          : caf::make_error(caf::exit_reason::user_shutdown));
}

} // namespace

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

void give_up(Self self, const std::string& cause) {
  self->state.gave_up = true;
  stop_all(self, cause);
}

void greet(Self self, const WorkerHello& hello, const caf::strong_actor_ptr& from) {
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
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(hello.bank.data()),
                                         hello.bank.size()};
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
  if (auto sent =
        send_fds(slot->channel.get(), FdPacketKind::bank, {}, {slot->fact.slot}, {slot->bank_fd.get()});
      !sent)
    log(LogLevel::warn, "fds.unsent", "slot={} why={}", hello.slot.value, sent.error().context);
  send_order(self, *slot);
}

void note(Self self, const WorkerReport& report, const caf::strong_actor_ptr& from) {
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
  if (const auto words = receive_last_words(slot.channel.get()); !words.empty())
    if (auto failure = decode<schema::Failure>(words))
      slot.fact.failure = std::move(*failure);
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

} // namespace troupe::node
