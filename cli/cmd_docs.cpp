// `troupe docs configuration`: prints a generated page of docs/. Hidden: for people who add a setting.
#include "cli/commands.hpp"
#include "cli/settings.hpp"

#include <cstdio>

namespace troupe {

int cmd_docs(const DocsOptions&) {
  std::fputs(configuration_page().c_str(), stdout);
  return exit_done;
}

} // namespace troupe
