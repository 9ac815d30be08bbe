#include "actors/master/metrics_file.hpp"

#include "base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace troupe {

namespace {

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  return out + '"';
}

constexpr std::size_t longest_line = 64 << 10; // 64 metrics of 40 characters are far from it

// The step after the last one in a file of an earlier term. Half a line, of a master that was killed while it wrote, is
// cut off: the next one must not be appended to it.
Step next_step(int fd) {
  const auto size = ::lseek(fd, 0, SEEK_END);
  const auto from = std::max<off_t>(0, size - static_cast<off_t>(longest_line));
  std::string text(static_cast<std::size_t>(size - from), '\0');
  const auto n = ::pread(fd, text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  const auto whole = text.rfind('\n') + 1; // 0 without any
  if (whole < text.size() && ::ftruncate(fd, from + static_cast<off_t>(whole)) == 0)
    text.resize(whole);
  Step next;
  for (std::size_t at = 0; (at = text.find("{\"step\":", at)) != std::string::npos; ++at)
    next = std::max(next, Step{std::strtoull(text.c_str() + at + 8, nullptr, 10) + 1});
  return next;
}

} // namespace

std::string metrics_line(const ProgressRow& row) {
  auto line = fmt::format("{{\"step\":{},\"generation\":{}", row.step.value, row.generation.value);
  if (row.metrics.empty()) {
    const auto loss = row.loss_weight > 0 ? row.loss_sum / row.loss_weight : row.loss_sum;
    line += fmt::format(",\"epoch\":{},\"samples\":{},\"loss\":{},\"workers\":{}", row.epoch, row.samples,
                        number(loss), row.members);
    if (row.skipped != 0)
      line += ",\"skipped\":true";
  } else {
    line += ",\"evaluation\":{";
    for (std::size_t i = 0; i < row.metrics.size(); ++i)
      line +=
        fmt::format("{}{}:{}", i == 0 ? "" : ",", quoted(row.metrics[i].name), number(row.metrics[i].value));
    line += '}';
    if (row.best)
      line += ",\"best\":true";
  }
  return line + fmt::format(",\"time\":{:.3f}}}", static_cast<double>(row.at) / 1e9);
}

MetricsFile::MetricsFile(const std::string& path)
    : fd_(::open(path.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644)) {
  if (!fd_)
    error_ = fail_errno(Errc::exhausted, "open " + path, errno).value().context;
  else
    written_before_ = next_step(fd_.get());
}

void MetricsFile::add(const ProgressRow& row) {
  if (row.step < written_before_ || waiting_.size() >= most_waiting)
    return;
  auto& place = waiting_[{row.step, !row.metrics.empty()}];
  if (row.generation >= place.generation)
    place = row;
}

void MetricsFile::forget(Generation generation, Step from) {
  std::erase_if(waiting_, [&](const auto& entry) {
    return entry.first.first >= from && entry.second.generation < generation;
  });
}

void MetricsFile::write_before(Step before) {
  std::string text;
  while (!waiting_.empty() && waiting_.begin()->first.first < before) {
    text += metrics_line(waiting_.begin()->second) + '\n';
    waiting_.erase(waiting_.begin());
  }
  written_before_ = std::max(written_before_, before);
  if (!text.empty() && fd_)
    append(text);
}

void MetricsFile::append(const std::string& text) {
  const auto whole_lines = ::lseek(fd_.get(), 0, SEEK_END);
  ssize_t n = 0;
  do
    n = ::write(fd_.get(), text.data(), text.size());
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(text.size()))
    return;
  const auto why = n < 0 ? errno : ENOSPC;
  if (error_.empty())
    error_ = fail_errno(Errc::exhausted, "write metrics.jsonl", why).value().context;
  // The next batch must not be appended to half a line.
  if (n > 0 && (whole_lines < 0 || ::ftruncate(fd_.get(), whole_lines) != 0))
    fd_.reset();
}

} // namespace troupe
