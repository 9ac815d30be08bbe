// The story of a run, folded from its records: what failed and how long each recovery took phase by phase,
// who is there, how far it is, where the worker-seconds went. Pure: the same records give the same report,
// live, after a restart of the console, and from an event log. One thread.
#pragma once

#include "actors/journal_types.hpp"
#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/faults.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/kernel/rendezvous.hpp"
#include "actors/kernel/shards.hpp"
#include "actors/master/run_face.hpp"
#include "actors/protocol_types.hpp"
#include "actors/run_report.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace troupe {

/// Kinds of note in a journal, as `JournalRecord::kernel`.
namespace note {
inline constexpr const char* progress = "progress"; ///< payload: ProgressReport with evaluations
inline constexpr const char* worker = "worker";     ///< payload: WorkerReport with modes and counts
} // namespace note

class History {
public:
  History(const JobConfig& config, std::uint64_t total_steps);

  void record(const JournalRecord& record);
  void progress(const ProgressReport& progress);
  void worker(const WorkerReport& report);

  /// As of now; `wall_ns` is the wall clock. `dir`, `version`, `config` and `host` are left to the caller.
  RunReport report(std::int64_t wall_ns) const;
  RunView view() const;
  StatusView status(Time now, std::int64_t wall_ns) const;
  /// What happened since the last call.
  std::vector<RunEvent> take_events();

  bool ended() const { return stopped_; } ///< AllStopped was said
  bool finished() const { return finished_; }
  Step rows_final_before() const { return rows_final_; }
  std::optional<std::pair<Generation, Step>> take_void(); ///< rows that became void since the last call

  // What visit_record finds; everything else is of no interest here.
  template <class K, class E>
  void event(K*, const JournalRecord&, const E&) {}
  template <class K, class A>
  void action(K*, const JournalRecord&, const A&) {}
  void event(MembershipKernel*, const JournalRecord&, const NodeReport&);
  void event(MembershipKernel*, const JournalRecord&, const Alive&);
  void event(RecoveryKernel*, const JournalRecord&, const Pause&);
  void event(CheckpointsKernel*, const JournalRecord&, const Persisted&);
  void event(CheckpointsKernel*, const JournalRecord&, const StopRequest&);
  void action(CheckpointsKernel*, const JournalRecord&, const SaveDone&);
  void action(MembershipKernel*, const JournalRecord&, const RunFound&);
  void action(MembershipKernel*, const JournalRecord&, const WorkerFailed&);
  void action(MembershipKernel*, const JournalRecord&, const Roster& roster) { target_ = roster.target; }
  void action(MembershipKernel*, const JournalRecord&, const FailJob& failed) { fail(failed); }
  void action(RendezvousKernel*, const JournalRecord&, const FailJob& failed) { fail(failed); }
  void action(RecoveryKernel*, const JournalRecord&, const FailJob& failed) { fail(failed); }
  void action(MembershipKernel*, const JournalRecord&, const AllStopped&);
  void action(RendezvousKernel*, const JournalRecord&, const GenerationOrder&);
  void action(RendezvousKernel*, const JournalRecord&, const Formed&);
  void action(RendezvousKernel*, const JournalRecord&, const JobFinished&);
  void action(FaultsKernel*, const JournalRecord&, const FireFault&);
  void action(FaultsKernel*, const JournalRecord&, const KillWorker&);
  void action(FaultsKernel*, const JournalRecord&, const KillMaster&);
  void action(ShardsKernel*, const JournalRecord&, const RowsFinal& final_rows);
  void action(ShardsKernel*, const JournalRecord&, const RowsVoid& voided);
  void action(ShardsKernel*, const JournalRecord&, const EpochsDone& epochs) { epochs_ = epochs.done; }

private:
  struct Open {          ///< a failure on its way to recovery
    std::size_t row = 0; ///< in failures_
    Time killed{};       ///< epoch: not known
    Step step;           ///< it was in
    bool member = false;
  };
  struct Seen { ///< milestones of one survivor of one change of generation
    WorkerKey worker;
    Generation generation;
    Milestones times;
  };

  void fail(const FailJob& failed);
  void take_settings(const KernelSettings& settings);
  void mark_fired(std::uint32_t id);
  void begin_term(const JournalRecord& first);
  /// Without the time between the last word of a term and the first of the next.
  std::int64_t up_ns(std::int64_t wall_ns) const { return std::max<std::int64_t>(0, wall_ns - started_ns_ - down_ns_); }
  void note_members(const NodeReport& report);
  void close_recovery(std::int64_t wall_ns);
  void say(std::int64_t wall_ns, std::string text) { events_.push_back({wall_ns, std::move(text), {}, {}}); }
  std::int32_t rank_of(const WorkerKey& worker) const;
  Goodput goodput(std::int64_t wall_ns) const;
  std::string state() const;
  std::uint64_t redone() const;

  RunReport base_;
  std::uint32_t target_ = 0;
  std::uint64_t terms_ = 0;
  std::int64_t term_ns_ = 0;
  std::int64_t formed_ns_ = 0;
  std::uint64_t global_batch_;
  std::int64_t started_ns_ = 0; ///< of the first term
  std::int64_t down_ns_ = 0;    ///< between terms
  std::int64_t newest_ns_ = 0;  ///< wall clock of the newest record
  Term term_;
  Plan plan_; ///< newest announced
  bool formed_ = false;
  bool timed_ = true; ///< milestones of plan_ are taken
  std::map<WorkerKey, SlotFact> facts_;
  std::map<std::uint32_t, std::string> hosts_;
  struct Heartbeat {
    Time at{};
    Step step;
  };
  std::map<WorkerKey, Heartbeat> heard_;
  std::vector<Seen> seen_;
  std::vector<Open> open_;
  std::vector<FailureRow> failures_;
  std::uint64_t generations_ = 0;
  std::uint32_t most_members_ = 0;
  std::vector<FaultRow> faults_;
  std::vector<std::uint32_t> fault_ids_; ///< of faults_, as the kernel numbers them
  std::vector<CheckpointRow> checkpoints_;
  std::vector<std::string> modes_;
  std::map<WorkerKey, SpentTimes> lives_; ///< where their seconds went
  std::map<std::string, double> metrics_;
  std::map<std::uint64_t, std::uint64_t> counts_;
  std::vector<RunEvent> events_;
  std::optional<std::pair<Generation, Step>> void_;
  Step step_;
  double loss_ = 0;
  std::int64_t rate_from_ns_ = 0;
  Step rate_from_;
  double rate_ = 0;
  Step rows_final_;
  std::uint64_t epochs_ = 0;
  std::uint64_t skipped_ = 0;
  bool paused_ = false;
  bool finished_ = false;
  bool stopped_ = false;
  std::uint64_t digest_ = 0;
  std::string result_; ///< empty: still running
  Term result_term_;   ///< it was found in
  std::string cause_;
  bool saves_ = true;       ///< a checkpoint of the last step is wanted
  bool stop_saves_ = false; ///< the stop was to write one
  std::string save_error_;  ///< of the newest save; empty: it succeeded
  std::vector<std::string> details_;
};

} // namespace troupe
