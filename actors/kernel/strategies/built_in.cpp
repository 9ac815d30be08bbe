#include "actors/kernel/strategies/built_in.hpp"

#include <algorithm>

namespace troupe {

namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Strategy> (*make)();
};
constexpr Entry table[] = {{"respawn", make_respawn}, {"restart-all", make_restart_all}};

} // namespace

std::unique_ptr<Strategy> make_strategy(std::string_view name) {
  for (const Entry& entry : table)
    if (entry.name == name)
      return entry.make();
  return nullptr;
}

std::vector<std::string_view> built_in_strategies() {
  std::vector<std::string_view> names;
  for (const Entry& entry : table)
    names.push_back(entry.name);
  return names;
}

std::uint32_t most_members(const ClusterView& view) {
  return std::min({view.target, view.max, view.virtual_workers});
}

std::vector<WorkerView> usable_in_order(const ClusterView& view) {
  std::vector<WorkerView> chosen;
  for (const WorkerView& w : view.workers)
    if (w.usable)
      chosen.push_back(w);
  std::stable_sort(chosen.begin(), chosen.end(), [](const WorkerView& a, const WorkerView& b) {
    return a.member != b.member ? a.member : a.member && a.rank < b.rank;
  });
  if (chosen.size() > most_members(view))
    chosen.resize(most_members(view));
  return chosen;
}

bool anybody_coming(const ClusterView& view) {
  return std::any_of(view.workers.begin(), view.workers.end(),
                     [](const WorkerView& w) { return w.wanted && w.coming; });
}

} // namespace troupe
