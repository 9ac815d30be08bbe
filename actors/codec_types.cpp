// Binds every plain struct to its schema. The shapes of all types are made here, once, and nowhere else.
#include "actors/codec.hpp"
#include "actors/codec_shape.hpp"
#include "actors/journal_types.hpp"
#include "actors/kernel_schemas.hpp"
#include "actors/protocol_types.hpp"
#include "actors/supervision/child_spec.hpp"

namespace troupe {

namespace detail {

template <class Schema, class T>
const Binding* binding_of() {
  static const Binding* const binding = make_binding(shape_of<T>(), schema_handle<Schema>());
  return binding;
}

#define TROUPE_BIND(name) template const Binding* binding_of<schema::name, ::troupe::name>();
TROUPE_SCHEMAS(TROUPE_BIND)
#undef TROUPE_BIND
#define TROUPE_BIND(name, kernel)                                                                             \
  template const Binding* binding_of<schema::name##Event, kernel::Event>();                                   \
  template const Binding* binding_of<schema::name##Action, kernel::Action>();                                 \
  template const Binding* binding_of<schema::name##State, kernel::State>();
TROUPE_KERNELS(TROUPE_BIND)
#undef TROUPE_BIND

} // namespace detail

} // namespace troupe
