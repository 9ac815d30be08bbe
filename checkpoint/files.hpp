// Checked file calls for this room: every byte is written and read in full or the error names the file. Temporary
// names carry who writes them, so that the files of a dead writer can be told from those of a living one. Plain
// functions, any thread.
#pragma once

#include "base/errors.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::checkpoint {

result<UniqueFd> open_for_reading(const std::string& path);
/// New file, must not exist.
result<UniqueFd> create_file(const std::string& path);
result<void> write_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset, const std::string& path);
/// Errc::corrupt when the file ends before.
result<void> read_at(int fd, std::span<std::byte> bytes, std::uint64_t offset, const std::string& path);
/// Errc::corrupt when it is larger than `limit`.
result<std::vector<std::byte>> read_whole(const std::string& path, std::uint64_t limit);
result<std::uint64_t> file_size(int fd, const std::string& path);
/// Space for the whole file, so that a full disk shows before anything is written.
result<void> reserve(int fd, std::uint64_t bytes, const std::string& path);
result<void> sync_file(int fd, const std::string& path);
result<void> sync_folder(const std::string& path);
result<void> rename_file(const std::string& from, const std::string& to);
/// A file that is not there is removed already.
result<void> remove_file(const std::string& path);
result<void> make_folders(const std::string& path);
result<std::vector<std::string>> names_in(const std::string& folder);

/// ".tmp-<host and pid space>-<process>-<name>" for this process.
std::string temporary_name(std::string_view name);
struct TemporaryName {
  std::string name;      ///< the final one
  bool abandoned = false; ///< its writer ran on this host and is dead
};
/// nullopt for any other file.
std::optional<TemporaryName> parse_temporary_name(std::string_view file);

} // namespace troupe::checkpoint
