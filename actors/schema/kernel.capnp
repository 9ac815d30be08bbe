@0x9e614d7d6bca89e9;
# Events that several kernels share (actors/kernel/kernel.hpp). They stay inside the master, and in its journal.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Orders = import "orders.capnp";
using Roster = import "roster.capnp";

struct DigestMismatch {
  generation @0 :UInt64;
  step @1 :UInt64;
  digests @2 :List(UInt64);
}

struct JobFinished {
  digest @0 :UInt64;
  step @1 :UInt64;
  generation @2 :UInt64;
  holder @3 :Orders.WorkerKey;
}

struct FailJob {
  cause @0 :Text;
  first @1 :Facts.Failure;
  worker @2 :Orders.WorkerKey;
  reason @3 :Text;
}

struct StopAll {
  finished @0 :Bool;
  reason @1 :Text;
}

struct Started {
  term @0 :UInt64;
}

struct PeerRestarted {
  peer @0 :Text;
}

struct Tick {
  late @0 :Bool;
  random @1 :UInt64;
}

struct Suspect {
  worker @0 :Orders.WorkerKey;
  kind @1 :Facts.FailureClass;
  reason @2 :Text;
}

struct Formed {
  generation @0 :UInt64;
  step @1 :UInt64;
  members @2 :List(Orders.WorkerKey);
}

struct DrainRequest {
  generation @0 :UInt64;
  reason @1 :Text;
}

struct RunFound {
  term @0 :UInt64;
  kept @1 :Bool;
}

struct Advanced {
  generation @0 :UInt64;
  step @1 :UInt64;
}

struct WakeAt {
  at @0 :Int64;
  reason @1 :Text;
}

struct Drained {
  generation @0 :UInt64;
  cause @1 :Text;
  refused @2 :Text;
  roster @3 :Roster.Roster;
}
