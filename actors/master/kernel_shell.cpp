#include "actors/master/kernel_shell.hpp"

#include "actors/atoms.hpp"
#include "actors/caf_error.hpp"
#include "actors/kernel/kernel.hpp"
#include "actors/master/journal_actor.hpp"
#include "base/log.hpp"
#include "troupe/random.hpp"

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

using ShellSelf = caf::stateful_actor<KernelShellState>*;

void carry(ShellSelf self, const std::any& action) {
  auto& st = self->state;
  if (const auto* wake = std::any_cast<WakeAt>(&action)) {
    st.wake_at = wake->at;
    self->delayed_send(self, std::max(wake->at - monotonic_now(), Duration{}), WakeAtom::value, ++st.wake);
    return;
  }
  tell_kernels(st.wiring->directory, action);
}

void carry_outside(ShellSelf self, const std::any& action) {
  carry(self, action);
  if (auto gate = self->state.wiring->directory.find(role::gate))
    caf::anon_send(gate, External{action});
}

JournalRecord record_of(ShellSelf self, RecordKind kind, Bytes payload, Time now) {
  JournalRecord record;
  record.kind = kind;
  record.kernel = self->state.role;
  record.now = now;
  record.payload = std::move(payload);
  return record;
}

void append(ShellSelf self, Append&& what) {
  if (auto journal = self->state.wiring->directory.find(role::journal))
    self->send(journal, std::move(what));
}

void take(ShellSelf self, const std::any& event) {
  auto& st = self->state;
  const auto now = monotonic_now();
  auto turn = st.kernel->on(event, now);
  Append entry;
  entry.record = record_of(self, RecordKind::event, std::move(turn.event), now);
  entry.record.transient = turn.transient;
  std::vector<std::any> held;
  for (auto& action : turn.actions) {
    entry.record.actions.push_back(std::move(action.bytes));
    if (action.external && !action.urgent)
      held.push_back(action.statement);
  }
  if (!held.empty())
    entry.token = ++st.tokens;
  append(self, std::move(entry));
  for (const auto& action : turn.actions)
    if (!action.external)
      carry(self, action.statement);
    else if (action.urgent)
      carry_outside(self, action.statement);
  if (!held.empty())
    st.held.emplace(st.tokens, std::move(held));
}

void release(ShellSelf self, std::uint64_t token) {
  auto& held = self->state.held;
  while (!held.empty() && held.begin()->first <= token) {
    for (const auto& action : held.begin()->second)
      carry_outside(self, action);
    held.erase(held.begin());
  }
}

void append_snapshot(ShellSelf self) {
  append(self, {record_of(self, RecordKind::snapshot, self->state.kernel->state(), monotonic_now()), 0});
}

/// The kernel's past, record by record; actions were carried out by earlier lives. errors: corrupt, naming the record.
result<void> replay(AnyKernel& kernel, const std::vector<JournalRecord>& records) {
  for (const auto& record : records) {
    result<void> read;
    if (record.kind == RecordKind::snapshot)
      read = kernel.restore(record.payload);
    else if (record.kind == RecordKind::event)
      if (auto turn = kernel.again(record.payload, record.now); !turn)
        read = tl::make_unexpected(turn.error());
    if (!read)
      return fail(Errc::corrupt, fmt::format("journal record {} of {}: {}", record.sequence, record.kernel,
                                             read.error().context));
  }
  return {};
}

void begin(ShellSelf self, const Records& past) {
  auto& st = self->state;
  // Deciding from less than the past would be deciding wrongly.
  if (const auto replayed = replay(*st.kernel, past.records); !replayed) {
    log(LogLevel::error, "kernel.unreadable", "{}", replayed.error().context);
    return self->quit(to_caf(replayed.error()));
  }
  const auto life = st.wiring->directory.life(st.role);
  // An event log that begins with this term can then be replayed by itself.
  if (life == 1 && !past.records.empty())
    append_snapshot(self);
  take(self, Started{st.wiring->term});
  if (life > 1)
    tell_kernels(st.wiring->directory, PeerRestarted{st.role});
}

void tick(ShellSelf self, std::uint64_t number) {
  auto& st = self->state;
  if (number != st.wake)
    return;
  Tick tick;
  const auto now = monotonic_now();
  tick.late = now - st.wake_at > st.wiring->config.limits.lost_after / 2;
  tick.random =
    Random(st.wiring->settings.seed, st.role, {static_cast<std::uint64_t>(now.time_since_epoch().count())}).next_u64();
  take(self, tick);
}

} // namespace

void tell_kernels(const Directory& directory, const std::any& statement) {
  for (const auto& name : kernels_that_take(statement.type()))
    if (auto kernel = directory.find(name))
      caf::anon_send(kernel, Statement{statement});
}

caf::behavior kernel_shell(ShellSelf self, MasterWiring* wiring, std::string role) {
  auto& mine = self->state;
  mine.wiring = wiring;
  mine.kernel = make_kernel(role, wiring->settings);
  mine.role = std::move(role);
  self->set_error_handler([self](caf::error& e) {
    log(LogLevel::warn, "kernel.error", "{}: {}", self->state.role, caf::to_string(e));
  });
  // Everything else waits in the mailbox until the past is known.
  self->request(wiring->directory.find(role::journal), wiring->config.limits.request, RecordsOf{mine.role})
    .await([self](const Records& past) { begin(self, past); }, [self](const caf::error& e) { self->quit(e); });
  return {
    [self](const Statement& statement) { take(self, statement.what); },
    [self](const Committed& done) { release(self, done.token); },
    [self](WakeAtom, std::uint64_t number) { tick(self, number); },
    [self](FlushAtom) { append_snapshot(self); }, // the journal wants to drop what came before it
  };
}

} // namespace troupe
