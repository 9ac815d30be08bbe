@0x9e2f7b7377b5b215;
# A supervisor's answer to "which children" (actors/supervision/child_spec.hpp): to the console, whole each time.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");
using Facts = import "facts.capnp";

enum RestartGroup {
  oneForOne @0;
  oneForAll @1;
  restForOne @2;
}

enum ChildPhase {
  waiting @0;
  starting @1;
  running @2;
  stopping @3;
  killed @4;
  ended @5;
}

struct ChildExit {
  normal @0 :Bool;
  kind @1 :Facts.FailureClass;
  what @2 :Text;
}

struct ChildStatus {
  id @0 :Text;
  phase @1 :ChildPhase;
  life @2 :UInt64;
  inARow @3 :UInt32;
  since @4 :Int64;
  last @5 :ChildExit;
}

struct SupervisorStatus {
  name @0 :Text;
  group @1 :RestartGroup;
  closing @2 :Bool;
  cause @3 :Text;
  children @4 :List(ChildStatus);
}
