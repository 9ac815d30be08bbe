#include "cli/chaos_spec.hpp"

#include "cli/values.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace troupe {

namespace {

struct Form {
  std::string_view verb;
  std::string_view target;
  std::string_view example;
  bool here; ///< in this version
};

// The whole vocabulary of the design; the first of a verb is the one suggested.
constexpr std::array forms = {
  Form{"kill", "worker", "kill worker 2 at step 50 in reduce", true},
  Form{"stop", "worker", "stop worker 1 at step 30 for 3s", true},
  Form{"slow", "worker", "slow worker 0 x3 from step 10 to 40", true},
  Form{"nan", "worker", "nan worker 2 at step 40", true},
  Form{"kill", "node", "kill node 1 at step 80", false},
  Form{"kill", "agent", "kill agent 0 at step 70", false},
  Form{"kill", "master", "kill master at step 60", true},
  Form{"partition", "node", "partition node 1 at step 30 for 5s", false},
  Form{"flip", "worker", "flip worker 1 at step 44", false},
  Form{"disk", "full", "disk full at step 20 for 5s", false},
  Form{"corrupt", "newest", "corrupt newest checkpoint at step 70", false},
};

struct Word {
  std::string_view text;
  std::uint32_t column = 0;
};

std::vector<Word> words_of(std::string_view sentence) {
  std::vector<Word> words;
  std::size_t at = 0;
  while (at < sentence.size()) {
    const auto start = sentence.find_first_not_of(" \t", at);
    if (start == std::string_view::npos)
      break;
    at = std::min(sentence.find_first_of(" \t", start), sentence.size());
    words.push_back({sentence.substr(start, at - start), static_cast<std::uint32_t>(start)});
  }
  return words;
}

/// Reads one sentence word by word. The first complaint is kept, and everything after it fails.
class Parser {
public:
  Parser(std::string_view sentence, std::string_view file, std::uint32_t line)
      : sentence_(sentence), words_(words_of(sentence)) {
    place_.file = file;
    place_.line = line;
    place_.source = sentence;
  }

  tl::expected<FaultSpec, Diagnostic> run() {
    if (form() && body() && end()) {
      fault_.text = format_fault(fault_);
      return fault_;
    }
    return tl::make_unexpected(place_);
  }

private:
  bool complain(std::size_t index, std::string message, std::string hint) {
    const bool past = index >= words_.size();
    place_.column = past ? static_cast<std::uint32_t>(sentence_.size()) : words_[index].column;
    place_.width = past ? 1 : static_cast<std::uint32_t>(words_[index].text.size());
    if (past && !sentence_.empty())
      place_.source += ' ';
    place_.message = std::move(message);
    place_.hint = std::move(hint);
    return false;
  }

  bool complain(std::string message) {
    return complain(next_, std::move(message),
                    fmt::format("as in: {}", form_ ? form_->example : forms[0].example));
  }

  std::string_view peek() const { return next_ < words_.size() ? words_[next_].text : std::string_view{}; }
  std::string shown() const { return peek().empty() ? "the end" : fmt::format("'{}'", peek()); }

  bool expect(std::string_view word) {
    if (peek() != word)
      return complain(fmt::format("expected '{}' here, not {}", word, shown()));
    ++next_;
    return true;
  }

  bool accept(std::string_view word) {
    if (peek() != word)
      return false;
    ++next_;
    return true;
  }

  bool number(std::string_view what, std::uint64_t most, std::uint64_t& value) {
    const auto read = parse_count(peek());
    if (!read || *read > most)
      return complain(fmt::format("expected {} here, not {}", what, shown()));
    value = *read;
    ++next_;
    return true;
  }

  bool step(Step& value) {
    std::uint64_t n = 0;
    if (!number("the number of a step", INT64_MAX, n))
      return false;
    value = Step{n};
    return true;
  }

  bool duration(Duration& value) {
    const auto read = parse_duration(peek());
    if (!read || *read <= Duration{0})
      return complain(fmt::format("expected a duration such as 3s here, not {}", shown()));
    value = *read;
    ++next_;
    return true;
  }

