# What a checkpoint consists of: written last by the process that saved it, read by whoever restores. A checkpoint
# exists if and only if its manifest does. The file is a fixed header (magic, length, checksum) and one Manifest in
# flat form; beside it lies the same as JSON for people. Fields are only ever added.
@0xd3a1c5b7e8f04129;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::checkpoint::schema");

struct Manifest {
  format @0 :UInt32;            # 1
  version @1 :Text;             # of the program that wrote it
  job @2 :Text;
  step @3 :UInt64;              # the version's key: state after `step` updates …
  generation @4 :UInt64;        # … the last of them committed by this generation
  position @5 :UInt64;          # samples consumed
  epoch @6 :UInt64;
  seed @7 :UInt64;
  virtualWorkers @8 :UInt32;
  microBatch @9 :UInt64;
  dataHash @10 :UInt64;
  digest @11 :Text;             # model digest, 16 hex digits
  created @12 :Int64;           # wall clock, ns since 1970
  reason @13 :Text;
  best @14 :Bool;
  file @15 :Text;               # data file in the same folder
  fileBytes @16 :UInt64;
  skeletonChecksum @17 :UInt64; # XXH3-64 of all bytes of the file that belong to no piece
  pieces @18 :List(Piece);      # in name order
}

enum DType { f32 @0; f64 @1; f16 @2; bf16 @3; i32 @4; i64 @5; u8 @6; }

struct Piece {
  name @0 :Text;
  dtype @1 :DType;
  shape @2 :List(Int64);        # of the whole tensor
  origin @3 :List(Int64);       # of the box that is stored here; empty: the whole
  extent @4 :List(Int64);
  countsForDigest @5 :Bool;
  offset @6 :UInt64;            # in the file
  bytes @7 :UInt64;
  checksum @8 :UInt64;          # XXH3-64 of the bytes
  dataset @9 :Text;             # path of the dataset in the HDF5 file
}
