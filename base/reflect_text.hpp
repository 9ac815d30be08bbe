// to_text and from_text for every reflected value, for rooms of the tree.
#pragma once

#include "troupe/reflect_text.hpp"
