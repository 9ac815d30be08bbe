// A master in virtual time: the real kernels, a journal, and mailboxes that delay. Does with events and actions what
// the shells do: journals what is not transient, lets external actions leave when their record is durable, drains at
// once, rebuilds kernels from snapshot and records. Checks on the way that the journal alone gives the same state.
#pragma once

#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/faults.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/kernel/recovery.hpp"
#include "actors/kernel/rendezvous.hpp"
#include "actors/kernel/scaling.hpp"
#include "actors/kernel/shards.hpp"

#include <array>
#include <memory>
#include <optional>

namespace troupe::sim {

class World;

template <class K>
struct Host {
  struct Record {
    std::uint64_t sequence = 0;
    typename K::Event event;
    Time now{};
    Time durable{};
  };
  std::unique_ptr<K> kernel;
  std::optional<typename K::State> snapshot;
  std::vector<Record> records;   ///< since the snapshot
  std::uint64_t life = 0;
  std::uint64_t wake = 0;        ///< number of the newest timer
  std::array<Time, 8> last{};    ///< mailboxes keep the order of each sender
};

class Master {
public:
  static constexpr std::size_t kernels = 7;
  static constexpr std::size_t outside = 7; ///< sender that is no kernel

  explicit Master(World& world) : world_(world) {}
  void start();
  void crash();
  /// This kernel and all after it, as rest_for_one does.
  void restart_from(std::size_t kernel);
  bool up() const { return up_; }
  Term term() const { return term_; }
  /// An event from outside, to whoever takes it.
  template <class E>
  void post(const E& event) {
    if (up_)
      tell(event, outside);
  }
  template <class K>
  const typename K::State& state() const {
    return std::get<Host<K>>(hosts_).kernel->state();
  }

private:
  template <class F>
  void for_each(F&& f) {
    std::size_t index = 0;
    std::apply([&](auto&... host) { (f(host, index++), ...); }, hosts_);
  }
  template <class E>
  void tell(const E& event, std::size_t from);
  template <class K>
  void handle(Host<K>& host, std::size_t index, const typename K::Event& event);
  template <class K>
  void rebuild(Host<K>& host, bool whole);
  template <class K>
  void set_timer(Host<K>& host, std::size_t index, Time at);

  World& world_;
  std::tuple<Host<MembershipKernel>, Host<RendezvousKernel>, Host<RecoveryKernel>, Host<ShardsKernel>,
             Host<CheckpointsKernel>, Host<ScalingKernel>, Host<FaultsKernel>>
    hosts_;
  bool up_ = false;
  Term term_;
  std::uint64_t sequence_ = 0;
  Time durable_{};
  std::uint64_t transients_ = 0;
};

} // namespace troupe::sim
