// Ends and forms generations. gather -> plan -> form -> run, and from forming and running back through drain. Owns the
// number of the newest announced generation and the promises of those that left one. Invariants:
//   - a generation is announced only after every live member of the one before promised (drained) and, when some are
//     only believed to be dead, at least one member promised or is surely dead, or limits.master_grace has passed;
//   - a drain never waits for the journal; a form always does;
//   - a promise (worker, generation) once given is never taken back.
#pragma once

#include "actors/kernel/kernel.hpp"
#include "actors/kernel/settings.hpp"

namespace troupe {

class RendezvousKernel {
public:
  static constexpr std::string_view name = "rendezvous";
  using Event = std::variant<Started, PeerRestarted, Tick, Roster, Plan, DrainRequest, DigestMismatch, StopAll,
                             FailJob, RunFound>;
  using Action = std::variant<GenerationOrder, Drained, Formed, JobFinished, DigestMismatch, Suspect, FailJob, WakeAt>;

  enum class Phase : std::uint8_t {
    planning, ///< drained; waits for a plan
    forming,  ///< announced; members connect and restore
    running,
    draining,
    finished, ///< all steps are done
    ended,    ///< the job stops: members drain, nothing is formed any more
  };
  struct Promise {
    WorkerKey worker;
    Generation generation;
    friend bool operator==(const Promise&, const Promise&) = default;
    TROUPE_FIELDS(worker, generation)
  };
  struct State {
    Term term;
    std::uint64_t sequence = 0;   ///< of the newest GenerationOrder
    Phase phase = Phase::planning;
    Plan plan;                    ///< newest announced
    std::string cause;            ///< of the drain
    std::string refused;
    Time since{};                 ///< of the phase
    std::uint32_t misfires = 0;   ///< generations in a row that did not form in time though nobody was late
    std::vector<Promise> promises;///< of the members of `plan`
    Roster roster;
    JobFinished result;
    bool unjudged = false;        ///< finished in an earlier term: it counts if the run is still that one
    FailJob failure;              ///< said in this term; no cause: none
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, sequence, phase, plan, cause, refused, since, misfires, promises, roster, result, unjudged,
                  failure)
  };

  explicit RendezvousKernel(KernelSettings settings) : settings_(std::move(settings)) {}
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state) {
    state_ = std::move(state);
    clocks_from_ = {};
  }

private:
  struct Turn;
  KernelSettings settings_;
  State state_;
  Time clocks_from_{}; ///< volatile: nobody is late by anything before
};

std::string_view to_string(RendezvousKernel::Phase);
constexpr std::size_t enum_count(RendezvousKernel::Phase) { return 6; }

} // namespace troupe
