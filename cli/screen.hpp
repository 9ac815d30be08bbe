// Everything a person sees of a run, as text: pure functions from plain values (actors/run_report.hpp), so
// that the words and their alignment are tested. Who writes it where is cli/terminal.hpp. Texts of several
// lines end with a newline; lines do not.
#pragma once

#include "actors/run_report.hpp"

#include <string>
#include <string_view>

namespace troupe {

struct ScreenStyle {
  bool colour = false;
  bool utf8 = true;      ///< else only ASCII
  std::size_t width = 0; ///< columns of the terminal; 0: as wide as it gets
};

/// digits  step 1,184/2,250 ▕███▌   ▏ 53%  612 steps/s  loss 0.0841  4 workers · gen 5 · 3 failures, 0 steps
/// lost  eta 2 s What does not fit into the width is left out, least important first.
std::string progress_line(const RunView& view, const ScreenStyle& style);

/// "14:02:07.412  TEXT", local time.
std::string event_line(std::int64_t wall_ns, std::string_view text, const ScreenStyle& style);
/// worker 2 (node 0, pid 41210, life 1) killed by signal 9 in reduce of step 604
std::string death_text(const FailureRow& failure);
/// generation 3: 4 workers, resumed at step 604 from worker 0 · 37 ms (detect 0.2  abort 0.6  …)
std::string formed_text(std::uint64_t generation, std::uint32_t workers, std::uint64_t step,
                        std::string_view source, const RecoveryTimes* times);

/// The last screen. `reference` is the model digest of an undisturbed run to compare with, or empty.
std::string summary_screen(const RunReport& report, std::string_view reference, const ScreenStyle& style);
/// The last screen of a run that failed: first cause first, and what to do.
std::string failure_screen(const RunReport& report, const ScreenStyle& style);
/// `troupe status`. `now_ns`: wall clock.
std::string status_screen(const StatusView& status, const ScreenStyle& style);

/// "worker 2 killed (signal 9) in restore".
std::string failure_summary(const FailureRow& failure);
/// "37 ms", "4.1 s", "2 min 5 s", "3 h 2 min"; 0.2 for parts of a millisecond.
std::string human_seconds(double seconds);

} // namespace troupe
