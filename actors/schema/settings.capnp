@0xc550de2a29e13caf;
# What the kernels go by (actors/kernel/settings.hpp). Written to the journal with each term, so that a replay runs with
# the numbers of the run.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Faults = import "faults.capnp";

struct KernelLimits {
  heartbeat @0 :Int64 = 100000000;
  lostAfter @1 :Int64 = 1000000000;
  hang @2 :Int64 = 30000000000;
  build @3 :Int64 = 600000000000;
  gather @4 :Int64 = 60000000000;
  drain @5 :Int64 = 30000000000;
  form @6 :Int64 = 60000000000;
  retire @7 :Int64 = 30000000000;
  stop @8 :Int64 = 5000000000;
  save @9 :Int64 = 120000000000;
  belowMin @10 :Int64 = 600000000000;
  masterGrace @11 :Int64 = 60000000000;
}

struct KernelBudget {
  restarts @0 :UInt32;
  window @1 :Int64 = 60000000000;
}

struct KernelBudgets {
  exception @0 :KernelBudget = (restarts = 3);
  outOfMemory @1 :KernelBudget = (restarts = 3);
  signal @2 :KernelBudget = (restarts = 50);
  hang @3 :KernelBudget = (restarts = 5, window = 600000000000);
  silent @4 :KernelBudget = (restarts = 20);
  nodeLoss @5 :KernelBudget = (restarts = 100);
  partition @6 :KernelBudget = (restarts = 100);
  notice @7 :KernelBudget = (restarts = 1000);
  communicator @8 :KernelBudget = (restarts = 10);
  corruptData @9 :KernelBudget = (restarts = 3, window = 600000000000);
}

struct KernelOption {
  key @0 :Text;
  value @1 :Text;
}

enum SaveCadence {
  automatic @0;
  never @1;
  steps @2;
  time @3;
}

struct KernelSettings {
  seed @0 :UInt64 = 1;
  totalSteps @1 :UInt64;
  samplesPerEpoch @2 :UInt64;
  globalBatch @3 :UInt64;
  start @4 :UInt32 = 1;
  min @5 :UInt32 = 1;
  max @6 :UInt32 = 1;
  virtualWorkers @7 :UInt32 = 1;
  limits @8 :KernelLimits;
  budgets @9 :KernelBudgets;
  backoff @10 :Int64 = 100000000;
  backoffMost @11 :Int64 = 10000000000;
  strategy @12 :Text = "respawn";
  hold @13 :Int64 = 200000000;
  options @14 :List(KernelOption);
  cadence @15 :SaveCadence;
  saveSteps @16 :UInt64;
  saveTime @17 :Int64;
  keep @18 :UInt32 = 3;
  saveAtEnd @19 :Bool = true;
  faults @20 :List(Faults.FaultSpec);
}
