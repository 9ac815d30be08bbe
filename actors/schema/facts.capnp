@0x9560385aacb2f6a7;
# What goes up: workers and nodes state what is so (actors/kernel/facts.hpp). A report is whole; of two with the same
# term the one with the larger sequence is newer; an older one is dropped. Times are nanoseconds of the monotonic clock
# of the host that reports. Fields and enumerators are only ever appended: old journals stay readable. Each struct in
# this folder has the fields of the C++ struct of the same name; a test compares them and prints what is missing.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

enum WorkerPhase {
  empty @0;
  starting @1;
  ready @2;
  connecting @3;
  restoring @4;
  running @5;
  drained @6;
  finished @7;
  exited @8;
}

struct PieceKey {
  step @0 :UInt64;
  generation @1 :UInt64;
}

enum Tier {
  live @0;
  previous @1;
  staging @2;
  snapshot @3;
  peerCopy @4;
  checkpoint @5;
}

struct Holding {
  pieces @0 :UInt32;
  key @1 :PieceKey;
  tier @2 :Tier = snapshot;
  digest @3 :UInt64;
  agreed @4 :Bool;
}

enum FailureClass {
  none @0;
  startup @1;
  exception @2;
  outOfMemory @3;
  signal @4;
  hang @5;
  silent @6;
  nodeLoss @7;
  partition @8;
  notice @9;
  communicator @10;
  corruptData @11;
}

struct Failure {
  kind @0 :FailureClass;
  signal @1 :Int32;
  exitCode @2 :Int32;
  what @3 :Text;
  during @4 :Text;
  step @5 :UInt64;
  killedAt @6 :Int64;
}

struct Milestones {
  detected @0 :Int64;
  aborted @1 :Int64;
  drained @2 :Int64;
  ordered @3 :Int64;
  connected @4 :Int64;
  restored @5 :Int64;
  firstStep @6 :Int64;
}

struct SlotFact {
  slot @0 :UInt32;
  incarnation @1 :UInt64;
  pid @2 :Int64;
  phase @3 :WorkerPhase;
  generation @4 :UInt64;
  step @5 :UInt64;
  modelDigest @6 :UInt64;
  layout @7 :UInt64;
  holdings @8 :List(Holding);
  failure @9 :Failure;
  times @10 :Milestones;
  restoreSource @11 :Text;
  deadRank @12 :Int32 = -1;
  cause @13 :Text;
}

struct NodeReport {
  node @0 :UInt32;
  agent @1 :UInt64;
  term @2 :UInt64;
  sequence @3 :UInt64;
  host @4 :Text;
  pid @5 :Int64;
  slots @6 :List(SlotFact);
}
