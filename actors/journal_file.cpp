#include "actors/journal_file.hpp"

#include "actors/codec.hpp"
#include "actors/schemas.hpp"
#include "base/checksum.hpp"
#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr char file_magic[16] = {'t', 'r', 'o', 'u', 'p', 'e', ' ', 'j', 'o', 'u', 'r', 'n', 'a', 'l', '\n', 1};
constexpr std::uint32_t frame_magic = 0x4a525454; // "TTRJ"
constexpr std::uint64_t max_record_bytes = 64 << 20;

/// Frames lie at multiples of 8: bodies are whole Cap'n Proto words.
struct FrameHeader {
  std::uint32_t magic = frame_magic;
  std::uint32_t length = 0;  ///< of the body
  std::uint64_t durable = 0; ///< of the file, when this frame was made: nothing before may be torn
  std::uint64_t check = 0;   ///< of the two above and the body
};
static_assert(sizeof(FrameHeader) == 24);

std::uint64_t check_of(const FrameHeader& header, const std::uint8_t* body) {
  Hasher hasher;
  hasher.add(std::uint64_t{header.length});
  hasher.add(header.durable);
  hasher.add(body, header.length);
  return hasher.digest();
}

void add_frame(std::vector<std::uint8_t>& out, const JournalRecord& record, std::uint64_t durable) {
  const auto body = encode<schema::JournalRecord>(record);
  FrameHeader header;
  header.length = static_cast<std::uint32_t>(body.size());
  header.durable = durable;
  header.check = check_of(header, body.data());
  const auto at = out.size();
  out.resize(at + sizeof header + body.size());
  std::memcpy(out.data() + at, &header, sizeof header);
  std::memcpy(out.data() + at + sizeof header, body.data(), body.size());
}

