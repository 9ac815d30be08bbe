// Opens the bytes of a record again: calls visitor.event(kernel*, record, event) once and visitor.action(kernel*,
// record, action) for each action, with the plain alternatives. For whoever reads a journal or an event log.
#pragma once

#include "actors/codec.hpp"
#include "actors/journal_types.hpp"
#include "actors/kernel_list.hpp"

namespace troupe {

template <class Visitor>
result<void> visit_record(const JournalRecord& record, Visitor&& visitor) {
  result<void> outcome;
  if (record.kind != RecordKind::event)
    return outcome;
  for_each_kernel([&]<class K>(K* kernel) {
    if (record.kernel != K::name || !outcome)
      return;
    auto event = decode<typename kernel_schema<K>::Event, typename K::Event>(record.payload);
    if (!event) {
      outcome = tl::make_unexpected(event.error());
      return;
    }
    std::visit([&](const auto& e) { visitor.event(kernel, record, e); }, *event);
    for (const auto& bytes : record.actions) {
      auto action = decode<typename kernel_schema<K>::Action, typename K::Action>(bytes);
      if (!action) {
        outcome = tl::make_unexpected(action.error());
        return;
      }
      std::visit([&](const auto& a) { visitor.action(kernel, record, a); }, *action);
    }
  });
  return outcome;
}

} // namespace troupe
