// A whole node process: the agent of one host under its supervisor, from joining the master until its last worker is
// reaped. Blocks its caller, the process's main thread. No actor is seen here.
#pragma once

#include "actors/job_config.hpp"
#include "base/errors.hpp"
#include "troupe/ids.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

struct NodeSettings {
  JobConfig config;
  int config_fd = -1; ///< sealed memfd with the encoded config, inherited by workers
  std::string worker_program;
  std::string log_dir;
  std::uint32_t slots = 1;
  std::string host;
  Incarnation agent;
  std::string master_host;
  std::function<std::uint16_t()> master_port; ///< where the master's door listens now; 0: not known
};

/// Ends a running node in order; safe from any thread, before, during and after run_node. Outlives run_node.
class NodeStop {
public:
  NodeStop();
  ~NodeStop();
  void request(const std::string& reason);

  struct Names; ///< of the agent, for run_node

private:
  friend result<void> run_node(const NodeSettings&, std::uint16_t, NodeStop&);
  std::unique_ptr<Names> names_;
};

/// Joins the master whose door is at master_host and `port`. errors: retry_later (no master answers there), exhausted
/// (the agent failed, and its workers were ended with it).
result<void> run_node(const NodeSettings& settings, std::uint16_t port, NodeStop& stop);

} // namespace troupe
