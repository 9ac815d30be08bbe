// Atoms of messages that an actor sends to itself or to its own process; none crosses a wire.
#pragma once

#include <caf/atom.hpp>

namespace troupe {

using BeatAtom = caf::atom_constant<caf::atom("beat")>;       ///< a heartbeat is due
using FlushAtom = caf::atom_constant<caf::atom("flush")>;     ///< send what waits
using ReportAtom = caf::atom_constant<caf::atom("report")>;   ///< a node report is due
using ConnectAtom = caf::atom_constant<caf::atom("connect")>; ///< look for the master again
using StopAtom = caf::atom_constant<caf::atom("stop")>;       ///< end in order
using KillAtom = caf::atom_constant<caf::atom("kill")>;       ///< the grace of a stop is over
using WakeAtom = caf::atom_constant<caf::atom("wake")>;       ///< a kernel's timer

} // namespace troupe
