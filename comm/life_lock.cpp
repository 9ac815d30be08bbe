#include "comm/life_lock.hpp"

#include "base/assert.hpp"
#include "comm/crash_targets.hpp"
#include "comm/urgency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <linux/futex.h>
#include <optional>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::uint32_t left_mark = FUTEX_TID_MASK; // no thread has this id
constexpr std::size_t max_memberships = 60;
static_assert(2 * max_memberships < futex::max_watched); // a peer and the poison of each

// The list that the kernel walks when the life thread ends, whatever the reason.
struct RobustList {
  robust_list_head head{};

  void adopt() {
    head.list.next = &head.list;
    head.futex_offset = static_cast<long>(offsetof(LifeCell, word)) - static_cast<long>(offsetof(LifeCell, next));
    TROUPE_ASSERT(::syscall(SYS_set_robust_list, &head, sizeof head) == 0, "kernel has robust futexes");
  }
  static robust_list* entry(LifeCell& cell) { return reinterpret_cast<robust_list*>(&cell.next); }

  // Order matters: at every instruction a death finds the lock in the list, in the pending slot, or not
  // taken.
  bool take(LifeCell& cell, std::uint32_t tid) {
    store(head.list_op_pending, entry(cell));
    std::uint32_t absent = 0;
    // Always marked as waited for, so the kernel wakes the watcher.
    const bool taken = cell.word.compare_exchange_strong(absent, tid | FUTEX_WAITERS);
    if (taken) {
      cell.next = head.list.next;
      store(head.list.next, entry(cell));
    }
    store(head.list_op_pending, static_cast<robust_list*>(nullptr));
    return taken;
  }
  void give_back(LifeCell& cell) {
    store(head.list_op_pending, entry(cell));
    // Peers can write to the cells, so the way through the list is bounded.
    auto* at = &head.list;
    for (std::size_t i = 0; i <= max_memberships && at->next != &head.list; ++i, at = at->next)
      if (at->next == entry(cell)) {
        store(at->next, entry(cell)->next);
        break;
      }
    cell.word.store(left_mark);
    store(head.list_op_pending, static_cast<robust_list*>(nullptr));
  }

private:
  static void store(robust_list*& to, robust_list* value) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    *static_cast<robust_list* volatile*>(&to) = value;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
};

thread_local RobustList robust;

Life state_of(std::uint32_t word) {
  if (word == 0)
    return Life::absent;
  if (word & FUTEX_OWNER_DIED)
    return Life::dead;
  return word == left_mark ? Life::left : Life::alive;
}

// The next member that did not leave and is not dead, with what its life word says now. `deaths` counts those between
// that were dealt with: the first one poisons; for each later one the sleepers are woken again, since it may have been
// the poisoner and have died before it woke anyone.
std::optional<futex::Watched> next_to_watch(const Segment& segment, std::uint32_t rank, std::uint32_t& deaths) {
  std::uint32_t dead = 0;
  for (std::uint32_t k = 1; k < segment.size(); ++k) {
    const auto peer = (rank + k) % segment.size();
    const auto& word = segment.life(peer).word;
    const auto seen = word.load(std::memory_order_acquire);
    switch (state_of(seen)) {
      case Life::left: continue;
      case Life::dead: {
        if (++dead <= deaths)
          continue;
        deaths = dead;
        char text[32];
        const auto end = fmt::format_to_n(text, sizeof text, "rank {} died", peer);
        segment.poison(rank, PoisonSource::watcher, peer, {text, std::min(end.size, sizeof text)});
        futex::wake_all(word); // the kernel wakes only one
        continue;
      }
      case Life::absent:
      case Life::alive: return futex::Watched{&word, seen, false};
    }
  }
  return {};
}

} // namespace

Life life_of(const Segment& segment, std::uint32_t rank) noexcept {
  return state_of(segment.life(rank).word.load(std::memory_order_acquire));
}

LifeLine::LifeLine() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // signals belong to other threads
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LifeLine::~LifeLine() {
  Order order{Order::stop, {}, nullptr, false};
  give(order);
  thread_.join();
}

result<void> LifeLine::join(const Segment& segment, std::uint32_t rank, std::function<void()> on_poison) {
  TROUPE_ASSERT(rank < segment.size(), "rank is a member of the generation");
  Error error;
  Order order{Order::join, {&segment, rank, std::move(on_poison), 0}, &error, false};
  give(order);
  if (error.code != Errc::none)
    return tl::make_unexpected(std::move(error));
  return {};
}

void LifeLine::leave(const Segment& segment, std::uint32_t rank) noexcept {
  Order order{Order::leave, {&segment, rank, {}, 0}, nullptr, false};
  give(order);
}

void LifeLine::give(Order& order) noexcept {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [&] { return order_ == nullptr; });
  order_ = &order;
  bell_.fetch_add(1);
  futex::wake_private(bell_);
  answered_.wait(lock, [&] { return order.done; });
}

void LifeLine::run() {
  pthread_setname_np(pthread_self(), "troupe-life");
  robust.adopt();
  be_urgent();
  std::vector<futex::Watched> watched;
  watched.reserve(futex::max_watched);
  while (!stop_) {
    const auto bell = bell_.load();
    {
      std::lock_guard lock(mutex_);
      if (order_) {
        obey(*order_);
        order_->done = true;
        order_ = nullptr;
        answered_.notify_all();
      }
    }
    watched.assign(1, {&bell_, bell, true});
    for (auto& m : memberships_) {
      if (const auto next = next_to_watch(*m.segment, m.rank, m.deaths))
        watched.push_back(*next);
      if (!m.segment->poisoned()) {
        watched.push_back({&m.segment->poison_word(), 0, false});
      } else if (m.on_poison) {
        m.on_poison();
        m.on_poison = nullptr;
      }
    }
    if (!stop_)
      futex::wait_any(watched);
  }
}

void LifeLine::obey(Order& order) {
  const auto* segment = order.membership.segment;
  const auto rank = order.membership.rank;
  switch (order.what) {
    case Order::join: {
      if (memberships_.size() >= max_memberships) {
        *order.error = {Errc::exhausted, "more generations joined at once than a process can watch"};
        return;
      }
      auto& cell = segment->life(rank);
      if (!robust.take(cell, static_cast<std::uint32_t>(::gettid()))) {
        *order.error = {Errc::stale, fmt::format("rank {} of generation {} was joined before", rank,
                                                 segment->spec().generation.value)};
        return;
      }
      futex::wake_all(cell.word); // its watcher waits for it to appear
      memberships_.push_back(std::move(order.membership));
      crash_targets::add(segment, rank);
      return;
    }
    case Order::leave: {
      const auto found = std::find_if(memberships_.begin(), memberships_.end(), [&](const Membership& m) {
        return m.segment == segment && m.rank == rank;
      });
      TROUPE_ASSERT(found != memberships_.end(), "only a joined generation can be left");
      crash_targets::remove(segment, rank);
      auto& cell = segment->life(rank);
      robust.give_back(cell);
      futex::wake_all(cell.word);
      segment->open_gate(); // whoever waits for this rank looks again
      memberships_.erase(found);
      return;
    }
    case Order::stop:
      TROUPE_ASSERT(memberships_.empty(), "every generation is left before the life-line ends");
      stop_ = true;
      return;
  }
}

} // namespace troupe
