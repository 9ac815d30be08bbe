#include "bench/overhead.hpp"

#include "actors/trainer/module.hpp"
#include "actors/worker/in_process.hpp"
#include "bench/run_job.hpp"
#include "cli/job_file.hpp"
#include "comm/host_communicator.hpp"

#include <fmt/format.h>

#include <cmath>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

struct PaceCase {
  std::string name;
  double promised; ///< ratio of speeds
  std::uint64_t steps;
  std::vector<std::string> settings;
};

/// Memory that forked children share with this process.
template <class T>
class SharedArray {
public:
  explicit SharedArray(std::size_t count)
      : bytes_(count * sizeof(T)), data_(static_cast<T*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                                                MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (data_ == MAP_FAILED)
      throw std::bad_alloc();
  }
  ~SharedArray() { ::munmap(data_, bytes_); }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  T& operator[](std::size_t i) { return data_[i]; }

private:
  std::size_t bytes_;
  T* data_;
};

/// Shape of the segment, learnt in a child, since building a trainer here would leave it behind.
struct Shape {
  std::uint64_t floats = 0, doubles = 0, attachment = 0;
};

/// One forked process: f() decides its exit code; exceptions are 1.
template <class F>
pid_t forked(F&& f) {
  const auto pid = ::fork();
  if (pid != 0)
    return pid;
  int code = 1;
  try {
    code = f();
  } catch (...) {
  }
  ::_exit(code);
}

bool all_fine(const std::vector<pid_t>& children) {
  bool fine = true;
  for (const auto pid : children) {
    int status = 0;
    fine =
      pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 && fine;
  }
  return fine;
}

/// Steps per second of the bare loop in `n` processes.
result<double> bare(const JobConfig& job, const JobData& data, std::uint32_t n, std::uint64_t steps) {
  TROUPE_ASSIGN(const auto module, Module::load(job.job.module));
  SharedArray<Shape> shape(1);
  if (!all_fine({forked([&] {
        const auto trainer = module.make();
        BareLoop loop(job, *trainer, data.train);
        shape[0] = {loop.layout().leaf_floats, loop.layout().leaf_doubles, loop.layout().attachment_bytes};
        return 0;
      })}))
    return fail(Errc::invalid, "the trainer does not build, or has phases or virtual state");
  const auto v = job.workers.virtual_workers;
  SegmentSpec spec{Generation{1}, {}, v, shape[0].floats, shape[0].doubles, shape[0].attachment};
  for (std::uint32_t rank = 0; rank < n; ++rank)
    spec.members.push_back({v * rank / n, v * (rank + 1) / n - v * rank / n});
  TROUPE_ASSIGN(const auto fd, Segment::create(spec));
  SharedArray<std::int64_t> took(n);
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < n; ++rank)
    children.push_back(forked([&] {
      const auto trainer = module.make();
      BareLoop loop(job, *trainer, data.train);
      LifeLine life;
      auto communicator = HostCommunicator::join(fd.get(), spec, Rank{rank}, life);
      if (!communicator)
        return 1;
      const auto& block = spec.members[rank];
      auto time = loop.run(**communicator, block.first_virtual, block.virtual_count, steps);
      took[rank] = time ? time->count() : 0;
      return time ? 0 : 1;
    }));
  if (!all_fine(children))
    return fail(Errc::exhausted, "a process of the bare loop failed");
  std::int64_t longest = 1;
  for (std::uint32_t rank = 0; rank < n; ++rank)
    longest = std::max(longest, took[rank]);
  return static_cast<double>(steps) / (static_cast<double>(longest) / 1e9);
}

/// Steps per second of the same under the runtime, without start and end.
result<double> managed(const std::string& job, const PaceCase& c, std::uint32_t n) {
  Scratch scratch("bench-overhead");
  JobRun run;
  run.job_file = job;
  run.words = {"--workers", std::to_string(n)};
  for (const auto& setting : c.settings)
    run.words.insert(run.words.end(), {"--set", setting});
  TROUPE_TRY(run_job(scratch, run));
  TROUPE_ASSIGN(const auto times, step_times(scratch.path() + "/job/metrics.jsonl"));
  const auto skipped = times.size() / 10;
  if (times.size() < 100)
    return fail(Errc::exhausted, "metrics.jsonl has too few steps");
  const auto seconds = times.back().second - times[skipped].second;
  return static_cast<double>(times.back().first - times[skipped].first) / std::max(seconds, 1e-6);
}

result<void> measure(const PaceCase& c, const std::string& job, const BenchOptions& options, BenchReport& report,
                     const std::function<void(const std::string&)>& show) {
  JobFileOptions parse;
  parse.overrides = c.settings;
  parse.workers = options.workers;
  parse.module_dirs = module_directories();
  const auto file = load_job(job, parse);
  if (!file)
    return fail(Errc::invalid, render(file.error()));
  TROUPE_ASSIGN(const auto data, read_job_data(file->config));
  std::vector<double> ratios, runtime, loop;
  const auto pairs = options.quick ? 1u : options.pairs;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    show(fmt::format("{}: pair {} of {}", c.name, pair + 1, pairs));
    const bool bare_first = pair % 2 == 0;
    double b = 0;
    if (bare_first) {
      TROUPE_ASSIGN(b, bare(file->config, data, options.workers, c.steps));
    }
    TROUPE_ASSIGN(const auto m, managed(job, c, options.workers));
    if (!bare_first) {
      TROUPE_ASSIGN(b, bare(file->config, data, options.workers, c.steps));
    }
    ratios.push_back(m / b);
    runtime.push_back(m);
    loop.push_back(b);
  }
  BenchRow row{c.name, "speed_ratio", median(ratios)};
  row.bound = c.promised;
  row.met = row.value >= c.promised;
  row.note = fmt::format("median of {} pairs; {:.2f} ms a step in the bare loop", pairs, 1e3 / median(loop));
  report.rows.push_back(std::move(row));
  BenchRow speed{c.name, "steps_per_s", median(runtime)};
  add_peer(speed, "bare loop", median(loop), false);
  report.rows.push_back(std::move(speed));
  return {};
}

} // namespace

result<BenchReport> overhead(const BenchOptions& options,
                             const std::function<void(const std::string&)>& show) {
  auto job = options.job;
  if (job.empty()) {
    TROUPE_ASSIGN(job, example_job());
  }
  // Evaluation and durable checkpoints are off on both sides; snapshots, digests and the ledger are on.
  const auto settings = [](std::uint64_t steps, std::vector<std::string> more) {
    more.insert(more.end(), {"job.epochs=0", fmt::format("job.steps={}", steps), "evaluation.every=never",
                             "checkpoint.every=never"});
    return more;
  };
  const std::uint64_t fast = options.quick ? 600 : 6000;
  const std::uint64_t slow = options.quick ? 300 : 1500;
  const std::vector<PaceCase> cases = {
    {"digits", 0.90, fast, settings(fast, {})},
    {"digits 1 ms", 0.97, slow, settings(slow, {"workers.micro_batch=64"})},
  };
  BenchReport report{"overhead", {}, {}};
  for (const auto& c : cases)
    TROUPE_TRY(measure(c, job, options, report, show));
  show("");
  return report;
}

} // namespace troupe::bench
