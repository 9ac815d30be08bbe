// `troupe replay`: makes every decision of an event log again, with the same kernels, and compares the bytes
// of what they answered. Knows no kernel by name.
#include "actors/journal_file.hpp"
#include "actors/master/kernel_shell.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <tuple>

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
    case RecordKind::event: return each(record, [&]<class K>(K& kernel) { return event(kernel, record); });
    case RecordKind::snapshot:
      return each(record, [&]<class K>(K& kernel) { return snapshot(kernel, record); });
    case RecordKind::term:
    case RecordKind::note: break;
    }
    return {};
  }

  std::uint64_t records() const { return records_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t decisions() const { return decisions_; }

private:
  template <class K>
  using Ptr = std::unique_ptr<K>;

  /// New settings come with a new term; the kernels' states go on.
  std::string settings(const JournalRecord& record) {
    auto decoded = decode<schema::KernelSettings>(record.payload);
    if (!decoded)
      return decoded.error().context;
    for_each_kernel([&]<class K>(K*) {
      auto fresh = std::make_unique<K>(*decoded);
      auto& old = std::get<Ptr<K>>(kernels_);
      if (old)
        fresh->restore(old->state());
      old = std::move(fresh);
    });
    return {};
  }

  template <class F>
  std::string each(const JournalRecord& record, F&& f) {
    std::string told = fmt::format("there is no kernel '{}'", record.kernel);
    for_each_kernel([&]<class K>(K*) {
      if (record.kernel != K::name)
        return;
      auto& kernel = std::get<Ptr<K>>(kernels_);
      told = kernel ? f(*kernel) : "the log has no settings before its first event";
    });
    return told;
  }

  template <class K>
  std::string event(K& kernel, const JournalRecord& record) {
    using Schemas = kernel_schema<K>;
    auto decoded = decode<typename Schemas::Event, typename K::Event>(record.payload);
    if (!decoded)
      return decoded.error().context;
    ++events_;
    terms_[record.kernel] = record.term;
    const auto actions = kernel.on(*decoded, record.now);
    if (verbose_) {
      std::printf("          %s\n", to_json<typename Schemas::Event>(*decoded).c_str());
      for (const auto& action : actions)
        std::printf("          -> %s\n", to_json<typename Schemas::Action>(action).c_str());
    }
    decisions_ += actions.size();
    for (std::size_t i = 0; i < std::max(actions.size(), record.actions.size()); ++i) {
      const auto now = i < actions.size() ? encode<typename Schemas::Action>(actions[i]) : Bytes{};
      const auto then = i < record.actions.size() ? record.actions[i] : Bytes{};
      if (now != then)
        return fmt::format("action {} of {} differs\n  event:  {}\n  in log: {}\n  now:    {}", i + 1,
                           K::name, to_json<typename Schemas::Event>(*decoded), shown<K>(then),
                           shown<K>(now));
    }
    return {};
  }

  template <class K>
  std::string snapshot(K& kernel, const JournalRecord& record) {
    using Schemas = kernel_schema<K>;
    auto decoded = decode<typename Schemas::State, typename K::State>(record.payload);
    if (!decoded)
      return decoded.error().context;
    // A term begins with what the journal kept, which may be less than this log, or more: nothing to compare with.
    const auto before = terms_.find(record.kernel);
    const bool begun = before != terms_.end() && before->second == record.term;
    const auto now = encode<typename Schemas::State>(kernel.state());
    // What a kernel remembers outside its state goes on within a term, so only a new term starts from the snapshot.
    if (!begun)
      kernel.restore(std::move(*decoded));
    if (begun && now != record.payload)
      return fmt::format("the state of {} differs from the snapshot", K::name);
    return {};
  }

  template <class K>
  static std::string shown(const Bytes& bytes) {
    using Schemas = kernel_schema<K>;
    if (bytes.empty())
      return "none";
    auto action = decode<typename Schemas::Action, typename K::Action>(bytes);
    return action ? to_json<typename Schemas::Action>(*action) : action.error().context;
  }

  bool verbose_;
  std::uint64_t records_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t decisions_ = 0;
  std::map<std::string, Term> terms_; ///< of each kernel's newest event
  std::tuple<Ptr<MembershipKernel>, Ptr<RendezvousKernel>, Ptr<RecoveryKernel>, Ptr<ShardsKernel>,
             Ptr<CheckpointsKernel>, Ptr<ScalingKernel>, Ptr<FaultsKernel>>
    kernels_;
};

int complain(const std::string& text, int status) {
  std::fprintf(stderr, "troupe: %s\n", text.c_str());
  return status;
}

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
