#include "actors/worker/check_run.hpp"

#include "actors/worker/check_memory.hpp"
#include "base/assert.hpp"
#include "comm/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::size_t most_kept = 512 << 20; // bytes of state kept over all steps and workers
constexpr std::size_t probe_bytes = 64 << 20;

std::byte* map_shared(std::size_t bytes) {
  void* base =
    ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    throw std::bad_alloc();
  return static_cast<std::byte*>(base);
}

struct ProbeMemory {
  std::uint32_t ok;
  SharedText<2000> what;
  std::uint64_t hash, leaf_floats, leaf_doubles, attachment_bytes;
  std::uint64_t table_bytes;
};

/// Learns the layout from an engine that stops there.
class ProbePort final : public WorkerPort {
public:
  explicit ProbePort(StateLayout& out) : out_(out) {}
  result<std::shared_ptr<SlotBank>> built(const StateLayout& layout) override {
    out_ = layout;
    return fail(Errc::unsupported, "probe");
  }
  Order next() override { return {}; }
  void report(const EngineReport&) override {}
  void enter(Activity, Step, Time) override {}
  Effect at(FaultPoint, Step) override { return {}; }
  void committed(const StepRow&, const Spent&) override {}
  std::uint64_t wanted_save(Step) override { return 0; }
  void saved(std::uint64_t, PieceKey, std::uint32_t, bool) override {}
  void evaluated(const EvaluationRow&) override {}
  void rows_restored(std::span<const StepRow>) override {}
  void digest_mismatch(Generation, Step, std::span<const std::uint64_t>) override {}
  void mode(std::string_view) override {}

private:
  StateLayout& out_;
};

struct CheckProcess {
  pid_t pid = 0;
  std::uint32_t slot = 0;
};

/// First thing in a child: nothing outlives the check, however that ends.
void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) // it was dead before that
    ::_exit(1);
}

struct ChildEnd {
  int status = 0;
  bool late = false; ///< and killed for it
};

/// Reaps `pid`, which is given `limit` to end by itself.
result<ChildEnd> wait_for_child(pid_t pid, Duration limit) {
  const UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  ChildEnd end;
  auto why = pidfd ? 0 : errno;
  const auto until = monotonic_now() + limit;
  for (int ready = 0; why == 0 && ready <= 0 && !end.late;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - monotonic_now()).count();
    pollfd over{pidfd.get(), POLLIN, 0};
    ready = ::poll(&over, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready < 0 && errno != EINTR)
      why = errno;
    end.late = ready == 0 && monotonic_now() >= until;
  }
  if (why != 0 || end.late)
    ::kill(pid, SIGKILL);
  while (::waitpid(pid, &end.status, 0) != pid)
    if (errno != EINTR)
      return fail_errno(Errc::exhausted, "wait for a process", errno);
  if (why != 0)
    return fail_errno(Errc::exhausted, "watch a process", why);
  return end;
}

/// How a child ended that left no words of its own.
std::string silent_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("the process was killed by signal {}", WTERMSIG(status));
  return fmt::format("the process ended with exit code {} and no message", WEXITSTATUS(status));
}

} // namespace

template <std::size_t N>
void SharedText<N>::set(std::string_view s) {
  const auto n = std::min(s.size(), N - 1);
  std::memcpy(text, s.data(), n);
  text[n] = 0;
}

template <std::size_t N>
std::string SharedText<N>::get() const {
  return std::string(text, ::strnlen(text, N));
}

template struct SharedText<2000>;
template struct SharedText<201>;
template struct SharedText<40>;

CheckMemory::CheckMemory(const BankLayout& layout, std::size_t pieces, std::uint32_t worker_count,
                         std::uint64_t step_count)
    : workers(worker_count), steps(step_count), piece_count(pieces) {
  for (const auto& piece : layout.pieces())
    if (piece.counts_for_digest) {
      offsets.push_back(step_bytes);
      sizes.push_back(piece.bytes());
      step_bytes += (piece.bytes() + 63) / 64 * 64;
    }
  TROUPE_ASSERT(offsets.size() == pieces, "pieces of a probe and of its layout");
  const auto cells = workers * (steps + 1);
  const auto slots_bytes = (sizeof(CheckRun::Slot) * workers + 127) / 64 * 64;
  const auto sums_bytes = (cells * piece_count * sizeof(std::uint64_t) + 63) / 64 * 64;
  const bool keep = cells * step_bytes <= most_kept;
  total = slots_bytes + sums_bytes + (keep ? cells * step_bytes : 0);
  base = map_shared(total);
  slots = reinterpret_cast<CheckRun::Slot*>(base);
  progress = reinterpret_cast<std::atomic<std::uint64_t>*>(base + slots_bytes - 64);
  checksums = reinterpret_cast<std::uint64_t*>(base + slots_bytes);
  kept = keep ? base + slots_bytes + sums_bytes : nullptr;
}

