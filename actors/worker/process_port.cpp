#include "actors/worker/process_port.hpp"

#include "actors/codec.hpp"
#include "actors/node/fd_channel.hpp"
#include "actors/schemas.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "checkpoint/slot_bank.hpp"
#include "comm/host_communicator.hpp"
#include "data/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

/// The ledger of the newest version, as counts.
std::vector<SampleCount> counts_in(const SlotBank& bank) {
  std::vector<SampleCount> counts;
  const auto piece = bank.layout().find("troupe/ledger");
  const auto newest = bank.newest();
  if (!piece || !newest)
    return counts;
  std::vector<std::uint64_t> image(bank.layout().pieces()[*piece].bytes() / sizeof(std::uint64_t) + 1);
  const auto bytes = std::as_writable_bytes(std::span(image)).first(bank.layout().pieces()[*piece].bytes());
  if (!bank.read(*newest, *piece, bytes))
    return counts;
  const auto ledger = data::Ledger::open(bytes);
  if (!ledger)
    return counts;
  const auto histogram = ledger->histogram();
  for (std::uint32_t i = 0; i < histogram.size(); ++i)
    if (histogram[i] > 0)
      counts.push_back({i, histogram[i]});
  return counts;
}

} // namespace

ProcessPort::ProcessPort(const Settings& settings, Sink& sink)
    : settings_(settings), sink_(sink), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), machine_(settings.me) {
  TROUPE_ASSERT(bell_, "no descriptor for a bell");
  report_.fact.slot = settings_.me.slot;
  report_.fact.incarnation = settings_.me.incarnation;
  report_.fact.pid = ::getpid();
  report_.fact.phase = WorkerPhase::starting;
}

ProcessPort::~ProcessPort() = default;

void ProcessPort::deliver(WorkerOrder order) {
  {
    std::lock_guard lock(mutex_);
    if (ordered_ &&
        (order.term < order_.term || (order.term == order_.term && order.sequence <= order_.sequence)))
      return;
    if (order.faults.sequence != order_.faults.sequence)
      fault_version_.fetch_add(1, std::memory_order_release);
    order_ = std::move(order);
    ordered_ = true;
    if (order_.save.from == settings_.me) {
      save_step_.store(order_.save.at_least.value, std::memory_order_relaxed);
      save_request_.store(order_.save.request, std::memory_order_release);
    }
  }
  if (order_.stop)
    leave(order_.cause);
  else
    tell(order_.generation);
}

// One event to the machine, and its answer carried out. An abort is called without the lock.
void ProcessPort::tell(const WorkerMachine::Event& event) {
  std::shared_ptr<Communicator> aborted;
  std::string cause;
  bool ring = false;
  {
    std::lock_guard lock(mutex_);
    for (auto& action : machine_.on(event, monotonic_now())) {
      if (auto* join = std::get_if<Join>(&action)) {
        join_ = std::move(*join);
      } else if (auto* abort = std::get_if<Abort>(&action)) {
        aborted = current_.lock();
        abort_up_to_ = std::max(abort_up_to_, abort->generation);
        cause = abort->reason;
        ring = true;
      } else if (auto* left = std::get_if<Leave>(&action)) {
        leave_ = std::move(*left);
        ring = true;
      } else if (auto* said = std::get_if<Report>(&action)) {
        report_.fact = said->fact;
        send_report();
      }
    }
  }
  changed_.notify_all();
  if (ring) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(bell_.get(), &one, sizeof one);
  }
  if (aborted)
    aborted->abort(cause);
}

void ProcessPort::leave(const std::string& cause) {
  {
    std::lock_guard lock(mutex_);
    if (leaving_)
      return;
    leaving_ = true;
  }
  tell(LeaveOrder{cause});
}

ProgressReport ProcessPort::take_progress() {
  ProgressReport progress;
  progress.worker = settings_.me;
  progress.rank = Rank{row_rank_.load(std::memory_order_relaxed)};
  for (const auto& row : rows_.take(4096)) {
    ProgressRow out;
    out.step = row.step;
    out.generation = row.generation;
    out.epoch = row.epoch;
    out.samples = row.samples;
    out.loss_sum = row.loss_sum;
    out.loss_weight = row.loss_weight;
    out.at = row.at;
    out.members = row.members;
    out.skipped = row.skipped;
    progress.rows.push_back(std::move(out));
  }
  const auto s = rows_.spent();
  progress.spent = {s.build, s.idle, s.connect,    s.restore,  s.useful,
                    s.lost,  s.wait, s.evaluation, s.snapshot, s.drain};
  std::lock_guard lock(mutex_);
  progress.rows.insert(progress.rows.end(), evaluations_.begin(), evaluations_.end());
  evaluations_.clear();
  for (const auto& [name, value] : published_)
    progress.published.push_back({name, value});
  progress.generation = report_.fact.generation;
  progress.step = report_.fact.step;
  for (const auto& row : progress.rows)
    if (row.metrics.empty())
      progress.step = std::max(progress.step, row.step.next());
  return progress;
}

