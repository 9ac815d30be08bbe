// A module that brings an actor along: an evaluator in each worker, beside the trainer, on a thread of its
// own. Every `look_every` steps the trainer leaves a copy of the weights on a board; the actor wakes itself
// up by a message, tries the newest copy on samples the board also holds, and publishes what it found. It
// keeps nothing that matters: when it is killed (`fail_every` makes it throw), its supervisor starts a new
// life of it, which goes on with the next copy.
#include "../session/softmax.hpp"

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace {

/// Where trainer and actor meet: two threads of one process. Holds one copy, the newest.
class Board {
public:
  struct Sheet {
    std::uint64_t step = 0;
    std::vector<float> weights;
    std::vector<float> features; // [samples, 64]
    std::vector<std::int32_t> labels;
  };

  void put(Sheet sheet) {
    std::lock_guard lock(mutex_);
    newest_ = std::move(sheet);
  }
  std::optional<Sheet> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(newest_, std::nullopt);
  }

private:
  std::mutex mutex_;
  std::optional<Sheet> newest_;
};

class Evaluator final : public troupe::ModuleActor {
public:
  Evaluator(std::shared_ptr<Board> board, std::uint64_t fail_every)
      : board_(std::move(board)), fail_every_(fail_every) {}

  void start(troupe::ActorContext& context) override {
    context.publish("evaluator_lives", static_cast<double>(context.incarnation()));
    context.send_later(pause, {"look", {}});
  }

  void on_message(troupe::ActorContext& context, const troupe::ModuleMessage&) override {
    if (auto sheet = board_->take()) {
      ++looked_;
      if (fail_every_ && looked_ % fail_every_ == 0)
        throw std::runtime_error("the evaluator was told to fail");
      double right = 0;
      for (std::size_t s = 0; s < sheet->labels.size(); ++s) {
        const auto p =
          example::probabilities(sheet->weights.data(), sheet->features.data() + s * example::pixels);
        right += std::max_element(p.begin(), p.end()) - p.begin() == sheet->labels[s] ? 1 : 0;
      }
      context.publish("batch_accuracy", right / static_cast<double>(sheet->labels.size()));
    }
    context.send_later(pause, {"look", {}});
  }

private:
  static constexpr std::chrono::milliseconds pause{20};
  std::shared_ptr<Board> board_;
  std::uint64_t fail_every_;
  std::uint64_t looked_ = 0;
};

class Evaluated final : public troupe::Trainer {
public:
  void build(troupe::Model& model, const troupe::Config& config) override {
    weights_ = model.parameter("weights", {example::classes, example::row});
    rate_ = static_cast<float>(config.number("learning_rate", 0.5));
    look_every_ = static_cast<std::uint64_t>(config.integer("look_every", 10));
    fail_every_ = static_cast<std::uint64_t>(config.integer("fail_every", 0));
  }

  troupe::Loss gradient(const troupe::Model&, const troupe::Batch& batch, troupe::Gradients& out) override {
    if (look_every_ && batch.step().value % look_every_ == 0) {
      const auto w = weights_.f32();
      const auto x = batch.f32("features");
      const auto y = batch.i32("label");
      board_->put({batch.step().value, {w.begin(), w.end()}, {x.begin(), x.end()}, {y.begin(), y.end()}});
    }
    return example::add_gradient(weights_.f32().data(), batch, out["weights"].f32().data());
  }

  void update(troupe::Model&, const troupe::Gradients& mean, const troupe::StepInfo&) override {
    example::descend(weights_.f32(), mean["weights"].f32(), rate_);
  }

  void evaluate(const troupe::Model&, const troupe::Batch& batch, troupe::Metrics& metrics) override {
    metrics.add("test_accuracy", example::correct(weights_.f32().data(), batch),
                static_cast<double>(batch.size()));
  }

  void actors(troupe::Registry& registry) override { // after build()
    registry.actor({"evaluator", troupe::ActorPlace::worker, troupe::ActorRestart::permanent,
                    [board = board_, fail_every = fail_every_] {
                      return std::make_unique<Evaluator>(board, fail_every);
                    }});
  }

private:
  std::shared_ptr<Board> board_ = std::make_shared<Board>();
  troupe::Tensor weights_;
  float rate_ = 0;
  std::uint64_t look_every_ = 0;
  std::uint64_t fail_every_ = 0;
};

} // namespace

TROUPE_TRAINER(Evaluated)
