// Forked processes of a bench, and memory they share with it. None outlives the bench: they die with it, stopped or
// not. Made and used by one thread.
#pragma once

#include <csignal>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe::bench {

/// `count` values, seen by this process and by those it forks afterwards.
template <class T>
class Shared {
public:
  explicit Shared(std::size_t count = 1)
      : bytes_(count * sizeof(T)),
        memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED)
      throw std::bad_alloc();
    for (std::size_t i = 0; i < count; ++i)
      new (&(*this)[i]) T();
  }
  ~Shared() { ::munmap(memory_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator[](std::size_t i) const { return static_cast<T*>(memory_)[i]; }

private:
  std::size_t bytes_;
  void* memory_;
};

class Children {
public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    signal(SIGKILL);
    for (auto pid : pids_)
      ::waitpid(pid, nullptr, 0);
  }

  /// The child's exit status is 0 when body() returned true, else 1. False when it could not be forked.
  template <class Body>
  bool start(Body&& body) {
    const auto parent = ::getpid();
    const auto pid = ::fork();
    if (pid == 0) {
      bool fine = false;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      try {
        fine = ::getppid() == parent && body();
      } catch (...) { // what a child cannot do is its exit status
      }
      ::_exit(fine ? 0 : 1);
    }
    if (pid > 0)
      pids_.push_back(pid);
    return pid > 0;
  }
  void signal(int number) const {
    for (auto pid : pids_)
      ::kill(pid, number);
  }
  const std::vector<pid_t>& pids() const { return pids_; }
  void kill_last() const { ::kill(pids_.back(), SIGKILL); }
  /// Waits for all; whether each exited with 0.
  bool all_fine() {
    bool fine = true;
    for (const auto pid : std::exchange(pids_, {})) {
      int status = 0;
      fine = ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 && fine;
    }
    return fine;
  }

private:
  std::vector<pid_t> pids_;
};

} // namespace troupe::bench
