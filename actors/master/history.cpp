#include "actors/master/history.hpp"

#include "actors/master/record_visit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

bool set(Time t) {
  return t != Time{};
}

std::string in_words(const Failure& f) {
  std::string text = f.signal != 0 ? fmt::format("killed by signal {}", f.signal) : f.what;
  if (f.signal != 0 && f.kind != FailureClass::signal)
    text += fmt::format(" ({}: {})", to_string(f.kind), f.what);
  if (!f.during.empty() && f.during != "idle")
    text += fmt::format(" in {} of step {}", f.during, f.step.value);
  return text;
}

} // namespace

History::History(const JobConfig& config, std::uint64_t total_steps)
    : global_batch_(config.workers.virtual_workers * config.workers.micro_batch) {
  base_.job = config.job.name;
  base_.seed = config.job.seed;
  base_.total_steps = total_steps;
  base_.workers.start = config.workers.start;
  base_.dir = config.job.dir;
  saves_ = config.checkpoint.every.kind != CadenceKind::never;
}

void History::record(const JournalRecord& record) {
  if (started_ns_ == 0)
    started_ns_ = record.wall_ns;
  if (record.term != term_)
    begin_term(record);
  newest_ns_ = std::max(newest_ns_, record.wall_ns);
  if (record.kind == RecordKind::settings) {
    if (auto settings = decode<schema::KernelSettings>(record.payload))
      take_settings(*settings);
    return;
  }
  if (record.kind == RecordKind::snapshot && record.kernel == FaultsKernel::name) {
    // The records of what fired may have been cut from the journal.
    if (auto armed = decode<kernel_schema<FaultsKernel>::State, FaultsKernel::State>(record.payload))
      for (const auto& fault : armed->faults)
        if (fault.fired > 0)
          mark_fired(fault.spec.id);
    return;
  }
  if (record.kind == RecordKind::note) {
    if (record.kernel == note::progress)
      if (auto told = decode<schema::ProgressReport>(record.payload))
        for (const auto& row : told->rows)
          for (const auto& m : row.metrics)
            metrics_[m.name] = m.value;
    if (record.kernel == note::worker)
      if (auto told = decode<schema::WorkerReport>(record.payload))
        worker(*told);
    return;
  }
  (void)visit_record(record, *this); // an unreadable record is the journal's concern
}

void History::begin_term(const JournalRecord& first) {
  if (terms_ > 0)
    down_ns_ += std::max<std::int64_t>(0, first.wall_ns - newest_ns_);
  term_ = first.term;
  term_ns_ = first.wall_ns;
  ++terms_;
}

// A fault that was in the list of the term before keeps what is known of it.
void History::take_settings(const KernelSettings& settings) {
  std::vector<std::uint32_t> fired;
  for (std::size_t i = 0; i < faults_.size(); ++i)
    if (faults_[i].fired)
      fired.push_back(fault_ids_[i]);
  faults_.clear();
  fault_ids_.clear();
  for (const auto& fault : numbered(settings.faults)) {
    faults_.push_back({fault.text, true, false, fault.every > Duration{}});
    fault_ids_.push_back(fault.id);
  }
  for (const auto id : fired)
    mark_fired(id);
}

void History::mark_fired(std::uint32_t id) {
  for (std::size_t i = 0; i < fault_ids_.size(); ++i)
    if (fault_ids_[i] == id)
      faults_[i].fired = true;
}

// A run that was stopped, failed or on no disk, and is started again, goes on: how it ended then is not how it ends.
void History::action(MembershipKernel*, const JournalRecord& record, const RunFound& found) {
  if (found.kept || !(result_term_ < record.term))
    return;
  result_.clear();
  cause_.clear();
  details_.clear();
  stopped_ = finished_ = stop_saves_ = false;
}

std::int32_t History::rank_of(const WorkerKey& worker) const {
  for (const auto& m : plan_.members)
    if (m.worker == worker)
      return static_cast<std::int32_t>(m.rank.value);
  return -1;
}

void History::event(MembershipKernel*, const JournalRecord& record, const NodeReport& report) {
  hosts_[report.node.value] = report.host;
  for (const auto& fact : report.slots) {
    if (fact.incarnation == Incarnation{})
      continue;
    const WorkerKey key{report.node, fact.slot, fact.incarnation};
    std::erase_if(facts_, [&](const auto& e) {
      return e.first.node == key.node && e.first.slot == key.slot && e.first.incarnation != key.incarnation;
    });
    facts_[key] = fact;
    step_ = std::max(step_, fact.step);
    if (set(fact.times.drained) && fact.generation >= plan_.previous) {
      const auto known = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& s) {
        return s.worker == key && s.times.drained == fact.times.drained;
      });
      if (known == seen_.end())
        seen_.push_back({key, fact.generation, fact.times});
    }
  }
  close_recovery(record.wall_ns);
}

