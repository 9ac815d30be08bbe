// TROUPE_FIELDS, for rooms of the tree. The public header has it because strategies list their state with it.
#pragma once

#include "troupe/reflect.hpp"
