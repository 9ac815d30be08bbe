#include "actors/journal_file.hpp"

#include "actors/codec.hpp"
#include "actors/schemas.hpp"
#include "base/checksum.hpp"

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

constexpr std::size_t header_bytes = 12;
constexpr std::uint32_t max_record_bytes = 64 << 20;

struct Frame {
  std::uint32_t length = 0;
  std::uint64_t check = 0;
};

Frame frame_at(const std::uint8_t* p) {
  Frame f;
  std::memcpy(&f.length, p, sizeof f.length);
  std::memcpy(&f.check, p + sizeof f.length, sizeof f.check);
  return f;
}

void add_frame(std::vector<std::uint8_t>& out, const Bytes& body) {
  const auto length = static_cast<std::uint32_t>(body.size());
  const auto check = checksum(body.data(), body.size());
  const auto at = out.size();
  out.resize(at + header_bytes + body.size());
  std::memcpy(out.data() + at, &length, sizeof length);
  std::memcpy(out.data() + at + sizeof length, &check, sizeof check);
  std::memcpy(out.data() + at + header_bytes, body.data(), body.size());
}

result<void> write_all(int fd, const std::uint8_t* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const auto n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return fail_errno(Errc::exhausted, "write " + path, errno);
    data += n;
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

// Calls take for each whole frame; returns where the last one ends. A bad frame that is not the torn last one fails.
result<std::uint64_t> scan(int fd, const std::string& path, const std::function<bool(JournalRecord&&)>& take) {
  struct stat info{};
  if (::fstat(fd, &info) != 0)
    return fail_errno(Errc::corrupt, "look at " + path, errno);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  std::uint64_t at = 0;
  std::vector<std::uint8_t> body;
  while (size - at >= header_bytes) {
    std::uint8_t header[header_bytes];
    if (::pread(fd, header, header_bytes, static_cast<off_t>(at)) != static_cast<ssize_t>(header_bytes))
      return fail_errno(Errc::corrupt, "read " + path, errno);
    const auto frame = frame_at(header);
    const auto end = at + header_bytes + frame.length;
    if (frame.length > max_record_bytes)
      return fail(Errc::corrupt, fmt::format("{}: no record at byte {}", path, at));
    if (end > size)
      break; // torn
    body.resize(frame.length);
    if (::pread(fd, body.data(), body.size(), static_cast<off_t>(at + header_bytes)) != static_cast<ssize_t>(body.size()))
      return fail_errno(Errc::corrupt, "read " + path, errno);
    if (checksum(body.data(), body.size()) != frame.check) {
      if (end == size)
        break; // the last one, half on disk
      return fail(Errc::corrupt, fmt::format("{}: wrong checksum of the record at byte {}", path, at));
    }
    auto record = decode<schema::JournalRecord>(body, DecodeLimits{.bytes = max_record_bytes});
    if (!record)
      return fail(Errc::corrupt, fmt::format("{}: record at byte {}: {}", path, at, record.error().context));
    at = end;
    if (!take(std::move(*record)))
      break;
  }
  return at;
}

} // namespace

result<JournalFile> JournalFile::open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  UniqueFd fd{::open(path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644)};
  if (!fd)
    return fail_errno(Errc::exhausted, "open " + path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::fenced, path + " is in use by another master");
  JournalFile file(path, std::move(fd));
  TROUPE_TRY(file.load());
  TROUPE_TRY(sync_directory(path));
  return file;
}

result<void> JournalFile::load() {
  TROUPE_ASSIGN(const auto end, scan(fd_.get(), path_, [this](JournalRecord&& record) {
                  last_term_ = std::max(last_term_, record.term);
                  last_sequence_ = std::max(last_sequence_, record.sequence);
                  return true;
                }));
  if (::ftruncate(fd_.get(), static_cast<off_t>(end)) != 0)
    return fail_errno(Errc::exhausted, "cut the torn end of " + path_, errno);
  bytes_ = end;
  return {};
}

result<void> JournalFile::read(const std::string& path, const std::function<bool(JournalRecord&&)>& take) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    return fail_errno(Errc::invalid, "open " + path, errno);
  TROUPE_TRY(scan(fd.get(), path, take));
  return {};
}

void JournalFile::append(const JournalRecord& record) {
  add_frame(buffer_, encode<schema::JournalRecord>(record));
  last_term_ = std::max(last_term_, record.term);
  last_sequence_ = std::max(last_sequence_, record.sequence);
}

result<void> JournalFile::flush() {
  if (buffer_.empty())
    return {};
  const auto written = write_all(fd_.get(), buffer_.data(), buffer_.size(), path_);
  if (!written) {
    // Back to the last whole frame, so that the file stays readable.
    [[maybe_unused]] auto cut = ::ftruncate(fd_.get(), static_cast<off_t>(bytes_));
    return written;
  }
  bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

result<void> JournalFile::sync() {
  TROUPE_TRY(flush());
  if (::fdatasync(fd_.get()) != 0)
    return fail_errno(Errc::exhausted, "sync " + path_, errno);
  return {};
}

result<void> JournalFile::replace(const std::vector<JournalRecord>& records) {
  const auto temporary = path_ + ".new";
  UniqueFd fd{::open(temporary.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_APPEND | O_CLOEXEC, 0644)};
  if (!fd)
    return fail_errno(Errc::exhausted, "open " + temporary, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail_errno(Errc::fenced, "lock " + temporary, errno);
  std::vector<std::uint8_t> content;
  for (const auto& record : records)
    add_frame(content, encode<schema::JournalRecord>(record));
  auto undo = [&](const Error& error) {
    ::unlink(temporary.c_str());
    return tl::make_unexpected(error);
  };
  if (auto written = write_all(fd.get(), content.data(), content.size(), temporary); !written)
    return undo(written.error());
  if (::fdatasync(fd.get()) != 0 || ::rename(temporary.c_str(), path_.c_str()) != 0)
    return undo(fail_errno(Errc::exhausted, "replace " + path_, errno).value());
  TROUPE_TRY(sync_directory(path_));
  fd_ = std::move(fd);
  buffer_.clear();
  bytes_ = content.size();
  return {};
}

} // namespace troupe
