#include "actors/supervision/supervisor_kernel.hpp"

#include "base/assert.hpp"
#include "base/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::size_t failures_kept = 64;

Duration backoff_of(const RestartBackoff& backoff, std::uint32_t in_a_row) {
  if (in_a_row < 2)
    return Duration::zero();
  auto delay = backoff.first;
  for (std::uint32_t n = 2; n < in_a_row && delay < backoff.most; ++n)
    delay *= 2;
  return std::min(delay, backoff.most);
}

std::string describe(const ChildExit& exit) {
  if (exit.normal)
    return "ended";
  return fmt::format("{} ({})", exit.what.empty() ? "failed" : exit.what, to_string(exit.kind));
}

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

} // namespace

SupervisorKernel::SupervisorKernel(SupervisorSpec spec, std::vector<ChildSpec> children)
  : spec_(std::move(spec)), intensity_(spec_.intensity) {
  for (auto& budget : spec_.budgets)
    budgets_.emplace_back(budget.first, RestartBudget(budget.second));
  for (auto& child : children) {
    TROUPE_ASSERT(find(child.id) == nullptr, "ids of children are unique");
    children_.emplace_back().spec = std::move(child);
  }
}

std::vector<SupervisorKernel::Action> SupervisorKernel::on(const Event& event, Time now) {
  actions_.clear();
  auto matching = [this](const std::string& id, std::uint64_t life) {
    Child* child = find(id);
    return child != nullptr && child->life == life && child->alive() ? child : nullptr;
  };
  std::visit(
    Overloaded{
      [&](const Begin&) { begun_ = true; },
      [&](const Started& e) {
        if (Child* child = matching(e.id, e.life); child != nullptr && child->phase == ChildPhase::starting)
          enter(*child, ChildPhase::running, now);
      },
      [&](const Ended& e) {
        if (Child* child = matching(e.id, e.life))
          ended(*child, e.exit, now);
      },
      [&](const Add& e) {
        if (closing_ || find(e.spec.id) != nullptr)
          return;
        children_.emplace_back().spec = e.spec;
        children_.back().since = now;
      },
      [&](const Remove& e) {
        if (Child* child = find(e.id)) {
          child->removed = true;
          child->must_stop = child->alive();
        }
      },
      [&](const Again& e) {
        Child* child = find(e.id);
        if (child == nullptr || closing_ || child->removed)
          return;
        child->in_a_row = 0;
        child->not_before = now;
        if (child->alive())
          child->must_stop = true;
        else
          enter(*child, ChildPhase::waiting, now);
      },
      [&](const Close& e) {
        if (closing_)
          return;
        begun_ = true; // also before Begin there is an end
        closing_ = true;
        cause_ = e.reason;
        order_stop(0);
      },
      [](const Timer&) {},
    },
    event);
  settle(now);
  return std::move(actions_);
}

SupervisorKernel::Child* SupervisorKernel::find(const std::string& id) {
  auto i = std::find_if(children_.begin(), children_.end(), [&](const Child& c) { return c.spec.id == id; });
  return i == children_.end() ? nullptr : &*i;
}

void SupervisorKernel::enter(Child& child, ChildPhase phase, Time now) {
  child.phase = phase;
  child.since = now;
}

void SupervisorKernel::order_stop(std::size_t first, const Child* except) {
  for (std::size_t i = first; i < children_.size(); ++i)
    if (&children_[i] != except && children_[i].alive())
      children_[i].must_stop = true;
}

void SupervisorKernel::ended(Child& child, const ChildExit& exit, Time now) {
  bool ordered = child.must_stop;
  bool healthy = child.phase == ChildPhase::running && now - child.since >= child.spec.backoff.healthy_after;
  child.last = exit;
  child.must_stop = false;
  bool over = ordered && child.spec.restart == Restart::temporary;
  enter(child, over ? ChildPhase::ended : ChildPhase::waiting, now);
  if (ordered || closing_)
    return;
  bool again = child.spec.restart == Restart::permanent
               || (child.spec.restart == Restart::transient && !exit.normal);
  child.in_a_row = healthy || exit.normal ? 1 : child.in_a_row + 1;
  if (!exit.normal) {
    failures_.push_back({now, child.spec.id, exit});
    if (failures_.size() > failures_kept)
      failures_.pop_front();
  }
  if (!exit.normal && exit.kind == FailureClass::startup)
    return escalate(
      fmt::format("{}: {}: {}; a start-up error is not retried", spec_.name, child.spec.id, describe(exit)));
  if (!again) {
    enter(child, ChildPhase::ended, now);
    return;
  }
  child.not_before = now + backoff_of(child.spec.backoff, child.in_a_row);
  failed(child, now);
}

// A restart is needed: is there still one, and whom does it take along?
void SupervisorKernel::failed(Child& child, Time now) {
  bool enough = intensity_.spend(now);
  if (!enough)
    return escalate(cause_of(child, intensity_.limit(), "failures", now));
  if (!child.last.normal)
    for (auto& [kind, budget] : budgets_)
      if (kind == child.last.kind && !budget.spend(now))
        return escalate(cause_of(child, budget.limit(), to_string(kind), now));
  if (spec_.group == RestartGroup::one_for_one)
    return;
  auto place = static_cast<std::size_t>(&child - children_.data());
  order_stop(spec_.group == RestartGroup::one_for_all ? 0 : place + 1, &child);
}

