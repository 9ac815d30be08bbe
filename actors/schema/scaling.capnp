@0xa09085f08893da71;
# Events, actions and state of the scaling kernel (actors/kernel/scaling.hpp): in the master and its journal.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Kernel = import "kernel.capnp";
using Membership = import "membership.capnp";

struct ScaleRequest {
  request @0 :UInt64;
  count @1 :UInt32;
  reason @2 :Text;
}

struct ScalingEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    scaleRequest @2 :ScaleRequest;
    jobFinished @3 :Kernel.JobFinished;
    stopAll @4 :Kernel.StopAll;
    failJob @5 :Kernel.FailJob;
  }
}

struct ScaleAnswer {
  request @0 :UInt64;
  ok @1 :Bool;
  target @2 :UInt32;
  reason @3 :Text;
}

struct ScalingAction {
  union {
    scaleTarget @0 :Membership.ScaleTarget;
    scaleAnswer @1 :ScaleAnswer;
  }
}

struct ScalingState {
  target @0 :UInt32;
  reason @1 :Text;
  ended @2 :Bool;
}
