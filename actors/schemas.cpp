#include "actors/schemas.hpp"

#include "actors/codec_binding.hpp"

#include "checkpoints.capnp.h"
#include "facts.capnp.h"
#include "faults.capnp.h"
#include "job.capnp.h"
#include "journal.capnp.h"
#include "kernel.capnp.h"
#include "membership.capnp.h"
#include "orders.capnp.h"
#include "protocol.capnp.h"
#include "recovery.capnp.h"
#include "rendezvous.capnp.h"
#include "roster.capnp.h"
#include "scaling.capnp.h"
#include "settings.capnp.h"
#include "shards.capnp.h"
#include "supervision.capnp.h"
#include "worker_machine.capnp.h"

namespace troupe {

#define TROUPE_SCHEMA_HANDLE(name)                                                                            \
  template <>                                                                                                 \
  SchemaHandle schema_handle<schema::name>() {                                                                \
    static const capnp::StructSchema schema = capnp::Schema::from<wire::name>();                              \
    return {&schema};                                                                                         \
  }
TROUPE_SCHEMAS(TROUPE_SCHEMA_HANDLE)
#define TROUPE_KERNEL_HANDLES(name, kernel)                                                                   \
  TROUPE_SCHEMA_HANDLE(name##Event) TROUPE_SCHEMA_HANDLE(name##Action) TROUPE_SCHEMA_HANDLE(name##State)
TROUPE_KERNELS(TROUPE_KERNEL_HANDLES)
#undef TROUPE_KERNEL_HANDLES
#undef TROUPE_SCHEMA_HANDLE

capnp::StructSchema struct_schema(SchemaHandle handle) {
  return *static_cast<const capnp::StructSchema*>(handle.raw);
}

} // namespace troupe
