// Precompiled for every target that has actors: an actor's source compiles in about half the time. Nothing includes
// this; each file still names what it uses.
#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>
