// Whether shared memory of a size can be had now. A memfd has no limit of its own: without this question a
// too large one would call the out-of-memory killer instead of failing. Looks at the host and at the control
// group of this process. A guess by nature; the allocation itself is still checked. Any thread.
#pragma once

#include "base/errors.hpp"

#include <cstdint>
#include <string_view>

namespace troupe {

/// errors: exhausted, with how much is wanted for `what` and how much there is.
result<void> check_memory_for(std::uint64_t bytes, std::string_view what);

} // namespace troupe
