@0xfc1853d67da72000;
# Events, actions and state of the shards kernel (actors/kernel/shards.hpp): in the master and its journal.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Checkpoints = import "checkpoints.capnp";
using Kernel = import "kernel.capnp";

struct ShardsEvent {
  union {
    started @0 :Kernel.Started;
    peerRestarted @1 :Kernel.PeerRestarted;
    formed @2 :Kernel.Formed;
    persisted @3 :Checkpoints.Persisted;
    jobFinished @4 :Kernel.JobFinished;
  }
}

struct RowsFinal {
  before @0 :UInt64;
  reason @1 :Text;
}

struct RowsVoid {
  generation @0 :UInt64;
  from @1 :UInt64;
  reason @2 :Text;
}

struct EpochsDone {
  done @0 :UInt64;
  step @1 :UInt64;
}

struct ShardsAction {
  union {
    rowsFinal @0 :RowsFinal;
    rowsVoid @1 :RowsVoid;
    epochsDone @2 :EpochsDone;
  }
}

struct ShardsState {
  generation @0 :UInt64;
  resumed @1 :UInt64;
  finalBefore @2 :UInt64;
  epochs @3 :UInt64;
}
