#define BOOST_TEST_MODULE journal
#include <boost/test/unit_test.hpp>

#include "actors/codec.hpp"
#include "actors/journal_file.hpp"
#include "random_value.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::test;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "troupe-journal-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string file(const char* name = "journal") const { return (path / name).string(); }
};

JournalRecord event(std::uint64_t sequence, Term term = Term{1}) {
  JournalRecord r;
  r.kind = RecordKind::event;
  r.term = term;
  r.sequence = sequence;
  r.kernel = "membership";
  r.now = Time(Duration(static_cast<std::int64_t>(sequence) * 1000));
  r.payload.assign(sequence % 97, static_cast<std::uint8_t>(sequence));
  r.actions.assign(sequence % 3, std::vector<std::uint8_t>(sequence % 31, 7));
  return r;
}

JournalFile open(const std::string& path) {
  auto file = JournalFile::open(path);
  BOOST_REQUIRE_MESSAGE(file, file.error().context);
  return std::move(*file);
}

result<std::vector<JournalRecord>> read_all(const std::string& path) {
  std::vector<JournalRecord> out;
  TROUPE_TRY(JournalFile::read(path, [&](JournalRecord&& r) {
    out.push_back(std::move(r));
    return true;
  }));
  return out;
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_synced_is_read_again_in_order) {
  Folder dir;
  {
    auto file = open(dir.file());
    for (std::uint64_t i = 1; i <= 100; ++i)
      file.append(event(i, Term{i / 50 + 1}));
    BOOST_REQUIRE(file.sync());
  }
  auto records = read_all(dir.file());
  BOOST_REQUIRE(records);
  BOOST_REQUIRE(records->size() == 100u);
  for (std::uint64_t i = 1; i <= 100; ++i)
    BOOST_TEST(((*records)[i - 1] == event(i, Term{i / 50 + 1})));
  auto again = open(dir.file());
  BOOST_TEST(again.last_term().value == 3u);
  BOOST_TEST(again.last_sequence() == 100u);
  BOOST_TEST(again.cut_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_buffered_is_not_seen_before_flush) {
  Folder dir;
  auto file = open(dir.file());
  file.append(event(1));
  BOOST_TEST(read_all(dir.file())->empty());
  BOOST_REQUIRE(file.flush());
  BOOST_TEST(read_all(dir.file())->size() == 1u);
}

BOOST_AUTO_TEST_CASE(two_masters_cannot_share_a_journal) {
  Folder dir;
  std::optional<JournalFile> file = open(dir.file());
  auto second = JournalFile::open(dir.file());
  BOOST_REQUIRE(!second);
  BOOST_TEST((second.error().code == Errc::fenced));
  BOOST_REQUIRE(file->replace({event(1)})); // the new file is locked as well
  second = JournalFile::open(dir.file());
  BOOST_REQUIRE(!second);
  BOOST_TEST((second.error().code == Errc::fenced));
  file.reset();
  BOOST_TEST(JournalFile::open(dir.file()).has_value());
}

BOOST_AUTO_TEST_CASE(a_last_record_torn_at_any_byte_is_cut_and_writing_goes_on) {
  Folder dir;
  std::uint64_t whole = 0;
  {
    auto file = open(dir.file());
    for (std::uint64_t i = 1; i <= 5; ++i)
      file.append(event(i));
    BOOST_REQUIRE(file.sync());
    whole = file.bytes();
    file.append(event(40));
    BOOST_REQUIRE(file.flush());
  }
  auto all = bytes_of(dir.file());
  for (std::size_t size = whole; size < all.size(); ++size) {
    auto torn = dir.file("torn");
    put_bytes(torn, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size)});
    BOOST_TEST(read_all(torn)->size() == 5u);
    {
      auto file = open(torn);
      BOOST_TEST(file.cut_bytes() == size - whole);
      file.append(event(6));
      BOOST_REQUIRE(file.sync());
    }
    auto records = read_all(torn);
    BOOST_REQUIRE(records);
    BOOST_TEST(records->size() == 6u);
    BOOST_TEST(records->back().sequence == 6u);
  }
}

