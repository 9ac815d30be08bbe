@0xb6f460c8fe0f9662;
# Every worker there is (actors/kernel/roster.hpp): one row per slot, whole each time, the larger version is newer.
# Read by the other kernels and the console; never leaves the master but in the journal and as JSON.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Orders = import "orders.capnp";

struct RosterRow {
  worker @0 :Orders.WorkerKey;
  phase @1 :Facts.WorkerPhase;
  generation @2 :UInt64;
  step @3 :UInt64;
  modelDigest @4 :UInt64;
  layout @5 :UInt64;
  holdings @6 :List(Facts.Holding);
  failure @7 :Facts.Failure;
  wanted @8 :Bool;
  dead @9 :Bool;
  confirmed @10 :Bool;
  coming @11 :Bool;
  deadRank @12 :Int32 = -1;
  cause @13 :Text;
  since @14 :Int64;
}

struct Roster {
  version @0 :UInt64;
  target @1 :UInt32;
  rows @2 :List(RosterRow);
}
