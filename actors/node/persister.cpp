#include "actors/node/persister.hpp"

#include "base/log.hpp"
#include "checkpoint/store.hpp"
#include "data/batch_plan.hpp"
#include "troupe/version.hpp"

#include <memory>

namespace troupe {

namespace {

using checkpoint::CheckpointReader;
using checkpoint::CheckpointStore;
using checkpoint::SlotBank;

checkpoint::CheckpointMeta meta_of(const JobConfig& config, const SaveReady& ready) {
  checkpoint::CheckpointMeta meta;
  meta.key = ready.key;
  meta.position = ready.key.step.value * config.workers.virtual_workers * config.workers.micro_batch;
  meta.seed = config.job.seed;
  meta.virtual_workers = config.workers.virtual_workers;
  meta.micro_batch = config.workers.micro_batch;
  meta.job = config.job.name;
  meta.version = TROUPE_VERSION;
  meta.best = ready.best;
  meta.created_ns = wall_clock_ns();
  return meta;
}

result<checkpoint::SavedCheckpoint> persist(const JobConfig& config, const PersistTask& task) {
  TROUPE_ASSIGN(const auto store, CheckpointStore::open(config.checkpoint.dir));
  return store.save(meta_of(config, task.ready), *task.bank);
}

Persisted carry_out(const JobConfig& config, const PersistTask& task) {
  Persisted answer;
  answer.request = task.ready.request;
  answer.key = task.ready.key;
  answer.best = task.ready.best;
  const auto begin = monotonic_now();
  auto saved = persist(config, task);
  answer.took = monotonic_now() - begin;
  answer.ok = saved.has_value();
  if (saved) {
    answer.path = saved->entry.path;
    answer.digest = saved->entry.digest;
  } else {
    answer.error = saved.error().context;
    log(LogLevel::error, "checkpoint.failed", "step={} why={}", answer.key.step.value, answer.error);
  }
  return answer;
}

result<std::shared_ptr<UniqueFd>> load(const LoadTask& task, std::uint32_t versions) {
  TROUPE_ASSIGN(const auto reader, CheckpointReader::open(task.path));
  TROUPE_ASSIGN(auto fd, SlotBank::create(task.layout, versions));
  TROUPE_ASSIGN(const auto bank, SlotBank::attach(fd.get()));
  if (task.model_only)
    TROUPE_TRY(reader.load_model_into(bank, PieceKey{}));
  else
    TROUPE_TRY(reader.load_into(bank));
  return std::make_shared<UniqueFd>(std::move(fd));
}

} // namespace

caf::behavior persister_actor(caf::event_based_actor* self, const JobConfig* config) {
  self->set_error_handler(
    [](caf::error& e) { log(LogLevel::warn, "persister.error", "{}", caf::to_string(e)); });
  return {
    [self, config](const PersistTask& task) {
      self->send(caf::actor_cast<caf::actor>(self->current_sender()), carry_out(*config, task));
    },
    [self, config](const LoadTask& task) {
      LoadDone done;
      done.generation = task.generation;
      done.path = task.path;
      if (auto loaded = load(task, config->checkpoint.slots))
        done.bank = std::move(*loaded);
      else
        done.error = loaded.error().context;
      self->send(caf::actor_cast<caf::actor>(self->current_sender()), std::move(done));
    },
    [config](const DeleteCheckpoint& order) {
      auto store = CheckpointStore::open(config->checkpoint.dir);
      for (const auto& entry : checkpoint::list(config->checkpoint.dir))
        if (store && entry.path == order.path)
          if (auto removed = store->remove(entry.key); !removed)
            log(LogLevel::warn, "checkpoint.undeleted", "path={} why={}", order.path,
                removed.error().context);
    },
  };
}

} // namespace troupe
