@0xddddd5fdc6c1c123;
# The job file as values (actors/job_config.hpp), complete and valid. Handed down whole when a process starts; fixed
# while a job runs. Cap'n Proto here carries it to workers, the console and the report.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

enum NonFinite {
  rollback @0;
  fail @1;
  skip @2;
}

struct JobSettings {
  name @0 :Text;
  module @1 :Text;
  steps @2 :UInt64;
  epochs @3 :UInt64;
  seed @4 :UInt64 = 1;
  dir @5 :Text;
  initFrom @6 :Text;
  deterministic @7 :Bool = true;
  nonfinite @8 :NonFinite;
  digestEvery @9 :UInt64 = 100;
}

struct WorkersSettings {
  start @0 :UInt32 = 1;
  min @1 :UInt32 = 1;
  max @2 :UInt32 = 1;
  virtualWorkers @3 :UInt32;
  microBatch @4 :UInt64 = 1;
}

enum DataOrder {
  permuted @0;
}

enum LabelAt {
  none @0;
  first @1;
  last @2;
}

struct DataSettings {
  path @0 :Text;
  order @1 :DataOrder;
  label @2 :LabelAt = last;
  scale @3 :Float64 = 1;
  test @4 :UInt64;
  splitSeed @5 :UInt64 = 1;
}

enum CadenceKind {
  automatic @0;
  never @1;
  steps @2;
  epochs @3;
  time @4;
}

struct Cadence {
  kind @0 :CadenceKind;
  count @1 :UInt64;
  every @2 :Int64;
}

enum MetricMode {
  max @0;
  min @1;
}

struct EvaluationSettings {
  path @0 :Text;
  every @1 :Cadence;
  metric @2 :Text;
  mode @3 :MetricMode;
  patience @4 :UInt64;
}

struct CheckpointSettings {
  dir @0 :Text;
  local @1 :Bool;
  every @2 :Cadence;
  snapshotEvery @3 :Cadence;
  keep @4 :UInt32 = 3;
  slots @5 :UInt32 = 5;
  peerCopies @6 :UInt32;
}

struct FailureBudget {
  restarts @0 :UInt32;
  window @1 :Int64 = 60000000000;
}

struct RecoverySettings {
  strategy @0 :Text = "respawn";
  hold @1 :Int64 = 200000000;
  backoff @2 :Int64 = 100000000;
  backoffMost @3 :Int64 = 10000000000;
  budgetException @4 :FailureBudget = (restarts = 3);
  budgetOutOfMemory @5 :FailureBudget = (restarts = 3);
  budgetSignal @6 :FailureBudget = (restarts = 50);
  budgetHang @7 :FailureBudget = (restarts = 5, window = 600000000000);
  budgetSilent @8 :FailureBudget = (restarts = 20);
  budgetNodeLoss @9 :FailureBudget = (restarts = 100);
  budgetPartition @10 :FailureBudget = (restarts = 100);
  budgetNotice @11 :FailureBudget = (restarts = 1000);
  budgetCommunicator @12 :FailureBudget = (restarts = 10);
  budgetCorruptData @13 :FailureBudget = (restarts = 3, window = 600000000000);
}

struct LimitsSettings {
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
  request @10 :Int64 = 5000000000;
  belowMin @11 :Int64 = 600000000000;
  nodeGrace @12 :Int64 = 10000000000;
  masterGrace @13 :Int64 = 60000000000;
}

enum CommBackend {
  automatic @0;
  host @1;
}

struct CommSettings {
  backend @0 :CommBackend;
}

enum ParametersMode {
  allReduce @0;
}

struct ParametersSettings {
  mode @0 :ParametersMode;
}

struct ConsoleSettings {
  listen @0 :Text;
}

enum TrainerValueKind {
  boolean @0;
  integer @1;
  number @2;
  text @3;
  integers @4;
  numbers @5;
  texts @6;
}

struct TrainerValue {
  key @0 :Text;
  kind @1 :TrainerValueKind = text;
  value @2 :Text;
  list @3 :List(Text);
  where @4 :Text;
  line @5 :UInt32;
}

struct JobConfig {
  file @0 :Text;
  hash @1 :UInt64;
  job @2 :JobSettings;
  workers @3 :WorkersSettings;
  data @4 :DataSettings;
  evaluation @5 :EvaluationSettings;
  checkpoint @6 :CheckpointSettings;
  recovery @7 :RecoverySettings;
  limits @8 :LimitsSettings;
  comm @9 :CommSettings;
  parameters @10 :ParametersSettings;
  console @11 :ConsoleSettings;
  trainer @12 :List(TrainerValue);
}
