// A module that claims to be built against another version of the trainer interface: it must be refused by name and
// version before anything of it is called.
#include <troupe/trainer.hpp>

extern "C" __attribute__((visibility("default"))) const troupe::ModuleInfo* troupe_module() {
  static const troupe::ModuleInfo info{TROUPE_ABI + 1, "99.0.0", []() -> troupe::Trainer* { return nullptr; }};
  return &info;
}
