@0xc7879352fd8d4b7b;
# One record of the journal or the event log (actors/journal_types.hpp). In the file each is framed by length and
# checksum (actors/journal_file.hpp). `payload` and `actions` are messages of their own, of the schemas of `kernel`.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

enum RecordKind {
  term @0;
  settings @1;
  event @2;
  snapshot @3;
  note @4;
}

struct JournalRecord {
  kind @0 :RecordKind = event;
  term @1 :UInt64;
  sequence @2 :UInt64;
  kernel @3 :Text;
  now @4 :Int64;
  wallNs @5 :Int64;
  transient @6 :Bool;
  payload @7 :Data;
  actions @8 :List(Data);
}
