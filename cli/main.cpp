// The troupe command: reads the command line and calls the command. Everything else is in the files beside
// it.
#include "cli/commands.hpp"

#include <cstdio>

int troupe::complain(const std::string& text, int status) {
  std::fprintf(stderr, "troupe: %s\n", text.c_str());
  return status;
}

int main(int argc, char** argv) {
  using namespace troupe;
  const auto parsed = parse_options(argc, argv);
  if (!parsed.options) {
    std::fputs(parsed.text.c_str(), parsed.status == 0 ? stdout : stderr);
    return parsed.status;
  }
  const auto& options = *parsed.options;
  switch (options.command) {
  case Command::run: return cmd_run(options.run);
  case Command::master: return cmd_master(options.master);
  case Command::node: return cmd_node(options.node);
  case Command::control: return cmd_control(options.control);
  case Command::check: return cmd_check(options.check);
  case Command::replay: return cmd_replay(options.replay);
  case Command::bench: return cmd_bench(options.bench);
  case Command::docs: return cmd_docs(options.docs);
  }
  return exit_usage;
}
