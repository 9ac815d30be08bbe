#include "actors/node/node_parts.hpp"

#include "actors/node/fd_channel.hpp"
#include "base/log.hpp"

#include <algorithm>

namespace troupe::node {

using checkpoint::SlotBank;

void poison(NodeState& st, Generation upto, std::string_view cause) {
  if (st.segment && st.opened <= upto)
    st.segment->poison(st.segment->size(), PoisonSource::watcher, nobody, cause);
}

const Member* member_of(const Plan& plan, NodeId node, const Slot& slot) {
  const auto i = std::find_if(plan.members.begin(), plan.members.end(), [&](const Member& m) {
    return m.worker == WorkerKey{node, slot.fact.slot, slot.fact.incarnation};
  });
  return i == plan.members.end() ? nullptr : &*i;
}

namespace {

// Makes the segment and hands descriptors to the members here. `loaded`: memory with the resume point out of
// a file.
void open_generation(Self self, const Plan& plan, const std::shared_ptr<UniqueFd>& loaded) {
  auto& st = self->state;
  SegmentSpec spec;
  spec.generation = plan.generation;
  for (const auto& m : plan.members) {
    spec.members.push_back({m.first_virtual, m.virtual_count});
    spec.virtual_total += m.virtual_count;
  }
  for (const auto& slot : st.slots)
    if (member_of(plan, st.node, slot) && slot.hello.layout != 0) {
      spec.f32_count = slot.hello.leaf_floats;
      spec.f64_count = slot.hello.leaf_doubles;
      spec.attachment_bytes = slot.hello.attachment_bytes;
      break;
    }
  auto fd = Segment::create(spec);
  auto mapped =
    fd ? Segment::attach(fd->get()) : result<std::unique_ptr<Segment>>{tl::make_unexpected(fd.error())};
  if (!mapped) {
    log(LogLevel::error, "segment.failed", "generation={} why={}", plan.generation.value,
        mapped.error().context);
    return; // members run into their limit and say so
  }
  st.segment = std::move(*mapped);
  st.opened = plan.generation;
  std::vector<SlotId> owners;
  std::vector<int> fds{fd->get()};
  for (const auto& source : plan.sources)
    if (source.tier != Tier::checkpoint && source.node == st.node && source.slot.value < st.slots.size() &&
        st.slots[source.slot.value].bank_fd) {
      owners.push_back(source.slot);
      fds.push_back(st.slots[source.slot.value].bank_fd.get());
    }
  if (loaded) {
    owners.push_back(checkpoint_owner);
    fds.push_back(loaded->get());
  }
  for (auto& slot : st.slots)
    if (member_of(plan, st.node, slot) && slot.runs())
      if (auto sent = send_fds(slot.channel.get(), FdPacketKind::generation, plan.generation, owners, fds);
          !sent)
        log(LogLevel::warn, "fds.unsent", "slot={} why={}", slot.fact.slot.value, sent.error().context);
}

/// File that the plan's state comes from: a checkpoint, or job.init_from for the first generation; empty:
/// none.
std::string file_for(const NodeState& st, const Plan& plan) {
  if (plan.sources.empty())
    return plan.resume == PieceKey{} ? st.settings->config.job.init_from : std::string{};
  for (const auto& source : plan.sources)
    if (source.tier != Tier::checkpoint)
      return {}; // memory first
  return plan.sources.front().path;
}

void load_file(Self self, const Plan& plan, const std::string& path) {
  auto& st = self->state;
  for (const auto& slot : st.slots)
    if (slot.bank) {
      to_persister(self, LoadTask{plan.generation, path, slot.bank->layout(), plan.resume == PieceKey{}});
      return;
    }
}

} // namespace

void obey(Self self, GenerationOrder order) {
  auto& st = self->state;
  if (order.term < st.term || (order.term == st.generation.term && order.sequence < st.generation.sequence))
    return;
  const bool again = order == st.generation;
  st.generation = std::move(order);
  const auto& g = st.generation;
  if (g.command == GenerationCommand::drain)
    poison(st, g.generation, g.cause);
  if (g.command == GenerationCommand::form && g.plan && g.plan->generation > st.opened && !again) {
    poison(st, Generation{g.plan->generation.value - 1}, "a newer generation is formed");
    if (const auto file = file_for(st, *g.plan); !file.empty())
      load_file(self, *g.plan, file);
    else
      open_generation(self, *g.plan, nullptr);
  }
  send_orders(self);
}

void loaded(Self self, const LoadDone& done) {
  auto& st = self->state;
  const auto& g = st.generation;
  if (g.command != GenerationCommand::form || !g.plan || g.plan->generation != done.generation ||
      done.generation <= st.opened)
    return;
  if (!done.bank)
    log(LogLevel::error, "checkpoint.unloaded", "path={} why={}", done.path, done.error);
  open_generation(self, *g.plan, done.bank);
  send_orders(self);
}

void load_again(Self self) {
  auto& st = self->state;
  const auto& g = st.generation;
  if (g.command != GenerationCommand::form || !g.plan || g.plan->generation <= st.opened)
    return;
  if (const auto file = file_for(st, *g.plan); !file.empty())
    load_file(self, *g.plan, file);
}

void persist(Self self, Slot& slot, const SaveReady& ready) {
  auto answer = [&](const Error& error) {
    Persisted failed;
    failed.request = ready.request;
    failed.key = ready.key;
    failed.error = error.context;
    to_master(self, Message<schema::Persisted>::from(failed));
  };
  auto bank = SlotBank::attach(slot.bank_fd.get());
  if (!bank)
    return answer(bank.error());
  auto pin = bank->pin(ready.key);
  if (!pin)
    return answer(pin.error());
  to_persister(self, PersistTask{ready, std::make_shared<SlotBank>(std::move(*bank)),
                                 std::make_shared<SlotBank::Pin>(std::move(*pin))});
}

// What is in the slot's memory already needs nobody's help; for the rest the worker is asked.
void save(Self self, const SaveOrder& order) {
  auto& st = self->state;
  if (order.request <= st.save.request && order.term == st.save.term)
    return;
  st.save = order;
  if (order.from.slot.value >= st.slots.size())
    return;
  auto& slot = st.slots[order.from.slot.value];
  if (slot.bank && order.from.incarnation == slot.fact.incarnation)
    if (const auto newest = slot.bank->newest(); newest && newest->key.step >= order.at_least) {
      SaveReady ready;
      ready.request = order.request;
      ready.worker = order.from;
      ready.key = newest->key;
      ready.best = order.best;
      return persist(self, slot, ready);
    }
  send_order(self, slot);
}

} // namespace troupe::node
