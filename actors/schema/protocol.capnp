@0x86452428fbe3674e;
# What travels between processes besides facts and orders (actors/protocol_types.hpp): joining, progress, saves,
# steering. A worker speaks to its node, a node and the command line to the master. Statements are whole: the newest of
# a sender replaces those before it, so any may be lost but ControlRequest, which is answered once. Numbers given out in
# NodeWelcome live as long as the term; incarnations are never reused. Fields are only ever appended.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Faults = import "faults.capnp";
using Orders = import "orders.capnp";

struct NodeHello {
  host @0 :Text;
  pid @1 :Int64;
  agent @2 :UInt64;
  slots @3 :UInt32;
  version @4 :Text;
  moduleHash @5 :UInt64;
  known @6 :List(UInt32);
}

struct NodeWelcome {
  term @0 :UInt64;
  node @1 :UInt32;
  refusal @2 :Text;
}

struct StopNode {
  term @0 :UInt64;
  cause @1 :Text;
}

struct WorkerHello {
  slot @0 :UInt32;
  incarnation @1 :UInt64;
  pid @2 :Int64;
  layout @3 :UInt64;
  bank @4 :Data;
  leafFloats @5 :UInt64;
  leafDoubles @6 :UInt64;
  attachmentBytes @7 :UInt64;
}

struct SampleCount {
  count @0 :UInt32;
  samples @1 :UInt64;
}

struct WorkerReport {
  sequence @0 :UInt64;
  fact @1 :Facts.SlotFact;
  cause @2 :Text;
  stepsLost @3 :UInt64;
  modes @4 :List(Text);
  samplesByCount @5 :List(SampleCount);
  mismatch @6 :Facts.PieceKey;
}

struct WorkerOrder {
  term @0 :UInt64;
  sequence @1 :UInt64;
  generation @2 :Orders.GenerationOrder;
  save @3 :Orders.SaveOrder;
  faults @4 :Faults.ArmedFaults;
  stop @5 :Bool;
  cause @6 :Text;
}

struct MetricValue {
  name @0 :Text;
  value @1 :Float64;
}

struct ProgressRow {
  step @0 :UInt64;
  generation @1 :UInt64;
  epoch @2 :UInt64;
  samples @3 :UInt64;
  lossSum @4 :Float64;
  lossWeight @5 :Float64;
  at @6 :Int64;
  members @7 :UInt32;
  skipped @8 :UInt32;
  metrics @9 :List(MetricValue);
  best @10 :Bool;
  stop @11 :Bool;
}

struct SpentTimes {
  build @0 :Int64;
  idle @1 :Int64;
  connect @2 :Int64;
  restore @3 :Int64;
  useful @4 :Int64;
  lost @5 :Int64;
  wait @6 :Int64;
  evaluation @7 :Int64;
  snapshot @8 :Int64;
  drain @9 :Int64;
}

struct ProgressReport {
  worker @0 :Orders.WorkerKey;
  rank @1 :UInt32;
  generation @2 :UInt64;
  step @3 :UInt64;
  rows @4 :List(ProgressRow);
  spent @5 :SpentTimes;
  published @6 :List(MetricValue);
}

struct SaveReady {
  request @0 :UInt64;
  worker @1 :Orders.WorkerKey;
  key @2 :Facts.PieceKey;
  slot @3 :UInt32;
  best @4 :Bool;
}

struct ControlRequest {
  command @0 :Text;
  arguments @1 :List(Text);
}

struct ControlReply {
  ok @0 :Bool;
  text @1 :Text;
  json @2 :Text;
}
