// One record of the journal and of the event log. Plain value; schema/journal.capnp has the same fields.
#pragma once

#include "base/clock.hpp"
#include "base/reflect.hpp"
#include "troupe/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

enum class RecordKind : std::uint8_t {
  term,     ///< a master started: its term. First record of each life
  settings, ///< `payload`: the KernelSettings the kernels run with from here on
  event,    ///< `kernel` took `payload`, an Event, at `now` and answered `actions`
  snapshot, ///< `payload`: State of `kernel` after the record `sequence`; records before it are not needed for it
  note,     ///< `payload`: text for people
};

struct JournalRecord {
  RecordKind kind = RecordKind::event;
  Term term;
  std::uint64_t sequence = 0; ///< one for all kernels, counts up over all terms
  std::string kernel;         ///< its `name`; empty when it concerns all
  Time now{};                 ///< what the kernel was given
  std::int64_t wall_ns = 0;   ///< for people; no decision sees it
  bool transient = false;     ///< in the event log only
  std::vector<std::uint8_t> payload;
  std::vector<std::vector<std::uint8_t>> actions; ///< each an Action of `kernel`, in order
  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
  TROUPE_FIELDS(kind, term, sequence, kernel, now, wall_ns, transient, payload, actions)
};

constexpr std::string_view to_string(RecordKind kind) {
  constexpr std::string_view names[] = {"term", "settings", "event", "snapshot", "note"};
  return names[static_cast<unsigned>(kind)];
}
constexpr std::size_t enum_count(RecordKind) { return 5; }

} // namespace troupe
