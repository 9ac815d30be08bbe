#include "cli/terminal.hpp"

#include <cerrno>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (is_set(name)) {
      const std::string_view value = std::getenv(name);
      return value.find("UTF-8") != std::string_view::npos || value.find("utf8") != std::string_view::npos ||
             value.find("UTF8") != std::string_view::npos;
    }
  return false;
}

} // namespace

TerminalFacts terminal_facts(int fd) {
  TerminalFacts facts;
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  facts.terminal = ::isatty(fd) == 1 && !dumb;
  facts.style.colour = facts.terminal && !is_set("NO_COLOR");
  // Piped text is read by programs and editors, which know UTF-8 whatever the locale says.
  facts.style.utf8 = !facts.terminal || utf8_locale();
  winsize size{};
  if (facts.terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    facts.style.width = size.ws_col;
  return facts;
}

Screen::Screen(int fd, TerminalFacts facts, bool quiet) : fd_(fd), facts_(facts), quiet_(quiet) {}

Screen::~Screen() {
  erase();
}

void Screen::progress(const RunView& view, Time now) {
  if (quiet_)
    return;
  // Events tell of short interruptions; a state that may last is told at once, and that it is over.
  const auto lasting = [](const std::string& state) { return state == "waiting" || state == "paused"; };
  const bool changed = view.state != last_state_ && (lasting(view.state) || lasting(last_state_));
  if (any_ && !(changed && !facts_.terminal) &&
      now - last_ < (facts_.terminal ? Duration(100ms) : Duration(10s)))
    return;
  if (!facts_.terminal && !any_) { // the first line after ten seconds, not at once
    any_ = true;
    last_ = now;
    last_state_ = view.state;
    return;
  }
  any_ = true;
  last_ = now;
  last_state_ = view.state;
  if (!facts_.terminal) {
    write(progress_line(view, facts_.style) + "\n");
    return;
  }
  winsize size{};
  if (::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
    facts_.style.width = size.ws_col - 1u;
  line_ = progress_line(view, facts_.style);
  write("\r\x1b[K" + line_);
  drawn_ = true;
}

void Screen::event(std::string_view line) {
  if (quiet_)
    return;
  std::string text;
  if (drawn_)
    text.append("\r\x1b[K");
  text.append(line).append("\n");
  if (drawn_)
    text.append(line_);
  write(text);
}

void Screen::final(std::string_view text) {
  erase();
  write(text);
}

void Screen::erase() {
  if (drawn_)
    write("\r\x1b[K");
  drawn_ = false;
}

void Screen::write(std::string_view text) const {
  while (!text.empty()) {
    const auto n = ::write(fd_, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

} // namespace troupe
