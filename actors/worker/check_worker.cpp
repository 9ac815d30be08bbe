// A worker process of a check run: the real engine, with a port that plays the master's part from a script.
#include "actors/worker/check_memory.hpp"

#include "base/checksum.hpp"
#include "comm/host_communicator.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Checksums of the registered state after each step, and whether gradient() changed any.
class Recorder final : public EngineObserver {
public:
  explicit Recorder(const CheckWorker& worker) : w_(worker), before_(worker.memory.piece_count) {}

  void built(const ModelState& model) override { record(model, 0); }
  void before_gradient(const ModelState& model, Step, VirtualWorker) override {
    if (!w_.script.watch_gradient)
      return;
    for (std::size_t i = 0; i < before_.size(); ++i)
      before_[i] = sum(*model.entries()[i]);
  }
  void after_gradient(const ModelState& model, Step step, VirtualWorker) override {
    auto& slot = w_.memory.slot(w_.slot);
    if (!w_.script.watch_gradient || slot.wrote_in_gradient)
      return;
    for (std::size_t i = 0; i < before_.size(); ++i)
      if (before_[i] != sum(*model.entries()[i])) {
        slot.wrote_to.set(model.entries()[i]->name);
        slot.wrote_in_gradient = step.value + 1;
        return;
      }
  }
  void committed(const ModelState& model, Step step) override {
    record(model, step.value);
    w_.memory.progress->fetch_add(1);
  }

private:
  static std::uint64_t sum(const StateEntry& entry) { return checksum(entry.tensor.data(), entry.bytes()); }

  void record(const ModelState& model, std::uint64_t step) const {
    if (step > w_.memory.steps)
      return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const auto& entry = *model.entries()[i];
      w_.memory.checksum(w_.slot, step, i) = sum(entry) | 1; // 0 says that the step was not seen
      if (auto* to = w_.memory.bytes(w_.slot, step, i); to && entry.bytes() > 0)
        std::memcpy(to, entry.tensor.data(), entry.bytes());
    }
  }

  const CheckWorker& w_;
  std::vector<std::uint64_t> before_;
};

class ScriptPort final : public WorkerPort {
public:
  explicit ScriptPort(const CheckWorker& worker) : w_(worker), me_(worker.memory.slot(worker.slot)) {}

  result<std::shared_ptr<SlotBank>> built(const StateLayout& layout) override {
    if (layout.hash != w_.probe.layout.hash)
      return fail(Errc::invalid, "build() registered other state in another process");
    for (const auto& fd : w_.banks) {
      TROUPE_ASSIGN(auto bank, SlotBank::attach(fd.get()));
      banks_.push_back(std::make_shared<SlotBank>(std::move(bank)));
    }
    return banks_[w_.slot];
  }

  Order next() override {
    w_.memory.progress->fetch_add(1);
    Order order;
    if (phase_ == WorkerPhase::finished) {
      me_.finished.store(1);
      if (!await([&](const CheckRun::Slot& s, std::uint32_t) { return s.finished.load() != 0; }))
        return gave_up();
      order.kind = Order::Kind::finish;
      return order;
    }
    const std::uint64_t last = w_.segments.size();
    generation_ = generation_ == 0 ? w_.life : generation_ + 1;
    if (generation_ > last) {
      order.kind = Order::Kind::stop;
      order.cause = cause_.empty() ? "the script is over" : cause_;
      return order;
    }
    if (generation_ > 1 && w_.life == 1 && to_be_killed())
      ::kill(::getpid(), SIGKILL); // another one's death came first
    if (generation_ > 1 && !await([&](const CheckRun::Slot& s, std::uint32_t slot) {
          return std::ranges::count(w_.script.killed, slot) > 0 ? s.dead.load() != 0
                                                                : s.drained.load() + 1 >= generation_;
        }))
      return gave_up();
    auto assignment = plan();
    if (!assignment) {
      order.kind = Order::Kind::stop;
      order.cause = assignment.error().context;
      return order;
    }
    order.kind = Order::Kind::form;
    order.generation = Generation{generation_};
    order.assignment = std::move(*assignment);
    return order;
  }

  void report(const EngineReport& report) override {
    phase_ = report.phase;
    cause_ = report.cause;
    me_.steps_lost = report.steps_lost;
    if (report.phase == WorkerPhase::finished)
      me_.model_digest = report.model_digest;
    if (report.phase == WorkerPhase::drained)
      me_.drained.store(static_cast<std::uint32_t>(report.generation.value));
  }
  void enter(Activity, Step, Time) override { w_.memory.progress->fetch_add(1, std::memory_order_relaxed); }
  Effect at(FaultPoint point, Step step) override {
    const bool now = step.value == w_.script.kill_at;
    if (point == w_.script.where && now && w_.life == 1 && to_be_killed())
      ::kill(::getpid(), SIGKILL);
    return {};
  }
  void committed(const StepRow&, const Spent& spent) override { me_.spent = spent; }
  std::uint64_t wanted_save(Step) override { return 0; }
  void saved(std::uint64_t, PieceKey, std::uint32_t, bool) override {}
  void evaluated(const EvaluationRow& row) override {
    Hasher hash;
    for (const auto& [name, value] : row.metrics) {
      hash.add(name);
      hash.add(&value, sizeof value);
    }
    me_.evaluation = hash.digest();
  }
  void rows_restored(std::span<const StepRow>) override {}
  void digest_mismatch(Generation, Step, std::span<const std::uint64_t>) override {}
  void mode(std::string_view) override {}

private:
  bool to_be_killed() const { return std::ranges::count(w_.script.killed, w_.slot) > 0; }