std::string SupervisorKernel::cause_of(const Child& child, const RestartIntensity& limit, std::string_view which,
                                       Time now) const {
  auto first = std::find_if(failures_.begin(), failures_.end(),
                            [&](const FailureNote& f) { return f.at + limit.window > now; });
  std::string cause;
  if (first != failures_.end())
    cause = fmt::format("{}: {}: {}", spec_.name, first->id, describe(first->exit));
  else
    cause = fmt::format("{}: {}: {}", spec_.name, child.spec.id, describe(child.last));
  cause += fmt::format("; more than {} restarts ({}) in {} s", limit.restarts, which, seconds(limit.window));
  if (first != failures_.end() && (first->id != child.spec.id || first->exit != child.last))
    cause += fmt::format("; last {}: {}", child.spec.id, describe(child.last));
  return cause;
}

void SupervisorKernel::escalate(std::string cause) {
  closing_ = true;
  escalated_ = true;
  cause_ = std::move(cause);
  order_stop(0);
}

void SupervisorKernel::climb_ladders(Time now) {
  for (auto& child : children_) {
    if (!child.being_stopped() || now < child.deadline)
      continue;
    if (child.phase == ChildPhase::stopping) {
      auto what = fmt::format("did not stop in {} s", seconds(child.spec.grace));
      actions_.push_back(Kill{child.spec.id, child.life, std::move(what)});
      enter(child, ChildPhase::killed, now);
      child.deadline = now + child.spec.kill_grace;
    } else {
      auto what = fmt::format("still there {} s after it was killed", seconds(child.spec.kill_grace));
      actions_.push_back(GiveUp{child.spec.id, child.life, what});
      child.must_stop = false;
      child.last = {false, FailureClass::hang, what};
      enter(child, ChildPhase::ended, now);
      // Two lives at once would break what depends on there being one: who owns us must decide.
      if (!closing_)
        escalate(fmt::format("{}: {}: {}", spec_.name, child.spec.id, what));
    }
  }
}

void SupervisorKernel::stop_next(Time now) {
  for (auto i = children_.rbegin(); i != children_.rend(); ++i) {
    Child& child = *i;
    if (!child.must_stop || !child.alive())
      continue;
    if (!child.being_stopped()) {
      bool at_once = child.spec.grace <= Duration::zero();
      auto reason = closing_ ? cause_ : child.removed ? std::string("removed") : std::string("restart");
      enter(child, at_once ? ChildPhase::killed : ChildPhase::stopping, now);
      child.deadline = now + (at_once ? child.spec.kill_grace : child.spec.grace);
      if (at_once)
        actions_.push_back(Kill{child.spec.id, child.life, std::move(reason)});
      else
        actions_.push_back(Stop{child.spec.id, child.life, std::move(reason)});
    }
    if (!spec_.stop_together)
      return;
  }
}

void SupervisorKernel::start_next(Time now) {
  bool dependent = spec_.group != RestartGroup::one_for_one;
  auto stopping = [](const Child& c) { return c.must_stop || c.being_stopped(); };
  if (dependent && std::any_of(children_.begin(), children_.end(), stopping))
    return;
  for (auto& child : children_) {
    if (child.phase == ChildPhase::waiting && !child.removed && child.not_before <= now) {
      ++child.life;
      enter(child, ChildPhase::starting, now);
      actions_.push_back(Start{child.spec.id, child.life, child.life == 1 ? "first start" : describe(child.last)});
    }
    if (dependent && child.phase != ChildPhase::running && child.phase != ChildPhase::ended)
      return;
  }
}

void SupervisorKernel::settle(Time now) {
  if (!begun_ || quit_)
    return;
  climb_ladders(now);
  stop_next(now);
  for (auto i = children_.begin(); i != children_.end();)
    if (i->removed && !i->alive()) {
      actions_.push_back(Forget{i->spec.id});
      i = children_.erase(i);
    } else {
      ++i;
    }
  if (closing_) {
    if (std::none_of(children_.begin(), children_.end(), [](const Child& c) { return c.alive(); })) {
      quit_ = true;
      actions_.push_back(Quit{escalated_, cause_});
      return;
    }
  } else {
    start_next(now);
  }
  std::optional<Time> wake;
  for (auto& child : children_) {
    std::optional<Time> at;
    if (child.being_stopped())
      at = child.deadline;
    else if (!closing_ && child.phase == ChildPhase::waiting && child.not_before > now)
      at = child.not_before;
    if (at && (!wake || *at < *wake))
      wake = at;
  }
  if (wake)
    actions_.push_back(Wake{*wake});
}

SupervisorStatus SupervisorKernel::status() const {
  SupervisorStatus status{spec_.name, spec_.group, closing_, cause_, {}};
  for (auto& child : children_)
    status.children.push_back({child.spec.id, child.phase, child.life, child.in_a_row, child.since, child.last});
  return status;
}

} // namespace troupe
