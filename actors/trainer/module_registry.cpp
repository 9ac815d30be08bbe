#include "actors/trainer/module_registry.hpp"

#include <algorithm>
#include <stdexcept>

namespace troupe {

void ModuleRegistry::actor(ActorSpec spec) {
  if (spec.name.empty())
    throw std::invalid_argument("a module actor needs a name");
  if (!spec.make)
    throw std::invalid_argument("module actor '" + spec.name + "' has no factory");
  if (std::ranges::any_of(specs_, [&](const auto& known) { return known.name == spec.name; }))
    throw std::invalid_argument("module actor '" + spec.name + "' is registered twice");
  specs_.push_back(std::move(spec));
}

} // namespace troupe
