// The command line as plain values. parse_options() is the only part that knows the option library; it prints
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

enum class Command : std::uint8_t { run, master, node, control, check, replay, bench, docs };

struct RunOptions {
  std::string job_file;
  std::optional<std::uint32_t> workers; ///< sets workers.start
  std::uint32_t nodes = 1;
  std::vector<std::string> set;   ///< section.key=value
  std::vector<std::string> chaos; ///< sentences or files
  std::string report;
  std::string events;
  std::string compare; ///< report of an undisturbed run, for the last screen
  bool in_process = false;
  bool resume = false;
  bool fresh = false;
  bool resume_if_any = false;
  bool quiet = false; ///< no progress line and no events, only the last screen
};

struct MasterOptions {
  std::string job_file;
  std::string listen = "127.0.0.1:0";
  bool adopt = false;
  bool resume = false;
  std::vector<std::string> set;
  std::vector<std::string> chaos;
  std::string report;
  std::string events;
  std::vector<std::string> internal; ///< key=value from `troupe run` to its children
};

struct NodeOptions {
  std::string master; ///< HOST:PORT
  std::uint32_t slots = 0;
  std::vector<std::string> internal;
};

/// status, scale, pause, unpause, save, stop, kill.
struct ControlOptions {
  std::string command;
  std::vector<std::string> arguments;
  std::string dir;    ///< the job's directory; empty: the one *.troupe-run here
  std::string master; ///< HOST:PORT instead
  bool json = false;
};

struct CheckOptions {
  std::string target; ///< JOB.toml or LIB.so
  std::vector<std::string> set;
  std::uint64_t steps = 6;
};

struct ReplayOptions {
  std::string events;
  bool verbose = false;
};

struct BenchOptions {
  std::string name;
  std::string json;
  std::string job; ///< job file; empty: the digits example
  std::uint32_t workers = 4;
  std::uint32_t kills = 300;
  std::uint32_t pairs = 11;
  bool quick = false;
};

struct DocsOptions {
  std::string page; ///< configuration
};

struct Options {
  Command command = Command::run;
  RunOptions run;
  MasterOptions master;
  NodeOptions node;
  ControlOptions control;
  CheckOptions check;
  ReplayOptions replay;
  BenchOptions bench;
  DocsOptions docs;
};

/// Either options, or what to print and the exit status: 0 for help and version, 2 for wrong usage.
struct ParsedOptions {
  std::optional<Options> options;
  std::string text;
  int status = 0;
};

ParsedOptions parse_options(int argc, const char* const* argv);

} // namespace troupe
