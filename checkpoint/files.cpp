#include "checkpoint/files.hpp"

#include "base/checksum.hpp"
#include "checkpoint/process_identity.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::checkpoint {

namespace {

constexpr std::string_view prefix = ".tmp-";

tl::unexpected<Error> failed(std::string what, int error) {
  return fail_errno(error == ENOENT || error == ENOTDIR ? Errc::invalid : Errc::exhausted, std::move(what), error);
}

// Which host, boot and pid space a pid is of.
std::uint64_t host_mark() {
  Hasher hash;
  char text[128];
  if (const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)); fd)
    if (const auto n = ::read(fd.get(), text, sizeof text); n > 0)
      hash.add(std::string_view(text, static_cast<std::size_t>(n)));
  if (const auto n = ::readlink("/proc/self/ns/pid", text, sizeof text); n > 0)
    hash.add(std::string_view(text, static_cast<std::size_t>(n)));
  return hash.digest();
}

bool take_hex(std::string_view& text, std::uint64_t& value) {
  if (text.size() < 17 || text[16] != '-')
    return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 16, value, 16);
  const bool right = error == std::errc{} && end == text.data() + 16;
  text.remove_prefix(17);
  return right;
}

} // namespace

result<UniqueFd> open_for_reading(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return failed("open " + path, errno);
  return fd;
}

result<UniqueFd> create_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd)
    return failed("create " + path, errno);
  return fd;
}

result<void> write_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return failed("write " + path, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

result<void> read_at(int fd, std::span<std::byte> bytes, std::uint64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const auto n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_errno(Errc::corrupt, "read " + path, errno);
    if (n == 0)
      return fail(Errc::corrupt, path + ": cut short");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

result<std::uint64_t> file_size(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return failed("size of " + path, errno);
  if (!S_ISREG(status.st_mode))
    return fail(Errc::invalid, path + ": not a plain file");
  return static_cast<std::uint64_t>(status.st_size);
}

result<std::vector<std::byte>> read_whole(const std::string& path, std::uint64_t limit) {
  TROUPE_ASSIGN(const auto fd, open_for_reading(path));
  TROUPE_ASSIGN(const auto size, file_size(fd.get(), path));
  if (size > limit)
    return fail(Errc::corrupt, path + ": larger than " + std::to_string(limit) + " bytes");
  std::vector<std::byte> bytes(size);
  TROUPE_TRY(read_at(fd.get(), bytes, 0, path));
  return bytes;
}

result<void> reserve(int fd, std::uint64_t bytes, const std::string& path) {
  while (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EINTR)
      continue;
    if (errno != EOPNOTSUPP)
      return failed("reserve " + std::to_string(bytes) + " bytes for " + path, errno);
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) // a file system that cannot reserve
      return failed("size " + path, errno);
    break;
  }
  return {};
}

result<void> sync_file(int fd, const std::string& path) {
  if (::fsync(fd) != 0)
    return failed("fsync " + path, errno);
  return {};
}

result<void> sync_folder(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return failed("open folder " + path, errno);
  return sync_file(fd.get(), path);
}

result<void> rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return failed("rename " + from + " to " + to, errno);
  return {};
}

result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return failed("remove " + path, errno);
  return {};
}

result<void> make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const auto part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST)
      return failed("make folder " + part, errno);
    if (end == std::string::npos)
      break;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return failed("folder " + path, errno);
  return S_ISDIR(status.st_mode) ? result<void>{} : fail(Errc::invalid, path + ": not a folder");
}

result<std::vector<std::string>> names_in(const std::string& folder) {
  struct CloseFolder {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (!open)
    return failed("read folder " + folder, errno);
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(open.get()))
    names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string temporary_name(std::string_view name) {
  return std::string(prefix) + hex64(host_mark()) + '-' + hex64(own_identity()) + '-' + std::string(name);
}

std::optional<TemporaryName> parse_temporary_name(std::string_view file) {
  if (file.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  file.remove_prefix(prefix.size());
  std::uint64_t host = 0;
  std::uint64_t process = 0;
  if (!take_hex(file, host) || !take_hex(file, process))
    return std::nullopt;
  return TemporaryName{std::string(file), host == host_mark() && !process_alive(process)};
}

} // namespace troupe::checkpoint
