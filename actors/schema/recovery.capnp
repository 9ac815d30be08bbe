@0xb470f89a6a15b999;
# Events, actions and state of the recovery kernel (actors/kernel/recovery.hpp): in the master and its journal. The
# strategy's own state is text in it.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Kernel = import "kernel.capnp";
using Membership = import "membership.capnp";
using Orders = import "orders.capnp";
using Roster = import "roster.capnp";

struct FoundCheckpoint {
  key @0 :Facts.PieceKey;
  digest @1 :UInt64;
  path @2 :Text;
  best @3 :Bool;
}

struct CheckpointsFound {
  checkpoints @0 :List(FoundCheckpoint);
}

struct Pause {
  on @0 :Bool;
  reason @1 :Text;
}

struct Notice {
  worker @0 :Orders.WorkerKey;
  straggler @1 :Bool;
  reason @2 :Text;
}

struct RecoveryEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    tick @2 :Kernel.Tick;
    roster @3 :Roster.Roster;
    drained @4 :Kernel.Drained;
    formed @5 :Kernel.Formed;
    checkpointsFound @6 :CheckpointsFound;
    digestMismatch @7 :Kernel.DigestMismatch;
    pause @8 :Pause;
    notice @9 :Notice;
    jobFinished @10 :Kernel.JobFinished;
    stopAll @11 :Kernel.StopAll;
    failJob @12 :Kernel.FailJob;
  }
}

struct StrategyNote {
  strategy @0 :Text;
  event @1 :Text;
  decision @2 :Text;
  reason @3 :Text;
}

struct RecoveryAction {
  union {
    plan @0 :Orders.Plan;
    drainRequest @1 :Kernel.DrainRequest;
    restartWorkers @2 :Membership.RestartWorkers;
    strategyNote @3 :StrategyNote;
    failJob @4 :Kernel.FailJob;
    wakeAt @5 :Kernel.WakeAt;
  }
}

struct RecoveryAncestor {
  generation @0 :UInt64;
  resume @1 :Facts.PieceKey;
}

struct RecoveryState {
  term @0 :UInt64;
  lineage @1 :List(RecoveryAncestor);
  newest @2 :UInt64;
  listed @3 :Bool;
  checkpoints @4 :List(FoundCheckpoint);
  roster @5 :Roster.Roster;
  drained @6 :Bool;
  endedGeneration @7 :UInt64;
  endedCause @8 :Text;
  planned @9 :Orders.Plan;
  running @10 :UInt64;
  asked @11 :UInt64;
  limited @12 :Bool;
  ceiling @13 :UInt64;
  mismatch @14 :Facts.PieceKey;
  mismatches @15 :List(Int64);
  layout @16 :UInt64;
  paused @17 :Bool;
  ended @18 :Bool;
  belowSince @19 :Int64;
  firstCause @20 :Text;
  strategyState @21 :Text;
  strategyWake @22 :Int64;
  noted @23 :Text;
  failure @24 :Kernel.FailJob;
}
