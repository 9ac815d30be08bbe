// When a checkpoint is written, of whose memory, which are kept, and when the job may end. One save at a time; the best
// version is kept beside the newest ones. Invariants:
//   - a request number is used once, also over restarts; an answer to an older request is only noted as a file;
//   - a checkpoint is deleted only when a newer valid one is durable, or when it is void;
//   - the job's end is said (StopAll) only after the last save ended, well or not;
//   - every asker gets one answer, at the latest when the job ends.
#pragma once

#include "actors/kernel/recovery.hpp"

namespace troupe {

/// How a save ended, or (request 0) that the engine had a version of its own wish written.
struct Persisted {
  static constexpr std::string_view tag = "persisted";
  std::uint64_t request = 0;
  bool ok = false;
  PieceKey key;
  std::uint64_t digest = 0;
  std::string path;
  bool best = false;
  Duration took{};
  std::string error;
  friend bool operator==(const Persisted&, const Persisted&) = default;
  TROUPE_FIELDS(request, ok, key, digest, path, best, took, error)
};

/// What lies in the checkpoint directory, whole: once after every start of the master.
struct CheckpointsListed {
  static constexpr std::string_view tag = "checkpoints_listed";
  std::vector<FoundCheckpoint> checkpoints;
  friend bool operator==(const CheckpointsListed&, const CheckpointsListed&) = default;
  TROUPE_FIELDS(checkpoints)
};

/// `troupe save`, or anybody's wish. `request` is the asker's number, given back in the answer; 0: nobody waits.
struct SaveRequest {
  static constexpr std::string_view tag = "save_request";
  std::string reason;
  std::uint64_t request = 0;
  friend bool operator==(const SaveRequest&, const SaveRequest&) = default;
  TROUPE_FIELDS(reason, request)
};

/// `troupe stop`, SIGINT, SIGTERM: end the job unfinished, after a save if wanted and possible.
struct StopRequest {
  static constexpr std::string_view tag = "stop_request";
  bool save = false;
  std::string reason;
  friend bool operator==(const StopRequest&, const StopRequest&) = default;
  TROUPE_FIELDS(save, reason)
};

struct DeleteCheckpoint {
  static constexpr std::string_view tag = "delete_checkpoint";
  static constexpr bool external = true;
  std::string path;
  std::string reason;
  friend bool operator==(const DeleteCheckpoint&, const DeleteCheckpoint&) = default;
  TROUPE_FIELDS(path, reason)
};

/// How a save ended, with request 0, and then the answer to each SaveRequest with a number, which gets exactly one.
struct SaveDone {
  static constexpr std::string_view tag = "save_done";
  static constexpr bool external = true;
  std::uint64_t request = 0;
  bool ok = false;
  PieceKey key;
  std::string path;
  std::string reason;
  friend bool operator==(const SaveDone&, const SaveDone&) = default;
  TROUPE_FIELDS(request, ok, key, path, reason)
};

class CheckpointsKernel {
public:
  static constexpr std::string_view name = "checkpoints";
  using Event = std::variant<Started, PeerRestarted, Tick, Roster, Advanced, Formed, SaveRequest, StopRequest,
                             Persisted, CheckpointsListed, JobFinished, FailJob, StopAll, RunFound>;
  using Action = std::variant<SaveOrder, CheckpointsFound, DeleteCheckpoint, SaveDone, StopAll, FailJob, WakeAt>;

  struct State {
    Term term;
    bool listed = false;             ///< this term's listing came
    std::vector<FoundCheckpoint> checkpoints; ///< by key
    std::uint64_t request = 0;       ///< newest number used
    bool saving = false;
    SaveOrder order;                 ///< when saving
    bool scheduled = false;          ///< the order is for a step to come, nobody waits for it
    Time ordered_at{};
    std::uint32_t attempts = 0;      ///< of the present save that failed
    std::string wish;                ///< why another save is due as soon as possible; empty: none is
    Generation generation;           ///< newest formed
    Step resumed;
    std::vector<WorkerKey> members;
    std::vector<WorkerKey> dead;     ///< of them
    Step saved;                      ///< newest durable version of the present line
    Time saved_at{};
    Duration took{};                 ///< the last save
    Time started_at{};
    std::uint32_t formed = 0;        ///< generations formed in this job
    bool finished = false;
    JobFinished result;
    bool stopping = false;           ///< a StopRequest waits for its save
    std::string stop_reason;
    bool ended = false;              ///< StopAll or FailJob was said
    bool stop_said = false;          ///< StopAll, by this kernel
    FailJob failure;                 ///< said by this kernel; no cause: none
    bool held_stop = false;          ///< `stopping` of an earlier term: counts if the run is still that one
    bool held_end = false;           ///< as well: its end was said here
    bool unjudged = false;           ///< finished in an earlier term, as well
    std::vector<std::uint64_t> wished; ///< numbers of those who wait for the save of `wish`
    std::vector<std::uint64_t> asked;  ///< and for the present one
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, listed, checkpoints, request, saving, order, scheduled, ordered_at, attempts, wish, generation,
                  resumed, members, dead, saved, saved_at, took, started_at, formed, finished, result, stopping,
                  stop_reason, ended, stop_said, failure, held_stop, held_end, unjudged, wished, asked)
  };

  explicit CheckpointsKernel(KernelSettings settings) : settings_(std::move(settings)) {}
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state) {
    state_ = std::move(state);
    reached_at_ = {};
  }

private:
  struct Turn;
  KernelSettings settings_;
  State state_;
  Time reached_at_{}; ///< volatile: when the ordered version was first seen to exist
};

/// Time between checkpoints when checkpoint.every is "auto": sqrt(2 * C * M) (Young 1974) with C the time the last save
/// took and M the time per formed generation so far, between 10 s and 10 min.
Duration automatic_interval(Duration took, Duration elapsed, std::uint32_t generations);

} // namespace troupe
