@0xe7327c9a0e768393;
# Events, actions and state of the checkpoints kernel (actors/kernel/checkpoints.hpp). `Persisted` travels node ->
# master until it is heard, `DeleteCheckpoint` the other way; the rest stays in the master and its journal.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Kernel = import "kernel.capnp";
using Orders = import "orders.capnp";
using Recovery = import "recovery.capnp";
using Roster = import "roster.capnp";

struct Persisted {
  request @0 :UInt64;
  ok @1 :Bool;
  key @2 :Facts.PieceKey;
  digest @3 :UInt64;
  path @4 :Text;
  best @5 :Bool;
  took @6 :Int64;
  error @7 :Text;
}

struct DeleteCheckpoint {
  path @0 :Text;
  reason @1 :Text;
}

struct SaveRequest {
  reason @0 :Text;
  request @1 :UInt64;
}

struct StopRequest {
  save @0 :Bool;
  reason @1 :Text;
}

struct CheckpointsListed {
  checkpoints @0 :List(Recovery.FoundCheckpoint);
}

struct CheckpointsEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    tick @2 :Kernel.Tick;
    roster @3 :Roster.Roster;
    advanced @4 :Kernel.Advanced;
    formed @5 :Kernel.Formed;
    saveRequest @6 :SaveRequest;
    stopRequest @7 :StopRequest;
    persisted @8 :Persisted;
    checkpointsListed @9 :CheckpointsListed;
    jobFinished @10 :Kernel.JobFinished;
    failJob @11 :Kernel.FailJob;
    stopAll @12 :Kernel.StopAll;
    runFound @13 :Kernel.RunFound;
  }
}

struct SaveDone {
  request @0 :UInt64;
  ok @1 :Bool;
  key @2 :Facts.PieceKey;
  path @3 :Text;
  reason @4 :Text;
}

struct CheckpointsAction {
  union {
    saveOrder @0 :Orders.SaveOrder;
    checkpointsFound @1 :Recovery.CheckpointsFound;
    deleteCheckpoint @2 :DeleteCheckpoint;
    saveDone @3 :SaveDone;
    stopAll @4 :Kernel.StopAll;
    failJob @5 :Kernel.FailJob;
    wakeAt @6 :Kernel.WakeAt;
  }
}

struct CheckpointsState {
  term @0 :UInt64;
  listed @1 :Bool;
  checkpoints @2 :List(Recovery.FoundCheckpoint);
  request @3 :UInt64;
  saving @4 :Bool;
  order @5 :Orders.SaveOrder;
  scheduled @6 :Bool;
  orderedAt @7 :Int64;
  attempts @8 :UInt32;
  wish @9 :Text;
  generation @10 :UInt64;
  resumed @11 :UInt64;
  members @12 :List(Orders.WorkerKey);
  dead @13 :List(Orders.WorkerKey);
  saved @14 :UInt64;
  savedAt @15 :Int64;
  took @16 :Int64;
  startedAt @17 :Int64;
  formed @18 :UInt32;
  finished @19 :Bool;
  result @20 :Kernel.JobFinished;
  stopping @21 :Bool;
  stopReason @22 :Text;
  ended @23 :Bool;
  stopSaid @24 :Bool;
  failure @25 :Kernel.FailJob;
  heldStop @26 :Bool;
  heldEnd @27 :Bool;
  unjudged @28 :Bool;
  wished @29 :List(UInt64);
  asked @30 :List(UInt64);
}
