// The registered state behind troupe::Model: every tensor with its memory, and how gradients and statistics
// lie in a leaf of the reduction. Filled by Trainer::build, then closed; from there on names, shapes and
// addresses are fixed. Owned by the engine, trainer's thread only. Nothing here knows of steps, workers or
// time.
#pragma once

#include "checkpoint/layout.hpp"
#include "troupe/config.hpp"
#include "troupe/model.hpp"

#include <memory>
#include <unordered_map>
#include <vector>

namespace troupe {

enum class StateKind : std::uint8_t { parameter, buffer, scalar, virtual_state };

/// 64-byte aligned memory that never moves.
class StateMemory {
public:
  explicit StateMemory(std::size_t bytes);
  std::byte* data() const { return data_.get(); }

private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
};

struct StateEntry {
  std::string name;
  StateKind kind;
  DType dtype;
  Shape shape;      ///< of the whole piece; virtual_state: [V, item shape...]
  Shape item_shape; ///< what the user named
  StateMemory memory;
  std::size_t item_bytes;
  Tensor tensor{};

  std::size_t bytes() const { return tensor.bytes(); }
  std::span<std::byte> span() const { return {tensor.data(), tensor.bytes()}; }
};

/// A run of floats in a leaf: the gradient of a parameter, or a statistic.
struct LeafPart {
  std::string name;
  Shape shape;
  std::size_t offset = 0; ///< floats, a multiple of 16
  std::size_t count = 0;
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using NameIndex = std::unordered_map<std::string, std::size_t, NameHash, std::equal_to<>>;

class ModelState final : public Model {
public:
  ModelState(std::uint64_t seed, std::uint32_t virtual_workers);

  Tensor parameter(std::string name, Shape shape, Initialiser init, DType dtype, Place place) override;
  Tensor buffer(std::string name, Shape shape, Initialiser init, DType dtype, Place place) override;
  Scalar scalar(std::string name, double initial) override;
  Tensor sharded(std::string name, Shape shape, Initialiser init, DType dtype, Place place) override;
  void virtual_state(std::string name, Shape shape, Initialiser init, DType dtype, Place place) override;
  void statistic(std::string name, Shape shape) override;
  Tensor tensor(std::string_view name) override;
  ConstTensor tensor(std::string_view name) const override;
  ConstTensor virtual_state_of(std::string_view name, std::uint32_t virtual_worker) const override;

  /// Ends registration. Throws std::invalid_argument when no parameter was registered.
  void close();

  const std::vector<std::unique_ptr<StateEntry>>& entries() const {
    return entries_;
  }                                                                       ///< by name, once closed
  const std::vector<LeafPart>& gradients() const { return gradients_; }   ///< in the order of registration
  const std::vector<LeafPart>& statistics() const { return statistics_; } ///< behind the gradients
  const NameIndex& gradient_index() const { return gradient_index_; }
  const NameIndex& statistic_index() const { return statistic_index_; }
  std::size_t gradient_floats() const { return gradient_floats_; }
  std::size_t leaf_floats() const { return leaf_floats_; }

  /// The virtual states, in name order, and the bytes one virtual worker's next values take (each 64-byte
  /// aligned).
  struct VirtualPart {
    StateEntry* entry = nullptr;
    std::size_t offset = 0;
  };
  const std::vector<VirtualPart>& virtual_parts() const { return virtual_parts_; }
  std::size_t virtual_bytes() const { return virtual_bytes_; }
  std::uint32_t virtual_workers() const { return virtual_workers_; }

  /// Pieces of a version, without the runtime's own.
  std::vector<checkpoint::PieceSpec> pieces() const;
  /// XXH3 over names, kinds, dtypes, shapes and the layout of a leaf.
  std::uint64_t layout_hash() const;

private:
  StateEntry& add(std::string name, StateKind kind, DType dtype, Shape item_shape, Place place);
  const StateEntry& find(std::string_view name) const;
  void check_name(const std::string& name, const Shape& shape) const;
  void initialise(StateEntry& entry, const Initialiser& init);

  std::uint64_t seed_;
  std::uint32_t virtual_workers_;
  bool closed_ = false;
  std::vector<std::unique_ptr<StateEntry>> entries_;
  NameIndex index_; ///< name -> entries_, kept right by close()
  std::vector<LeafPart> gradients_;
  std::vector<LeafPart> statistics_;
  NameIndex gradient_index_;
  NameIndex statistic_index_;
  std::vector<VirtualPart> virtual_parts_;
  std::size_t virtual_bytes_ = 0;
  std::size_t gradient_floats_ = 0;
  std::size_t leaf_floats_ = 0;
};

} // namespace troupe
