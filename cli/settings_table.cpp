#include "cli/settings.hpp"

#include <array>

// A pointer to one field, for the rows below.
#define AT(field) [](JobConfig& c) -> SettingSlot { return &c.field; }

namespace troupe {

namespace {

using K = SettingKind;

constexpr std::array table_sections = {
  Section{"job", "What is trained, and for how long."},
  Section{"workers", "How many processes, and the batch: `virtual` x `micro_batch` samples per step, whatever the "
                     "number of workers."},
  Section{"data", "The training samples."},
  Section{"evaluation", "Held-out samples: where they are and how often the model is tried on them."},
  Section{"checkpoint", "Copies of the state in memory, and durable ones in HDF5."},
  Section{"recovery", "What happens after a failure. A budget is the number of failures of one class that are "
                      "answered within `window`, counted over the whole job; one more ends it. Start-up errors "
                      "(a trainer that throws in `build`, a module that does not load) are never retried."},
  Section{"limits", "Every time-out there is."},
  Section{"comm", "How gradients travel."},
  Section{"parameters", "Who holds the parameters."},
  Section{"console", "The web page of a running job."},
};

const std::vector<Setting>& table() {
  static const std::vector<Setting> rows = {
    {.section = "job", .key = "name", .fallback = "the file's name without `.toml`",
     .doc = "Name on screens, in reports and in file names.", .reason = "one word is enough to tell jobs apart",
     .slot = AT(job.name)},
    {.section = "job", .key = "module", .kind = K::path, .required = true,
     .doc = "Shared library with the trainer. Looked for beside the job file, then where troupe is installed or built.",
     .reason = "there is no sensible default", .slot = AT(job.module)},
    {.section = "job", .key = "steps", .kind = K::count, .lowest = "0", .resume = true,
     .doc = "Steps to train; 0 is no limit. With `epochs`, the smaller of both ends the job; one must be given.",
     .reason = "raising it on resume goes on with a finished schedule", .slot = AT(job.steps)},
    {.section = "job", .key = "epochs", .kind = K::count, .lowest = "0", .resume = true,
     .doc = "Passes over the data; 0 is no limit. The last step may run into the next epoch.",
     .reason = "as for `steps`", .slot = AT(job.epochs)},
    {.section = "job", .key = "seed", .kind = K::count, .lowest = "0",
     .doc = "Key of every random stream of the job.", .reason = "a fixed default makes two plain runs equal",
     .slot = AT(job.seed)},
    {.section = "job", .key = "dir", .kind = K::path, .fallback = "`NAME.troupe-run` in the working directory",
     .doc = "The job's directory: journal, logs, metrics, checkpoints.",
     .reason = "where the user stands, not beside a job file that may be read-only", .slot = AT(job.dir)},
    {.section = "job", .key = "init_from", .kind = K::path,
     .doc = "A checkpoint of this version whose tensors are the initial state, instead of the initialisers.",
     .reason = "strict: every tensor must be there with its shape and dtype", .slot = AT(job.init_from)},
    {.section = "job", .key = "deterministic", .kind = K::flag,
     .doc = "The same bits for any number of workers and failures. `false` (relaxed) is not in this version.",
     .reason = "it is the promise of the runtime", .slot = AT(job.deterministic)},
    {.section = "job", .key = "nonfinite", .kind = K::choice, .choices = {"rollback", "fail", "skip"}, .resume = true,
     .doc = "When reduced values hold a NaN or an infinity: redo the step once and then fail, fail at once, or leave "
            "the model as it is and go on.",
     .reason = "a bad value that comes from a fault is gone on the second try", .slot = AT(job.nonfinite)},
    {.section = "job", .key = "digest_every", .kind = K::count, .lowest = "0", .highest = "1000000",
     .doc = "Steps between comparisons of the state among all workers; 0 is never.",
     .reason = "hashing the state costs about a copy of it; 100 hides that", .slot = AT(job.digest_every)},

    {.section = "workers", .key = "start", .kind = K::count, .lowest = "1", .highest = "4096", .resume = true,
     .fallback = "`max` if given, else `min`", .doc = "Workers at the start; `troupe run --workers N` sets it.",
     .reason = "all that may run, do", .slot = AT(workers.start)},
    {.section = "workers", .key = "min", .kind = K::count, .lowest = "1", .highest = "4096", .resume = true,
     .doc = "With fewer, the job waits for `limits.below_min` and then fails.",
     .reason = "one worker can always finish the job", .slot = AT(workers.min)},
    {.section = "workers", .key = "max", .kind = K::count, .lowest = "1", .highest = "4096", .resume = true,
     .fallback = "`virtual`", .doc = "Upper end of `troupe scale`.",
     .reason = "more workers than virtual workers would have nothing to do", .slot = AT(workers.max)},
    {.section = "workers", .key = "virtual", .kind = K::count, .lowest = "1", .highest = "4096", .required = true,
     .doc = "V, the number of blocks the batch is cut into for the whole job. N workers run V / N of them each, so "
            "numbers that divide V are the fast ones.",
     .reason = "it is part of what the result depends on, so it is never guessed", .slot = AT(workers.virtual_workers)},
    {.section = "workers", .key = "micro_batch", .kind = K::count, .lowest = "1", .highest = "16777216",
     .doc = "Samples per virtual worker and step.", .reason = "the smallest batch that works",
     .slot = AT(workers.micro_batch)},

    {.section = "data", .key = "path", .kind = K::path, .required = true, .doc = "File with the training samples.",
     .reason = "there is no sensible default", .slot = AT(data.path)},
    {.section = "data", .key = "order", .kind = K::choice, .choices = {"permuted"}, .later = {"blocks", "leased"},
     .doc = "`permuted`: each epoch is a permutation keyed by (seed, epoch), every sample once.",
     .reason = "the order that does not depend on failures", .slot = AT(data.order)},
    {.section = "data", .key = "label", .kind = K::choice, .choices = {"none", "first", "last"},
     .doc = "Column of a CSV row that becomes the field `label` (i32); the others become `features` (f32).",
     .reason = "where most data sets have it", .slot = AT(data.label)},
    {.section = "data", .key = "scale", .kind = K::number, .doc = "Features are multiplied by it when they are read.",
     .reason = "as written", .slot = AT(data.scale)},
    {.section = "data", .key = "test", .kind = K::count, .lowest = "0",
     .doc = "Rows kept out of training, shared out evenly over the labels; they are the evaluation data.",
     .reason = "all rows are trained", .slot = AT(data.test)},
    {.section = "data", .key = "split_seed", .kind = K::count, .lowest = "0",
     .doc = "Key of the choice of the `test` rows. Apart from `job.seed`, so that runs with different seeds compare.",
     .reason = "a fixed split", .slot = AT(data.split_seed)},

    {.section = "evaluation", .key = "path", .kind = K::path, .fallback = "the `data.test` rows, if any",
     .doc = "File with the evaluation samples, read like `data.path`; all its rows are used.",
     .reason = "evaluation is optional", .slot = AT(evaluation.path)},
    {.section = "evaluation", .key = "every", .kind = K::cadence, .choices = {"auto", "never", "steps", "epochs"},
     .doc = "`auto` is once per epoch. The last step is always evaluated. Never by time: the result would "
            "depend on it.",
     .reason = "an epoch is the smallest unit that has seen all the data", .slot = AT(evaluation.every)},
    {.section = "evaluation", .key = "metric", .fallback = "none",
     .doc = "Name of the metric that decides which version is the best one.",
     .reason = "the runtime cannot know", .slot = AT(evaluation.metric)},
    {.section = "evaluation", .key = "mode", .kind = K::choice, .choices = {"max", "min"},
     .doc = "Whether larger or smaller values of `metric` are better.", .reason = "most metrics are accuracies",
     .slot = AT(evaluation.mode)},
    {.section = "evaluation", .key = "patience", .kind = K::count, .lowest = "0", .highest = "1000000",
     .doc = "Evaluations without a better `metric` after which the job ends as finished; 0 is no limit.",
     .reason = "ending early is a choice", .slot = AT(evaluation.patience)},

    {.section = "checkpoint", .key = "dir", .kind = K::path, .fallback = "`checkpoints` in `job.dir`",
     .doc = "Where checkpoints are written.", .reason = "beside the journal that names them",
     .slot = AT(checkpoint.dir)},
    {.section = "checkpoint", .key = "local", .kind = K::flag,
     .doc = "Each host has its own `dir`. Not in this version.", .reason = "a shared directory needs no transfer",
     .slot = AT(checkpoint.local)},
    {.section = "checkpoint", .key = "every", .kind = K::cadence, .choices = {"auto", "never", "steps", "time"},
     .resume = true,
     .doc = "`auto` is 10s to 10m: longer the more time a save takes, shorter the more often workers fail. Unless "
            "`never`, the last step is written too.",
     .reason = "worker deaths are answered from memory; checkpoints are for the loss of the host",
     .slot = AT(checkpoint.every)},
    {.section = "checkpoint", .key = "snapshot_every", .kind = K::cadence, .choices = {"auto", "steps"}, .resume = true,
     .doc = "How often a version is copied to memory of the node, by its workers in turn. `auto` is every step while "
            "that costs under 0.5 % of the job's time, and less often otherwise.",
     .reason = "what is redone when all workers die at once; survivors hold the newest version anyway",
     .slot = AT(checkpoint.snapshot_every)},
    {.section = "checkpoint", .key = "keep", .kind = K::count, .lowest = "1", .highest = "10000", .resume = true,
     .doc = "Newest checkpoints kept, besides the best one.",
     .reason = "the second is there when the newest fails its check, the third when that one does too",
     .slot = AT(checkpoint.keep)},
    {.section = "checkpoint", .key = "slots", .kind = K::count, .lowest = "4", .highest = "64", .resume = true,
     .doc = "Versions of the state that a worker's memory on the node has room for.",
     .reason = "the newest two, the last agreed one, one being written out, and one to copy into",
     .slot = AT(checkpoint.slots)},
    {.section = "checkpoint", .key = "peer_copies", .kind = K::count, .lowest = "0", .highest = "16", .resume = true,
     .doc = "Copies of a node's snapshots on other nodes. Only 0 in this version.",
     .reason = "one host has no other to copy to", .slot = AT(checkpoint.peer_copies)},

    {.section = "recovery", .key = "strategy", .kind = K::choice, .choices = {"respawn", "restart-all"}, .resume = true,
     .doc = "`respawn`: hold for the replacement, else go on with the survivors and grow when it is warm. "
            "`restart-all`: end every worker and reload the newest checkpoint.",
     .reason = "nothing healthy is restarted", .slot = AT(recovery.strategy)},
    {.section = "recovery", .key = "hold", .kind = K::duration, .lowest = "0s", .highest = "1h", .resume = true,
     .doc = "How long `respawn` waits for the replacement; `0s` goes on with the survivors at once.",
     .reason = "longer than a small module takes to start, shorter than anybody notices", .slot = AT(recovery.hold)},
    {.section = "recovery", .key = "backoff", .kind = K::duration, .lowest = "0s", .highest = "10m", .resume = true,
     .doc = "Pause before a slot is started again whose last life reached no step; doubles with each further one.",
     .reason = "a worker that had got to work starts again at once", .slot = AT(recovery.backoff)},
    {.section = "recovery", .key = "backoff_most", .kind = K::duration, .lowest = "0s", .highest = "1h",
     .resume = true, .doc = "Longest such pause.", .reason = "short beside the budgets' windows",
     .slot = AT(recovery.backoff_most)},
#define BUDGET(name, what, why) \
  {.section = "recovery", .key = "budget_" #name, .kind = K::budget, .resume = true, .doc = what, .reason = why, \
   .slot = AT(recovery.budget_##name)}
    BUDGET(exception, "The trainer threw outside `build`.", "most exceptions come back"),
    BUDGET(out_of_memory, "A worker was ended for lack of memory.", "the next one has no more of it"),
    BUDGET(signal, "A worker was killed or crashed.", "outlives a storm of kills, ends a crash loop in seconds"),
    BUDGET(hang, "No progress within `limits.hang`.", "each costs at least that long"),
    BUDGET(silent, "No heartbeat within `limits.lost_after`.", "an overloaded host causes some"),
    BUDGET(node_loss, "A whole node went away.", "nodes fail together more often than workers"),
    BUDGET(partition, "A node could not be reached.", "networks flap"),
    BUDGET(notice, "A worker was asked to leave.", "being asked is not a fault"),
    BUDGET(communicator, "A member could not join its generation.", "one late member is not a pattern"),
    BUDGET(corrupt_data, "Wrong digest, unreadable sample, values that are not finite.", "redoing it rarely helps"),
#undef BUDGET

#define LIMIT(name, low, high, what, why) \
  {.section = "limits", .key = #name, .kind = K::duration, .lowest = low, .highest = high, .resume = true, \
   .doc = what, .reason = why, .slot = AT(limits.name)}
    LIMIT(heartbeat, "10ms", "10s", "Between two heartbeats of a process.", "ten fit in `lost_after`"),
    LIMIT(lost_after, "40ms", "10m", "Silence after which a worker is killed and replaced.",
          "a busy host delays a heartbeat by far less"),
    LIMIT(hang, "1s", "24h", "No step for this long, and for ten median steps, is a hang.",
          "longer than any pause of a healthy step"),
    LIMIT(build, "1s", "24h", "From the start of a worker's process to a built trainer.",
          "large libraries and models load slowly"),
    LIMIT(gather, "1s", "24h", "Waiting for `workers.start` workers at the start; then it begins with those there are.",
          "all workers of one host start together"),
    LIMIT(drain, "100ms", "24h", "A survivor's way back to its last step boundary.",
          "the gradient at hand is finished first"),
    LIMIT(form, "100ms", "24h", "From a plan to all of its members running.",
          "milliseconds from memory, longer for gigabytes from a disk"),
    LIMIT(retire, "100ms", "24h", "For a worker that is no longer wanted to leave its generation.",
          "it ends at a step boundary"),
    LIMIT(stop, "100ms", "1h", "From asking a process to leave to killing it.", "enough to close files"),
    LIMIT(save, "1s", "24h", "Writing one checkpoint.", "gigabytes to a slow disk"),
    LIMIT(request, "100ms", "10m", "Any request between processes.", "they are all on the same network"),
    LIMIT(below_min, "0s", "240h", "Waiting with fewer than `workers.min` before the job fails.",
          "a host that reboots is back by then"),
    LIMIT(node_grace, "0s", "24h",
          "A worker goes on for so long without its node process. Not in effect in this version: it ends at once.",
          "a restarted process is back in a second"),
    LIMIT(master_grace, "0s", "24h", "A node and its workers go on for so long without the master.",
          "a restarted master reads its journal"),
#undef LIMIT

    {.section = "comm", .key = "backend", .kind = K::choice, .choices = {"auto", "host"}, .later = {"nccl"},
     .resume = true, .doc = "`host`: shared memory. `auto` picks the fastest there is.",
     .reason = "one host, no accelerator needed", .slot = AT(comm.backend)},
    {.section = "parameters", .key = "mode", .kind = K::choice, .choices = {"all-reduce"}, .later = {"server"},
     .doc = "`all-reduce`: every worker holds all parameters.", .reason = "nothing to lose with a worker",
     .slot = AT(parameters.mode)},
    {.section = "console", .key = "listen", .resume = true, .fallback = "none",
     .doc = "HOST:PORT of the web page. Not in this version.", .reason = "nothing listens unless told",
     .slot = AT(console.listen)},
  };
  return rows;
}

} // namespace

std::span<const Section> sections() {
  return table_sections;
}

std::span<const Setting> settings() {
  return table();
}

} // namespace troupe
