// Key functions of the public classes, and the default loop: what a module links from libtroupe.
#include "troupe/trainer.hpp"

namespace troupe {

ConfigError::~ConfigError() = default;
NotYet::~NotYet() = default;
Config::~Config() = default;
Metrics::~Metrics() = default;
Model::~Model() = default;
ActorContext::~ActorContext() = default;
ModuleActor::~ModuleActor() = default;
Registry::~Registry() = default;
Session::~Session() = default;
Batch::~Batch() = default;
Gradients::~Gradients() = default;
StepInfo::~StepInfo() = default;
Trainer::~Trainer() = default;

void Trainer::run(Session& session) {
  while (session.begin()) {
    for (auto v : session.virtual_workers())
      session.gradient(v);
    if (session.reduce())
      session.update();
  }
}

} // namespace troupe
