// Chaos sentences (docs/chaos.md) into FaultSpecs and back. What the design's vocabulary has and this version
// lacks is told apart from nonsense; both errors show the sentence with a caret and the nearest form. Pure
// but for reading a file.
//
//   kill worker N at step S [in gradient|reduce|update|snapshot|drain|restore]
//   kill worker every DURATION
//   stop worker N at step S for DURATION
//   slow worker N xFACTOR from step A to B
//   nan worker N at step S
#pragma once

#include "actors/kernel/fault_spec.hpp"
#include "cli/diagnostic.hpp"

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// `file` and `line` are for messages.
tl::expected<FaultSpec, Diagnostic> parse_fault(std::string_view sentence, std::string_view file = "--chaos",
                                                std::uint32_t line = 0);

/// Arguments of --chaos: each a sentence, or the name of a file with one sentence a line (blank lines and
/// what follows a '#' are skipped). Ids count up from 0 in the order given.
tl::expected<std::vector<FaultSpec>, Diagnostic> read_faults(const std::vector<std::string>& arguments);

/// The canonical sentence; parse_fault(format_fault(f)) is f.
std::string format_fault(const FaultSpec& fault);

} // namespace troupe
