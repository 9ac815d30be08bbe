#include "cli/options.hpp"

#include "cli/diagnostic.hpp"
#include "troupe/version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>

namespace troupe {

namespace {

constexpr std::string_view exit_codes =
  "Exit status: 0 done, 1 the job failed, 2 wrong usage or configuration,\n"
  "3 done but an armed fault never fired, 130 interrupted.";

/// An option that may be repeated and takes one word each time.
void repeated(CLI::App* app, const std::string& name, std::vector<std::string>& values,
              const std::string& what) {
  app->add_option(name, values, what)->allow_extra_args(false);
}

void add_run(CLI::App& app, Options& o) {
  auto* run = app.add_subcommand("run", "Train a job on this machine, from its job file");
  auto& r = o.run;
  run->add_option("job", r.job_file, "Job file (TOML)")->required()->type_name("JOB.toml");
  run->add_option("--workers", r.workers, "Workers at the start, in all; sets workers.start")
    ->check(CLI::Range(1u, 4096u));
  run->add_option("--nodes", r.nodes, "Node processes to spread them over; 1 in this version")
    ->check(CLI::Range(1u, 1u));
  repeated(run, "--set", r.set, "section.key=value, over the job file; repeatable");
  repeated(run, "--chaos", r.chaos,
           "Inject a fault: a sentence (docs/chaos.md) or a file of them; repeatable");
  run->add_option("--report", r.report, "Write the report of the run as JSON")->type_name("FILE");
  run->add_option("--events", r.events, "Write the event log, for troupe replay")->type_name("FILE");
  run->add_option("--compare", r.compare, "Report of another run; the last screen compares model digests")
    ->type_name("FILE");
  run->add_flag("--in-process", r.in_process,
                "All virtual workers in this process, no time-outs: for a debugger");
  run->add_flag("--quiet", r.quiet, "No progress, only the last screen");
  auto* resume = run->add_flag("--resume", r.resume, "Go on with the job in job.dir");
  auto* fresh = run->add_flag("--fresh", r.fresh, "Move what is in job.dir aside and begin anew");
  auto* either =
    run->add_flag("--resume-if-any", r.resume_if_any, "Go on if there is something to go on with");
  resume->excludes(fresh)->excludes(either);
  fresh->excludes(either);
}

void add_processes(CLI::App& app, Options& o) {
  auto* master = app.add_subcommand("master", "The process that decides; troupe run starts one itself");
  master->add_option("job", o.master.job_file, "Job file (TOML)")->required()->type_name("JOB.toml");
  master->add_option("--listen", o.master.listen,
                     "HOST:PORT for nodes and control; loopback only in this version");
  master->add_flag("--adopt", o.master.adopt, "Take over nodes of a lost master; not in this version");
  master->add_flag("--resume", o.master.resume, "Continue the journal in job.dir");
  repeated(master, "--set", o.master.set, "section.key=value, over the job file; repeatable");
  repeated(master, "--chaos", o.master.chaos, "Inject a fault; repeatable");
  master->add_option("--report", o.master.report, "Write the report of the run as JSON")->type_name("FILE");
  master->add_option("--events", o.master.events, "Write the event log")->type_name("FILE");
  repeated(master, "--internal", o.master.internal, "");
  master->get_option("--internal")->group("");
  auto* node = app.add_subcommand("node", "Offer worker slots of this machine to a master");
  node->add_option("--master", o.node.master, "HOST:PORT of the master")->required();
  node->add_option("--slots", o.node.slots, "Workers this node may run")
    ->required()
    ->check(CLI::Range(1u, 4096u));
  repeated(node, "--internal", o.node.internal, "");
  node->get_option("--internal")->group("");
}

void add_control(CLI::App& app, Options& o) {
  struct Row {
    const char* name;
    const char* what;
  };
  constexpr std::array rows = {
    Row{"status", "Show a running job"},
    Row{"scale", "Change the number of workers"},
    Row{"pause", "Stop at the next step boundary and wait"},
    Row{"unpause", "Go on"},
    Row{"save", "Write a checkpoint now"},
    Row{"stop", "End the job in order; it can be resumed"},
    Row{"kill", "Kill a worker: it is replaced like any that dies"},
  };
  for (const auto& row : rows) {
    auto* command = app.add_subcommand(row.name, row.what);
    const std::string name = row.name;
    command->add_option("--dir", o.control.dir, "The job's directory; without it the one *.troupe-run here");
    command->add_option("--master", o.control.master, "HOST:PORT of the job's master, instead of --dir");
    command->add_flag("--json", o.control.json, "For programs");
    if (name == "scale")
      command->add_option("workers", o.control.arguments, "Workers wanted, in all")
        ->required()
        ->expected(1)
        ->check(CLI::Range(1u, 4096u))
        ->type_name("N");
    if (name == "kill")
      command->add_option("what", o.control.arguments, "worker R, by rank")
        ->required()
        ->expected(2)
        ->type_name("WHAT");
    command->callback([&o, name] { o.control.command = name; });
  }
}

void add_tools(CLI::App& app, Options& o) {
  auto* check = app.add_subcommand(
    "check", "Does this trainer keep the promises? Trains a few steps with 1, 2 and 3 workers");
  check->add_option("target", o.check.target, "Job file")
    ->required()
    ->type_name("JOB.toml");
  repeated(check, "--set", o.check.set, "section.key=value, over the job file; repeatable");
  check->add_option("--steps", o.check.steps, "Steps to train")->check(CLI::Range(3u, 1000000u));
  auto* replay = app.add_subcommand("replay", "Make every decision of an event log again and compare");
  replay->add_option("events", o.replay.events, "File written with --events")
    ->required()
    ->type_name("EVENTS");
  replay->add_flag("--verbose", o.replay.verbose, "Print every record");
  auto* bench = app.add_subcommand("bench", "Measure: recovery, detect, overhead, master");
  bench->add_option("name", o.bench.name, "Which one")
    ->required()
    ->check(CLI::IsMember({"recovery", "detect", "overhead", "master"}));
  bench->add_option("--json", o.bench.json, "Write the rows as JSON")->type_name("FILE");
  bench->add_option("--job", o.bench.job, "Job file; the digits example unless given")->type_name("JOB.toml");
  bench->add_option("--workers", o.bench.workers, "Workers")->check(CLI::Range(1u, 4096u));
  bench->add_option("--kills", o.bench.kills, "Kills (recovery, master) or deaths (detect) per case")
    ->check(CLI::Range(1u, 1000000u));
  bench->add_option("--pairs", o.bench.pairs, "Alternating pairs of runs (overhead)")
    ->check(CLI::Range(1u, 1001u));
  bench->add_flag("--quick", o.bench.quick, "A tenth of the work, to see that it runs");
  auto* docs = app.add_subcommand("docs", "Print a generated page of docs/")->group("");
  docs->add_option("page", o.docs.page, "Which one")->required()->check(CLI::IsMember({"configuration"}));
}

Command command_of(const std::string& name) {
  constexpr std::pair<std::string_view, Command> names[] = {
    {"run", Command::run},     {"master", Command::master}, {"node", Command::node},
    {"check", Command::check}, {"replay", Command::replay}, {"bench", Command::bench},
    {"docs", Command::docs}};
  for (const auto& [word, command] : names)
    if (word == name)
      return command;
  return Command::control;
}

/// The library's words, with the nearest command for a mistyped one.
std::string usage_error(const CLI::App& app, const CLI::Error& error, const std::string& first) {
  const CLI::App* at = &app;
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty())
      names.push_back(sub->get_name());
    if (sub->parsed())
      at = sub;
  }
  if (at == &app && !first.empty() && first[0] != '-' &&
      std::find(names.begin(), names.end(), first) == names.end()) {
    const auto hint = did_you_mean(first, names);
    return fmt::format("troupe: there is no command '{}'{}{}\n  commands: {}\n", first,
                       hint.empty() ? "" : "; ", hint, joined(names));
  }
  const auto prefix = at == &app ? std::string("troupe") : "troupe " + at->get_name();
  return fmt::format("{}: {}\n  {} --help says more\n", prefix, error.what(), prefix);
}

} // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options options;
  CLI::App app{"Elastic training for C++: workers may die, come and go; the result stays the same.",
               "troupe"};
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.require_subcommand(1);
  app.footer(std::string(exit_codes));
  add_run(app, options);
  add_processes(app, options);
  add_control(app, options);
  add_tools(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) { // help and version
    std::ostringstream out, err;
    app.exit(e, out, err);
    parsed.text = out.str();
    return parsed;
  } catch (const CLI::Error& e) {
    parsed.status = 2;
    parsed.text = argc < 2 ? app.help() : usage_error(app, e, argv[1]);
    return parsed;
  }
  options.command = command_of(app.get_subcommands().front()->get_name());
  parsed.options = std::move(options);
  return parsed;
}

} // namespace troupe
