@0x89de210856d34d98;
# Events, actions and state of the membership kernel (actors/kernel/membership.hpp). `Alive` travels node -> master
# and may be lost; the rest stays in the master and its journal. The active member of a union is named by its tag.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Kernel = import "kernel.capnp";
using Orders = import "orders.capnp";
using Roster = import "roster.capnp";

struct Heard {
  slot @0 :UInt32;
  incarnation @1 :UInt64;
  generation @2 :UInt64;
  step @3 :UInt64;
  progress @4 :UInt64;
  waiting @5 :Bool;
  debugged @6 :Bool;
  allowance @7 :Int64;
}

struct Alive {
  node @0 :UInt32;
  agent @1 :UInt64;
  term @2 :UInt64;
  heard @3 :List(Heard);
}

struct NodeLost {
  node @0 :UInt32;
  agent @1 :UInt64;
  reason @2 :Text;
}

struct ScaleTarget {
  count @0 :UInt32;
  reason @1 :Text;
}

struct RestartWorkers {
  workers @0 :List(Orders.WorkerKey);
  reason @1 :Text;
}

struct MembershipEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    tick @2 :Kernel.Tick;
    nodeReport @3 :Facts.NodeReport;
    alive @4 :Alive;
    nodeLost @5 :NodeLost;
    suspect @6 :Kernel.Suspect;
    scaleTarget @7 :ScaleTarget;
    restartWorkers @8 :RestartWorkers;
    formed @9 :Kernel.Formed;
    jobFinished @10 :Kernel.JobFinished;
    stopAll @11 :Kernel.StopAll;
    failJob @12 :Kernel.FailJob;
  }
}

struct WorkerFailed {
  worker @0 :Orders.WorkerKey;
  failure @1 :Facts.Failure;
  inWindow @2 :UInt32;
  allowed @3 :UInt32;
  reason @4 :Text;
}

struct AllStopped {
  reason @0 :Text;
}

struct MembershipAction {
  union {
    slotsOrder @0 :Orders.SlotsOrder;
    roster @1 :Roster.Roster;
    suspect @2 :Kernel.Suspect;
    nodeLost @3 :NodeLost;
    drainRequest @4 :Kernel.DrainRequest;
    advanced @5 :Kernel.Advanced;
    workerFailed @6 :WorkerFailed;
    failJob @7 :Kernel.FailJob;
    allStopped @8 :AllStopped;
    wakeAt @9 :Kernel.WakeAt;
    stopAll @10 :Kernel.StopAll;
    runFound @11 :Kernel.RunFound;
  }
}

struct MembershipSlot {
  row @0 :Roster.RosterRow;
  pid @1 :Int64;
  ordered @2 :UInt64;
  kill @3 :Bool;
  retiring @4 :Bool;
  charged @5 :Bool;
  fruitless @6 :UInt32;
  notBefore @7 :Int64;
  unwantedSince @8 :Int64;
}

struct MembershipNode {
  node @0 :UInt32;
  agent @1 :UInt64;
  sequence @2 :UInt64;
  order @3 :UInt64;
  lost @4 :Bool;
  host @5 :Text;
  pid @6 :Int64;
  slots @7 :List(MembershipSlot);
}

struct MembershipCharge {
  worker @0 :Orders.WorkerKey;
  failure @1 :Facts.Failure;
  at @2 :Int64;
}

struct MembershipState {
  term @0 :UInt64;
  version @1 :UInt64;
  target @2 :UInt32;
  nodes @3 :List(MembershipNode);
  charges @4 :List(MembershipCharge);
  members @5 :List(Orders.WorkerKey);
  generation @6 :UInt64;
  finished @7 :Bool;
  stopping @8 :Bool;
  failed @9 :Bool;
  stopped @10 :Bool;
  why @11 :Text;
  failure @12 :Kernel.FailJob;
  earlier @13 :Bool;
  judged @14 :UInt64;
  kept @15 :Bool;
}
