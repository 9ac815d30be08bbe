// The strategies that come with the runtime, by the name that recovery.strategy gives.
#pragma once

#include "troupe/strategy.hpp"

#include <string_view>

namespace troupe {

/// Null: there is none of this name.
std::unique_ptr<Strategy> make_strategy(std::string_view name);
std::vector<std::string_view> built_in_strategies();

std::unique_ptr<Strategy> make_respawn();
std::unique_ptr<Strategy> make_restart_all();

// What both need.

/// Members may be so many.
std::uint32_t most_members(const ClusterView& view);
/// Usable workers: members of the newest generation first, in the order of their ranks, then the others by place; cut
/// to most_members. Ranks of those that stay keep their order.
std::vector<WorkerView> usable_in_order(const ClusterView& view);
/// A wanted worker that is not usable yet is on its way.
bool anybody_coming(const ClusterView& view);

} // namespace troupe
