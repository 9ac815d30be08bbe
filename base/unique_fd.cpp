#include "base/unique_fd.hpp"

#include <unistd.h>

namespace troupe {

void UniqueFd::reset() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
}

} // namespace troupe