WorkerReport ProcessPort::last_report() const {
  std::lock_guard lock(mutex_);
  return report_;
}

result<std::shared_ptr<SlotBank>> ProcessPort::built(const StateLayout& layout) {
  layout_ = layout;
  WorkerHello hello;
  hello.slot = settings_.me.slot;
  hello.incarnation = settings_.me.incarnation;
  hello.pid = ::getpid();
  hello.layout = layout.hash;
  const auto bytes = layout.bank.encode();
  hello.bank.assign(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                    reinterpret_cast<const std::uint8_t*>(bytes.data()) + bytes.size());
  hello.leaf_floats = layout.leaf_floats;
  hello.leaf_doubles = layout.leaf_doubles;
  hello.attachment_bytes = layout.attachment_bytes;
  sink_.hello(std::move(hello));
  TROUPE_ASSIGN(auto packet, receive_fds(settings_.channel, settings_.startup));
  if (packet.kind != FdPacketKind::bank || packet.fds.size() != 1)
    return fail(Errc::invalid, "the node sent something else than this worker's memory");
  TROUPE_ASSIGN(auto bank, SlotBank::attach(packet.fds[0].get()));
  bank_ = std::make_shared<SlotBank>(std::move(bank));
  bank_->pulse().incarnation.store(settings_.me.incarnation.value, std::memory_order_relaxed);
  return bank_;
}

Order ProcessPort::next() {
  std::unique_lock lock(mutex_);
  current_.reset();
  for (;;) {
    changed_.wait(lock, [&] { return leave_ || join_; });
    Order order;
    if (leave_) {
      order.kind = leave_->finished ? Order::Kind::finish : Order::Kind::stop;
      order.cause = leave_->reason;
      return order;
    }
    const auto join = std::move(*join_);
    join_.reset();
    const auto term = order_.term;
    lock.unlock();
    auto assignment = open(join, term);
    if (!assignment) {
      tell(OpenFailed{join.plan.generation, assignment.error().context});
      lock.lock();
      continue;
    }
    lock.lock();
    current_ = (*assignment)->communicator;
    if (abort_up_to_ >= join.plan.generation) // it was called off while it was being opened
      (*assignment)->communicator->abort("called off");
    order.kind = Order::Kind::form;
    order.generation = join.plan.generation;
    order.assignment = std::move(*assignment);
    return order;
  }
}

SourceBank ProcessPort::source_of(const Plan& plan, SlotId owner, std::shared_ptr<SlotBank> bank) const {
  SourceBank out;
  out.bank = std::move(bank);
  if (owner == checkpoint_owner) {
    out.source = {settings_.me.node, owner, Tier::checkpoint, {}};
    out.name = "checkpoint";
    return out;
  }
  for (const auto& source : plan.sources)
    if (source.tier != Tier::checkpoint && source.slot == owner && source.node == settings_.me.node)
      out.source = source;
  out.name = owner == settings_.me.slot ? "local" : fmt::format("worker {}", owner.value);
  return out;
}

// Takes the ring back, so that the next wait is a wait again.
bool ProcessPort::called_off(Generation generation) {
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto n = ::read(bell_.get(), &rings, sizeof rings);
  const std::lock_guard lock(mutex_);
  return leave_ || abort_up_to_ >= generation;
}

result<std::unique_ptr<Assignment>> ProcessPort::open(const Join& join, Term term) {
  const auto& plan = join.plan;
  const auto ordered = monotonic_now();
  for (;;) {
    auto received = receive_fds(settings_.channel, settings_.connect, bell_.get());
    if (!received && received.error().code == Errc::aborted && !called_off(plan.generation))
      continue; // it rang for an older generation
    TROUPE_ASSIGN(auto packet, std::move(received));
    if (packet.kind != FdPacketKind::generation || packet.generation < plan.generation)
      continue; // of a generation that was given up before this worker read its packet
    if (packet.generation > plan.generation)
      return fail(Errc::stale, "the node is already at a newer generation");
    if (packet.fds.size() != packet.slots.size() + 1)
      return fail(Errc::corrupt, "a generation's packet lacks descriptors");
    auto assignment = std::make_unique<Assignment>();
    assignment->term = term;
    assignment->plan = plan;
    assignment->rank = join.rank;
    assignment->bank = bank_;
    assignment->ordered = ordered;
    SegmentSpec expected;
    expected.generation = plan.generation;
    for (const auto& m : plan.members)
      expected.members.push_back({m.first_virtual, m.virtual_count});
    expected.virtual_total = layout_.virtual_workers;
    expected.f32_count = layout_.leaf_floats;
    expected.f64_count = layout_.leaf_doubles;
    expected.attachment_bytes = layout_.attachment_bytes;
    TROUPE_ASSIGN(assignment->communicator,
                  HostCommunicator::join(packet.fds[0].get(), expected, join.rank, life_));
    for (std::size_t i = 0; i < packet.slots.size(); ++i) {
      TROUPE_ASSIGN(auto bank, SlotBank::attach(packet.fds[i + 1].get()));
      assignment->sources.push_back(
        source_of(plan, packet.slots[i], std::make_shared<SlotBank>(std::move(bank))));
    }
    rank_ = join.rank;
    row_rank_.store(rank_.value, std::memory_order_relaxed);
    bank_->pulse().generation.store(plan.generation.value, std::memory_order_relaxed);
    return assignment;
  }
}

