#include "comm/crash_targets.hpp"

#include "base/flight_recorder.hpp"
#include "comm/life_lock.hpp"

#include <array>
#include <csignal>

namespace troupe {

namespace crash_targets {

namespace {
struct Target {
  std::atomic<const Segment*> segment{nullptr};
  std::atomic<std::uint32_t> rank{0};
};
std::array<Target, 16> targets;
} // namespace

void add(const Segment* segment, std::uint32_t rank) noexcept {
  for (auto& target : targets)
    if (!target.segment.load()) {
      target.rank.store(rank);
      target.segment.store(segment);
      return;
    }
}

void remove(const Segment* segment, std::uint32_t rank) noexcept {
  for (auto& target : targets)
    if (target.segment.load() == segment && target.rank.load() == rank) {
      target.segment.store(nullptr);
      return;
    }
}

} // namespace crash_targets

namespace {

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
constexpr std::array<std::string_view, crash_signals.size()> causes{
  "crashed: SIGSEGV", "crashed: SIGBUS", "crashed: SIGABRT", "crashed: SIGFPE", "crashed: SIGILL"};
std::array<struct sigaction, crash_signals.size()> previous;
std::atomic_flag crashing = ATOMIC_FLAG_INIT;

void on_crash(int signal, siginfo_t* info, void*) {
  std::size_t which = 0;
  while (which + 1 < crash_signals.size() && crash_signals[which] != signal)
    ++which;
  if (!crashing.test_and_set()) {
    for (auto& target : crash_targets::targets)
      if (const auto* segment = target.segment.load()) {
        const auto rank = target.rank.load();
        segment->poison(rank, PoisonSource::crash, rank, causes[which]);
      }
    flight_recorder().dump(2);
  }
  ::sigaction(signal, &previous[which], nullptr);
  if (info->si_code <= 0) // sent, not caused by an instruction that will run again: send it again
    ::raise(signal);
}

} // namespace

void install_crash_handler() {
  struct sigaction action{};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < crash_signals.size(); ++i) {
    ::sigaction(crash_signals[i], &action, &previous[i]);
    if (previous[i].sa_handler == SIG_IGN)
      previous[i].sa_handler = SIG_DFL;
  }
}

CrashStack::CrashStack() {
  constexpr std::size_t bytes = 65536;
  memory_ = std::make_unique<std::byte[]>(bytes);
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = bytes;
  ::sigaltstack(&stack, nullptr);
}

CrashStack::~CrashStack() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

} // namespace troupe
