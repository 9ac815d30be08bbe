// Collects what Trainer::actors names. The process that hosts a place makes the actors of that place from it.
#pragma once

#include "troupe/registry.hpp"

namespace troupe {

class ModuleRegistry final : public Registry {
public:
  void actor(ActorSpec spec) override;
  const std::vector<ActorSpec>& specs() const { return specs_; }

private:
  std::vector<ActorSpec> specs_;
};

} // namespace troupe
