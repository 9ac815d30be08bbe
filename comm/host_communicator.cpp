#include "comm/host_communicator.hpp"

#include "base/assert.hpp"
#include "comm/element.hpp"

#include <fmt/format.h>

#include <functional>
#include <sched.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::size_t line = 64;

std::uint32_t processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 1;
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Part `part` of `parts` of `count` elements, cut at cache lines.
template <class T>
std::pair<std::size_t, std::size_t> slice(std::size_t count, std::uint32_t part, std::uint32_t parts) {
  constexpr auto per_line = line / sizeof(T);
  const auto lines = (count + per_line - 1) / per_line;
  return {std::min(count, lines * part / parts * per_line), std::min(count, lines * (part + 1) / parts * per_line)};
}

tl::unexpected<Error> not_yet(std::string_view what) {
  return fail(Errc::unsupported, fmt::format("{} is not there yet in the host communicator", what));
}

} // namespace

result<std::unique_ptr<HostCommunicator>> HostCommunicator::join(std::unique_ptr<Segment> segment, Rank rank,
                                                                 LifeLine& life, HostOptions options) {
  std::unique_ptr<HostCommunicator> comm(new HostCommunicator(std::move(segment), rank.value, life, options));
  auto joined = life.join(*comm->segment_, rank.value, [member = comm.get()] { member->hurry(); });
  comm->joined_ = joined.has_value();
  TROUPE_TRY(std::move(joined));
  return comm;
}

result<std::unique_ptr<HostCommunicator>> HostCommunicator::join(int fd, const SegmentSpec& expected, Rank rank,
                                                                 LifeLine& life, HostOptions options) {
  TROUPE_ASSIGN(auto segment, Segment::attach(fd));
  if (segment->spec() != expected)
    return fail(Errc::stale, fmt::format("segment of generation {} is not the expected one of generation {}",
                                         segment->spec().generation.value, expected.generation.value));
  if (rank.value >= segment->size())
    return fail(Errc::stale, fmt::format("rank {} in a generation of {}", rank.value, segment->size()));
  return join(std::move(segment), rank, life, options);
}

HostCommunicator::HostCommunicator(std::unique_ptr<Segment> segment, std::uint32_t rank, LifeLine& life,
                                   HostOptions options)
  : segment_(std::move(segment)), rank_(rank), life_(life), options_(options),
    leaves_(segment_->block(rank), segment_->spec().virtual_total, segment_->layout().shape),
    results_(segment_->layout().direct ? 2 * segment_->layout().shape.bytes() : 0) {
  const auto members = segment_->size();
  const auto v_total = segment_->spec().virtual_total;
  std::vector<Block> blocks;
  std::vector<Block> ranks;
  for (std::uint32_t r = 0; r < members; ++r) {
    blocks.push_back(segment_->block(r));
    ranks.push_back({r, 1});
  }
  over_leaves_ = plan_reduction(blocks, v_total);
  over_ranks_ = plan_reduction(ranks, members);
  const auto& layout = segment_->layout();
  for (std::uint32_t parity = 0; parity < 2; ++parity)
    for (std::uint64_t i = 0; i < layout.first_node.back(); ++i) {
      const auto buffer = segment_->node(layout.direct ? parity : 0, i);
      f32_[parity].push_back(buffer.f32);
      f64_[parity].push_back(buffer.f64);
    }
  f32_scratch_.resize(over_leaves_.scratch_rows * reduction_chunk);
  f64_scratch_.resize(over_leaves_.scratch_rows * reduction_chunk);
  for (std::uint32_t phase = 0; phase < 3; ++phase)
    for (std::uint32_t v = 0; v < v_total; ++v)
      attachments_[phase].push_back(segment_->attachment(phase, v));
  if (options_.spin.count() < 0)
    options_.spin = members <= processors() ? std::chrono::microseconds(20) : Duration{0};
  begin_step();
}

HostCommunicator::~HostCommunicator() {
  if (joined_)
    life_.leave(*segment_, rank_);
  urgency_.relax();
}

// --- sync points ---

bool HostCommunicator::all_arrived(std::uint64_t count) const {
  for (std::uint32_t r = 0; r < segment_->size(); ++r)
    if (segment_->arrived(r).load() < count)
      return false;
  return true;
}

result<void> HostCommunicator::sync() {
  if (segment_->poisoned())
    return aborted();
  const auto count = ++syncs_;
  segment_->arrived(rank_).store(count);
  if (all_arrived(count)) { // with sequential consistency at least the last one sees this
    segment_->open_gate();
    return {};
  }
  waiting_for_.store(count, std::memory_order_relaxed);
  const auto start = monotonic_now();
  bool done = false;
  while (options_.spin.count() > 0 && !done && !segment_->poisoned() && monotonic_now() - start < options_.spin) {
    for (int i = 0; i < 16; ++i)
      pause();
    done = all_arrived(count);
  }
  auto outcome = done ? result<void>{} : sleep_until_arrived(count);
  waited_ns_.fetch_add((monotonic_now() - start).count(), std::memory_order_relaxed);
  waiting_for_.store(0, std::memory_order_relaxed);
  return outcome;
}