CheckMemory::~CheckMemory() {
  ::munmap(base, total);
}

CheckRun::CheckRun(const JobConfig& job, const JobData& data, MakeTrainer make)
    : job_(job), data_(data), make_(std::move(make)) {}

CheckRun::~CheckRun() = default;

result<CheckProbe> CheckRun::probe() {
  auto* memory = map_shared(probe_bytes);
  auto& out = *reinterpret_cast<ProbeMemory*>(memory);
  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid == 0) {
    die_with(parent);
    auto trainer = make_();
    if (!trainer) {
      out.what.set(trainer.error().context);
      ::_exit(0);
    }
    StateLayout layout;
    ProbePort port(layout);
    Engine engine({job_, **trainer, data_.train, data_.evaluation ? &*data_.evaluation : nullptr, port});
    const auto end = engine.run();
    const auto table = layout.bank.encode();
    if (layout.virtual_workers == 0)
      out.what.set("build: " + end.failure.what);
    else if (table.size() > probe_bytes - sizeof(ProbeMemory))
      out.what.set("too many pieces of state");
    else {
      std::memcpy(memory + sizeof(ProbeMemory), table.data(), table.size());
      out.table_bytes = table.size();
      out.hash = layout.hash;
      out.leaf_floats = layout.leaf_floats;
      out.leaf_doubles = layout.leaf_doubles;
      out.attachment_bytes = layout.attachment_bytes;
      out.ok = 1;
    }
    ::_exit(0);
  }
  result<ChildEnd> end =
    pid < 0 ? fail_errno(Errc::exhausted, "start a process", errno) : wait_for_child(pid, job_.limits.build);
  if (!end) {
    ::munmap(memory, probe_bytes);
    return tl::make_unexpected(std::move(end).error());
  }
  auto words = out.what.get();
  if (end->late)
    words = "build: not done within limits.build";
  else if (WIFSIGNALED(end->status) || words.empty())
    words = "build: " + silent_end(end->status);
  result<CheckProbe> answer = fail(Errc::invalid, std::move(words));
  if (out.ok && !end->late && !WIFSIGNALED(end->status)) {
    CheckProbe probe;
    probe.layout.hash = out.hash;
    probe.layout.leaf_floats = out.leaf_floats;
    probe.layout.leaf_doubles = out.leaf_doubles;
    probe.layout.attachment_bytes = out.attachment_bytes;
    probe.layout.virtual_workers = job_.workers.virtual_workers;
    auto bank = BankLayout::decode({memory + sizeof(ProbeMemory), out.table_bytes});
    if (bank) {
      probe.layout.bank = std::move(*bank);
      for (const auto& piece : probe.layout.bank.pieces())
        if (piece.counts_for_digest)
          probe.pieces.push_back(piece.name);
      answer = std::move(probe);
    } else {
      answer = fail(Errc::invalid, bank.error().context);
    }
  }
  ::munmap(memory, probe_bytes);
  return answer;
}

