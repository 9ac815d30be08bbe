#include "actors/any_kernel.hpp"

#include "actors/kernel_list.hpp"
#include "base/assert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace troupe {

namespace {

/// What the types of a variant say about it, reached by its index or by a statement's type.
template <class Variant>
struct Alternatives;
template <class... Ts>
struct Alternatives<std::variant<Ts...>> {
  using V = std::variant<Ts...>;

  static std::vector<std::type_index> types() { return {std::type_index(typeid(Ts))...}; }
  static bool assign(V& to, const std::any& statement) {
    const auto take = [&]<class T>(T*) {
      const auto* value = std::any_cast<T>(&statement);
      if (value != nullptr)
        to = *value;
      return value != nullptr;
    };
    return (take(static_cast<Ts*>(nullptr)) || ...);
  }
  static bool transient(const V& value) {
    static constexpr bool is[] = {is_transient<Ts>...};
    return is[value.index()];
  }
  static bool external(const V& value) {
    static constexpr bool is[] = {is_external<Ts>...};
    return is[value.index()];
  }
};

template <class K>
class TypedKernel final : public AnyKernel {
public:
  using Event = typename K::Event;
  using Action = typename K::Action;
  using Schemas = kernel_schema<K>;

  explicit TypedKernel(const KernelSettings& settings) : kernel_(settings) {}

  std::string_view name() const override { return K::name; }

  KernelTurn on(const std::any& statement, Time now) override {
    Event event;
    const bool taken = Alternatives<Event>::assign(event, statement);
    TROUPE_ASSERT(taken, "a kernel gets only statements that it takes");
    return turn(event, now);
  }

  result<KernelTurn> again(const Bytes& bytes, Time now) override {
    TROUPE_ASSIGN(const auto event, (decode<typename Schemas::Event, Event>(bytes)));
    return turn(event, now);
  }

  Bytes state() const override { return encode<typename Schemas::State>(kernel_.state()); }

  result<void> restore(const Bytes& bytes) override {
    TROUPE_ASSIGN(auto state, (decode<typename Schemas::State, typename K::State>(bytes)));
    kernel_.restore(std::move(state));
    return {};
  }

  std::string event_json(const Bytes& bytes) const override { return json<typename Schemas::Event, Event>(bytes); }
  std::string action_json(const Bytes& bytes) const override { return json<typename Schemas::Action, Action>(bytes); }

private:
  KernelTurn turn(const Event& event, Time now) {
    KernelTurn turn;
    turn.event = encode<typename Schemas::Event>(event);
    turn.transient = Alternatives<Event>::transient(event);
    for (const auto& action : kernel_.on(event, now)) {
      turn.transient = turn.transient && Alternatives<Action>::transient(action);
      auto& told = turn.actions.emplace_back();
      told.bytes = encode<typename Schemas::Action>(action);
      told.external = Alternatives<Action>::external(action);
      std::visit(
        [&](const auto& a) {
          told.statement = a;
          told.urgent = urgent(a);
        },
        action);
    }
    return turn;
  }

  template <class Schema, class T>
  static std::string json(const Bytes& bytes) {
    const auto value = decode<Schema, T>(bytes);
    return value ? to_json<Schema>(*value) : value.error().context;
  }

  K kernel_;
};

} // namespace

const std::vector<std::string>& kernel_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for_each_kernel([&]<class K>(K*) { all.emplace_back(K::name); });
    return all;
  }();
  return names;
}

std::unique_ptr<AnyKernel> make_kernel(std::string_view name, const KernelSettings& settings) {
  std::unique_ptr<AnyKernel> made;
  for_each_kernel([&]<class K>(K*) {
    if (name == K::name)
      made = std::make_unique<TypedKernel<K>>(settings);
  });
  return made;
}

const std::vector<std::string>& kernels_that_take(std::type_index type) {
  static const std::map<std::type_index, std::vector<std::string>> table = [] {
    std::map<std::type_index, std::vector<std::string>> made;
    for_each_kernel([&]<class K>(K*) {
      for (const auto taken : Alternatives<typename K::Event>::types())
        made[taken].emplace_back(K::name);
    });
    return made;
  }();
  static const std::vector<std::string> none;
  const auto found = table.find(type);
  return found == table.end() ? none : found->second;
}

} // namespace troupe
