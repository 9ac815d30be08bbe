#include "actors/trainer/module.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstring>

namespace troupe {

result<Module> Module::load(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return fail_errno(Errc::invalid, fmt::format("module {}", path), errno);
  if (!S_ISREG(info.st_mode))
    return fail(Errc::invalid, fmt::format("module {} is not a file", path));
  // dlopen takes a name without '/' for one to search; a path must have one.
  const auto full = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = ::dlopen(full.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(Errc::invalid, fmt::format("module {} cannot be loaded: {}", path, ::dlerror()));
  auto* entry = reinterpret_cast<const ModuleInfo* (*)()>(::dlsym(handle, "troupe_module"));
  if (!entry) {
    ::dlclose(handle);
    return fail(
      Errc::invalid,
      fmt::format("module {} has no TROUPE_TRAINER(Class) line: it exports no troupe_module", path));
  }
  const auto* module = entry();
  if (!module || module->abi != TROUPE_ABI || !module->version ||
      std::strcmp(module->version, TROUPE_VERSION) != 0) {
    auto context =
      fmt::format("module {} was built against troupe {} (interface {}), this is troupe {} (interface {}): "
                  "build it again",
                  path, module && module->version ? module->version : "?", module ? module->abi : 0,
                  TROUPE_VERSION, TROUPE_ABI);
    ::dlclose(handle);
    return fail(Errc::invalid, std::move(context));
  }
  return Module(path, module);
}

} // namespace troupe
