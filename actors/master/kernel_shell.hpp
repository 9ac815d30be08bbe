// The one shell around every kernel: turns messages into events, calls the kernel, journals, and carries out
// the actions. Knows nothing of what is decided.
//
// Invariants
//  - The record of an event reaches the journal before any action of it reaches another kernel, so the
//  journal's order
//    is a causal one.
//  - An external action leaves after its record is durable; an urgent one (a drain) at once.
//  - A new life replays the kernel's own records before it takes any event, then gets Started, then tells its
//  peers.
#pragma once

#include "actors/atoms.hpp"
#include "actors/codec.hpp"
#include "actors/kernel_schemas.hpp"
#include "actors/master/journal_actor.hpp"
#include "base/log.hpp"
#include "troupe/random.hpp"

#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <map>
#include <memory>

namespace troupe {

/// An event for kernel K. In-process only.
template <class K>
struct For {
  typename K::Event event;
};

/// An action that nodes or askers have to see; carried out by the gate. In-process only.
struct External {
  std::variant<SlotsOrder, GenerationOrder, SaveOrder, ArmedFaults, FireFault, KillWorker, DeleteCheckpoint,
               AllStopped, ScaleAnswer, SaveDone>
    action;
};

template <class K>
struct KernelShellState {
  static inline const char* name = "troupe.kernel";
  MasterWiring* wiring = nullptr;
  std::unique_ptr<K> kernel;
  std::map<std::uint64_t, std::vector<typename K::Action>> held; ///< wait for Committed
  std::uint64_t tokens = 0;
  std::uint64_t wake = 0; ///< number of the newest timer
  Time wake_at{};
};

template <class F>
void for_each_kernel(F&& f) {
  f(static_cast<MembershipKernel*>(nullptr));
  f(static_cast<RendezvousKernel*>(nullptr));
  f(static_cast<RecoveryKernel*>(nullptr));
  f(static_cast<ShardsKernel*>(nullptr));
  f(static_cast<CheckpointsKernel*>(nullptr));
  f(static_cast<ScalingKernel*>(nullptr));
  f(static_cast<FaultsKernel*>(nullptr));
}

/// Sends a statement to every kernel that takes it. Any actor of the master.
template <class T>
void tell_kernels(const Directory& directory, const T& statement) {
  for_each_kernel([&]<class K>(K*) {
    if constexpr (accepts<K, T>)
      if (auto kernel = directory.find(std::string(K::name)))
        caf::anon_send(kernel, For<K>{statement});
  });
}

namespace detail {

template <class T>
concept GateBound = is_alternative<T, decltype(External::action)>::value;

template <class K>
using ShellSelf = caf::stateful_actor<KernelShellState<K>>*;

template <class K, class T>
void carry(ShellSelf<K> self, const T& action) {
  auto& st = self->state;
  if constexpr (std::is_same_v<T, WakeAt>) {
    st.wake_at = action.at;
    const auto wait = action.at - monotonic_now();
    self->delayed_send(self, wait > Duration{} ? wait : Duration{}, WakeAtom::value, ++st.wake);
  } else {
    tell_kernels(st.wiring->directory, action);
    if constexpr (GateBound<T>)
      if (auto gate = st.wiring->directory.find(role::gate))
        caf::anon_send(gate, External{action});
  }
}

template <class K>
void take(ShellSelf<K> self, const typename K::Event& event) {
  using Schemas = kernel_schema<K>;
  auto& st = self->state;
  const auto now = monotonic_now();
  auto actions = st.kernel->on(event, now);
  const bool transient =
    std::visit([](const auto& e) { return is_transient<std::decay_t<decltype(e)>>; }, event) &&
    std::all_of(actions.begin(), actions.end(), [](const typename K::Action& a) {
      return std::visit([](const auto& x) { return is_transient<std::decay_t<decltype(x)>>; }, a);
    });
  Append append;
  append.record.kind = RecordKind::event;
  append.record.kernel = K::name;
  append.record.now = now;
  append.record.transient = transient;
  append.record.payload = encode<typename Schemas::Event>(event);
  for (const auto& action : actions)
    append.record.actions.push_back(encode<typename Schemas::Action>(action));
  std::vector<typename K::Action> held;
  for (const auto& action : actions)
    std::visit(
      [&]<class T>(const T& a) {
        if (is_external<T> && !urgent(a))
          held.push_back(action);
      },
      action);
  if (!held.empty())
    append.token = ++st.tokens;
  if (auto journal = st.wiring->directory.find(role::journal))
    self->send(journal, std::move(append));
  for (const auto& action : actions)
    std::visit(
      [&]<class T>(const T& a) {
        if (!is_external<T> || urgent(a))
          carry<K>(self, a);
      },
      action);
  if (!held.empty())
    st.held.emplace(st.tokens, std::move(held));
}

template <class K>
void release(ShellSelf<K> self, std::uint64_t token) {
  auto& held = self->state.held;
  while (!held.empty() && held.begin()->first <= token) {
    for (const auto& action : held.begin()->second)
      std::visit([&](const auto& a) { carry<K>(self, a); }, action);
    held.erase(held.begin());
  }
}

template <class K>
void append_snapshot(ShellSelf<K> self) {
  Append append;
  append.record.kind = RecordKind::snapshot;
  append.record.kernel = K::name;
  append.record.now = monotonic_now();
  append.record.payload = encode<typename kernel_schema<K>::State>(self->state.kernel->state());
  if (auto journal = self->state.wiring->directory.find(role::journal))
    self->send(journal, std::move(append));
}

/// The kernel's past, record by record; actions were carried out by earlier lives.
template <class K>
void replay(K& kernel, const std::vector<JournalRecord>& records) {
  using Schemas = kernel_schema<K>;
  for (const auto& record : records) {
    if (record.kernel != K::name)
      continue;
    if (record.kind == RecordKind::snapshot) {
      if (auto state = decode<typename Schemas::State, typename K::State>(record.payload))
        kernel.restore(std::move(*state));
    } else if (record.kind == RecordKind::event) {
      if (auto event = decode<typename Schemas::Event, typename K::Event>(record.payload))
        (void)kernel.on(*event, record.now);
    }
  }
}

} // namespace detail

template <class K>
caf::behavior kernel_shell(caf::stateful_actor<KernelShellState<K>>* self, MasterWiring* wiring,
                           std::function<std::unique_ptr<K>()> make) {
  auto& mine = self->state;
  mine.wiring = wiring;
  mine.kernel = make();
  self->set_error_handler(
    [](caf::error& e) { log(LogLevel::warn, "kernel.error", "{}: {}", K::name, caf::to_string(e)); });
  // Everything else waits in the mailbox until the past is known.
  self
    ->request(wiring->directory.find(role::journal), wiring->config.limits.request,
              RecordsOf{std::string(K::name)})
    .await(
      [self](const Records& past) {
        auto& st = self->state;
        detail::replay(*st.kernel, past.records);
        // An event log that begins with this term can then be replayed by itself.
        if (st.wiring->directory.life(std::string(K::name)) == 1 && !past.records.empty())
          detail::append_snapshot<K>(self);
        detail::take<K>(self, Started{st.wiring->term});
        if (st.wiring->directory.life(std::string(K::name)) > 1)
          tell_kernels(st.wiring->directory, PeerRestarted{std::string(K::name)});
      },
      [self](const caf::error& e) { self->quit(e); });
  return {
    [self](const For<K>& message) { detail::take<K>(self, message.event); },
    [self](const Committed& done) { detail::release<K>(self, done.token); },
    [self](WakeAtom, std::uint64_t number) {
      auto& st = self->state;
      if (number != st.wake)
        return;
      Tick tick;
      const auto now = monotonic_now();
      tick.late = now - st.wake_at > st.wiring->config.limits.lost_after / 2;
      tick.random = Random(st.wiring->settings.seed, K::name,
                           {static_cast<std::uint64_t>(now.time_since_epoch().count())})
                      .next_u64();
      if constexpr (accepts<K, Tick>)
        detail::take<K>(self, tick);
    },
    [self](FlushAtom) { // the journal wants a snapshot, to drop what came before it
      detail::append_snapshot<K>(self);
    },
  };
}

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::External)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::MembershipKernel>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::RendezvousKernel>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::RecoveryKernel>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::ShardsKernel>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::CheckpointsKernel>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::ScalingKernel>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::For<troupe::FaultsKernel>)
