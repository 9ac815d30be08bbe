// Loads a trainer module: one shared library with a TROUPE_TRAINER line. Stays loaded for the life of the
// process, since vtables and exceptions of the module may live on. Errors say what to do.
#pragma once

#include "base/errors.hpp"
#include "troupe/trainer.hpp"

#include <memory>
#include <string>

namespace troupe {

class Module {
public:
  /// Errc::invalid: no such file, not a shared library of this machine, undefined symbols, no TROUPE_TRAINER
  /// line, or built against another version of the interface.
  static result<Module> load(const std::string& path);

  /// A new trainer. Exceptions of its constructor pass through.
  std::unique_ptr<Trainer> make() const { return std::unique_ptr<Trainer>(info_->make()); }
  const std::string& path() const { return path_; }

private:
  Module(std::string path, const ModuleInfo* info) : path_(std::move(path)), info_(info) {}
  std::string path_;
  const ModuleInfo* info_;
};

} // namespace troupe
