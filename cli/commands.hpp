// One function per command: does it, prints for people (errors on standard error), returns the exit status.
#pragma once

#include "cli/options.hpp"

namespace troupe {

int cmd_run(const RunOptions& options);
int cmd_master(const MasterOptions& options);
int cmd_node(const NodeOptions& options);
int cmd_control(const ControlOptions& options);
int cmd_check(const CheckOptions& options);
int cmd_replay(const ReplayOptions& options);
int cmd_bench(const BenchOptions& options);
int cmd_docs(const DocsOptions& options);

/// Says `text` on standard error, after the command's name; returns `status`.
int complain(const std::string& text, int status);

constexpr int exit_done = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_unfired = 3;
constexpr int exit_interrupted = 130;

} // namespace troupe
