#include "sim/master.hpp"

#include "base/reflect_text.hpp"
#include "sim/world.hpp"

#include <algorithm>

namespace troupe::sim {

namespace {

template <class Variant>
bool transient(const Variant& value) {
  return std::visit([](const auto& v) { return is_transient<std::remove_cvref_t<decltype(v)>>; }, value);
}

} // namespace

void Master::start() {
  up_ = true;
  term_ = term_.next();
  for_each([&](auto& host, std::size_t) { rebuild(host, false); });
  for_each([&](auto& host, std::size_t index) { handle(host, index, Started{term_}); });
  tell(CheckpointsListed{world_.disk}, outside);
}

void Master::crash() {
  up_ = false;
  std::uint64_t kept = ~0ULL;
  for_each([&](auto& host, std::size_t) {
    for (const auto& record : host.records)
      if (record.durable > world_.heap.now())
        kept = std::min(kept, record.sequence);
  });
  for_each([&](auto& host, std::size_t) {
    ++host.life;
    std::erase_if(host.records, [&](const auto& record) { return record.sequence >= kept; });
  });
}

void Master::restart_from(std::size_t kernel) {
  if (!up_)
    return;
  for_each([&](auto& host, std::size_t index) {
    if (index < kernel)
      return;
    ++host.life;
    rebuild(host, true);
  });
  for_each([&]<class K>(Host<K>& host, std::size_t index) {
    if (index < kernel)
      return;
    handle(host, index, Started{term_});
    tell(PeerRestarted{std::string{K::name}}, index);
  });
  if (!state<CheckpointsKernel>().listed)
    tell(CheckpointsListed{world_.disk}, outside); // it was in a mailbox
}

template <class K>
void Master::rebuild(Host<K>& host, bool whole) {
  auto kernel = std::make_unique<K>(world_.scenario.settings);
  if (host.snapshot)
    kernel->restore(*host.snapshot);
  for (const auto& record : host.records)
    kernel->on(record.event, record.now);
  if (whole && host.kernel) {
    const std::string before = to_text(host.kernel->state());
    const std::string after = to_text(kernel->state());
    if (before != after)
      world_.violated(std::string{K::name} + ": the journal gives another state\n  was " + before + "\n  is  " + after);
  }
  host.kernel = std::move(kernel);
}

template <class E>
void Master::tell(const E& event, std::size_t from) {
  for_each([&]<class K>(Host<K>& host, std::size_t index) {
    if constexpr (accepts<K, E>) {
      const Time when = std::max(world_.heap.now() + world_.up_to(std::chrono::microseconds(300)), host.last[from]);
      host.last[from] = when;
      world_.heap.at(when, [this, &host, index, event, life = host.life] {
        if (up_ && life == host.life)
          handle(host, index, event);
      });
    }
  });
}

template <class K>
void Master::set_timer(Host<K>& host, std::size_t index, Time at) {
  if constexpr (accepts<K, Tick>)
    world_.heap.at(at, [this, &host, index, life = host.life, number = ++host.wake] {
      if (up_ && life == host.life && number == host.wake)
        handle(host, index, Tick{false, world_.random.next_u64()});
    });
}

template <class K>
void Master::handle(Host<K>& host, std::size_t index, const typename K::Event& event) {
  const Time now = world_.heap.now();
  const bool maybe = transient(event);
  const bool check = maybe && transients_++ % 16 == 0;
  const std::string before = check ? to_text(host.kernel->state()) : std::string{};
  const auto actions = host.kernel->on(event, now);
  const bool journaled = !maybe || std::any_of(actions.begin(), actions.end(),
                                               [](const auto& action) { return !transient(action); });
  if (journaled) {
    durable_ = std::max(durable_, now + world_.up_to(std::chrono::milliseconds(3)));
    host.records.push_back({++sequence_, event, now, durable_});
    if (host.records.size() >= 400 && host.records.back().sequence % 7 == 0) {
      host.snapshot = host.kernel->state();
      host.records.clear();
    }
  } else if (check && before != to_text(host.kernel->state())) {
    world_.violated(std::string{K::name} + ": a transient event changed state: " + to_text(event));
  }
  for (const auto& action : actions)
    std::visit(
      [&]<class A>(const A& a) {
        if constexpr (std::is_same_v<A, WakeAt>) {
          set_timer(host, index, a.at);
        } else {
          if constexpr (!is_transient<A>)
            world_.note(K::name, a);
          tell(a, index);
          if constexpr (is_external<A>) {
            if (urgent(a))
              world_.perform(a);
            else
              world_.heap.at(durable_, [this, &host, a, life = host.life] {
                if (up_ && life == host.life)
                  world_.perform(a);
              });
          }
        }
      },
      action);
}

template void Master::tell(const NodeReport&, std::size_t);
template void Master::tell(const Alive&, std::size_t);
template void Master::tell(const NodeLost&, std::size_t);
template void Master::tell(const DigestMismatch&, std::size_t);
template void Master::tell(const Persisted&, std::size_t);
template void Master::tell(const FaultReached&, std::size_t);
template void Master::tell(const ScaleRequest&, std::size_t);
template void Master::tell(const Pause&, std::size_t);
template void Master::tell(const SaveRequest&, std::size_t);
template void Master::tell(const StopRequest&, std::size_t);

} // namespace troupe::sim
