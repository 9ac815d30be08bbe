// A worker process: started by its node with descriptors and numbers, never by hand. Small on purpose, since
// how fast it starts is part of how fast a job recovers. Three threads matter: the trainer's (the engine),
// CAF's (the worker actor), and the life-lock's.
#include "actors/atoms.hpp"
#include "actors/codec.hpp"
#include "actors/message.hpp"
#include "actors/system_config.hpp"
#include "actors/worker/module_actors.hpp"
#include "actors/worker/worker_actor.hpp"
#include "actors/worker/worker_process.hpp"
#include "base/log.hpp"

#include <caf/actor_system.hpp>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

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

result<JobConfig> read_config(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size <= 0 || info.st_size > (4 << 20))
    return fail(Errc::invalid, "no job configuration on the descriptor given");
  Bytes bytes(static_cast<std::size_t>(info.st_size));
  if (::pread(fd, bytes.data(), bytes.size(), 0) != info.st_size)
    return fail_errno(Errc::invalid, "read the job configuration", errno);
  return decode<schema::JobConfig>(bytes);
}

int run_worker(int argc, char** argv) {
  auto arguments = read_arguments(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "troupe-worker: %s\n", arguments.error().context.c_str());
    return 2;
  }
  auto& a = *arguments;
  auto config = read_config(static_cast<int>(a["--config"]));
  if (!config) {
    std::fprintf(stderr, "troupe-worker: %s\n", config.error().context.c_str());
    return 2;
  }
  const WorkerKey me{NodeId{static_cast<std::uint32_t>(a["--node"])},
                     SlotId{static_cast<std::uint32_t>(a["--slot"])}, Incarnation{a["--incarnation"]}};
  configure_log("worker-" + std::to_string(me.slot.value), LogLevel::info, 2);

  ActorSink sink;
  ProcessPort::Settings settings;
  settings.me = me;
  settings.channel = static_cast<int>(a["--channel"]);
  settings.startup = config->limits.build;
  settings.connect = config->limits.form;
  ProcessPort port(settings, sink);

  SystemConfig caf_config{1};
  caf::actor_system system{caf_config};
  auto worker = system.spawn(worker_actor, &port, me, config->limits.heartbeat);
  sink.connect(worker);
  bool failed = false;
  Directory module_names;
  caf::actor module_actors;
  std::thread trainer([&] {
    failed = !run_trainer(*config, port, [&](const std::vector<ActorSpec>& specs) -> result<void> {
      TROUPE_TRY(check_places(specs));
      if (!specs.empty())
        module_actors = start_module_actors(system, specs, &module_names, &port);
      return {};
    });
    caf::anon_send_exit(module_actors, caf::exit_reason::user_shutdown);
    caf::anon_send(worker, FlushAtom::value);
    caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
  });
  // Connecting goes on while the trainer builds.
  auto node =
    system.middleman().remote_actor<caf::actor>("127.0.0.1", static_cast<std::uint16_t>(a["--port"]));
  if (node)
    caf::anon_send(worker, *node);
  else
    port.leave("cannot reach the node");
  trainer.join();
  sink.disconnect();
  worker = nullptr;
  module_actors = nullptr;
  module_names.clear();
  system.await_all_actors_done();
  return failed ? 1 : 0;
}

} // namespace
} // namespace troupe

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return troupe::run_worker(argc, argv);
}
