#include "bench/overhead.hpp"

#include "actors/trainer/module.hpp"
#include "actors/worker/in_process.hpp"
#include "bench/children.hpp"
#include "bench/run_job.hpp"
#include "cli/job_file.hpp"
#include "comm/host_communicator.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sched.h>

namespace troupe::bench {

namespace {

// A shared machine's speed may change by half within a second, so both sides live at the same time and take turns of a
// fraction of a second: what the machine does to one it does to the other.
constexpr int turn_ms = 500;
constexpr std::uint32_t rounds_per_pair = 4; ///< of four turns: one side, the other, the other, the first
constexpr std::uint64_t endless = 1'000'000'000;

struct PaceCase {
  std::string name;
  double promised; ///< ratio of speeds
  std::vector<std::string> settings;
};

/// Puts the trainers' threads on the processors in turn. Where the scheduler leaves them by chance, three on one and
/// one on the other for seconds, makes more of a difference than anything that is measured here.
void spread(const std::vector<pid_t>& threads) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  std::vector<int> processors;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(p, &allowed))
      processors.push_back(p);
  for (std::size_t w = 0; w < threads.size(); ++w) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[w % processors.size()], &one);
    ::sched_setaffinity(threads[w], sizeof one, &one);
  }
}

/// Shape of the segment, learnt in a child, since building a trainer here would leave it behind.
struct Shape {
  std::uint64_t floats = 0, doubles = 0, attachment = 0;
};

/// The bare loop in `n` processes.
class BareJob {
public:
  static result<std::unique_ptr<BareJob>> start(const JobConfig& job, std::uint32_t n) {
    TROUPE_ASSIGN(const auto module, Module::load(job.job.module));
    const Shared<Shape> shape;
    Children builder;
    builder.start([&] {
      const auto data = read_job_data(job).value();
      const auto trainer = module.make();
      BareLoop loop(job, *trainer, data.train);
      shape[0] = {loop.layout().leaf_floats, loop.layout().leaf_doubles, loop.layout().attachment_bytes};
      return true;
    });
    if (!builder.all_fine())
      return fail(Errc::invalid, "the trainer does not build, or has phases or virtual state");
    const auto v = job.workers.virtual_workers;
    SegmentSpec spec{Generation{1}, {}, v, shape[0].floats, shape[0].doubles, shape[0].attachment};
    for (std::uint32_t rank = 0; rank < n; ++rank)
      spec.members.push_back({v * rank / n, v * (rank + 1) / n - v * rank / n});
    TROUPE_ASSIGN(const auto fd, Segment::create(spec));
    std::unique_ptr<BareJob> bare(new BareJob(n));
    for (std::uint32_t rank = 0; rank < n; ++rank)
      if (!bare->members_.start([&, rank] {
            const auto data = read_job_data(job).value(); // its own, as a worker's is: not shared pages
            const auto trainer = module.make();
            BareLoop loop(job, *trainer, data.train);
            LifeLine life;
            auto communicator = HostCommunicator::join(fd.get(), spec, Rank{rank}, life);
            const auto& block = spec.members[rank];
            return communicator && loop.run(**communicator, block.first_virtual, block.virtual_count, endless,
                                            bare->done_[rank]);
          }))
        return fail_errno(Errc::exhausted, "bench overhead: fork", errno);
    return bare;
  }
  void signal(int number) const { members_.signal(number); }
  const std::vector<pid_t>& trainer_threads() const { return members_.pids(); }
  std::uint64_t steps() const { return done_[0].load(std::memory_order_relaxed); }

private:
  explicit BareJob(std::uint32_t n) : done_(n) {}
  Shared<std::atomic<std::uint64_t>> done_; ///< by rank
  Children members_;
};

struct Pace {
  std::uint64_t steps = 0;
  Duration time{};
  double per_second() const { return static_cast<double>(steps) / (to_ms(time) / 1e3); }
};

/// One turn of a halted side.
template <class Side>
void take_turn(const Side& side, Pace& pace) {
  const auto first = side.steps();
  const auto began = monotonic_now();
  side.signal(SIGCONT);
  ::poll(nullptr, 0, turn_ms);
  side.signal(SIGSTOP);
  pace.time += monotonic_now() - began;
  pace.steps += side.steps() - first;
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
  TROUPE_TRY(read_job_data(file->config)); // its error is better told here than by a child
  Scratch scratch("bench-overhead");
  JobRun run;
  run.job_file = job;
  run.words = {"--workers", std::to_string(options.workers)};
  for (const auto& setting : c.settings)
    run.words.insert(run.words.end(), {"--set", setting});
  TROUPE_ASSIGN(const auto bare, BareJob::start(file->config, options.workers));
  bare->signal(SIGSTOP);
  TROUPE_ASSIGN(const auto managed, RunningJob::start(scratch, run, options.workers));
  managed->signal(SIGSTOP);
  spread(bare->trainer_threads());
  spread(managed->trainer_threads());
  Pace warm_up;
  take_turn(*bare, warm_up);
  take_turn(*managed, warm_up);

  std::vector<double> ratios, runtime, loop;
  const auto pairs = options.quick ? 1u : options.pairs;
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    show(fmt::format("{}: pair {} of {}", c.name, pair + 1, pairs));
    Pace ours, theirs;
    for (std::uint32_t round = 0; round < (options.quick ? 1 : rounds_per_pair); ++round) {
      take_turn(*managed, ours);
      take_turn(*bare, theirs);
      take_turn(*bare, theirs);
      take_turn(*managed, ours);
    }
    if (ours.steps == 0 || theirs.steps == 0)
      return fail(Errc::exhausted, fmt::format("{} stood still", ours.steps == 0 ? "the job" : "the bare loop"));
    ratios.push_back(ours.per_second() / theirs.per_second());
    runtime.push_back(ours.per_second());
    loop.push_back(theirs.per_second());
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
  const auto settings = [](std::vector<std::string> more) {
    more.insert(more.end(), {"job.epochs=0", fmt::format("job.steps={}", endless), "evaluation.every=never",
                             "checkpoint.every=never"});
    return more;
  };
  const std::vector<PaceCase> cases = {
    {"digits", 0.90, settings({})},
    {"digits 1 ms", 0.97, settings({"workers.micro_batch=128"})},
  };
  BenchReport report{"overhead", {}, {}};
  for (const auto& c : cases)
    TROUPE_TRY(measure(c, job, options, report, show));
  show("");
  return report;
}

} // namespace troupe::bench
