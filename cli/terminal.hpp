// Writes screens to a descriptor: on a terminal one line at the bottom is redrawn and events scroll above it;
// elsewhere plain lines, the progress once in ten seconds. Colours only on a terminal without NO_COLOR. One
// thread; the descriptor stays the caller's. A writer whose reader is gone (a closed pipe) goes on silently.
#pragma once

#include "base/clock.hpp"
#include "cli/screen.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// What the descriptor can show: terminal, width, NO_COLOR, TERM=dumb, a UTF-8 locale (from the environment).
struct TerminalFacts {
  bool terminal = false;
  ScreenStyle style;
};
TerminalFacts terminal_facts(int fd);

class Screen {
public:
  Screen(int fd, TerminalFacts facts, bool quiet = false);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  const ScreenStyle& style() const { return facts_.style; }
  /// May be called as often as there is news; writes at most 10 times a second, elsewhere once in ten seconds
  /// and when waiting or a pause begins or ends.
  void progress(const RunView& view, Time now);
  /// One line above the progress line.
  void event(std::string_view line);
  /// Removes the progress line and writes `text` as it is. Also when quiet.
  void final(std::string_view text);

private:
  void write(std::string_view text) const;
  void erase();

  int fd_;
  TerminalFacts facts_;
  bool quiet_;
  bool drawn_ = false; ///< a progress line stands at the cursor
  bool any_ = false;
  Time last_{};
  std::string last_state_;
  std::string line_;
};

} // namespace troupe
