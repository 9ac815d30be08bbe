#include "actors/master/journal_actor.hpp"

#include "actors/atoms.hpp"
#include "actors/codec.hpp"
#include "actors/schemas.hpp"
#include "base/log.hpp"

namespace troupe {

namespace {

using JournalSelf = caf::stateful_actor<JournalState>*;

/// Records after which all kernels are asked for a snapshot, and the journal is cut.
constexpr std::uint64_t records_per_snapshot = 400;

// What could not be written may not be confirmed: the caller stops there, and the actor ends.
bool check(JournalSelf self, const result<void>& done) {
  if (done)
    return true;
  log(LogLevel::error, "journal.failed", "{}", done.error().context);
  self->quit(caf::make_error(caf::sec::runtime_error, done.error().context));
  return false;
}

bool flush_all(JournalSelf self) {
  auto& st = self->state;
  return check(self, st.journal->flush()) && (!st.events || check(self, st.events->flush()));
}

void add(JournalSelf self, MasterWiring* wiring, JournalRecord record) {
  auto& st = self->state;
  record.term = wiring->term;
  record.sequence = ++st.sequence;
  record.wall_ns = wall_clock_ns();
  if (!record.transient)
    st.journal->append(record);
  if (st.events)
    st.events->append(record);
  if (st.follower)
    self->send(st.follower, record);
}

// Newest snapshot of each kernel and what came after it; terms and settings stay.
std::vector<JournalRecord> shortened(std::vector<JournalRecord> records) {
  std::map<std::string, std::uint64_t> newest;
  std::uint64_t settings = 0;
  for (const auto& r : records) {
    if (r.kind == RecordKind::snapshot)
      newest[r.kernel] = r.sequence;
    if (r.kind == RecordKind::settings)
      settings = r.sequence;
  }
  std::erase_if(records, [&](const JournalRecord& r) {
    if (r.kind == RecordKind::settings)
      return r.sequence < settings;
    const auto snapshot = newest.find(r.kernel);
    return (r.kind == RecordKind::event || r.kind == RecordKind::snapshot) && snapshot != newest.end() &&
           r.sequence < snapshot->second;
  });
  return records;
}

result<std::vector<JournalRecord>> read_all(const std::string& path) {
  std::vector<JournalRecord> records;
  TROUPE_TRY(JournalFile::read(path, [&](JournalRecord&& r) {
    records.push_back(std::move(r));
    return true;
  }));
  return records;
}

result<void> shorten(JournalFile& journal, const std::string& path) {
  TROUPE_TRY(journal.flush());
  TROUPE_ASSIGN(auto records, read_all(path));
  return journal.replace(shortened(std::move(records)));
}

} // namespace

JournalState::~JournalState() {
  if (journal)
    (void)journal->flush();
  if (events)
    (void)events->flush();
}

caf::behavior journal_actor(JournalSelf self, MasterWiring* wiring, const JournalPaths* paths) {
  auto& mine = self->state;
  self->set_error_handler(
    [](caf::error& e) { log(LogLevel::warn, "journal.error", "{}", caf::to_string(e)); });
  auto journal = JournalFile::open(paths->journal);
  auto give_up = [self](const Error& error) -> caf::behavior {
    check(self, tl::make_unexpected(error));
    return {};
  };
  if (!journal)
    return give_up(journal.error());
  if (!paths->events.empty()) {
    auto events = JournalFile::open(paths->events);
    if (!events)
      return give_up(events.error());
    mine.events.emplace(std::move(*events));
  }
  mine.journal.emplace(std::move(*journal));
  mine.sequence = std::max(mine.journal->last_sequence(), mine.events ? mine.events->last_sequence() : 0);
  if (mine.journal->last_term() < wiring->term) { // the first life in this term
    JournalRecord term;
    term.kind = RecordKind::term;
    add(self, wiring, term);
    JournalRecord settings;
    settings.kind = RecordKind::settings;
    settings.payload = encode<schema::KernelSettings>(wiring->settings);
    add(self, wiring, settings);
    if (auto done = mine.journal->sync(); !done)
      return give_up(done.error());
  }
  return {
    [self, wiring, paths](Append& append) {
      auto& st = self->state;
      const bool snapshot = append.record.kind == RecordKind::snapshot;
      add(self, wiring, std::move(append.record));
      if (append.token > 0) {
        if (!check(self, st.journal->sync()) || (st.events && !check(self, st.events->flush())))
          return;
        self->send(caf::actor_cast<caf::actor>(self->current_sender()), Committed{append.token});
      }
      if (snapshot && ++st.snapshots >= wiring->kernels.size()) {
        if (!check(self, shorten(*st.journal, paths->journal)))
          return;
        st.snapshots = 0;
        st.since_snapshot = 0;
      } else if (!snapshot && ++st.since_snapshot % records_per_snapshot == 0) { // again, when one was not heard
        st.snapshots = 0;
        for (const auto& name : wiring->kernels)
          if (auto kernel = wiring->directory.find(name))
            self->send(kernel, FlushAtom::value);
      }
    },
    [self, paths](const RecordsOf& wanted) -> caf::result<Records> {
      Records out;
      if (!flush_all(self))
        return caf::make_error(caf::sec::runtime_error, "the journal cannot be written");
      if (wanted.kernel == "-")
        return out;
      auto records = read_all(paths->journal);
      if (!records)
        return caf::make_error(caf::sec::runtime_error, records.error().context);
      for (auto& r : shortened(std::move(*records)))
        if (r.kernel == wanted.kernel)
          out.records.push_back(std::move(r));
      return out;
    },
    [self, paths](const Follow&) -> caf::result<Records> {
      auto& st = self->state;
      Records out;
      if (!flush_all(self))
        return caf::make_error(caf::sec::runtime_error, "the journal cannot be written");
      auto records = read_all(st.events ? paths->events : paths->journal);
      if (!records)
        return caf::make_error(caf::sec::runtime_error, records.error().context);
      out.records = std::move(*records);
      st.follower = caf::actor_cast<caf::actor>(self->current_sender());
      return out;
    },
  };
}

} // namespace troupe
