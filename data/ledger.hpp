// Counts how often each sample was handed to `gradient` of a committed step. Lives in a byte image of fixed size that
// the caller owns, so it is a replicated piece of the state: copied, compared and rolled back with the weights. The
// same calls give the same bytes on every worker. A view: no allocation after bind(), one thread.
//
// The image: header, histogram of finished epochs, a table of repeats, and one bitmap per epoch in flight (epoch e in
// bitmap e % window). Invariants: epochs below `first` are in the histogram and nowhere else; epochs in
// [first, first + window) are in the bitmaps; an id outside the rows or the window is counted as a stray.
#pragma once

#include "base/errors.hpp"
#include "troupe/ids.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::data {

class Ledger {
public:
  static constexpr std::size_t max_count = 8;     ///< histogram cells 0 … 7, the last one means "7 or more"
  static constexpr std::size_t max_repeats = 512; ///< distinct samples of epochs in flight counted more than once

  /// Size of the image; a multiple of 64. `window` from BatchPlan::epochs_in_flight().
  static std::size_t image_bytes(std::uint64_t rows, std::uint64_t window);
  /// Writes an empty ledger. `image` is 8-byte aligned and image_bytes() long.
  static Ledger format(std::span<std::byte> image, std::uint64_t rows, std::uint64_t window);
  /// Views an image that format() wrote, here or elsewhere. Errc::corrupt when it is not one for these rows.
  static result<Ledger> bind(std::span<std::byte> image, std::uint64_t rows, std::uint64_t window);
  /// Views an image whose rows and window are not known here, such as one in another process's memory.
  static result<Ledger> open(std::span<std::byte> image);

  /// One sample of `epoch` was trained in the step being committed.
  void add(std::uint64_t epoch, SampleId id);
  /// The samples at positions first, first + 1, … of the global order.
  void add_run(std::uint64_t first_position, std::span<const SampleId> ids);
  /// After all add() of a step: epochs that end at or before `position` move to the histogram.
  void advance(std::uint64_t position);

  /// Samples of finished epochs by how often they were trained.
  std::array<std::uint64_t, max_count> histogram() const;
  std::uint64_t finished_epochs() const;
  std::uint64_t added() const;   ///< all add() calls, strays included
  std::uint64_t strays() const;  ///< ids or epochs out of range, and repeats that the table had no room for
  std::uint64_t rows() const;
  /// How often a sample of an epoch in flight was trained so far.
  std::uint64_t count(std::uint64_t epoch, SampleId id) const;

private:
  struct Header;
  struct Repeat;
  explicit Ledger(std::byte* image) : image_(image) {}
  Header& header() const;
  Repeat* repeats() const;
  void add_all(std::uint64_t epoch, std::span<const SampleId> ids);
  std::uint64_t* bitmap(std::uint64_t epoch) const;
  void repeat(std::uint64_t epoch, SampleId id);
  void finish_first();

  std::byte* image_;
};

} // namespace troupe::data
