#include "checkpoint/hdf5_memory.hpp"

#include <hdf5.h>

#include <cerrno>
#include <unistd.h>

namespace troupe::checkpoint {

namespace {

struct MemoryFile {
  H5FD_t base; // first: HDF5 knows no more of it
  int fd;
  haddr_t end_of_allocation;
  haddr_t end_of_file;
};

MemoryFile& of(H5FD_t* file) { return *reinterpret_cast<MemoryFile*>(file); }
const MemoryFile& of(const H5FD_t* file) { return *reinterpret_cast<const MemoryFile*>(file); }

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const MemoryFileInfo*>(H5Pget_driver_info(access));
  if (info == nullptr)
    return nullptr;
  return reinterpret_cast<H5FD_t*>(new MemoryFile{{}, info->fd, 0, 0});
}

herr_t close_file(H5FD_t* file) {
  delete &of(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_allocation(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_allocation; }

herr_t set_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file).end_of_allocation = address;
  return 0;
}

haddr_t get_end(const H5FD_t* file, H5FD_mem_t) { return of(file).end_of_file; }

herr_t read_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  auto* to = static_cast<char*>(buffer);
  for (std::size_t at = 0; at < size;) {
    const auto n = ::pread(of(file).fd, to + at, size - at, static_cast<off_t>(address + at));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    if (n == 0) { // past the end: zeros, as HDF5 expects
      for (; at < size; ++at)
        to[at] = 0;
      break;
    }
    at += static_cast<std::size_t>(n);
  }
  return 0;
}

herr_t write_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  const auto* from = static_cast<const char*>(buffer);
  for (std::size_t at = 0; at < size;) {
    const auto n = ::pwrite(of(file).fd, from + at, size - at, static_cast<off_t>(address + at));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return -1;
    at += static_cast<std::size_t>(n);
  }
  if (of(file).end_of_file < address + size)
    of(file).end_of_file = address + size;
  return 0;
}

herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  auto& f = of(file);
  if (f.end_of_file == f.end_of_allocation)
    return 0;
  if (::ftruncate(f.fd, static_cast<off_t>(f.end_of_allocation)) != 0)
    return -1;
  f.end_of_file = f.end_of_allocation;
  return 0;
}

hid_t register_driver() {
  static const auto driver = [] {
    H5FD_class_t c{};
    c.name = "troupe-memory-file";
    c.maxaddr = (haddr_t{1} << 62) - 1;
    c.fc_degree = H5F_CLOSE_WEAK;
    c.fapl_size = sizeof(MemoryFileInfo);
    c.open = open_file;
    c.close = close_file;
    c.query = query;
    c.get_eoa = get_allocation;
    c.set_eoa = set_allocation;
    c.get_eof = get_end;
    c.read = read_bytes;
    c.write = write_bytes;
    c.truncate = truncate_file;
    const H5FD_mem_t kinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    for (int i = 0; i < H5FD_MEM_NTYPES; ++i)
      c.fl_map[i] = kinds[i];
    return c;
  }();
  return H5FDregister(&driver);
}

} // namespace

std::int64_t memory_file_driver() {
  static const hid_t id = register_driver();
  return id;
}

} // namespace troupe::checkpoint
