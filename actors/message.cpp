#include "actors/message.hpp"

namespace troupe {

void register_types(caf::actor_system_config& cfg) { register_types<caf::id_block::troupe>(cfg); }

} // namespace troupe
