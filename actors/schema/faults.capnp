@0xe76d7093c7189c26;
# Injected faults (actors/kernel/fault_spec.hpp, faults.hpp). ArmedFaults goes down whole; a worker that stands at a
# fault says FaultReached, again and again, until FireFault answers. That one fired is journaled before it fires, so it
# fires once, also over restarts.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Kernel = import "kernel.capnp";
using Orders = import "orders.capnp";

enum FaultKind {
  kill @0;
  stop @1;
  slow @2;
  nan @3 $Cxx.name("notANumber"); # NAN is a macro
  flip @4;
  partition @5;
  diskFull @6;
  corruptCheckpoint @7;
}

enum FaultTarget {
  worker @0;
  node @1;
  agent @2;
  master @3;
  job @4;
}

enum FaultPhase {
  any @0;
  gradient @1;
  reduce @2;
  update @3;
  snapshot @4;
  drain @5;
  restore @6;
}

struct FaultSpec {
  id @0 :UInt32;
  kind @1 :FaultKind;
  target @2 :FaultTarget;
  index @3 :UInt32;
  step @4 :UInt64;
  until @5 :UInt64;
  phase @6 :FaultPhase;
  percent @7 :UInt32;
  lasts @8 :Int64;
  every @9 :Int64;
  text @10 :Text;
}

struct FaultOrder {
  id @0 :UInt32;
  kind @1 :FaultKind;
  rank @2 :UInt32;
  step @3 :UInt64;
  until @4 :UInt64;
  phase @5 :FaultPhase;
  percent @6 :UInt32;
  lasts @7 :Int64;
  fired @8 :Bool;
  target @9 :FaultTarget;
}

struct ArmedFaults {
  term @0 :UInt64;
  sequence @1 :UInt64;
  faults @2 :List(FaultOrder);
}

struct FaultReached {
  id @0 :UInt32;
  worker @1 :Orders.WorkerKey;
  step @2 :UInt64;
}

struct FireFault {
  term @0 :UInt64;
  id @1 :UInt32;
  worker @2 :Orders.WorkerKey;
  fire @3 :Bool;
  reason @4 :Text;
}

struct KillWorker {
  term @0 :UInt64;
  id @1 :UInt32;
  worker @2 :Orders.WorkerKey;
  reason @3 :Text;
}

struct KillMaster {
  id @0 :UInt32;
  reason @1 :Text;
}

struct KillRequest {
  rank @0 :UInt32;
  reason @1 :Text;
}

struct FaultsEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    tick @2 :Kernel.Tick;
    formed @3 :Kernel.Formed;
    faultReached @4 :FaultReached;
    killRequest @5 :KillRequest;
    jobFinished @6 :Kernel.JobFinished;
    stopAll @7 :Kernel.StopAll;
    failJob @8 :Kernel.FailJob;
  }
}

struct FaultsAction {
  union {
    armedFaults @0 :ArmedFaults;
    fireFault @1 :FireFault;
    killWorker @2 :KillWorker;
    wakeAt @3 :Kernel.WakeAt;
    killMaster @4 :KillMaster;
  }
}

struct FaultsFault {
  spec @0 :FaultSpec;
  fired @1 :UInt32;
  by @2 :Orders.WorkerKey;
  at @3 :UInt64;
  next @4 :Int64;
}

struct FaultsState {
  term @0 :UInt64;
  sequence @1 :UInt64;
  faults @2 :List(FaultsFault);
  members @3 :List(Orders.WorkerKey);
  generation @4 :UInt64;
  ended @5 :Bool;
}
