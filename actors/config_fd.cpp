#include "actors/config_fd.hpp"

#include "actors/codec.hpp"
#include "actors/schemas.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

result<UniqueFd> config_memfd(const JobConfig& config) {
  const auto bytes = encode<schema::JobConfig>(config);
  UniqueFd fd{::memfd_create("troupe-job", MFD_ALLOW_SEALING)};
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return fail_errno(Errc::exhausted, "keep the job's configuration in memory", errno);
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return fd;
}

result<JobConfig> read_config_fd(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size <= 0 || info.st_size > (4 << 20))
    return fail(Errc::invalid, "no job configuration on the descriptor given");
  Bytes bytes(static_cast<std::size_t>(info.st_size));
  if (::pread(fd, bytes.data(), bytes.size(), 0) != info.st_size)
    return fail_errno(Errc::invalid, "read the job configuration", errno);
  return decode<schema::JobConfig>(bytes);
}

} // namespace troupe
