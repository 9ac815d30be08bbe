#include "checkpoint/hdf5_file.hpp"

#include "checkpoint/hdf5_memory.hpp"

#include <hdf5.h>

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <sys/stat.h>

namespace troupe::checkpoint {

namespace {

/// Owner of one HDF5 identifier.
class Handle {
public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close how) : id_(id), close_(how) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }
  bool close() {
    const bool right = id_ < 0 || close_(id_) >= 0;
    id_ = -1;
    return right;
  }
  operator hid_t() const { return id_; }
  bool ok() const { return id_ >= 0; }

private:
  hid_t id_;
  Close close_;
};

tl::unexpected<Error> broken(const std::string& what) {
  return fail(Errc::exhausted, "HDF5 could not " + what);
}

// A 16-bit float: sign bit 15, then exponent, then mantissa.
hid_t half_type(std::size_t exponent_bits, std::size_t bias) {
  const auto type = H5Tcopy(H5T_IEEE_F32LE);
  const auto mantissa = 15 - exponent_bits;
  if (type < 0 || H5Tset_fields(type, 15, mantissa, exponent_bits, 0, mantissa) < 0 || H5Tset_size(type, 2) < 0 ||
      H5Tset_ebias(type, bias) < 0)
    return -1;
  return type;
}

hid_t make_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return H5Tcopy(H5T_IEEE_F32LE);
    case DType::f64: return H5Tcopy(H5T_IEEE_F64LE);
    case DType::f16: return half_type(5, 15);
    case DType::bf16: return half_type(8, 127);
    case DType::i32: return H5Tcopy(H5T_STD_I32LE);
    case DType::i64: return H5Tcopy(H5T_STD_I64LE);
    case DType::u8: return H5Tcopy(H5T_STD_U8LE);
  }
  return -1;
}

bool put_attribute(hid_t object, const std::string& name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  if (!type.ok() || !space.ok() || H5Tset_size(type, std::max<std::size_t>(1, text.size())) < 0 ||
      H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
    return false;
  const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute.ok() && H5Awrite(attribute, type, text.c_str()) >= 0;
}

bool put_attribute(hid_t object, const std::string& name, std::uint64_t number) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate2(object, name.c_str(), H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute.ok() && H5Awrite(attribute, H5T_NATIVE_UINT64, &number) >= 0;
}

bool plain_components(const std::string& name) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const auto end = std::min(name.find('/', begin), name.size());
    const auto part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      return false;
    begin = end + 1;
  }
  return true;
}

std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name)
    out += c == '/' ? "%2F" : c == '.' ? "%2E" : c == '%' ? "%25" : std::string(1, c);
  return out;
}

// Version 1.10 file format: its metadata carries checksums, and a file whose writer died does not open.
hid_t access_list(int fd) {
  const MemoryFileInfo info{fd};
  const auto list = H5Pcreate(H5P_FILE_ACCESS);
  if (list < 0 || H5Pset_driver(list, memory_file_driver(), &info) < 0 ||
      H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_LATEST) < 0 ||
      H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) < 0 || H5Pset_alignment(list, 64 << 10, 4096) < 0)
    return -1;
  return list;
}

hid_t dataset_list() {
  const auto list = H5Pcreate(H5P_DATASET_CREATE);
  if (list < 0 || H5Pset_layout(list, H5D_CONTIGUOUS) < 0 || H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) < 0 || H5Pset_obj_track_times(list, false) < 0)
    return -1;
  return list;
}

result<std::uint64_t> add_dataset(hid_t file, const PieceSpec& spec, const std::string& path) {
  const Handle type(make_type(spec.dtype), H5Tclose);
  const std::vector<hsize_t> sizes(spec.shape.begin(), spec.shape.end());
  const Handle space(sizes.empty() ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  const Handle creation(dataset_list(), H5Pclose);
  if (!type.ok() || !space.ok() || !links.ok() || !creation.ok() || H5Pset_create_intermediate_group(links, 1) < 0 ||
      H5Pset_char_encoding(links, H5T_CSET_UTF8) < 0)
    return broken("describe dataset \"" + path + '"');
  const Handle dataset(H5Dcreate2(file, path.c_str(), type, space, links, creation, H5P_DEFAULT), H5Dclose);
  if (!dataset.ok())
    return broken("create dataset \"" + path + '"');
  const bool sixteen = spec.dtype == DType::f16 || spec.dtype == DType::bf16;
  const std::string dtype = spec.dtype == DType::f16 ? "float16" : "bfloat16";
  if ((sixteen && !put_attribute(dataset, "dtype", dtype)) ||
      (path != spec.name && !put_attribute(dataset, "name", spec.name)))
    return broken("describe dataset \"" + path + '"');
  if (spec.bytes() == 0)
    return 0;
  const auto offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF)
    return broken("place dataset \"" + path + '"');
  return offset;
}

} // namespace

std::vector<std::string> dataset_paths(const BankLayout& layout) {
  std::vector<std::string> paths;
  for (const auto& spec : layout.pieces()) {
    const auto group = spec.name + '/';
    const auto next = std::lower_bound(
      layout.pieces().begin(), layout.pieces().end(), group,
      [](const PieceSpec& piece, const std::string& wanted) { return piece.name < wanted; });
    const bool is_group = next != layout.pieces().end() && next->name.compare(0, group.size(), group) == 0;
    paths.push_back(is_group || !plain_components(spec.name) ? escaped(spec.name) : spec.name);
  }
  // An escaped name may meet a plain one or a group; then everything is escaped, which is one to one.
  auto sorted = paths;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto next = std::lower_bound(sorted.begin(), sorted.end(), sorted[i] + '/');
    const bool is_group = next != sorted.end() && next->compare(0, sorted[i].size() + 1, sorted[i] + '/') == 0;
    if (is_group || (i > 0 && sorted[i - 1] == sorted[i])) {
      for (std::size_t n = 0; n < paths.size(); ++n)
        paths[n] = escaped(layout.pieces()[n].name);
      break;
    }
  }
  return paths;
}

result<Hdf5Skeleton> make_hdf5_skeleton(const BankLayout& layout, const std::vector<Hdf5Attribute>& attributes) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // per thread: errors are returned, not printed
  Hdf5Skeleton skeleton;
  skeleton.file = UniqueFd(::memfd_create("troupe-skeleton", MFD_CLOEXEC));
  if (!skeleton.file)
    return fail_errno(Errc::exhausted, "make a memory file", errno);
  const Handle access(access_list(skeleton.file.get()), H5Pclose);
  if (!access.ok())
    return broken("start");
  Handle file(H5Fcreate("troupe-skeleton", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  if (!file.ok())
    return broken("create a file in memory");
  skeleton.datasets = dataset_paths(layout);
  for (std::size_t i = 0; i < layout.size(); ++i) {
    TROUPE_ASSIGN(const auto offset, add_dataset(file, layout.pieces()[i], skeleton.datasets[i]));
    skeleton.offsets.push_back(offset);
  }
  for (const auto& [name, value] : attributes)
    if (!std::visit([&, &key = name](const auto& v) { return put_attribute(file, key, v); }, value))
      return broken("write attribute \"" + name + '"');
  if (!file.close())
    return broken("close a file in memory");
  struct stat status {};
  if (::fstat(skeleton.file.get(), &status) != 0)
    return fail_errno(Errc::exhausted, "size of a memory file", errno);
  skeleton.bytes = static_cast<std::uint64_t>(status.st_size);
  return skeleton;
}

} // namespace troupe::checkpoint
