@0x9cf01cfb355f14cb;
# Events, actions and state of the rendezvous kernel (actors/kernel/rendezvous.hpp): in the master and its journal.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Kernel = import "kernel.capnp";
using Orders = import "orders.capnp";
using Roster = import "roster.capnp";

struct RendezvousEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    tick @2 :Kernel.Tick;
    roster @3 :Roster.Roster;
    plan @4 :Orders.Plan;
    drainRequest @5 :Kernel.DrainRequest;
    digestMismatch @6 :Kernel.DigestMismatch;
    stopAll @7 :Kernel.StopAll;
    failJob @8 :Kernel.FailJob;
    runFound @9 :Kernel.RunFound;
  }
}

struct RendezvousAction {
  union {
    generationOrder @0 :Orders.GenerationOrder;
    drained @1 :Kernel.Drained;
    formed @2 :Kernel.Formed;
    jobFinished @3 :Kernel.JobFinished;
    digestMismatch @4 :Kernel.DigestMismatch;
    suspect @5 :Kernel.Suspect;
    failJob @6 :Kernel.FailJob;
    wakeAt @7 :Kernel.WakeAt;
  }
}

enum RendezvousPhase {
  planning @0;
  forming @1;
  running @2;
  draining @3;
  finished @4;
  ended @5;
}

struct RendezvousPromise {
  worker @0 :Orders.WorkerKey;
  generation @1 :UInt64;
}

struct RendezvousState {
  term @0 :UInt64;
  sequence @1 :UInt64;
  phase @2 :RendezvousPhase;
  plan @3 :Orders.Plan;
  cause @4 :Text;
  refused @5 :Text;
  since @6 :Int64;
  misfires @7 :UInt32;
  promises @8 :List(RendezvousPromise);
  roster @9 :Roster.Roster;
  result @10 :Kernel.JobFinished;
  unjudged @11 :Bool;
  failure @12 :Kernel.FailJob;
}
