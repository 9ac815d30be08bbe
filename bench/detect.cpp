#include "bench/detect.hpp"

#include "bench/children.hpp"
#include "comm/host_communicator.hpp"
#include "comm/memory_limit.hpp"
#include "troupe/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

constexpr std::uint32_t most_ranks = 64;
constexpr auto patience = std::chrono::seconds(10);
constexpr auto staging_patience = std::chrono::seconds(120); // gigabytes of fresh memory, maybe on a busy machine
constexpr auto compute_slice = std::chrono::microseconds(500);

// Shared by the bench and its children.
struct Board {
  std::atomic<std::uint32_t> ready{0}; ///< members that are where the kill should find them
  std::atomic<std::int64_t> free_at[most_ranks]{};
};

struct Scene {
  std::uint32_t members;
  std::uint64_t ballast_bytes;
  bool computing;
};

bool wait_for(Duration longest, const std::function<bool()>& condition) {
  const auto deadline = monotonic_now() + longest;
  while (!condition()) {
    if (monotonic_now() > deadline)
      return false;
    ::poll(nullptr, 0, 1); // leaves the processors to the members
  }
  return true;
}

void be_survivor(Communicator& comm, const Scene& scene, Board& board) {
  if (!scene.computing) {
    board.ready.fetch_add(1);
    [[maybe_unused]] const auto outcome = comm.barrier(); // the victim never comes
  } else {
    volatile double sum = 0;
    bool said = false;
    while (!comm.poisoned()) {
      const auto start = monotonic_now();
      while (monotonic_now() - start < compute_slice)
        for (int i = 1; i < 2000; ++i)
          sum = sum + 1.0 / i;
      if (!said)
        board.ready.fetch_add(1);
      said = true;
    }
  }
  board.free_at[comm.rank().value].store(monotonic_now().time_since_epoch().count());
}

void be_victim(const Scene& scene, Board& board) {
  if (scene.ballast_bytes > 0) {
    void* memory = ::mmap(nullptr, scene.ballast_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return;
    ::madvise(memory, scene.ballast_bytes, MADV_NOHUGEPAGE);
    for (std::uint64_t at = 0; at < scene.ballast_bytes; at += 4096)
      static_cast<volatile char*>(memory)[at] = 1;
  }
  board.ready.fetch_add(1);
  for (;;)
    ::pause();
}

// Everything that is shared is made here; what a member makes for itself is gone with its process.
result<DetectSample> one_kill(const Scene& scene, std::uint64_t generation, Random& random) {
  SegmentSpec spec{Generation{generation}, {}, scene.members, 0, 0, 0};
  for (std::uint32_t r = 0; r < scene.members; ++r)
    spec.members.push_back({r, 1});
  TROUPE_ASSIGN(const auto fd, Segment::create(spec));
  TROUPE_ASSIGN(const auto segment, Segment::attach(fd.get()));
  const Shared<Board> shared;
  auto& board = shared[0];
  const auto victim = scene.members - 1;
  Children members;
  for (std::uint32_t r = 0; r < scene.members; ++r)
    if (!members.start([&, r] {
          LifeLine life;
          auto comm = HostCommunicator::join(fd.get(), spec, Rank{r}, life);
          if (!comm || !(*comm)->barrier())
            return false;
          r == victim ? be_victim(scene, board) : be_survivor(**comm, scene, board);
          return true;
        }))
      return fail_errno(Errc::exhausted, "bench detect: fork", errno);

  const bool staged = wait_for(staging_patience, [&] {
    return board.ready.load() == scene.members && (scene.computing || segment->waiters().load() == victim);
  });
  if (!staged)
    return fail(Errc::deadline, fmt::format("bench detect: {} of {} members came together, {} wait{}",
                                            board.ready.load(), scene.members, segment->waiters().load(),
                                            segment->poisoned() ? ", and one of them died" : ""));
  const auto pause = Duration{static_cast<std::int64_t>(random.below(2'000'000))};
  for (const auto from = monotonic_now(); monotonic_now() - from < pause;)
    ::sched_yield(); // a moment that has nothing to do with the members' own rhythm
  const auto killed = monotonic_now();
  members.kill_last();
  const bool all_free = wait_for(patience, [&] {
    return std::all_of(board.free_at, board.free_at + victim, [](const auto& at) { return at.load() != 0; });
  });
  if (!all_free)
    return fail(Errc::deadline, "bench detect: a survivor was not free within 10 s of the kill");
  DetectSample sample;
  sample.seen = segment->poison_facts().at - killed;
  for (std::uint32_t r = 0; r < victim; ++r)
    sample.free = std::max(sample.free, Time{Duration{board.free_at[r].load()}} - killed);
  return sample;
}

std::uint32_t processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set)) : 1;
}

} // namespace

result<std::vector<DetectCase>> run_detect(const DetectOptions& options) {
  if (options.ranks < 2 || options.ranks > most_ranks)
    return fail(Errc::invalid, fmt::format("bench detect: {} ranks, allowed are 2 to {}", options.ranks, most_ranks));
  const auto survivors = options.ranks - 1;
  const auto busy = std::min(std::max(survivors, processors()), most_ranks - 1);
  struct Wanted {
    DetectCase result;
    Scene scene;
    std::uint32_t kills;
  };
  const auto size = options.ballast_bytes % (1u << 30) == 0 ? fmt::format("{}GiB", options.ballast_bytes >> 30)
                                                             : fmt::format("{}MiB", options.ballast_bytes >> 20);
  std::vector<Wanted> wanted{
    {{"small waiting", survivors, 0, 2, {}, {}}, {options.ranks, 0, false}, options.small_kills},
    {{size + " waiting", survivors, 2, 10, {}, {}},
     {options.ranks, options.ballast_bytes, false},
     options.ballast_kills},
    {{"small computing", busy, 0, 20, {}, {}}, {busy + 1, 0, true}, options.computing_kills},
  };
  Random random(options.seed, "bench detect");
  std::uint64_t generation = 0;
  std::vector<DetectCase> cases;
  for (auto& [outcome, scene, kills] : wanted) {
    if (const auto room = check_memory_for(scene.ballast_bytes, "ballast of the victim"); !room) {
      outcome.skipped = room.error().context;
      kills = 0;
    }
    for (std::uint32_t done = 0; done < kills; ++done) {
      if (options.progress && !options.progress(outcome.name, done, kills))
        break;
      TROUPE_ASSIGN(const auto sample, one_kill(scene, ++generation, random));
      outcome.samples.push_back(sample);
    }
    cases.push_back(std::move(outcome));
  }
  return cases;
}

double percentile_ms(const std::vector<DetectSample>& samples, Duration DetectSample::*what, double p) {
  if (samples.empty())
    return 0;
  std::vector<Duration> sorted;
  for (const auto& sample : samples)
    sorted.push_back(sample.*what);
  std::sort(sorted.begin(), sorted.end());
  const auto rank = static_cast<std::size_t>(p * static_cast<double>(sorted.size()) + 0.999999);
  return to_ms(sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1]);
}

} // namespace troupe::bench
