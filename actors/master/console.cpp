#include "actors/master/console.hpp"

#include "actors/atoms.hpp"
#include "actors/codec.hpp"
#include "actors/master/journal_actor.hpp"
#include "base/log.hpp"

namespace troupe {

namespace {

using ConsoleSelf = caf::stateful_actor<ConsoleState>*;

constexpr auto redraw = std::chrono::milliseconds(100);

void look(ConsoleSelf self) {
  auto& st = self->state;
  auto& history = *st.history;
  for (const auto& event : history.take_events())
    st.settings->display->event(event);
  if (const auto voided = history.take_void())
    st.metrics->forget(voided->first, voided->second);
  st.metrics->write_before(history.rows_final_before());
}

// What did not come through a kernel but belongs to the story goes into the journal as a note, for later
// lives.
template <class Schema, class T>
void keep(ConsoleSelf self, const char* kind, const T& statement) {
  Append append;
  append.record.kind = RecordKind::note;
  append.record.kernel = kind;
  append.record.now = monotonic_now();
  append.record.payload = encode<Schema>(statement);
  if (auto journal = self->state.wiring->directory.find(role::journal))
    self->send(journal, std::move(append));
}

// Once, when nothing of the job runs any more.
void tell_outcome(ConsoleSelf self) {
  auto& st = self->state;
  if (st.told)
    return;
  look(self);
  st.told = true;
  st.settings->outcome->set_value(st.history->report(wall_clock_ns()));
}

} // namespace

caf::behavior console_actor(ConsoleSelf self, MasterWiring* wiring, const ConsoleOutlets* settings) {
  auto& mine = self->state;
  mine.wiring = wiring;
  mine.settings = settings;
  mine.history = std::make_unique<History>(wiring->config, settings->total_steps);
  mine.metrics = std::make_unique<MetricsFile>(settings->metrics_path);
  self->set_error_handler(
    [](caf::error& e) { log(LogLevel::warn, "console.error", "{}", caf::to_string(e)); });
  self->request(wiring->directory.find(role::journal), wiring->config.limits.request, Follow{})
    .await(
      [self](const Records& past) {
        for (const auto& record : past.records)
          self->state.history->record(record);
        (void)self->state.history->take_events(); // told by an earlier life
        self->delayed_send(self, redraw, BeatAtom::value);
      },
      [self](const caf::error& e) { self->quit(e); });
  return {
    [self](const JournalRecord& record) {
      self->state.history->record(record);
      if (!record.transient)
        look(self);
    },
    [self](const ProgressReport& progress) {
      auto& st = self->state;
      st.history->progress(progress);
      if (progress.rank.value != 0)
        return;
      ProgressReport told = progress;
      std::erase_if(told.rows, [](const ProgressRow& row) { return row.metrics.empty(); });
      if (!told.rows.empty())
        keep<schema::ProgressReport>(self, note::progress, told);
      for (const auto& row : progress.rows)
        st.metrics->add(row);
    },
    [self](const WorkerReport& report) { keep<schema::WorkerReport>(self, note::worker, report); },
    [self](const ControlRequest&) {
      auto& st = self->state;
      const auto status = st.history->status(monotonic_now(), wall_clock_ns());
      return ControlReply{true, {}, st.settings->display->status_json(status)};
    },
    [self](BeatAtom) {
      self->delayed_send(self, redraw, BeatAtom::value);
      self->state.settings->display->progress(self->state.history->view(), monotonic_now());
    },
    [self](NodesGone) {
      // Records that are still on their way from the journal come first.
      self
        ->request(self->state.wiring->directory.find(role::journal),
                  self->state.wiring->config.limits.request, RecordsOf{"-"})
        .then([self](const Records&) { tell_outcome(self); },
              [self](const caf::error&) { tell_outcome(self); });
    },
  };
}

} // namespace troupe