void History::event(MembershipKernel*, const JournalRecord& record, const Alive& alive) {
  for (const auto& h : alive.heard) {
    heard_[{alive.node, h.slot, h.incarnation}] = {record.now, h.step};
    if (h.generation == plan_.generation)
      step_ = std::max(step_, h.step);
  }
}

void History::event(RecoveryKernel*, const JournalRecord& record, const Pause& pause) {
  paused_ = pause.on;
  say(record.wall_ns, pause.on ? "paused" : "going on");
}

void History::event(CheckpointsKernel*, const JournalRecord& record, const Persisted& done) {
  if (!done.ok) {
    if (save_error_.empty()) // once, until one succeeds again
      say(record.wall_ns, fmt::format("checkpoint failed, training goes on: {}", done.error));
    save_error_ = done.error;
    return;
  }
  if (!save_error_.empty())
    say(record.wall_ns, "checkpoints are written again");
  save_error_.clear();
  CheckpointRow row;
  row.step = done.key.step.value;
  row.generation = done.key.generation.value;
  row.path = done.path;
  row.ms = to_ms(done.took);
  row.best = done.best;
  checkpoints_.push_back(std::move(row));
}

// A job whose last step is on no disk is not done, whatever its memory held; one that was to be saved first is not
// stopped in order either.
void History::action(MembershipKernel*, const JournalRecord&, const AllStopped&) {
  stopped_ = true;
  const bool wanted = result_ == "done" || (result_ == "stopped" && stop_saves_);
  if (!wanted || !saves_ || save_error_.empty())
    return;
  cause_ = fmt::format("no checkpoint of the {} could be written: {}",
                       result_ == "done" ? "last step" : "step it stopped at", save_error_);
  result_ = "failed";
  details_.emplace_back("make room, then go on with --resume");
}

void History::event(CheckpointsKernel*, const JournalRecord& record, const StopRequest& stop) {
  if (result_.empty()) {
    result_ = stop.save ? "stopped" : "interrupted";
    result_term_ = record.term;
    cause_ = stop.reason;
    stop_saves_ = stop.save;
  } else {
    stop_saves_ = false; // who asks twice does not wait for it
  }
}

// A save that nobody answered in time ends here only.
void History::action(CheckpointsKernel*, const JournalRecord&, const SaveDone& done) {
  if (done.request == 0 && !done.ok && save_error_.empty())
    save_error_ = done.reason;
}

void History::action(MembershipKernel*, const JournalRecord& record, const WorkerFailed& failed) {
  const auto& f = failed.failure;
  FailureRow row;
  row.id = failures_.size() + 1;
  row.failure_class = to_string(f.kind);
  row.node = failed.worker.node.value;
  row.worker = rank_of(failed.worker);
  row.incarnation = failed.worker.incarnation.value;
  if (const auto fact = facts_.find(failed.worker); fact != facts_.end())
    row.pid = fact->second.pid;
  row.signal = f.signal;
  row.during = f.during;
  row.what = f.what;
  row.step = f.step.value;
  if (const auto heard = heard_.find(failed.worker); heard != heard_.end())
    row.step = std::max(row.step, heard->second.step.value);
  open_.push_back({failures_.size(), f.killed_at, f.step, row.worker >= 0});
  events_.push_back({record.wall_ns, {}, row, {}});
  failures_.push_back(std::move(row));
}

void History::fail(const FailJob& failed) {
  if (result_ == "failed")
    return;
  result_ = "failed";
  result_term_ = term_;
  cause_ = failed.cause;
  if (failed.first.kind != FailureClass::none)
    details_.push_back(fmt::format("first: worker {}, {}", failed.worker.slot.value, in_words(failed.first)));
  if (failed.first.kind == FailureClass::startup)
    details_.push_back("start-up errors are not retried");
}

void History::action(RendezvousKernel*, const JournalRecord& record, const GenerationOrder& order) {
  if (order.command != GenerationCommand::form || !order.plan || order.plan->generation <= plan_.generation)
    return;
  plan_ = *order.plan;
  formed_ = false;
  timed_ = false;
  step_ = plan_.resume.step;
  rate_from_ns_ = 0;
  ++generations_;
  most_members_ = std::max(most_members_, static_cast<std::uint32_t>(plan_.members.size()));
  formed_ns_ = record.wall_ns;
}

void History::action(RendezvousKernel*, const JournalRecord&, const Formed&) {
  formed_ = true;
}

void History::action(RendezvousKernel*, const JournalRecord& record, const JobFinished& done) {
  finished_ = true;
  digest_ = done.digest;
  step_ = done.step;
  if (result_ != "failed") {
    result_ = "done";
    result_term_ = record.term;
    cause_.clear();
  }
}

void History::action(FaultsKernel*, const JournalRecord&, const FireFault& verdict) {
  if (verdict.fire)
    mark_fired(verdict.id);
}

