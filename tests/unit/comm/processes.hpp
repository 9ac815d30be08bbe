// Real processes for the tests of comm/: forked children that run a function and report through shared
// memory, and waits for events with a generous deadline. A Children object kills and reaps what is left when
// it goes. The forking process must have no threads of its own at that time.
#pragma once

#include "base/unique_fd.hpp"
#include "comm/host_communicator.hpp"
#include "troupe/random.hpp"

#include <functional>
#include <new>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/types.h>
#include <vector>

namespace troupe::testing {

/// Seed of this run: TROUPE_SEED, or a fresh one; printed once.
std::uint64_t seed();
/// Stream for one test under that seed.
Random random(std::string_view test);

/// An object in memory that forked children share with the test.
template <class T>
class Shared {
public:
  Shared() {
    void* memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw std::bad_alloc();
    object_ = new (memory) T{};
  }
  ~Shared() { ::munmap(object_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

private:
  T* object_;
};

/// Something that happened, seen across processes.
struct Event {
  futex::Word word{0};
  void raise();
  /// False when it did not happen in time.
  bool wait(Duration longest = std::chrono::seconds(20)) const;
};

class Children {
public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children();

  /// Forks a child that runs `body` and exits with what it returns; 99 for an exception. Returns its index.
  std::size_t start(const std::function<int()>& body);
  void signal(std::size_t index, int number) const;
  pid_t pid(std::size_t index) const { return pids_[index]; }

  struct End {
    bool ended = false; ///< within the deadline
    int exit_code = -1; ///< or
    int signal = 0;
  };
  End wait(std::size_t index, Duration longest = std::chrono::seconds(30));

private:
  std::vector<pid_t> pids_;
  std::vector<UniqueFd> handles_;
  std::vector<bool> reaped_;
};

/// Equal aligned-or-not blocks of V virtual workers over N members, as the kernel deals them.
std::vector<MemberBlock> deal(std::uint32_t members, std::uint32_t virtual_total);

/// Leaf values of virtual worker `v` in `step`: large and small ones mixed, so that another order gives other
/// bits.
void fill_leaf(std::uint64_t seed, std::uint64_t step, std::uint32_t v, std::span<float> f32, std::span<double> f64);

/// Hash over everything a reduction returned.
std::uint64_t digest(const Communicator::Reduced& reduced);
/// One step: fills and contributes the own block and reduces.
result<Communicator::Reduced> run_step(Communicator& comm, Block block, std::uint64_t leaf_seed, std::uint64_t step);

/// Entries of a directory under /proc/self, or lines of a file there.
std::size_t count_entries(const char* directory);
std::size_t count_lines(const char* file, std::string_view containing = {});

} // namespace troupe::testing
