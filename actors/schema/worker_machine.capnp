@0xe68cf5c9da7eb30e;
# Events, actions and state of a worker's own step machine (actors/kernel/worker_machine.hpp): in the worker's flight
# recorder and in tests; nothing of it travels.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";
using Kernel = import "kernel.capnp";
using Orders = import "orders.capnp";

struct LeaveOrder {
  reason @0 :Text;
}

struct EngineSaid {
  fact @0 :Facts.SlotFact;
}

struct OpenFailed {
  generation @0 :UInt64;
  what @1 :Text;
}

struct WorkerMachineEvent {
  union {
    generationOrder @0 :Orders.GenerationOrder;
    leaveOrder @1 :LeaveOrder;
    engineSaid @2 :EngineSaid;
    openFailed @3 :OpenFailed;
    peerRestarted @4 :Kernel.PeerRestarted;
  }
}

struct Join {
  plan @0 :Orders.Plan;
  rank @1 :UInt32;
  reason @2 :Text;
}

struct Abort {
  generation @0 :UInt64;
  reason @1 :Text;
}

struct Leave {
  finished @0 :Bool;
  reason @1 :Text;
}

struct Report {
  fact @0 :Facts.SlotFact;
}

struct WorkerMachineAction {
  union {
    join @0 :Join;
    abort @1 :Abort;
    leave @2 :Leave;
    report @3 :Report;
  }
}

struct WorkerMachineState {
  self @0 :Orders.WorkerKey;
  term @1 :UInt64;
  sequence @2 :UInt64;
  order @3 :Orders.GenerationOrder;
  promised @4 :UInt64;
  inside @5 :UInt64;
  aborting @6 :Bool;
  leaving @7 :Bool;
  left @8 :Bool;
  cause @9 :Text;
  fact @10 :Facts.SlotFact;
}