  /// Until all are ready. False when nobody moved for so long that whoever is missing will not come: longer than a
  /// trainer may take to be built again and to take a step.
  template <class Ready>
  bool await(Ready ready) const {
    const auto patience = w_.job.limits.build + w_.job.limits.hang;
    auto seen = w_.memory.progress->load();
    auto last_change = monotonic_now();
    for (std::uint32_t s = 0; s < w_.script.workers; ++s)
      while (!ready(w_.memory.slot(s), s)) {
        ::poll(nullptr, 0, 1);
        const auto now = w_.memory.progress->load();
        if (now != seen)
          last_change = monotonic_now();
        else if (monotonic_now() - last_change > patience)
          return false;
        seen = now;
      }
    return true;
  }

  static Order gave_up() {
    Order order;
    order.kind = Order::Kind::stop;
    order.cause = "waited in vain for another worker";
    return order;
  }

  result<std::unique_ptr<Assignment>> plan() {
    auto assignment = std::make_unique<Assignment>();
    assignment->term = Term{1};
    assignment->rank = Rank{w_.slot};
    auto& plan = assignment->plan;
    plan.generation = Generation{generation_};
    plan.previous = Generation{generation_ - 1};
    SegmentSpec spec;
    spec.generation = plan.generation;
    spec.virtual_total = w_.probe.layout.virtual_workers;
    spec.f32_count = w_.probe.layout.leaf_floats;
    spec.f64_count = w_.probe.layout.leaf_doubles;
    spec.attachment_bytes = w_.probe.layout.attachment_bytes;
    for (std::uint32_t s = 0; s < w_.script.workers; ++s) {
      const auto block = data::block(spec.virtual_total, w_.script.workers, s);
      Member member;
      member.rank = Rank{s};
      member.worker.slot = SlotId{s};
      member.first_virtual = static_cast<std::uint32_t>(block.begin);
      member.virtual_count = static_cast<std::uint32_t>(block.count);
      plan.members.push_back(member);
      spec.members.push_back({member.first_virtual, member.virtual_count});
    }
    if (generation_ > 1) {
      for (std::uint32_t s = 0; s < w_.script.workers; ++s)
        if (const auto newest = banks_[s]->newest())
          plan.resume = std::max(plan.resume, newest->key);
      for (std::uint32_t s = 0; s < w_.script.workers; ++s)
        if (banks_[s]->find(plan.resume)) {
          auto& source = assignment->sources.emplace_back();
          source.source.slot = SlotId{s};
          source.bank = banks_[s];
          source.name = "worker " + std::to_string(s);
        }
      me_.resumed_step = plan.resume.step.value;
    }
    TROUPE_ASSIGN(assignment->communicator,
                  HostCommunicator::join(w_.segments[generation_ - 1].get(), spec, Rank{w_.slot}, life_, {}));
    assignment->bank = banks_[w_.slot];
    assignment->ordered = monotonic_now();
    return assignment;
  }

  const CheckWorker& w_;
  CheckRun::Slot& me_;
  LifeLine life_;
  std::vector<std::shared_ptr<SlotBank>> banks_;
  std::uint64_t generation_ = 0;
  WorkerPhase phase_ = WorkerPhase::starting;
  std::string cause_;
};

} // namespace

void run_check_worker(const CheckWorker& worker, Trainer& trainer) {
  auto& slot = worker.memory.slot(worker.slot);
  {
    ScriptPort port(worker);
    Recorder recorder(worker);
    Engine engine({worker.job, trainer, worker.data.train,
                   worker.data.evaluation ? &*worker.data.evaluation : nullptr, port, &recorder});
    const auto end = engine.run();
    const auto counts = engine.ledger().histogram();
    std::ranges::copy(counts, slot.counts);
    slot.strays = engine.ledger().strays();
    if (end.kind == EngineEnd::Kind::failed) {
      slot.what.set(end.failure.what);
      slot.during.set(end.failure.during);
      slot.failed = static_cast<std::uint32_t>(end.failure.kind);
    } else if (end.kind == EngineEnd::Kind::stopped) {
      slot.what.set(end.cause);
    }
  }
  ::_exit(0);
}

} // namespace troupe
