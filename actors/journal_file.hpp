// An append-only file of JournalRecords: the journal of decisions, and the event log. After a file header come frames
// {length, what was durable, XXH3-64, body}; a body is one encoded record. One writer at a time (a lock that ends with
// its process), one thread; readers may read along. Invariants
//  - after sync() returns well, every record appended before it survives a power cut;
//  - open() cuts off what a dying writer left half written, and nothing else: a bad frame before which a later frame
//    knows everything to have been durable is Errc::corrupt that says where;
//  - an error of the disk leaves whole frames only, and what could not be written stays buffered for the next try;
//    after a failed fdatasync nobody knows what is on disk, so every later call fails.
#pragma once

#include "actors/journal_types.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe {

class JournalFile {
public:
  /// Opens or creates for appending, with its directory. Errc::fenced: another process holds it; Errc::corrupt: not a
  /// journal, or a bad frame among durable ones; Errc::exhausted: the disk.
  static result<JournalFile> open(const std::string& path);
  /// Reads a file from its start; also one that is being written. Stops early when `take` returns false. A torn end is
  /// no error, a bad frame with whole ones behind it is.
  static result<void> read(const std::string& path, const std::function<bool(JournalRecord&&)>& take);

  JournalFile(JournalFile&&) = default;
  JournalFile& operator=(JournalFile&&) = default;

  Term last_term() const { return last_term_; }
  std::uint64_t last_sequence() const { return last_sequence_; }
  std::uint64_t bytes() const { return bytes_; }         ///< in the file, whole frames
  std::uint64_t cut_bytes() const { return cut_bytes_; } ///< torn end that open() cut off

  /// Buffers the record; flush() makes it visible to readers, sync() durable.
  void append(const JournalRecord& record);
  result<void> flush();
  result<void> sync();
  /// Replaces the whole content: a new file, synced, renamed over the old one, and its directory synced. What is
  /// buffered is dropped. On failure the old content stays.
  result<void> replace(const std::vector<JournalRecord>& records);

private:
  JournalFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  result<void> load();

  std::string path_;
  UniqueFd fd_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t bytes_ = 0;
  std::uint64_t durable_ = 0; ///< bytes_ at the last sync
  std::uint64_t cut_bytes_ = 0;
  bool broken_ = false;       ///< a sync failed
  Term last_term_;
  std::uint64_t last_sequence_ = 0;
};

} // namespace troupe