result<void> HostCommunicator::sleep_until_arrived(std::uint64_t count) {
  struct Counted { // a waiter that dies stays counted, which costs its poisoned generation some idle wakes
    std::atomic<std::uint32_t>& waiters;
    explicit Counted(std::atomic<std::uint32_t>& w) : waiters(w) { waiters.fetch_add(1); }
    ~Counted() { waiters.fetch_sub(1); }
  } counted(segment_->waiters());
  struct Asleep { // for hurry()
    HostCommunicator& self;
    explicit Asleep(HostCommunicator& s) : self(s) {
      const std::lock_guard lock(self.sleeper_mutex_);
      self.sleeper_ = ::gettid();
    }
    ~Asleep() {
      const std::lock_guard lock(self.sleeper_mutex_);
      self.sleeper_ = 0;
    }
  } asleep(*this);
  const auto deadline = options_.deadline.count() > 0 ? monotonic_now() + options_.deadline : Time::max();
  for (;;) {
    const auto gate = segment_->gate().load();
    if (all_arrived(count))
      return {};
    if (segment_->poisoned())
      return aborted();
    TROUPE_TRY(left_behind(count));
    if (!futex::wait(segment_->gate(), gate, deadline) && !all_arrived(count) && !segment_->poisoned()) {
      auto text = fmt::format("rank {} waited longer than {} ms for ranks", rank_, to_ms(options_.deadline));
      for (auto r : awaited())
        text += fmt::format(" {}", r.value);
      abort(text);
      return fail(Errc::deadline, std::move(text));
    }
  }
}

void HostCommunicator::hurry() {
  const std::lock_guard lock(sleeper_mutex_);
  if (sleeper_ != 0)
    urgency_.raise(sleeper_);
}

result<void> HostCommunicator::left_behind(std::uint64_t count) {
  for (std::uint32_t r = 0; r < segment_->size(); ++r) {
    const auto life = life_of(*segment_, r);
    if ((life != Life::left && life != Life::dead) || segment_->arrived(r).load() >= count)
      continue;
    const bool dead = life == Life::dead;
    const std::lock_guard lock(abort_mutex_);
    segment_->poison(rank_, PoisonSource::caller, dead ? r : nobody,
                     fmt::format("rank {} {}", r, dead ? "died" : "left before the others were done"));
    return aborted();
  }
  return {};
}

tl::unexpected<Error> HostCommunicator::aborted() const {
  return fail(Errc::aborted, fmt::format("generation {}: {}", generation().value, segment_->poison_facts().cause));
}

void HostCommunicator::abort(std::string_view cause) noexcept {
  const std::lock_guard lock(abort_mutex_);
  segment_->poison(rank_, PoisonSource::caller, nobody, cause);
}

Communicator::Poison HostCommunicator::poison() const {
  auto facts = segment_->poison_facts();
  return {facts.at, facts.dead_rank, std::move(facts.cause)};
}

std::vector<Rank> HostCommunicator::awaited() const {
  std::vector<Rank> missing;
  if (const auto count = waiting_for_.load(std::memory_order_relaxed))
    for (std::uint32_t r = 0; r < segment_->size(); ++r)
      if (segment_->arrived(r).load(std::memory_order_relaxed) < count)
        missing.push_back(Rank{r});
  return missing;
}

// --- collectives over plain buffers: through slots, a chunk at a time ---

result<void> HostCommunicator::barrier() {
  return sync();
}

result<void> HostCommunicator::all_reduce(void* data, std::size_t count, Element element, Op op) {
  const auto width = size_of(element);
  const auto per_chunk = slot_bytes / width;
  std::vector<const void*> sources(size());
  std::size_t at = 0;
  do { // a call without elements still is a sync point
    const auto n = std::min(per_chunk, count - at);
    auto* chunk = static_cast<std::byte*>(data) + at * width;
    const auto parity = static_cast<std::uint32_t>(slot_use_++ % 2);
    if (n > 0)
      std::memcpy(segment_->slot(parity, rank_), chunk, n * width);
    TROUPE_TRY(sync());
    for (std::uint32_t r = 0; r < size(); ++r)
      sources[r] = segment_->slot(parity, r);
    reduce_elements(over_ranks_, sources, n, chunk, element, op);
    at += n;
  } while (at < count);
  return {};
}

