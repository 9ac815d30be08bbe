// A worker process: started by its node with descriptors and numbers, never by hand.
#include "actors/config_fd.hpp"
#include "actors/worker/worker_process.hpp"
#include "base/log.hpp"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace troupe {
namespace {

result<std::map<std::string, std::uint64_t>> read_arguments(int argc, char** argv) {
  std::map<std::string, std::uint64_t> values;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::uint64_t value = 0;
    const char* end = argv[i + 1] + std::strlen(argv[i + 1]);
    if (std::from_chars(argv[i + 1], end, value).ptr != end)
      return fail(Errc::invalid, std::string("not a number: ") + argv[i + 1]);
    values[argv[i]] = value;
  }
  for (const char* needed : {"--port", "--node", "--slot", "--incarnation", "--channel", "--config"})
    if (!values.contains(needed))
      return fail(Errc::invalid, "a worker is started by its node; see 'troupe run --help'");
  return values;
}

int complain(const std::string& text) {
  std::fprintf(stderr, "troupe-worker: %s\n", text.c_str());
  return 2;
}

int worker(int argc, char** argv) {
  auto arguments = read_arguments(argc, argv);
  if (!arguments)
    return complain(arguments.error().context);
  auto& a = *arguments;
  auto config = read_config_fd(static_cast<int>(a["--config"]));
  if (!config)
    return complain(config.error().context);
  WorkerInputs inputs;
  inputs.config = std::move(*config);
  inputs.me = {NodeId{static_cast<std::uint32_t>(a["--node"])}, SlotId{static_cast<std::uint32_t>(a["--slot"])},
               Incarnation{a["--incarnation"]}};
  inputs.channel = static_cast<int>(a["--channel"]);
  inputs.node_port = static_cast<std::uint16_t>(a["--port"]);
  configure_log("worker-" + std::to_string(inputs.me.slot.value), LogLevel::info, 2);
  return run_worker(inputs) ? 0 : 1;
}

} // namespace
} // namespace troupe

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return troupe::worker(argc, argv);
}
