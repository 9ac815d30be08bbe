// An HDF5 driver whose file is a memory file of ours: HDF5 writes its few bytes there, and what it only allocates (the
// pieces) stays a hole, so that a skeleton of a terabyte takes kilobytes. Private to hdf5_file.cpp; calls come from
// inside HDF5, under its lock.
#pragma once

#include <cstdint>

namespace troupe::checkpoint {

/// What H5Pset_driver() takes as driver info.
struct MemoryFileInfo {
  int fd = -1; ///< stays the caller's
};

/// Identifier (hid_t) of the driver, registered at the first call; negative when HDF5 refuses it.
std::int64_t memory_file_driver();

} // namespace troupe::checkpoint
