// `troupe replay`: makes every decision of an event log again, with the same kernels, and compares the bytes
// of what they answered. Knows no kernel by name.
#include "actors/any_kernel.hpp"
#include "actors/journal_file.hpp"
#include "actors/schemas.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>

namespace troupe {

namespace {

/// All kernels of one job, made by the settings record and fed record by record.
class Replay {
public:
  explicit Replay(bool verbose) : verbose_(verbose) {}

  /// Empty: as in the log. Else what differs.
  std::string take(const JournalRecord& record) {
    ++records_;
    if (verbose_)
      std::printf("%8llu  %12.3f ms  %-8s %s\n", static_cast<unsigned long long>(record.sequence),
                  to_ms(record.now.time_since_epoch()), std::string(to_string(record.kind)).c_str(),
                  record.kernel.c_str());
    switch (record.kind) {
      case RecordKind::settings: return settings(record);
      case RecordKind::event: return event(record);
      case RecordKind::snapshot: return snapshot(record);
      case RecordKind::term:
      case RecordKind::note: break;
    }
    return {};
  }

  std::uint64_t records() const { return records_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t decisions() const { return decisions_; }

private:
  /// New settings come with a new term; the kernels' states go on.
  std::string settings(const JournalRecord& record) {
    auto decoded = decode<schema::KernelSettings>(record.payload);
    if (!decoded)
      return decoded.error().context;
    for (const auto& name : kernel_names()) {
      auto fresh = make_kernel(name, *decoded);
      auto& old = kernels_[name];
      if (old)
        if (const auto restored = fresh->restore(old->state()); !restored)
          return restored.error().context;
      old = std::move(fresh);
    }
    return {};
  }

  /// nullptr, and `why` says so.
  AnyKernel* find(const std::string& name, std::string& why) const {
    const auto found = kernels_.find(name);
    if (found != kernels_.end())
      return found->second.get();
    why = kernels_.empty() ? "the log has no settings before its first event"
                           : fmt::format("there is no kernel '{}'", name);
    return nullptr;
  }

  std::string event(const JournalRecord& record) {
    std::string why;
    auto* kernel = find(record.kernel, why);
    if (kernel == nullptr)
      return why;
    const auto turn = kernel->again(record.payload, record.now);
    if (!turn)
      return turn.error().context;
    ++events_;
    terms_[record.kernel] = record.term;
    const auto& actions = turn->actions;
    if (verbose_) {
      std::printf("          %s\n", kernel->event_json(turn->event).c_str());
      for (const auto& action : actions)
        std::printf("          -> %s\n", kernel->action_json(action.bytes).c_str());
    }
    decisions_ += actions.size();
    const auto shown = [&](const Bytes& bytes) { return bytes.empty() ? "none" : kernel->action_json(bytes); };
    for (std::size_t i = 0; i < std::max(actions.size(), record.actions.size()); ++i) {
      const auto now = i < actions.size() ? actions[i].bytes : Bytes{};
      const auto then = i < record.actions.size() ? record.actions[i] : Bytes{};
      if (now != then)
        return fmt::format("action {} of {} differs\n  event:  {}\n  in log: {}\n  now:    {}", i + 1, record.kernel,
                           kernel->event_json(turn->event), shown(then), shown(now));
    }
    return {};
  }

  std::string snapshot(const JournalRecord& record) {
    std::string why;
    auto* kernel = find(record.kernel, why);
    if (kernel == nullptr)
      return why;
    // A term begins with what the journal kept, which may be less than this log, or more: nothing to compare with.
    const auto before = terms_.find(record.kernel);
    if (before != terms_.end() && before->second == record.term)
      return kernel->state() == record.payload
               ? ""
               : fmt::format("the state of {} differs from the snapshot", record.kernel);
    // What a kernel remembers outside its state goes on within a term, so only a new term starts from the snapshot.
    const auto restored = kernel->restore(record.payload);
    return restored ? "" : restored.error().context;
  }

  bool verbose_;
  std::uint64_t records_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t decisions_ = 0;
  std::map<std::string, Term> terms_; ///< of each kernel's newest event
  std::map<std::string, std::unique_ptr<AnyKernel>> kernels_;
};

} // namespace

int cmd_replay(const ReplayOptions& options) {
  Replay replay(options.verbose);
  std::string difference;
  std::uint64_t at = 0;
  const auto read = JournalFile::read(options.events, [&](JournalRecord&& record) {
    at = record.sequence;
    difference = replay.take(record);
    return difference.empty();
  });
  if (!difference.empty())
    return complain(fmt::format("{}: record {}: {}", options.events, at, difference), exit_failed);
  if (!read)
    return complain(read.error().context, read.error().code == Errc::corrupt ? exit_failed : exit_usage);
  if (replay.events() == 0)
    return complain(fmt::format("{} holds no events: not an event log of a run", options.events), exit_usage);
  std::printf("%s: %llu records, %llu events, %llu decisions: all the same again\n", options.events.c_str(),
              static_cast<unsigned long long>(replay.records()),
              static_cast<unsigned long long>(replay.events()),
              static_cast<unsigned long long>(replay.decisions()));
  return exit_done;
}

} // namespace troupe
