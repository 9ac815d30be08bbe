// The one place that calls HDF5. It makes the skeleton of a checkpoint file (all of HDF5's own bytes, with every
// dataset contiguous and allocated but not written) in a memory file, and says where the bytes of each piece belong.
// The caller writes skeleton and pieces with its own checked calls, so neither HDF5's global lock nor its unreported
// write errors are on the way of the state to the disk. Any thread; HDF5 itself serialises.
#pragma once

#include "base/errors.hpp"
#include "base/unique_fd.hpp"
#include "checkpoint/layout.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::checkpoint {

using Hdf5Attribute = std::pair<std::string, std::variant<std::uint64_t, std::string>>;

struct Hdf5Skeleton {
  UniqueFd file;                      ///< sparse: only HDF5's own bytes take memory
  std::uint64_t bytes = 0;            ///< of the finished file
  std::vector<std::uint64_t> offsets; ///< per piece of the layout; 0 when it has no bytes
  std::vector<std::string> datasets;  ///< paths in the file
};

/// `attributes` go to the root group. Errc::exhausted when memory or HDF5 fails.
result<Hdf5Skeleton> make_hdf5_skeleton(const BankLayout& layout, const std::vector<Hdf5Attribute>& attributes);

/// Dataset path of each piece: its name, with '/' as groups. Where HDF5 could not hold that (a name that is also the
/// group of another, "a//b", "."), slashes and dots are written as %2F and %2E.
std::vector<std::string> dataset_paths(const BankLayout& layout);

} // namespace troupe::checkpoint
