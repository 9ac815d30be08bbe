#include "actors/kernel/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

Duration automatic_interval(Duration took, Duration elapsed, std::uint32_t generations) {
  using Seconds = std::chrono::duration<double>;
  const double cost = std::max(Seconds(took).count(), 0.01);
  const double between = std::max(Seconds(elapsed).count(), 60.0) / std::max(1U, generations);
  const double interval = std::clamp(std::sqrt(2 * cost * between), 10.0, 600.0);
  return std::chrono::milliseconds(static_cast<std::int64_t>(interval * 1000));
}

struct CheckpointsKernel::Turn {
  const KernelSettings& settings;
  State& s;
  Time& reached_at;
  Time now;
  std::vector<Action> out;
  bool found_changed = false;
  bool retime = false;

  template <class A>
  void say(A action) {
    out.push_back(std::move(action));
  }

  // --- Events
  void take(const Started& event) {
    if (event.term != s.term) {
      s.held_end = s.held_end || s.stop_said || !s.failure.cause.empty();
      s.held_stop = s.held_stop || s.stopping;
      s.unjudged = s.finished;
      s.listed = s.stopping = s.ended = false;
      s.wished.clear(); // who waited went with the old master
      s.asked.clear();
    }
    s.term = event.term;
    s.order.term = event.term;
    if (s.started_at == Time{})
      s.started_at = s.saved_at = now;
    restate();
  }
  void take(const PeerRestarted& event) {
    if (event.peer == "gate") { // askers went with it, and their numbers begin anew
      s.wished.clear();
      s.asked.clear();
    }
    restate();
  }
  /// Does an end of an earlier term count?
  void take(const RunFound& event) {
    if (event.term != s.term)
      return;
    const bool was_ended = std::exchange(s.held_end, false);
    const bool was_stopping = std::exchange(s.held_stop, false);
    const bool was_finished = std::exchange(s.unjudged, false);
    if (was_finished && !event.kept) { // its last version went with the memory
      s.finished = false;
      s.result = {};
      s.attempts = 0;
    }
    if (s.ended || s.stopping)
      return; // asked for in this term
    if (!event.kept) {
      s.stop_said = false;
      s.failure = {};
      return;
    }
    if (was_ended) {
      s.ended = true;
      s.saving = false;
      say_end();
    } else if (was_stopping && s.saving && !s.scheduled) {
      s.stopping = true;
    } else if (was_stopping) {
      take(StopRequest{true, s.stop_reason});
    } else if (was_finished) {
      go_on();
    }
  }
  void say_end() {
    if (!s.failure.cause.empty())
      say(s.failure);
    if (s.stop_said)
      say(StopAll{s.finished, s.stop_reason});
  }
  void restate() {
    found_changed = s.listed;
    if (s.saving)
      say(s.order);
    if (s.ended)
      say_end();
    reached_at = {};
    retime = true;
  }
  void take(const Tick& tick) {
    retime = true;
    if (tick.late)
      reached_at = {};
    const Time from = std::max(s.ordered_at, reached_at);
    if (!s.saving || s.ended || tick.late || (s.scheduled && reached_at == Time{}))
      return; // or its step has not come yet
    if (now - from < patience()) {
      say(s.order); // the same again, in case it was lost
      return;
    }
    unsaved(fmt::format("no answer within {:g}s", std::chrono::duration<double>(patience()).count()));
  }
  void take(const Roster& roster) {
    bool lost_source = false;
    for (const RosterRow& row : roster.rows) {
      for (const WorkerKey& m : s.members) {
        if (m.node != row.worker.node || m.slot != row.worker.slot || (m == row.worker && !row.dead) || is_dead(m))
          continue;
        s.dead.push_back(m);
        lost_source = lost_source || (s.saving && s.order.from == m);
      }
    }
    if (lost_source && !s.finished)
      reorder("its source died");
  }
  void take(const Advanced& event) {
    if (event.generation != s.generation || s.finished || s.ended)
      return;
    if (s.saving) {
      if (reached_at == Time{} && event.step >= s.order.at_least)
        reached_at = now;
      return;
    }
    if (event.step > s.saved && time_is_due())
      order_save(Step{}, "checkpoint.every");
  }
  void take(const Formed& event) {
    if (event.generation <= s.generation)
      return;
    s.generation = event.generation;
    s.resumed = event.step;
    s.members = event.members;
    s.dead.clear();
    ++s.formed;
    // What is newer than the resume point and older than the generation is void.
    std::erase_if(s.checkpoints, [&](const FoundCheckpoint& c) {
      if (!is_void(c.key))
        return false;
      say(DeleteCheckpoint{c.path, fmt::format("void: generation {} resumed version {}", s.generation.value,
                                               s.resumed.value)});
      found_changed = true;
      return true;
    });
    s.saved = {};
    for (const FoundCheckpoint& c : s.checkpoints)
      s.saved = std::max(s.saved, c.key.step);
    if (s.saving && std::find(s.members.begin(), s.members.end(), s.order.from) == s.members.end())
      reorder("its source left");
    go_on();
  }
  void take(const SaveRequest& event) {
    if (s.ended || (s.finished && !s.saving)) {
      refuse(event.request);
      return;
    }
    if (event.request > 0)
      (s.finished ? s.asked : s.wished).push_back(event.request);
    if (s.finished)
      return; // the last save answers
    s.wish = event.reason.empty() ? "asked for" : event.reason;
    go_on();
  }
  void refuse(std::uint64_t request) {
    if (request > 0)
      say(SaveDone{request, false, {}, {}, "the job is ending"});
  }
  void refuse_all() {
    for (const std::uint64_t request : std::exchange(s.asked, {}))
      refuse(request);
    for (const std::uint64_t request : std::exchange(s.wished, {}))
      refuse(request);
  }
  /// How the present save ended, and that again to each who waits for it.
  void answer(SaveDone done) {
    say(done);
    for (const std::uint64_t request : std::exchange(s.asked, {})) {
      done.request = request;
      say(done);
    }
  }
  void take(const StopRequest& event) {
    if (s.ended)
      return;
    const bool again = s.stopping;
    s.held_stop = s.held_end = false; // this one counts
    s.stop_said = false;
    s.failure = {};
    s.stopping = true;
    s.stop_reason = event.reason;
    const bool possible = event.save && !again && settings.cadence != SaveCadence::never && source() != nullptr;
    if (!possible) {
      end(s.finished, event.reason);
      return;
    }
    s.wish = event.reason;
    go_on();
  }
  void take(const Persisted& event) {
    const bool mine = s.saving && event.request == s.order.request;
    if (event.ok)
      note(event);
    SaveDone done{0, event.ok, event.key, event.path, {}};
    if (mine && event.ok) {
      done.reason = s.order.reason;
      answer(done);
      s.saving = s.scheduled = false;
      s.attempts = 0;
      s.took = event.took;
      s.saved_at = now;
      go_on();
    } else if (mine) {
      unsaved(event.error);
    } else {
      done.reason = event.ok ? "a version the engine wished to keep" : event.error;
      say(done);
    }
  }
  void take(const CheckpointsListed& event) {
    s.checkpoints = event.checkpoints;
    sort();
    s.listed = found_changed = true;
    for (const FoundCheckpoint& c : s.checkpoints)
      s.saved = std::max(s.saved, c.key.step);
  }
  void take(const JobFinished& event) {
    if (s.finished)
      return;
    s.finished = true;
    s.result = event;
    s.scheduled = s.saving; // whatever was ordered before, the last version goes first
    s.asked.insert(s.asked.end(), s.wished.begin(), s.wished.end());
    s.wished.clear();
    go_on();
  }
  void take(const FailJob&) { over(); }
  void take(const StopAll&) { over(); }
  void over() {
    s.ended = true;
    refuse_all();
  }

