// What a supervisor does next, pure: events in, actions out, time handed in. Hosts carry the actions out: the CAF
// supervisor for actors, a node for processes. Invariants:
//   - at most one life of a child at a time; an event of another life than the present one changes nothing;
//   - under one_for_all and rest_for_one nothing starts while anything stops, and a child starts only when all before
//     it that should run do run; stops go from right to left, one at a time (together, if the spec says so);
//   - a life is counted against the budgets at most once, and one whose end was ordered never;
//   - once closing, nothing starts; Quit comes once, when no child is left or the last one was given up;
//   - the cause of giving up begins with the first failure of the window, not with the last.
#pragma once

#include "actors/supervision/child_spec.hpp"

#include <deque>
#include <optional>
#include <variant>

namespace troupe {

/// Sliding window of restarts.
class RestartBudget {
public:
  explicit RestartBudget(RestartIntensity limit) : limit_(limit) {}
  /// False when this one is too many.
  bool spend(Time now) {
    while (!at_.empty() && at_.front() + limit_.window <= now)
      at_.pop_front();
    at_.push_back(now);
    return at_.size() <= limit_.restarts;
  }
  const RestartIntensity& limit() const { return limit_; }

private:
  RestartIntensity limit_;
  std::deque<Time> at_;
};

class SupervisorKernel {
public:
  // Events.
  struct Begin {};                                            ///< start all children there are
  struct Started { std::string id; std::uint64_t life = 0; };
  struct Ended { std::string id; std::uint64_t life = 0; ChildExit exit; }; ///< also: could not be started
  struct Add { ChildSpec spec; };                             ///< a dynamic child, last in order
  struct Remove { std::string id; };                          ///< stop it and forget it
  struct Again { std::string id; std::string reason; };       ///< stop it and start it, at no cost to budgets
  struct Close { std::string reason; };                       ///< stop all, then quit
  struct Timer {};
  using Event = std::variant<Begin, Started, Ended, Add, Remove, Again, Close, Timer>;

  // Actions.
  struct Start { std::string id; std::uint64_t life = 0; std::string reason; };
  struct Stop { std::string id; std::uint64_t life = 0; std::string reason; };
  struct Kill { std::string id; std::uint64_t life = 0; std::string reason; };
  struct GiveUp { std::string id; std::uint64_t life = 0; std::string reason; }; ///< not waited for any more
  struct Forget { std::string id; };                          ///< a removed child is gone
  struct Wake { Time at{}; };                                 ///< a Timer then; replaces older ones
  struct Quit { bool escalated = false; std::string cause; };
  using Action = std::variant<Start, Stop, Kill, GiveUp, Forget, Wake, Quit>;

  SupervisorKernel(SupervisorSpec spec, std::vector<ChildSpec> children);

  std::vector<Action> on(const Event& event, Time now);
  SupervisorStatus status() const;
  bool closing() const { return closing_; }

private:
  struct Child {
    ChildSpec spec;
    ChildPhase phase = ChildPhase::waiting;
    std::uint64_t life = 0;
    bool must_stop = false;   ///< its end is ordered, though it may not have been asked yet
    bool removed = false;
    std::uint32_t in_a_row = 0;
    Time since{};
    Time not_before{};        ///< of the next start
    Time deadline{};          ///< of the present step of the ladder
    ChildExit last;

    bool alive() const { return phase != ChildPhase::waiting && phase != ChildPhase::ended; }
    bool being_stopped() const { return phase == ChildPhase::stopping || phase == ChildPhase::killed; }
  };
  struct FailureNote { Time at{}; std::string id; ChildExit exit; };

  Child* find(const std::string& id);
  void enter(Child& child, ChildPhase phase, Time now);
  void order_stop(std::size_t first, const Child* except = nullptr);
  void ended(Child& child, const ChildExit& exit, Time now);
  void failed(Child& child, Time now);
  void escalate(std::string cause);
  std::string cause_of(const Child& child, const RestartIntensity& limit, std::string_view which, Time now) const;
  void climb_ladders(Time now);
  void stop_next(Time now);
  void start_next(Time now);
  void settle(Time now);

  SupervisorSpec spec_;
  std::vector<Child> children_;
  RestartBudget intensity_;
  std::vector<std::pair<FailureClass, RestartBudget>> budgets_;
  std::deque<FailureNote> failures_; ///< newest 64
  bool begun_ = false;
  bool closing_ = false;
  bool escalated_ = false;
  bool quit_ = false;
  std::string cause_;
  std::vector<Action> actions_; ///< of the call at hand
};

} // namespace troupe
