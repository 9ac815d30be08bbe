// The engine's port in a worker process: orders come in from the worker actor's thread, what the engine says goes out
// through a Sink, descriptors come over the node's channel. Two threads meet here: the trainer's (all WorkerPort
// calls) and the actor's (deliver, answer, leave, take_progress).
//
// Invariants
//  - What to obey, promise and say is the WorkerMachine's decision; here its actions are carried out, under the lock.
//  - A generation that is called off is aborted at once, from the actor's thread, also while it is being opened.
//  - A fault happens only after the master said that it is journaled.
#pragma once

#include "actors/kernel/worker_machine.hpp"
#include "actors/protocol_types.hpp"
#include "actors/worker/port.hpp"
#include "actors/worker/row_ring.hpp"
#include "base/unique_fd.hpp"
#include "comm/life_lock.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace troupe {

class ProcessPort final : public WorkerPort {
public:
  /// Where the engine's statements go. Called on the trainer's thread; must not block.
  class Sink {
  public:
    virtual ~Sink() = default;
    virtual void hello(WorkerHello hello) = 0;
    virtual void report(WorkerReport report) = 0;
    virtual void fault_reached(FaultReached reached) = 0;
    virtual void save_ready(SaveReady ready) = 0;
  };

  struct Settings {
    WorkerKey me;
    int channel = -1;                                 ///< descriptors from the node; stays the caller's
    Duration startup{};                               ///< wait for the own memory
    Duration connect{};                               ///< wait for a generation's descriptors
    Duration fault_answer = std::chrono::seconds(10); ///< then the fault does not happen
    Duration fault_retry = std::chrono::milliseconds(500);
  };

  ProcessPort(const Settings& settings, Sink& sink);
  ~ProcessPort() override;

  // --- actor's thread ---
  void deliver(WorkerOrder order);
  /// The master journaled that this fault happens, or refused it.
  void answer(const FireFault& verdict);
  /// The node is gone or wants this worker to leave: ends every wait of the engine.
  void leave(const std::string& cause);
  /// Rows and times since the last call; at most 4096 rows.
  ProgressReport take_progress();
  /// The last report again, for a heartbeat.
  WorkerReport last_report() const;

  // --- trainer's thread ---
  result<std::shared_ptr<SlotBank>> built(const StateLayout& layout) override;
  Order next() override;
  void report(const EngineReport& report) override;
  void enter(Activity activity, Step step, Time now) override;
  Effect at(FaultPoint point, Step step) override;
  void committed(const StepRow& row, const Spent& spent) override;
  std::uint64_t wanted_save(Step version) override;
  void saved(std::uint64_t request, PieceKey key, std::uint32_t slot, bool best) override;
  void evaluated(const EvaluationRow& row) override;
  void rows_restored(std::span<const StepRow> rows) override;
  void digest_mismatch(Generation generation, Step step, std::span<const std::uint64_t> by_rank) override;
  void mode(std::string_view what) override;
  /// A number for the report, by name. Any thread.
  void publish(std::string_view name, double value);
  /// The trainer failed; the last thing the engine's process says. Any thread.
  void failed(const Failure& failure);

private:
  void tell(const WorkerMachine::Event& event);
  SourceBank source_of(const Plan& plan, SlotId owner, std::shared_ptr<SlotBank> bank) const;
  result<std::unique_ptr<Assignment>> open(const Join& join, Term term);
  bool called_off(Generation generation);
  const FaultOrder* match(FaultPoint point, Step step) const;
  bool strike(const FaultOrder& fault, Step step, Effect& effect);
  void announce(const FaultOrder& fault, Step step);
  void send_report();

  const Settings settings_;
  Sink& sink_;
  LifeLine life_;
  std::shared_ptr<SlotBank> bank_; ///< trainer's thread
  StateLayout layout_;             ///< trainer's thread

  UniqueFd bell_; ///< an eventfd, rung by Abort and Leave: ends the wait for descriptors

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  WorkerOrder order_;
  bool ordered_ = false;
  bool leaving_ = false;
  WorkerMachine machine_;
  std::optional<Join> join_; ///< for the engine, when it comes to next()
  std::optional<Leave> leave_;
  Generation abort_up_to_;
  std::weak_ptr<Communicator> current_;
  WorkerReport report_;
  std::vector<ProgressRow> evaluations_; ///< not yet taken
  std::map<std::string, double, std::less<>> published_;
  std::map<std::uint32_t, bool> fired_; ///< the master's verdicts

  std::vector<FaultOrder> faults_; ///< trainer's copy, refreshed when fault_version_ moved
  std::uint64_t seen_faults_ = 0;
  std::atomic<std::uint64_t> fault_version_{0};
  std::set<std::uint32_t> struck_; ///< trainer's thread
  std::map<std::uint32_t, Time> announced_; ///< trainer's thread; newest word on each fault of another target
  Rank rank_;                      ///< trainer's thread
  std::atomic<std::uint32_t> row_rank_{~0U};
  std::atomic<std::uint64_t> save_request_{0};
  std::atomic<std::uint64_t> save_step_{0};
  std::uint64_t save_done_ = 0; ///< trainer's thread
  RowRing rows_;
};

} // namespace troupe