  // --- What is there
  bool is_void(PieceKey key) const { return key.generation < s.generation && key.step > s.resumed; }
  bool is_dead(const WorkerKey& worker) const {
    return std::find(s.dead.begin(), s.dead.end(), worker) != s.dead.end();
  }
  void sort() {
    std::stable_sort(s.checkpoints.begin(), s.checkpoints.end(),
                     [](const FoundCheckpoint& a, const FoundCheckpoint& b) { return a.key < b.key; });
  }
  void note(const Persisted& event) {
    found_changed = true;
    if (is_void(event.key)) {
      say(DeleteCheckpoint{event.path, "void: it was written of a version that does not count any more"});
      return;
    }
    std::erase_if(s.checkpoints, [&](const FoundCheckpoint& c) {
      const bool same = c.key == event.key;
      if (same && c.path != event.path)
        say(DeleteCheckpoint{c.path, "written again as " + event.path});
      return same;
    });
    if (event.best)
      for (FoundCheckpoint& c : s.checkpoints)
        c.best = false;
    s.checkpoints.push_back({event.key, event.digest, event.path, event.best});
    sort();
    s.saved = std::max(s.saved, event.key.step);
    // Keep the newest and the best.
    std::uint32_t kept = 0;
    for (std::size_t i = s.checkpoints.size(); i-- > 0;) {
      const FoundCheckpoint& c = s.checkpoints[i];
      if (c.best || kept++ < settings.keep)
        continue;
      say(DeleteCheckpoint{c.path, fmt::format("newer ones are durable, checkpoint.keep = {}", settings.keep)});
      s.checkpoints.erase(s.checkpoints.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // --- Saves
  bool time_is_due() const {
    switch (settings.cadence) {
    case SaveCadence::time: return now - s.saved_at >= settings.save_time;
    case SaveCadence::automatic:
      return now - s.saved_at >= automatic_interval(s.took, now - s.started_at, s.formed);
    case SaveCadence::never:
    case SaveCadence::steps: break;
    }
    return false;
  }
  /// A living member, the next one after every failed attempt.
  const WorkerKey* source() const {
    if (s.finished && s.attempts == 0)
      return &s.result.holder;
    if (s.finished && !s.members.empty()) // memory outlives workers
      return &s.members[s.attempts % s.members.size()];
    for (std::size_t i = 0; i < s.members.size(); ++i) {
      const WorkerKey& m = s.members[(i + s.attempts) % s.members.size()];
      if (!is_dead(m))
        return &m;
    }
    return nullptr;
  }
  bool order_save(Step at_least, std::string reason, bool scheduled = false) {
    const WorkerKey* from = source();
    if (from == nullptr)
      return false;
    s.order = {s.term, ++s.request, *from, at_least, std::move(reason), false};
    s.saving = true;
    s.scheduled = scheduled;
    s.ordered_at = now;
    reached_at = {};
    say(s.order);
    retime = true;
    return true;
  }
  void reorder(const char* why) {
    if (source() == nullptr) {
      s.wish = s.scheduled ? s.wish : s.order.reason; // when the next generation runs
      s.wished.insert(s.wished.end(), s.asked.begin(), s.asked.end());
      s.asked.clear();
      s.saving = s.scheduled = false;
      return;
    }
    std::string reason = s.order.reason;
    if (const auto at = reason.find(" (again: "); at != std::string::npos)
      reason.resize(at);
    order_save(s.order.at_least, fmt::format("{} (again: {})", reason, why), s.scheduled);
  }
  void unsaved(std::string error) {
    ++s.attempts;
    SaveDone done{0, false, {}, {}, std::move(error)};
    s.saving = s.scheduled = false;
    s.saved_at = now; // not again at once
    answer(done);
    if (s.stopping) {
      end(s.finished, s.stop_reason);
    } else if (s.finished && s.attempts >= 3) {
      s.failure = {"the last checkpoint could not be written: " + done.reason, {}, {},
                   fmt::format("tried {} times", s.attempts)};
      s.stop_said = false;
      say(s.failure);
      over();
    } else {
      if (!s.finished)
        s.attempts %= 1000;
      go_on();
    }
  }
  Duration patience() const {
    return s.stopping ? std::min<Duration>(settings.limits.save, std::chrono::seconds(15)) : settings.limits.save;
  }
  void end(bool finished, std::string reason) {
    if (s.ended)
      return;
    s.saving = false;
    s.stop_said = true;
    s.failure = {};
    s.stop_reason = std::move(reason);
    say(StopAll{finished, s.stop_reason});
    over();
  }

  /// What is next, now that something changed.
  void go_on() {
    if (s.ended || s.unjudged || s.held_end)
      return;
    if (s.saving && !s.scheduled)
      return; // one at a time
    if (s.finished) {
      const bool durable = s.saved == s.result.step && !s.checkpoints.empty();
      if (durable || !settings.save_at_end || settings.cadence == SaveCadence::never)
        end(true, "all steps are done");
      else
        order_save(s.result.step, "the job is finished");
      return;
    }
    if (!s.wish.empty() && order_save(Step{}, s.wish)) {
      s.wish.clear();
      s.asked = std::exchange(s.wished, {});
      return;
    }
    if (s.stopping && !s.saving) {
      if (s.wish.empty())
        end(false, s.stop_reason);
      return;
    }
    if (settings.cadence == SaveCadence::steps && !s.saving && s.generation.value > 0) {
      const Step next{(std::max(s.saved, s.resumed).value / settings.save_steps + 1) * settings.save_steps};
      if (next < settings.total_steps || settings.total_steps == Step{})
        order_save(next, fmt::format("every {} steps", settings.save_steps), true);
    }
  }

  void conclude() {
    if (found_changed && s.listed)
      say(CheckpointsFound{s.checkpoints});
    if (s.saving && retime)
      say(WakeAt{now + std::min<Duration>(patience(), std::chrono::seconds(2)), "for the answer to a save"});
  }
};

std::vector<CheckpointsKernel::Action> CheckpointsKernel::on(const Event& event, Time now) {
  Turn turn{settings_, state_, reached_at_, now, {}};
  std::visit([&](const auto& e) { turn.take(e); }, event);
  turn.conclude();
  return std::move(turn.out);
}

} // namespace troupe