/// At a given place, so that a try after a failed one overwrites its remains.
result<void> write_all(int fd, const std::uint8_t* data, std::size_t size, std::uint64_t at, const std::string& path) {
  while (size > 0) {
    const auto n = ::pwrite(fd, data, size, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return fail_errno(Errc::exhausted, "write " + path, n < 0 ? errno : ENOSPC);
    data += n;
    at += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

result<void> sync_directory(const std::string& path) {
  const auto dir = std::filesystem::path(path).parent_path().string();
  UniqueFd fd{::open(dir.empty() ? "." : dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd || ::fsync(fd.get()) != 0)
    return fail_errno(Errc::exhausted, "sync directory " + dir, errno);
  return {};
}

/// One file, frame by frame.
struct Scanner {
  int fd;
  const std::string& path;
  std::uint64_t size = 0;
  FrameHeader header{};
  std::vector<std::uint8_t> body{};

  result<void> begin() {
    struct stat info{};
    if (::fstat(fd, &info) != 0)
      return fail_errno(Errc::corrupt, "look at " + path, errno);
    size = static_cast<std::uint64_t>(info.st_size);
    char magic[sizeof file_magic];
    if (size < sizeof magic || !read_at(magic, sizeof magic, 0) || std::memcmp(magic, file_magic, sizeof magic) != 0)
      return fail(Errc::corrupt, path + " is no journal of this version");
    return {};
  }

  bool read_at(void* to, std::size_t bytes, std::uint64_t at) const {
    return ::pread(fd, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }

  /// Is there a whole frame? Then header and body are it.
  bool frame_at(std::uint64_t at) {
    if (size - at < sizeof header || !read_at(&header, sizeof header, at) || header.magic != frame_magic
        || header.length > max_record_bytes || size - at - sizeof header < header.length)
      return false;
    body.resize(header.length);
    return read_at(body.data(), body.size(), at + sizeof header) && check_of(header, body.data()) == header.check;
  }

  std::uint64_t end_of_frame(std::uint64_t at) const { return at + sizeof header + header.length; }

  struct Behind {
    std::uint64_t at = 0;      ///< first whole frame behind the damage; 0: none
    std::uint64_t durable = 0; ///< largest of all frames behind
  };
  Behind look_behind(std::uint64_t at) {
    Behind found;
    while (at + 8 <= size) {
      if (frame_at(at)) {
        found.at = found.at == 0 ? at : found.at;
        found.durable = std::max(found.durable, header.durable);
        at = end_of_frame(at);
      } else {
        at += 8;
      }
    }
    return found;
  }
};

/// Calls take for each whole frame; returns where the last one ends. `strict`: damage with whole frames behind it is an
/// error even if none of them was known to be durable.
result<std::uint64_t> scan(int fd, const std::string& path, bool strict,
                           const std::function<bool(JournalRecord&&)>& take) {
  Scanner scanner{fd, path};
  TROUPE_TRY(scanner.begin());
  std::uint64_t at = sizeof file_magic;
  while (at < scanner.size) {
    if (!scanner.frame_at(at)) {
      const auto behind = scanner.look_behind(at + 8);
      if (behind.durable > at || (strict && behind.at != 0))
        return fail(Errc::corrupt, fmt::format("{}: bad record at byte {}, the next good one is at byte {}", path, at,
                                               behind.at));
      break; // the torn end
    }
    auto record = decode<schema::JournalRecord>(
      scanner.body, DecodeLimits{.bytes = max_record_bytes, .memory = 4 * max_record_bytes});
    if (!record)
      return fail(Errc::corrupt, fmt::format("{}: record at byte {}: {}", path, at, record.error().context));
    at = scanner.end_of_frame(at);
    if (!take(std::move(*record)))
      break;
  }
  return at;
}

bool same_file(int fd, const std::string& path) {
  struct stat open_one{}, named{};
  return ::fstat(fd, &open_one) == 0 && ::stat(path.c_str(), &named) == 0 && open_one.st_ino == named.st_ino
         && open_one.st_dev == named.st_dev;
}

/// A new file with its header and what follows, synced and renamed to `path`; locked before it can be found.
result<UniqueFd> put_file(const std::string& path, const std::vector<std::uint8_t>& content) {
  const auto temporary = path + ".new";
  UniqueFd fd;
  do { // until the locked file is the one of that name; only then it may be emptied
    fd = UniqueFd{::open(temporary.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)};
    if (!fd)
      return fail_errno(Errc::exhausted, "open " + temporary, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
      return fail(Errc::fenced, temporary + " is in use by another master");
  } while (!same_file(fd.get(), temporary));
  auto written = [&]() -> result<void> {
    if (::ftruncate(fd.get(), 0) != 0)
      return fail_errno(Errc::exhausted, "empty " + temporary, errno);
    TROUPE_TRY(write_all(fd.get(), reinterpret_cast<const std::uint8_t*>(file_magic), sizeof file_magic, 0, temporary));
    TROUPE_TRY(write_all(fd.get(), content.data(), content.size(), sizeof file_magic, temporary));
    if (::fdatasync(fd.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
      return fail_errno(Errc::exhausted, "write " + path, errno);
    return sync_directory(path);
  }();
  if (!written) {
    ::unlink(temporary.c_str());
    return tl::make_unexpected(written.error());
  }
  return fd;
}

} // namespace

result<JournalFile> JournalFile::open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  // A master that replaces its file leaves the old one to be locked by whoever opened it just before: then again.
  for (;;) {
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    if (!fd && errno == ENOENT) {
      TROUPE_ASSIGN(fd, put_file(path, {}));
    }
    if (!fd)
      return fail_errno(Errc::exhausted, "open " + path, errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
      return fail(Errc::fenced, path + " is in use by another master");
    if (!same_file(fd.get(), path))
      continue;
    JournalFile file(path, std::move(fd));
    TROUPE_TRY(file.load());
    return file;
  }
}

result<void> JournalFile::load() {
  TROUPE_ASSIGN(const auto end, scan(fd_.get(), path_, false, [this](JournalRecord&& record) {
                  last_term_ = std::max(last_term_, record.term);
                  last_sequence_ = std::max(last_sequence_, record.sequence);
                  return true;
                }));
  struct stat info{};
  if (::fstat(fd_.get(), &info) == 0)
    cut_bytes_ = static_cast<std::uint64_t>(info.st_size) - end;
  if (cut_bytes_ > 0 && ::ftruncate(fd_.get(), static_cast<off_t>(end)) != 0)
    return fail_errno(Errc::exhausted, "cut the torn end of " + path_, errno);
  if (cut_bytes_ > 0)
    log(LogLevel::warn, "journal.cut", "path={} bytes={} after={}: half written when its writer died", path_,
        cut_bytes_, last_sequence_);
  bytes_ = end;
  return {};
}

result<void> JournalFile::read(const std::string& path, const std::function<bool(JournalRecord&&)>& take) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    return fail_errno(Errc::invalid, "open " + path, errno);
  TROUPE_TRY(scan(fd.get(), path, true, take));
  return {};
}

void JournalFile::append(const JournalRecord& record) {
  add_frame(buffer_, record, durable_);
  last_term_ = std::max(last_term_, record.term);
  last_sequence_ = std::max(last_sequence_, record.sequence);
}

result<void> JournalFile::flush() {
  if (broken_)
    return fail(Errc::exhausted, path_ + ": an earlier sync failed");
  if (buffer_.empty())
    return {};
  if (auto written = write_all(fd_.get(), buffer_.data(), buffer_.size(), bytes_, path_); !written) {
    // Back to the last whole frame, so that the file stays readable; should that fail too, it is a torn end.
    [[maybe_unused]] auto cut = ::ftruncate(fd_.get(), static_cast<off_t>(bytes_));
    return written;
  }
  bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

result<void> JournalFile::sync() {
  TROUPE_TRY(flush());
  if (durable_ == bytes_)
    return {};
  if (::fdatasync(fd_.get()) != 0) {
    broken_ = true;
    return fail_errno(Errc::exhausted, "sync " + path_, errno);
  }
  durable_ = bytes_;
  return {};
}

result<void> JournalFile::replace(const std::vector<JournalRecord>& records) {
  std::vector<std::uint8_t> content;
  // The file is found only once all of it is durable, so each frame may say that what lies before it is.
  for (const auto& record : records)
    add_frame(content, record, sizeof file_magic + content.size());
  TROUPE_ASSIGN(fd_, put_file(path_, content));
  buffer_.clear();
  bytes_ = durable_ = sizeof file_magic + content.size();
  return {};
}

} // namespace troupe
