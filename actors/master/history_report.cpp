// What is told of the history: report, progress line, status.
#include "actors/master/history.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

// Worker-seconds by what they were for; what no living worker accounts for is start-up, or repair after
// failures.
Goodput History::goodput(std::int64_t wall_ns) const {
  Goodput g;
  auto seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
  double sum = 0;
  for (const auto& [worker, s] : lives_) {
    const double parts[] = {seconds(s.useful + s.wait), seconds(s.build),
                            seconds(s.evaluation),      seconds(s.lost),
                            seconds(s.snapshot),        seconds(s.connect + s.drain + s.idle),
                            seconds(s.restore)};
    g.useful += parts[0];
    (worker.incarnation.value <= 1 ? g.startup : g.repair) += parts[1];
    g.evaluation += parts[2];
    g.recompute += parts[3];
    g.checkpoint += parts[4];
    g.reconfigure += parts[5];
    g.reload += parts[6];
    for (const double part : parts)
      sum += part;
  }
  const auto slots = std::max(base_.workers.start, most_members_);
  const double wall = slots * static_cast<double>(up_ns(wall_ns)) / 1e9;
  const double rest = std::max(0.0, wall - sum);
  (failures_.empty() ? g.startup : g.repair) += rest;
  g.total = sum + rest;
  return g;
}

// Steps begun and thrown away: once for each generation change, however many died.
std::uint64_t History::redone() const {
  std::map<std::uint64_t, std::uint64_t> by_generation;
  for (const auto& row : failures_)
    if (row.recovered && row.worker >= 0 && row.step >= row.resumed_step) {
      auto& steps = by_generation[row.generation];
      steps = std::max(steps, row.step + 1 - row.resumed_step);
    }
  std::uint64_t sum = 0;
  for (const auto& [generation, steps] : by_generation)
    sum += steps;
  return sum;
}

std::string History::state() const {
  if (!result_.empty())
    return "ending";
  if (paused_)
    return "paused";
  if (generations_ == 0)
    return "starting";
  return formed_ ? "running" : "recovering";
}

RunReport History::report(std::int64_t wall_ns) const {
  RunReport r = base_;
  r.result = result_;
  r.cause = cause_;
  r.details = details_;
  r.steps = step_.value;
  r.samples = step_.value * global_batch_;
  r.epochs = epochs_;
  r.metrics = metrics_;
  if (finished_)
    r.model_digest = fmt::format("{:016x}", digest_);
  r.workers.end = static_cast<std::uint32_t>(plan_.members.size());
  r.generations = generations_;
  r.steps_redone = redone();
  r.failures = failures_;
  r.faults = faults_;
  r.samples_by_count = counts_;
  r.skipped = skipped_;
  r.goodput = goodput(wall_ns);
  r.checkpoints = checkpoints_;
  r.modes = modes_;
  r.wall_s = started_ns_ == 0 ? 0 : static_cast<double>(up_ns(wall_ns)) / 1e9;
  return r;
}

RunView History::view() const {
  RunView v;
  v.job = base_.job;
  v.state = state();
  v.note = v.state == "recovering" ? plan_.reason : cause_;
  v.step = step_.value;
  v.total_steps = base_.total_steps;
  v.steps_per_s = rate_;
  v.has_loss = rate_from_ns_ != 0;
  v.loss = loss_;
  v.workers = static_cast<std::uint32_t>(plan_.members.size());
  v.target = target_;
  v.generation = plan_.generation.value;
  v.failures = failures_.size();
  v.steps_lost = redone();
  return v;
}

StatusView History::status(Time now, std::int64_t wall_ns) const {
  const auto v = view();
  StatusView s;
  s.job = v.job;
  s.state = v.state;
  s.note = v.note;
  s.term = term_.value;
  s.generation = v.generation;
  s.since_ns = formed_ns_;
  s.step = v.step;
  s.total_steps = v.total_steps;
  s.steps_per_s = v.steps_per_s;
  s.loss = v.loss;
  s.workers = v.workers;
  s.target = v.target;
  s.failures = v.failures;
  s.steps_lost = v.steps_lost;
  s.master_up_s = static_cast<double>(wall_ns - term_ns_) / 1e9;
  s.master_restarts = terms_ > 0 ? terms_ - 1 : 0;
  s.dir = base_.dir;
  for (const auto& [id, host] : hosts_) {
    NodeView node;
    node.node = id;
    node.host = host;
    node.heartbeat_ms = -1;
    for (const auto& [key, fact] : facts_) {
      if (key.node.value != id)
        continue;
      ++node.slots;
      if (fact.phase != WorkerPhase::empty && fact.phase != WorkerPhase::exited) {
        ++node.used;
        node.ranks.push_back(rank_of(key));
      }
      if (const auto heard = heard_.find(key); heard != heard_.end())
        node.heartbeat_ms = std::max(node.heartbeat_ms, to_ms(now - heard->second.at));
    }
    s.nodes.push_back(std::move(node));
  }
  return s;
}

} // namespace troupe