result<void> HostCommunicator::all_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  std::size_t at = 0;
  do {
    const auto n = std::min(slot_bytes, bytes_per_rank - at);
    const auto parity = static_cast<std::uint32_t>(slot_use_++ % 2);
    if (n > 0)
      std::memcpy(segment_->slot(parity, rank_), static_cast<const std::byte*>(in) + at, n);
    TROUPE_TRY(sync());
    for (std::uint32_t r = 0; r < size() && n > 0; ++r)
      std::memcpy(static_cast<std::byte*>(out) + r * bytes_per_rank + at, segment_->slot(parity, r), n);
    at += n;
  } while (at < bytes_per_rank);
  return {};
}

result<void> HostCommunicator::broadcast(void* data, std::size_t bytes, Rank root) {
  if (root.value >= size())
    return fail(Errc::invalid, fmt::format("broadcast from rank {} of {}", root.value, size()));
  std::size_t at = 0;
  do {
    const auto n = std::min(slot_bytes, bytes - at);
    const auto parity = static_cast<std::uint32_t>(slot_use_++ % 2);
    auto* chunk = static_cast<std::byte*>(data) + at;
    if (rank_ == root.value && n > 0)
      std::memcpy(segment_->slot(parity, rank_), chunk, n);
    TROUPE_TRY(sync());
    if (rank_ != root.value && n > 0)
      std::memcpy(chunk, segment_->slot(parity, root.value), n);
    at += n;
  } while (at < bytes);
  return {};
}

result<void> HostCommunicator::reduce_scatter(const void*, void*, std::size_t, Element, Op) {
  return not_yet("reduce_scatter");
}

result<void> HostCommunicator::all_to_all(const void*, void*, std::size_t) {
  return not_yet("all_to_all");
}

result<void> HostCommunicator::send(const void*, std::size_t, Rank, std::uint32_t) {
  return not_yet("send");
}

result<void> HostCommunicator::recv(void*, std::size_t, Rank, std::uint32_t) {
  return not_yet("recv");
}

result<std::unique_ptr<Communicator>> HostCommunicator::split(std::uint32_t, std::uint32_t) {
  return not_yet("split");
}

// --- the reduction of a step ---

void HostCommunicator::begin_step() {
  const auto& layout = segment_->layout();
  std::vector<NodeBuffer> own;
  for (auto i = layout.first_node[rank_]; i < layout.first_node[rank_ + 1]; ++i)
    own.push_back(segment_->node(layout.direct ? step_ % 2 : 0, i));
  leaves_.begin(own);
}

std::span<float> HostCommunicator::leaf(VirtualWorker v) {
  return {leaves_.open(v.value).f32, segment_->spec().f32_count};
}

std::span<double> HostCommunicator::leaf_f64(VirtualWorker v) {
  return {leaves_.open(v.value).f64, segment_->spec().f64_count};
}

std::span<std::byte> HostCommunicator::attachment(VirtualWorker v) {
  const auto block = segment_->block(rank_);
  TROUPE_ASSERT(v.value >= block.first && v.value - block.first < block.count, "attachment of the own block");
  return segment_->attachment(step_ % 3, v.value);
}

void HostCommunicator::contribute(VirtualWorker v) {
  leaves_.close(v.value);
}

void HostCommunicator::drop_leaves() {
  begin_step();
}

void HostCommunicator::reduce_slice(std::uint32_t part, std::uint32_t parts, NodeBuffer out) {
  const auto& shape = segment_->layout().shape;
  const auto [f32_begin, f32_end] = slice<float>(shape.f32_count, part, parts);
  run_reduction<float>(over_leaves_, f32_[step_ % 2], f32_begin, f32_end, out.f32, f32_scratch_.data(),
                       std::plus<float>{});
  const auto [f64_begin, f64_end] = slice<double>(shape.f64_count, part, parts);
  run_reduction<double>(over_leaves_, f64_[step_ % 2], f64_begin, f64_end, out.f64, f64_scratch_.data(),
                        std::plus<double>{});
}

result<Communicator::Reduced> HostCommunicator::reduce_leaves() {
  TROUPE_ASSERT(leaves_.complete(), "every own virtual worker contributed before the reduction");
  const auto parity = static_cast<std::uint32_t>(step_ % 2);
  const auto& layout = segment_->layout();
  TROUPE_TRY(sync()); // contributions are there
  NodeBuffer out;
  if (layout.direct) {
    // Nodes have two parities: a fast member fills the other one while a slow one still reads these.
    out = layout.shape.at(results_.get() + parity * layout.shape.bytes());
    reduce_slice(0, 1, out);
  } else {
    // The result of two steps ago may be overwritten now: everybody has called this function twice since.
    out = segment_->shared_result(parity);
    reduce_slice(rank_, size(), out);
    TROUPE_TRY(sync()); // slices are there, and nobody reads the nodes any more
  }
  const Reduced reduced{{out.f32, layout.shape.f32_count}, {out.f64, layout.shape.f64_count},
                        attachments_[step_ % 3]};
  ++step_;
  begin_step();
  return reduced;
}

} // namespace troupe
