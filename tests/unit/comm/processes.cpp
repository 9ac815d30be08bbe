#include "processes.hpp"

#include "base/checksum.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("TROUPE_SEED");
    const auto chosen = given ? std::strtoull(given, nullptr, 0)
                              : static_cast<std::uint64_t>(wall_clock_ns()) % 1'000'000;
    BOOST_TEST_MESSAGE("seed: TROUPE_SEED=" << chosen);
    return chosen;
  }();
  return value;
}

Random random(std::string_view test) {
  return Random(seed(), test);
}

void Event::raise() {
  word.store(1);
  futex::wake_all(word);
}

bool Event::wait(Duration longest) const {
  const auto deadline = monotonic_now() + longest;
  while (word.load() == 0)
    if (!futex::wait(word, 0, deadline))
      return word.load() != 0;
  return true;
}

Children::~Children() {
  for (std::size_t i = 0; i < pids_.size(); ++i)
    if (!reaped_[i]) {
      ::kill(pids_[i], SIGKILL);
      ::waitpid(pids_[i], nullptr, 0);
    }
}

std::size_t Children::start(const std::function<int()>& body) {
  const auto parent = ::getpid();
  std::fflush(nullptr); // or the child's copy of the buffers may be written too
  const auto pid = ::fork();
  BOOST_REQUIRE(pid >= 0);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) // the test framework's handlers are not ours
      ::signal(number, SIG_DFL);
    int code = 99;
    if (::getppid() == parent)
      try {
        code = body();
      } catch (...) {
      }
    ::_exit(code);
  }
  pids_.push_back(pid);
  handles_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  reaped_.push_back(false);
  return pids_.size() - 1;
}

void Children::signal(std::size_t index, int number) const {
  if (!reaped_[index])
    ::kill(pids_[index], number);
}

Children::End Children::wait(std::size_t index, Duration longest) {
  pollfd ready{handles_[index].get(), POLLIN, 0};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  if (::poll(&ready, 1, static_cast<int>(ms)) != 1)
    return {};
  int status = 0;
  if (::waitpid(pids_[index], &status, 0) != pids_[index])
    return {};
  reaped_[index] = true;
  handles_[index].reset();
  return {true, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

std::vector<MemberBlock> deal(std::uint32_t members, std::uint32_t virtual_total) {
  std::vector<MemberBlock> blocks;
  for (std::uint32_t r = 0; r < members; ++r) {
    const auto first = static_cast<std::uint32_t>(static_cast<std::uint64_t>(virtual_total) * r / members);
    const auto end = static_cast<std::uint32_t>(static_cast<std::uint64_t>(virtual_total) * (r + 1) / members);
    blocks.push_back({first, end - first});
  }
  return blocks;
}

void fill_leaf(std::uint64_t leaf_seed, std::uint64_t step, std::uint32_t v, std::span<float> f32,
               std::span<double> f64) {
  Random values(leaf_seed, "leaf", {step, v});
  const auto next = [&] {
    const auto x = values.next_u64();
    const double magnitude = static_cast<double>(x >> 40) * (x & 1 ? 1.0 : 1e-6);
    return (x & 14) == 0 ? -0.0 : x & 2 ? magnitude : -magnitude;
  };
  for (auto& x : f32)
    x = static_cast<float>(next());
  for (auto& x : f64)
    x = next();
}

std::uint64_t digest(const Communicator::Reduced& reduced) {
  Hasher hash;
  hash.add(reduced.f32.data(), reduced.f32.size_bytes());
  hash.add(reduced.f64.data(), reduced.f64.size_bytes());
  for (auto bytes : reduced.attachments)
    hash.add(bytes.data(), bytes.size());
  return hash.digest();
}

result<Communicator::Reduced> run_step(Communicator& comm, Block block, std::uint64_t leaf_seed, std::uint64_t step) {
  for (auto v = block.first; v < block.first + block.count; ++v) {
    const VirtualWorker worker{v};
    fill_leaf(leaf_seed, step, v, comm.leaf(worker), comm.leaf_f64(worker));
    auto attached = comm.attachment(worker);
    for (std::size_t i = 0; i < attached.size(); ++i)
      attached[i] = static_cast<std::byte>(step * 31 + v * 7 + i);
    comm.contribute(worker);
  }
  return comm.reduce_leaves();
}

std::size_t count_entries(const char* directory) {
  std::size_t n = 0;
  auto* open = ::opendir(directory);
  BOOST_REQUIRE(open);
  while (const auto* entry = ::readdir(open))
    n += entry->d_name[0] != '.';
  ::closedir(open);
  return n;
}

std::size_t count_lines(const char* file, std::string_view containing) {
  std::ifstream in(file);
  std::string text;
  std::size_t n = 0;
  while (std::getline(in, text))
    n += text.find(containing) != std::string::npos;
  return n;
}

} // namespace troupe::testing