BOOST_AUTO_TEST_CASE(a_flipped_bit_among_durable_records_is_an_error_that_says_where) {
  Folder dir;
  {
    auto file = open(dir.file());
    for (std::uint64_t i = 1; i <= 6; ++i) {
      file.append(event(i));
      BOOST_REQUIRE(file.sync());
    }
  }
  auto all = bytes_of(dir.file());
  std::uint64_t last = 0; // start of the last frame
  {
    auto shorter = dir.file("five");
    auto file = open(shorter);
    for (std::uint64_t i = 1; i <= 5; ++i)
      file.append(event(i));
    BOOST_REQUIRE(file.flush());
    last = file.bytes();
  }
  Random random(test_seed(), "flip");
  for (int i = 0; i < 300; ++i) {
    auto bad = all;
    auto place = 16 + random.below(bad.size() - 16);
    bad[place] ^= static_cast<char>(1u << random.below(8));
    put_bytes(dir.file("bad"), bad);
    auto opened = JournalFile::open(dir.file("bad"));
    auto records = read_all(dir.file("bad"));
    if (place < last) {
      BOOST_REQUIRE_MESSAGE(!opened, "byte " << place);
      BOOST_TEST((opened.error().code == Errc::corrupt));
      BOOST_TEST(opened.error().context.find("at byte ") != std::string::npos, opened.error().context);
      BOOST_TEST(!records.has_value());
    } else { // nothing behind it tells a torn end from a broken one
      BOOST_REQUIRE(opened);
      BOOST_TEST(opened->cut_bytes() > 0u);
      BOOST_TEST(records->size() == 5u);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_power_cut_left_of_records_never_synced_is_cut) {
  Folder dir;
  std::uint64_t synced = 0;
  {
    auto file = open(dir.file());
    file.append(event(1));
    BOOST_REQUIRE(file.sync());
    synced = file.bytes();
    for (std::uint64_t i = 2; i <= 6; ++i)
      file.append(event(i));
    BOOST_REQUIRE(file.flush());
  }
  auto all = bytes_of(dir.file());
  for (std::size_t i = 0; i < 40; ++i)
    all[synced + i] = 0; // a page that did not make it, while later ones did
  put_bytes(dir.file(), all);
  BOOST_TEST(!read_all(dir.file()).has_value()); // a reader says so
  auto file = open(dir.file());                  // a writer goes on from what it had promised
  BOOST_TEST(file.bytes() == synced);
  BOOST_TEST(file.last_sequence() == 1u);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_journal_is_refused) {
  Folder dir;
  put_bytes(dir.file("empty"), {});
  put_bytes(dir.file("text"), std::vector<char>(200, 'x'));
  for (auto* name : {"empty", "text"}) {
    auto opened = JournalFile::open(dir.file(name));
    BOOST_REQUIRE(!opened);
    BOOST_TEST((opened.error().code == Errc::corrupt));
    BOOST_TEST(!read_all(dir.file(name)).has_value());
  }
  BOOST_TEST((read_all(dir.file("none")).error().code == Errc::invalid));
}

BOOST_AUTO_TEST_CASE(replacing_keeps_the_lock_the_counters_and_goes_on) {
  Folder dir;
  {
    auto file = open(dir.file());
    for (std::uint64_t i = 1; i <= 50; ++i)
      file.append(event(i, Term{2}));
    BOOST_REQUIRE(file.sync());
    file.append(event(51));
    auto snapshot = event(50, Term{2});
    snapshot.kind = RecordKind::snapshot;
    BOOST_REQUIRE(file.replace({event(1, Term{2}), snapshot}));
    file.append(event(52, Term{2}));
    BOOST_REQUIRE(file.sync());
  }
  auto records = read_all(dir.file());
  BOOST_REQUIRE(records);
  BOOST_REQUIRE(records->size() == 3u);
  BOOST_TEST((*records)[2].sequence == 52u);
  BOOST_TEST(!fs::exists(dir.file() + ".new"));
  // A bit that flips in what was replaced is no torn end, though nothing was synced after it.
  auto all = bytes_of(dir.file());
  all[60] ^= 1;
  put_bytes(dir.file(), all);
  BOOST_TEST((JournalFile::open(dir.file()).error().code == Errc::corrupt));
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_an_error_loses_nothing_and_leaves_the_file_readable) {
  Folder dir;
  pid_t child = ::fork();
  if (child == 0) { // limits are of the process: not in the test itself
    std::signal(SIGXFSZ, SIG_IGN);
    auto file = JournalFile::open(dir.file());
    if (!file)
      ::_exit(10);
    rlimit limit{8000, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::uint64_t sequence = 0;
    for (;;) {
      file->append(event(++sequence));
      if (auto done = file->sync(); !done) {
        if (done.error().code != Errc::exhausted)
          ::_exit(11);
        break;
      }
      if (sequence > 1000)
        ::_exit(12);
    }
    auto seen = read_all(dir.file());
    if (!seen || seen->size() != sequence - 1)
      ::_exit(13);
    file->append(event(++sequence)); // still full
    if (file->sync())
      ::_exit(14);
    std::vector<JournalRecord> many(2000, event(sequence)); // a snapshot does not fit either, and harms nothing
    if (file->replace(many) || fs::exists(dir.file() + ".new") || read_all(dir.file())->size() != sequence - 2)
      ::_exit(15);
    limit.rlim_cur = RLIM_INFINITY;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!file->sync()) // room again: what was waiting is written
      ::_exit(16);
    seen = read_all(dir.file());
    if (!seen || seen->size() != sequence)
      ::_exit(17);
    for (std::uint64_t i = 0; i < sequence; ++i)
      if (!((*seen)[i] == event(i + 1)))
        ::_exit(18);
    ::_exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
}

namespace {

/// A master that writes until it is killed; each number it has made durable goes into the pipe.
[[noreturn]] void write_until_killed(const std::string& path, int told, std::uint64_t seed) {
  auto file = JournalFile::open(path);
  if (!file)
    ::_exit(10);
  Random random(seed, "writer");
  auto term = file->last_term().next();
  auto sequence = file->last_sequence();
  JournalRecord first;
  first.kind = RecordKind::term;
  first.term = term;
  first.sequence = ++sequence;
  file->append(first);
  for (;;) {
    for (auto n = 1 + random.below(4); n > 0; --n)
      file->append(event(++sequence, term));
    if (random.below(8) == 0) {
      auto snapshot = event(sequence, term);
      snapshot.kind = RecordKind::snapshot;
      if (!file->replace({snapshot}))
        ::_exit(11);
    } else if (!file->sync()) {
      ::_exit(12);
    }
    std::uint64_t fact[2] = {term.value, sequence};
    if (::write(told, fact, sizeof fact) != sizeof fact)
      ::_exit(13);
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_master_killed_at_any_moment_leaves_all_it_had_promised) {
  Folder dir;
  auto seed = test_seed();
  Random random(seed, "kills");
  std::uint64_t promised = 0, promised_term = 0;
  for (int round = 0; round < 40; ++round) {
    int ends[2];
    BOOST_REQUIRE(::pipe(ends) == 0);
    pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      write_until_killed(dir.file(), ends[1], seed + static_cast<std::uint64_t>(round));
    }
    ::close(ends[1]);
    // Some are killed before their first word, others after a few.
    std::uint64_t fact[2];
    for (auto words = random.below(12); words > 0 && ::read(ends[0], fact, sizeof fact) == sizeof fact; --words)
      promised_term = fact[0], promised = fact[1];
    pollfd next{ends[0], POLLIN, 0};
    timespec moment{0, static_cast<long>(random.below(1500000))}; // lands anywhere in a write
    ::ppoll(&next, 1, &moment, nullptr);
    ::kill(child, SIGKILL);
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    BOOST_TEST(WIFSIGNALED(status), "writer ended by itself: " << status);
    while (::read(ends[0], fact, sizeof fact) == sizeof fact)
      promised_term = fact[0], promised = fact[1];
    ::close(ends[0]);

    auto file = JournalFile::open(dir.file());
    BOOST_REQUIRE_MESSAGE(file, "TROUPE_SEED=" << seed << " round " << round << ": " << file.error().context);
    BOOST_TEST(file->last_sequence() >= promised);
    BOOST_TEST(file->last_term().value >= promised_term);
    auto records = read_all(dir.file());
    BOOST_REQUIRE(records);
    for (std::size_t i = 1; i < records->size(); ++i) // no hole, nothing twice
      BOOST_REQUIRE((*records)[i].sequence == (*records)[i - 1].sequence + 1);
  }
  BOOST_TEST(promised > 20u);
}

BOOST_AUTO_TEST_CASE(appending_and_syncing_cost_little) {
  Folder dir;
  auto file = open(dir.file());
  auto record = event(90);
  record.payload.assign(3000, 1); // a roster of eight
  constexpr int rounds = 200;
  auto begin = monotonic_now();
  for (int i = 0; i < rounds; ++i)
    file.append(record);
  auto appended = monotonic_now();
  for (int i = 0; i < 20; ++i) {
    file.append(record);
    BOOST_REQUIRE(file.sync());
  }
  auto synced = monotonic_now();
  BOOST_TEST_MESSAGE("append " << to_ms(appended - begin) * 1000 / rounds << " us, append and sync "
                               << to_ms(synced - appended) * 1000 / 20 << " us");
  BOOST_TEST(file.bytes() > 0u);
}
