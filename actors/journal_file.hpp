// An append-only file of JournalRecords: the journal of decisions, and the event log. A frame is {length, XXH3-64 of the
// body, body}, where the body is one encoded record. A frame that is cut short at the end of the file was being written
// when the writer died and is cut off; anything else that does not fit is an error that says where. One writer at a
// time (a lock on the file that ends with its process), one thread. After an error of the disk the file can still be
// read up to the last whole frame.
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
  /// Opens or creates for appending, with its directory. Errc::fenced: another process holds it; Errc::corrupt: a bad
  /// frame before the end.
  static result<JournalFile> open(const std::string& path);
  /// Reads a file from its start; also one that is being written. Stops early when `take` returns false.
  static result<void> read(const std::string& path, const std::function<bool(JournalRecord&&)>& take);

  JournalFile(JournalFile&&) = default;
  JournalFile& operator=(JournalFile&&) = default;

  Term last_term() const { return last_term_; }
  std::uint64_t last_sequence() const { return last_sequence_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Buffers the record; flush() makes it visible to readers, sync() durable.
  void append(const JournalRecord& record);
  result<void> flush();
  result<void> sync();
  /// Replaces the whole content: a new file, synced, renamed over the old one, and its directory synced.
  result<void> replace(const std::vector<JournalRecord>& records);

private:
  JournalFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  result<void> load();

  std::string path_;
  UniqueFd fd_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t bytes_ = 0;
  Term last_term_;
  std::uint64_t last_sequence_ = 0;
};

} // namespace troupe