void History::action(FaultsKernel*, const JournalRecord&, const KillWorker& kill) {
  mark_fired(kill.id); // `troupe kill` has a number of its own
}

void History::action(FaultsKernel*, const JournalRecord&, const KillMaster& kill) {
  mark_fired(kill.id);
}

void History::action(ShardsKernel*, const JournalRecord&, const RowsFinal& rows) {
  rows_final_ = std::max(rows_final_, rows.before);
}

void History::action(ShardsKernel*, const JournalRecord&, const RowsVoid& voided) {
  void_ = {voided.generation, voided.from};
}

std::optional<std::pair<Generation, Step>> History::take_void() {
  return std::exchange(void_, std::nullopt);
}

// Once every member of the newest generation did its first step, the failures before it are recovered.
void History::close_recovery(std::int64_t wall_ns) {
  if (timed_ || plan_.members.empty())
    return;
  Time ordered{}, connected{}, restored{}, first{};
  std::string source = "local";
  for (const auto& m : plan_.members) {
    const auto fact = facts_.find(m.worker);
    if (fact == facts_.end() || fact->second.generation != plan_.generation ||
        (!set(fact->second.times.first_step) && fact->second.phase != WorkerPhase::finished))
      return;
    const auto& t = fact->second.times;
    ordered = std::max(ordered, t.ordered);
    connected = std::max(connected, t.connected);
    restored = std::max(restored, t.restored);
    first = std::max(first, t.first_step);
    if (!fact->second.restore_source.empty() && fact->second.restore_source != "local")
      source = fact->second.restore_source;
  }
  timed_ = true;
  RunEvent formed;
  formed.wall_ns = wall_ns;
  formed.formed = {plan_.generation.value,
                   static_cast<std::uint32_t>(plan_.members.size()),
                   plan_.resume.step.value,
                   source,
                   {}};
  for (const auto& open : open_) {
    auto& row = failures_[open.row];
    row.recovered = true;
    row.generation = plan_.generation.value;
    row.resumed_step = plan_.resume.step.value;
    row.restore_source = source;
    if (!open.member)
      continue;
    Time detected{}, aborted{}, drained{};
    for (const auto& s : seen_) {
      if (!set(s.times.detected) || (set(open.killed) && s.times.detected < open.killed))
        continue;
      detected = set(detected) ? std::min(detected, s.times.detected) : s.times.detected;
      aborted = std::max(aborted, s.times.aborted);
      drained = std::max(drained, s.times.drained);
    }
    if (!set(detected))
      detected = set(open.killed) ? open.killed : ordered;
    RecoveryTimes& ms = row.ms;
    const Time begin = set(open.killed) ? open.killed : detected;
    auto mark = begin;
    auto phase = [&](Time end) {
      end = std::max(end, mark);
      const auto length = end - mark;
      mark = end;
      return to_ms(length);
    };
    ms.detect = phase(detected);
    ms.abort = phase(aborted);
    ms.drain = phase(drained);
    ms.plan = phase(ordered);
    ms.connect = phase(connected);
    ms.restore = phase(restored);
    ms.first_step = phase(first);
    ms.total = to_ms(mark - begin);
    if (!formed.formed->ms)
      formed.formed->ms = ms;
  }
  if (plan_.previous > Generation{} || !open_.empty())
    events_.push_back(std::move(formed));
  open_.clear();
  seen_.clear();
}

void History::progress(const ProgressReport& progress) {
  lives_[progress.worker] = progress.spent;
  if (progress.rank.value != 0 || progress.generation < plan_.generation)
    return;
  for (const auto& m : progress.published)
    metrics_[m.name] = m.value;
  for (const auto& row : progress.rows) {
    if (!row.metrics.empty()) {
      for (const auto& m : row.metrics)
        metrics_[m.name] = m.value;
      continue;
    }
    step_ = std::max(step_, row.step.next());
    loss_ = row.loss_weight > 0 ? row.loss_sum / row.loss_weight : row.loss_sum;
    skipped_ += row.skipped;
    if (rate_from_ns_ == 0) {
      rate_from_ns_ = row.at;
      rate_from_ = row.step;
    } else if (row.at - rate_from_ns_ >= 500'000'000) {
      rate_ = 1e9 * static_cast<double>(row.step.value - rate_from_.value) /
              static_cast<double>(row.at - rate_from_ns_);
      rate_from_ns_ = row.at;
      rate_from_ = row.step;
    }
  }
}

void History::worker(const WorkerReport& report) {
  for (const auto& mode : report.modes)
    if (std::find(modes_.begin(), modes_.end(), mode) == modes_.end())
      modes_.push_back(mode);
  if (!report.samples_by_count.empty()) {
    counts_.clear();
    for (const auto& c : report.samples_by_count)
      counts_[c.count] = c.samples;
  }
}

std::vector<RunEvent> History::take_events() {
  return std::exchange(events_, {});
}

} // namespace troupe
