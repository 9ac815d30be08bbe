// A trainer that owns its loop. Its run() writes out what Trainer::run does, with the model changed by hand
// between begin_update() and commit(); begin() still evaluates, snapshots and recovers. The bits are those of
// the default loop: set `by_hand = false` under [trainer] and compare the digests.
#include "softmax.hpp"

namespace {

class ByHand final : public troupe::Trainer {
public:
  void build(troupe::Model& model, const troupe::Config& config) override {
    weights_ = model.parameter("weights", {example::classes, example::row});
    rate_ = static_cast<float>(config.number("learning_rate", 0.5));
    by_hand_ = config.boolean("by_hand", true);
  }

  void run(troupe::Session& session) override {
    if (!by_hand_)
      return Trainer::run(session);
    while (session.begin()) {                    // false: the job is done, or this worker is to leave
      for (auto v : session.virtual_workers()) { // in this order, each once
        const auto& batch = session.batch(v);
        auto out = session.gradients(v)["weights"].f32();
        session.contribute(v, example::add_gradient(weights_.f32().data(), batch, out.data()));
      }
      if (!session.reduce()) // a member died: begin() comes back to the last committed step
        continue;
      session.begin_update();
      example::descend(weights_.f32(), session.mean()["weights"].f32(), rate_);
      session.commit();
    }
  }

  troupe::Loss gradient(const troupe::Model&, const troupe::Batch& batch, troupe::Gradients& out) override {
    return example::add_gradient(weights_.f32().data(), batch, out["weights"].f32().data());
  }

  void update(troupe::Model&, const troupe::Gradients& mean, const troupe::StepInfo&) override {
    example::descend(weights_.f32(), mean["weights"].f32(), rate_);
  }

  void evaluate(const troupe::Model&, const troupe::Batch& batch, troupe::Metrics& metrics) override {
    metrics.add("test_accuracy", example::correct(weights_.f32().data(), batch),
                static_cast<double>(batch.size()));
  }

private:
  troupe::Tensor weights_;
  float rate_ = 0;
  bool by_hand_ = true;
};

} // namespace

TROUPE_TRAINER(ByHand)
