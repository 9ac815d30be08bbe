// One visitor out of several lambdas, for std::visit.
#pragma once

namespace troupe {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

} // namespace troupe
