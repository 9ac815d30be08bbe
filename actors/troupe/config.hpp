// The [trainer] table of the job file as the module reads it. Each getter marks its key as known; a key that is in
// the file but never read in `build` is an error that suggests the nearest known one. Errors name file and line.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Thrown for a value the module rejects; the runtime prints it as a start-up error and never retries.
class ConfigError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
  ~ConfigError() override; // this and its like below live in libtroupe, so that type and vtable exist once
};

/// Thrown by a part of the interface that this version does not have yet.
class NotYet : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
  ~NotYet() override;
};

class Config {
public:
  virtual ~Config();
  virtual bool has(std::string_view key) const = 0;
  virtual std::int64_t integer(std::string_view key, std::int64_t fallback) const = 0;
  virtual double number(std::string_view key, double fallback) const = 0;
  virtual bool boolean(std::string_view key, bool fallback) const = 0;
  virtual std::string text(std::string_view key, std::string fallback) const = 0;
  virtual std::vector<std::int64_t> integers(std::string_view key, std::vector<std::int64_t> fallback) const = 0;
  virtual std::vector<double> numbers(std::string_view key, std::vector<double> fallback) const = 0;
  virtual std::vector<std::string> texts(std::string_view key, std::vector<std::string> fallback) const = 0;
  /// "digits.toml:19" for messages.
  virtual std::string where(std::string_view key) const = 0;
  virtual std::uint64_t seed() const = 0;               ///< [job] seed
  virtual std::uint32_t virtual_workers() const = 0;    ///< [workers] virtual
  virtual std::uint64_t micro_batch() const = 0;        ///< samples per virtual worker and step
};

} // namespace troupe
