@0xecdd735d828d97fb;
# What goes down: the master states what it wants (actors/kernel/orders.hpp). An order is whole, may be lost or
# repeated, and is dropped by a receiver that has seen a larger term, or the same term and a larger sequence. An order
# lives until the next one of its kind; a disconnect destroys nothing that was ordered. `plan` has no element or one.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";

enum GenerationCommand {
  none @0;
  drain @1;
  form @2;
  finish @3;
}

struct WorkerKey {
  node @0 :UInt32;
  slot @1 :UInt32;
  incarnation @2 :UInt64;
}

struct Coordinates {
  data @0 :UInt32;
  pipeline @1 :UInt32;
  tensor @2 :UInt32;
  expert @3 :UInt32;
}

struct Member {
  rank @0 :UInt32;
  worker @1 :WorkerKey;
  firstVirtual @2 :UInt32;
  virtualCount @3 :UInt32;
  at @4 :Coordinates;
}

struct Source {
  node @0 :UInt32;
  slot @1 :UInt32;
  tier @2 :Facts.Tier = snapshot;
  path @3 :Text;
}

struct Plan {
  generation @0 :UInt64;
  previous @1 :UInt64;
  resume @2 :Facts.PieceKey;
  members @3 :List(Member);
  sources @4 :List(Source);
  reason @5 :Text;
}

struct GenerationOrder {
  term @0 :UInt64;
  sequence @1 :UInt64;
  command @2 :GenerationCommand;
  generation @3 :UInt64;
  cause @4 :Text;
  plan @5 :List(Plan);
}

struct SlotOrder {
  slot @0 :UInt32;
  incarnation @1 :UInt64;
  run @2 :Bool;
  kill @3 :Bool;
}

struct SlotsOrder {
  term @0 :UInt64;
  sequence @1 :UInt64;
  node @2 :UInt32;
  slots @3 :List(SlotOrder);
}

struct SaveOrder {
  term @0 :UInt64;
  request @1 :UInt64;
  from @2 :WorkerKey;
  atLeast @3 :UInt64;
  reason @4 :Text;
  best @5 :Bool;
}