void ProcessPort::report(const EngineReport& report) {
  EngineSaid said;
  {
    std::lock_guard lock(mutex_);
    said.fact = report_.fact;
    report_.steps_lost = report.steps_lost;
    if (report.phase == WorkerPhase::finished)
      report_.samples_by_count = counts_in(*bank_);
    if (report.phase == WorkerPhase::drained)
      if (const auto running = current_.lock(); running && running->poisoned())
        said.fact.dead_rank = static_cast<std::int32_t>(running->poison().dead_rank); // ~0 becomes -1
  }
  auto& fact = said.fact;
  fact.phase = report.phase;
  fact.generation = report.generation;
  fact.step = report.step;
  fact.holdings = report.holdings;
  fact.model_digest = report.model_digest;
  fact.layout = report.layout;
  fact.times = report.times;
  fact.restore_source = report.restore_source;
  fact.cause = report.cause;
  if (report.phase != WorkerPhase::drained)
    fact.dead_rank = -1;
  tell(said);
}

void ProcessPort::publish(std::string_view name, double value) {
  constexpr std::size_t most_names = 64;
  std::lock_guard lock(mutex_);
  if (const auto known = published_.find(name); known != published_.end())
    known->second = value;
  else if (published_.size() < most_names && name.size() <= 40)
    published_.emplace(name, value);
}

void ProcessPort::failed(const Failure& failure) {
  std::lock_guard lock(mutex_);
  report_.fact.failure = failure;
  send_report();
  // The process is about to end, maybe before it is connected: the channel keeps what a message may not.
  send_last_words(settings_.channel, encode<schema::Failure>(failure));
}

void ProcessPort::send_report() {
  ++report_.sequence;
  sink_.report(report_);
}

void ProcessPort::enter(Activity activity, Step step, Time now) {
  if (!bank_)
    return;
  auto& pulse = bank_->pulse();
  pulse.step.store(step.value, std::memory_order_relaxed);
  pulse.phase.store(static_cast<std::uint32_t>(activity), std::memory_order_relaxed);
  pulse.waiting.store(activity == Activity::reduce ? 1 : 0, std::memory_order_relaxed);
  pulse.since_ns.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  pulse.progress.fetch_add(1, std::memory_order_relaxed);
}

void ProcessPort::committed(const StepRow& row, const Spent& spent) {
  if (rank_.value == 0)
    rows_.push(row);
  rows_.set_spent(spent);
}

std::uint64_t ProcessPort::wanted_save(Step version) {
  const auto request = save_request_.load(std::memory_order_acquire);
  if (request <= save_done_ || version.value < save_step_.load(std::memory_order_relaxed))
    return 0;
  save_done_ = request;
  return request;
}

void ProcessPort::saved(std::uint64_t request, PieceKey key, std::uint32_t slot, bool best) {
  sink_.save_ready({request, settings_.me, key, slot, best});
}

void ProcessPort::evaluated(const EvaluationRow& row) {
  if (rank_.value != 0 || row.metrics.empty()) // a row without metrics is one of a step
    return;
  ProgressRow out;
  out.step = row.step;
  out.generation = row.generation;
  out.at = wall_clock_ns();
  for (const auto& [name, value] : row.metrics)
    out.metrics.push_back({name, value});
  out.best = row.best;
  out.stop = row.stop;
  std::lock_guard lock(mutex_);
  if (evaluations_.size() < 4096)
    evaluations_.push_back(std::move(out));
}

void ProcessPort::rows_restored(std::span<const StepRow> rows) {
  if (rank_.value == 0)
    for (const auto& row : rows)
      rows_.push(row);
}

void ProcessPort::digest_mismatch(Generation generation, Step step, std::span<const std::uint64_t> by_rank) {
  for (std::size_t r = 0; r < by_rank.size(); ++r)
    log(LogLevel::error, "digest.mismatch", "generation={} step={} rank={} digest={:016x}", generation.value,
        step.value, r, by_rank[r]);
  std::lock_guard lock(mutex_);
  report_.mismatch = {step, generation};
  send_report();
}

void ProcessPort::mode(std::string_view what) {
  std::lock_guard lock(mutex_);
  if (std::find(report_.modes.begin(), report_.modes.end(), what) != report_.modes.end())
    return;
  report_.modes.emplace_back(what);
  send_report();
}

} // namespace troupe