CheckRun::Result CheckRun::run(const CheckScript& script, const CheckProbe& probe) {
  Result out;
  out.workers = script.workers;
  TROUPE_ASSERT(script.workers >= 1 && script.workers <= std::min(most_workers, probe.layout.virtual_workers),
                "workers of a check run");
  out.memory =
    std::make_shared<CheckMemory>(probe.layout.bank, probe.pieces.size(), script.workers, job_.job.steps);
  auto& memory = *out.memory;

  std::vector<UniqueFd> segments;
  std::vector<UniqueFd> banks;
  for (std::uint64_t g = 1; g <= (script.killed.empty() ? 1U : 2U); ++g) {
    SegmentSpec spec;
    spec.generation = Generation{g};
    spec.virtual_total = probe.layout.virtual_workers;
    spec.f32_count = probe.layout.leaf_floats;
    spec.f64_count = probe.layout.leaf_doubles;
    spec.attachment_bytes = probe.layout.attachment_bytes;
    for (std::uint32_t r = 0; r < script.workers; ++r) {
      const auto block = data::block(spec.virtual_total, script.workers, r);
      spec.members.push_back(
        {static_cast<std::uint32_t>(block.begin), static_cast<std::uint32_t>(block.count)});
    }
    auto fd = Segment::create(spec);
    if (!fd) {
      out.cause = fd.error().context;
      return out;
    }
    segments.push_back(std::move(*fd));
  }
  for (std::uint32_t s = 0; s < script.workers; ++s) {
    auto fd = SlotBank::create(probe.layout.bank, std::max<std::uint32_t>(5, job_.checkpoint.slots));
    if (!fd) {
      out.cause = fd.error().context;
      return out;
    }
    banks.push_back(std::move(*fd));
  }

  std::vector<CheckProcess> processes;
  const auto parent = ::getpid();
  const auto start = [&](std::uint32_t slot, std::uint32_t life) {
    const auto pid = ::fork();
    if (pid == 0) {
      die_with(parent);
      const auto seed = script.salt * 1000003U + slot * 101U + life;
      std::srand(seed); // tidy: allow(random) so that a trainer that calls rand() is found out
      ::srandom(seed);
      ::srand48(static_cast<long>(seed));
      auto trainer = make_();
      if (!trainer) {
        memory.slot(slot).what.set(trainer.error().context);
        ::_exit(1);
      }
      run_check_worker({job_, data_, script, probe, memory, segments, banks, slot, life}, **trainer);
    }
    if (pid < 0)
      out.cause = "cannot start a process";
    else
      processes.push_back({pid, slot});
  };
  for (std::uint32_t s = 0; s < script.workers; ++s)
    start(s, 1);

  auto seen = memory.progress->load();
  const auto began = monotonic_now();
  auto last_change = began;
  auto patience = job_.limits.build; // until every worker said more than that it builds
  while (!processes.empty()) {
    for (std::size_t i = 0; i < processes.size();) {
      int status = 0;
      const auto process = processes[i];
      if (::waitpid(process.pid, &status, WNOHANG) != process.pid) {
        ++i;
        continue;
      }
      processes.erase(processes.begin() + static_cast<std::ptrdiff_t>(i));
      auto& slot = memory.slot(process.slot);
      const bool planned = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && slot.dead.load() == 0 &&
                           std::ranges::count(script.killed, process.slot) > 0;
      if (planned) {
        slot.dead.store(1);
        start(process.slot, 2);
      } else if (WIFSIGNALED(status) && out.cause.empty()) {
        out.cause = fmt::format("worker {} was killed by signal {}", process.slot, WTERMSIG(status));
      } else if (slot.failed && out.cause.empty()) {
        out.cause =
          fmt::format("worker {} failed in {}: {}", process.slot, slot.during.get(), slot.what.get());
      } else if (!slot.finished.load() && out.cause.empty()) {
        const auto words = slot.what.get();
        out.cause = fmt::format("worker {} left before the end: {}", process.slot,
                                words.empty() ? silent_end(status) : words);
      }
    }
    if (const auto now = memory.progress->load(); now != seen) {
      last_change = monotonic_now();
      if (seen <= script.workers && now > script.workers)
        patience = std::max(job_.limits.hang, 2 * (last_change - began));
      seen = now;
    }
    if (monotonic_now() - last_change > patience && out.cause.empty())
      out.cause = "no progress within limits.hang";
    if (!out.cause.empty())
      for (const auto& process : processes)
        ::kill(process.pid, SIGKILL);
    ::poll(nullptr, 0, 1);
  }
  return out;
}

const CheckRun::Slot& CheckRun::Result::slot(std::uint32_t s) const {
  return memory->slot(s);
}

std::uint64_t CheckRun::Result::checksum(std::uint32_t s, std::uint64_t step, std::size_t piece) const {
  return memory->checksum(s, step, piece);
}

std::span<const std::byte> CheckRun::Result::bytes(std::uint32_t s, std::uint64_t step,
                                                   std::size_t piece) const {
  const auto* data = memory->bytes(s, step, piece);
  return data ? std::span<const std::byte>(data, memory->sizes[piece]) : std::span<const std::byte>();
}

} // namespace troupe