  bool factor(std::uint32_t& percent) {
    const auto text = peek();
    // In percent, read as hundredths with at most two digits after the point.
    const auto read =
      text.starts_with('x') ? parse_duration(fmt::format("{}us", text.substr(1))) : parse_duration("");
    const auto value = read ? read->count() / 10 : 0;
    if (!read || read->count() % 10 != 0 || value <= 100 || value > 100'000)
      return complain(
        fmt::format("expected a factor such as x3 here (more than x1, at most x1000), not {}", shown()));
    percent = static_cast<std::uint32_t>(value);
    ++next_;
    return true;
  }

  bool form() {
    if (words_.empty())
      return complain(0, "an empty chaos sentence", fmt::format("for example: {}", forms[0].example));
    std::vector<std::string> verbs, targets;
    for (const auto& f : forms) {
      verbs.emplace_back(f.verb);
      if (f.verb == words_[0].text)
        targets.emplace_back(f.target);
    }
    if (targets.empty()) {
      const auto hint = did_you_mean(words_[0].text, verbs);
      return complain(0, fmt::format("no chaos begins with '{}'", words_[0].text),
                      hint.empty() ? "there are kill, stop, slow, nan" : hint);
    }
    next_ = 1;
    for (const auto& f : forms)
      if (f.verb == words_[0].text && f.target == peek())
        form_ = &f;
    if (form_ == nullptr) {
      for (const auto& f : forms)
        if (f.verb == words_[0].text && form_ == nullptr)
          form_ = &f;
      const auto hint = did_you_mean(peek(), targets);
      if (!peek().empty() && !hint.empty())
        return complain(next_, fmt::format("'{}' has no target '{}'", words_[0].text, peek()), hint);
      return complain(
        fmt::format("expected '{}' after '{}', not {}", form_->target, words_[0].text, shown()));
    }
    if (!form_->here) {
      complain(0, fmt::format("'{} {}' is not in this version", form_->verb, form_->target),
               "there are kill worker, kill master, stop worker, slow worker, nan worker");
      place_.width = words_[1].column + static_cast<std::uint32_t>(words_[1].text.size()) - words_[0].column;
      return false;
    }
    next_ = 2;
    return true;
  }

  bool body() {
    const auto verb = form_->verb;
    if (verb == "kill" && form_->target == "worker" && accept("every"))
      return duration(fault_.every);
    if (form_->target == "master") {
      fault_.target = FaultTarget::master;
      return expect("at") && expect("step") && step(fault_.step);
    }
    std::uint64_t index = 0;
    if (!number("the number of a worker", 65535, index))
      return false;
    fault_.index = static_cast<std::uint32_t>(index);
    if (verb == "slow") {
      fault_.kind = FaultKind::slow;
      if (!factor(fault_.percent) || !expect("from") || !expect("step") || !step(fault_.step) ||
          !expect("to"))
        return false;
      accept("step");
      if (!step(fault_.until))
        return false;
      if (fault_.until >= fault_.step)
        return true;
      --next_;
      return complain("the last step lies before the first");
    }
    if (!expect("at") || !expect("step") || !step(fault_.step))
      return false;
    if (verb == "stop") {
      fault_.kind = FaultKind::stop;
      return expect("for") && duration(fault_.lasts);
    }
    if (verb == "nan") {
      fault_.kind = FaultKind::nan;
      return true;
    }
    return !accept("in") || phase();
  }

  bool phase() {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < enum_count(FaultPhase{}); ++i) {
      const auto candidate = static_cast<FaultPhase>(i);
      names.emplace_back(to_string(candidate));
      if (to_string(candidate) == peek()) {
        fault_.phase = candidate;
        ++next_;
        return true;
      }
    }
    const auto hint = did_you_mean(peek(), names);
    return complain(next_, fmt::format("expected a phase here, not {}", shown()),
                    hint.empty() ? "there are " + joined(names) : hint);
  }

  bool end() {
    if (next_ >= words_.size())
      return true;
    return complain(fmt::format("the sentence was complete before '{}'", peek()));
  }

  std::string_view sentence_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
  const Form* form_ = nullptr;
  FaultSpec fault_;
  Diagnostic place_;
};

} // namespace

tl::expected<FaultSpec, Diagnostic> parse_fault(std::string_view sentence, std::string_view file,
                                                std::uint32_t line) {
  return Parser(sentence, file, line).run();
}

tl::expected<std::vector<FaultSpec>, Diagnostic> read_faults(const std::vector<std::string>& arguments) {
  std::vector<FaultSpec> faults;
  const auto add = [&](std::string_view sentence, std::string_view file, std::uint32_t line) {
    auto fault = parse_fault(sentence, file, line);
    if (fault) {
      fault->id = static_cast<std::uint32_t>(faults.size());
      faults.push_back(*fault);
    }
    return fault;
  };
  for (const auto& argument : arguments) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(argument, ignored)) {
      if (auto fault = add(argument, "--chaos", 0); !fault)
        return tl::make_unexpected(fault.error());
      continue;
    }
    std::ifstream in(argument);
    std::string line;
    for (std::uint32_t number = 1; std::getline(in, line); ++number) {
      const auto sentence = std::string_view(line).substr(0, line.find('#'));
      if (trimmed(sentence).empty())
        continue;
      if (auto fault = add(sentence, argument, number); !fault)
        return tl::make_unexpected(fault.error());
    }
  }
  return faults;
}

std::string format_fault(const FaultSpec& f) {
  if (f.every > Duration{0})
    return fmt::format("kill worker every {}", format_duration(f.every));
  if (f.target == FaultTarget::master)
    return fmt::format("kill master at step {}", f.step.value);
  switch (f.kind) {
  case FaultKind::stop:
    return fmt::format("stop worker {} at step {} for {}", f.index, f.step.value, format_duration(f.lasts));
  case FaultKind::slow: {
    auto factor = fmt::format("{}.{:02}", f.percent / 100, f.percent % 100);
    factor.erase(factor.find_last_not_of('0') + 1);
    if (factor.back() == '.')
      factor.pop_back();
    return fmt::format("slow worker {} x{} from step {} to {}", f.index, factor, f.step.value, f.until.value);
  }
  case FaultKind::nan: return fmt::format("nan worker {} at step {}", f.index, f.step.value);
  default: break;
  }
  const auto where = f.phase == FaultPhase::any ? std::string{} : fmt::format(" in {}", to_string(f.phase));
  return fmt::format("kill worker {} at step {}{}", f.index, f.step.value, where);
}

} // namespace troupe
