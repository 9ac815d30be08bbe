#define BOOST_TEST_MODULE store
#include "tests/unit/checkpoint/saving.hpp"
#include "tests/unit/folder.hpp"

#include <csignal>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::checkpoint;
using namespace troupe::test;

BOOST_AUTO_TEST_CASE(a_saved_version_is_listed_verified_and_loaded_with_everything_the_job_said) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder / "a/b").value();
  const auto bank = fresh_bank();
  const auto saved = save(store, bank, key(42, 7)).value();
  BOOST_TEST(saved.entry.path == folder / "a/b/step-000000000042-gen-7.manifest");
  BOOST_TEST(!saved.existed);
  const auto reader = CheckpointReader::open(saved.entry.path).value();
  auto expected = meta_of(key(42, 7));
  expected.digest = bank.find(key(42, 7))->digest;
  BOOST_TEST((reader.meta() == expected));
  BOOST_TEST(reader.layout().hash() == bank.layout().hash());
  BOOST_TEST(reader.verify().has_value());
  BOOST_TEST(reader.verify_twin().has_value());
  BOOST_TEST(holds(reader));
  const auto other = fresh_bank();
  const auto loaded = reader.load_into(other).value();
  BOOST_TEST((loaded.key == key(42, 7)));
  BOOST_TEST(loaded.digest == expected.digest);
  BOOST_TEST(holds(other, loaded));
  const auto listed = list(store.folder());
  BOOST_REQUIRE_EQUAL(listed.size(), 1u);
  BOOST_TEST((listed[0] == saved.entry));
}

BOOST_AUTO_TEST_CASE(checkpoints_are_listed_newest_first_by_step_then_generation) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  for (const auto k : {key(5, 1), key(100, 1), key(20, 3), key(20, 2)})
    BOOST_REQUIRE(save(store, bank, k).has_value());
  overwrite(folder / "step-1-gen-2.manifest", "not one of ours");
  overwrite(folder / "notes.txt", "kept");
  BOOST_TEST((keys_in(folder.path()) == std::vector<PieceKey>{key(100, 1), key(20, 3), key(20, 2), key(5, 1)}));
  BOOST_TEST(list_checkpoints(folder / "nowhere").value().empty());
}

BOOST_AUTO_TEST_CASE(saving_the_same_version_again_writes_nothing_and_a_damaged_one_is_written_anew) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  const auto first = save(store, bank, key(1)).value();
  BOOST_TEST(save(store, bank, key(1)).value().existed);
  flip(folder / "step-000000000001-gen-1.h5", 3000, 1);
  BOOST_TEST(!verify(first.entry.path).has_value());
  BOOST_TEST(!save(store, bank, key(1)).value().existed);
  BOOST_TEST(verify(first.entry.path).has_value());
  BOOST_TEST(folder.names().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_version_saved_before_it_became_the_best_is_marked_and_stays_the_best) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  const auto periodic = save(store, bank, key(1)).value();
  BOOST_TEST(!periodic.entry.best);
  const auto data = folder / "step-000000000001-gen-1.h5";
  const auto written = std::filesystem::last_write_time(data);
  auto meta = meta_of(key(1));
  meta.best = true;
  meta.reason = "best";
  const auto marked = store.save(meta, bank).value();
  BOOST_TEST(marked.existed);
  BOOST_TEST(marked.entry.best);
  BOOST_TEST(marked.bytes == periodic.bytes);
  const auto reader = CheckpointReader::open(periodic.entry.path).value();
  BOOST_TEST(reader.meta().best);
  BOOST_TEST(reader.meta().reason == meta_of(key(1)).reason); // nothing else about it changed
  BOOST_TEST(reader.verify().has_value());
  BOOST_TEST(reader.verify_twin().has_value());
  BOOST_TEST((std::filesystem::last_write_time(data) == written));
  BOOST_TEST(folder.names().size() == 3u);
  BOOST_TEST(save(store, bank, key(1)).value().entry.best); // a later periodic save does not take it back
  const auto listed = list(store.folder());
  BOOST_REQUIRE_EQUAL(listed.size(), 1u);
  BOOST_TEST((listed[0] == marked.entry));
}

BOOST_AUTO_TEST_CASE(every_flipped_byte_of_data_and_manifest_is_noticed_and_the_older_checkpoint_is_used) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  BOOST_REQUIRE(save(store, bank, key(1)).has_value());
  BOOST_REQUIRE(save(store, bank, key(2)).has_value());
  for (const std::string ending : {".h5", ".manifest"}) {
    const auto path = folder / ("step-000000000002-gen-1" + ending);
    const auto size = std::filesystem::file_size(path);
    for (std::size_t at = 0; at < size; ++at) {
      flip(path, at, 1 << at % 8);
      std::vector<Refusal> refused;
      const auto found = newest_sound(folder.path(), refused).value();
      BOOST_REQUIRE_MESSAGE(found && found->meta().key == key(1), ending << " byte " << at);
      BOOST_REQUIRE_EQUAL(refused.size(), 1u);
      BOOST_REQUIRE(refused[0].why.code == Errc::corrupt);
      flip(path, at, 1 << at % 8);
    }
  }
  std::vector<Refusal> refused;
  BOOST_TEST((newest_sound(folder.path(), refused).value()->meta().key == key(2)));
  BOOST_TEST(refused.empty());
}

BOOST_AUTO_TEST_CASE(truncated_and_missing_data_files_are_refused_and_named) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  const auto saved = save(store, bank, key(1)).value();
  const auto data = folder / "step-000000000001-gen-1.h5";
  std::filesystem::resize_file(data, std::filesystem::file_size(data) - 8);
  BOOST_TEST(verify(saved.entry.path).error().context.find("its manifest says") != std::string::npos);
  std::filesystem::remove(data);
  BOOST_TEST(verify(saved.entry.path).error().context.find("No such file") != std::string::npos);
  std::vector<Refusal> refused;
  BOOST_TEST(!newest_sound(folder.path(), refused).value().has_value());
  BOOST_TEST(refused.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_manifest_under_another_name_is_refused) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto saved = save(store, fresh_bank(), key(1)).value();
  const auto other = folder / "step-000000000009-gen-1.manifest";
  std::filesystem::copy_file(saved.entry.path, other);
  BOOST_TEST((CheckpointReader::open(other).error().code == Errc::corrupt));
}

BOOST_AUTO_TEST_CASE(a_state_of_another_shape_is_not_loaded_and_the_first_difference_is_named) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto saved = save(store, fresh_bank(), key(1)).value();
  const auto reader = CheckpointReader::open(saved.entry.path).value();
  const auto other = reader.load_into(fresh_bank(small_layout(400)));
  BOOST_TEST((other.error().code == Errc::invalid));
  BOOST_TEST(other.error().context.find("\"layer1/weight\" is f32 [20, 10] there and f32 [40, 10] here") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(another_job_starts_from_the_model_alone_with_pieces_of_its_own_for_the_runtime) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto saved = save(store, fresh_bank(), key(9)).value();
  const auto reader = CheckpointReader::open(saved.entry.path).value();
  auto specs = small_layout().pieces();
  specs.back().shape = {999}; // troupe/ledger of another data set
  const auto bank = fresh_bank(BankLayout::make(specs).value());
  BOOST_TEST((reader.load_into(bank).error().code == Errc::invalid));
  const auto loaded = reader.load_model_into(bank, key(0, 0)).value();
  BOOST_TEST((loaded.key == key(0, 0)));
  BOOST_TEST(loaded.digest == saved.entry.digest);
  const auto& layout = bank.layout();
  for (std::size_t n = 0; n < layout.size(); ++n) {
    std::vector<std::byte> bytes(layout.pieces()[n].bytes());
    BOOST_REQUIRE(bank.read(loaded, n, bytes).has_value());
    const bool own = !layout.pieces()[n].counts_for_digest;
    BOOST_TEST((bytes == (own ? std::vector<std::byte>(999) : content(layout, n, key(9)))));
  }
  specs.front().name = "adam/steps";
  const auto other = reader.load_model_into(fresh_bank(BankLayout::make(specs).value()), key(0, 0));
  BOOST_TEST(other.error().context.find("has no piece \"adam/steps\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(removing_a_checkpoint_removes_its_files_and_only_those) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  BOOST_REQUIRE(save(store, bank, key(1)).has_value());
  BOOST_REQUIRE(save(store, bank, key(2)).has_value());
  BOOST_TEST(store.remove(key(1)).has_value());
  BOOST_TEST(store.remove(key(1)).has_value());
  BOOST_TEST((keys_in(folder.path()) == std::vector<PieceKey>{key(2)}));
  BOOST_TEST(folder.names().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_version_overwritten_under_the_writer_is_not_saved) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank();
  BOOST_REQUIRE(put(bank, key(1)).has_value());
  auto pieces = bank.view(*bank.newest()).value();
  pieces[2].checksum ^= 1;
  auto meta = meta_of(key(1));
  meta.digest = bank.newest()->digest;
  BOOST_TEST((store.save(meta, bank.layout(), pieces).error().code == Errc::stale));
  BOOST_TEST((store.save(meta_of(key(5)), bank).error().code == Errc::stale));
  BOOST_TEST((store.save(meta_of(key(1)), bank, [] { return true; }).error().code == Errc::aborted));
  BOOST_TEST(folder.names().empty());
}

BOOST_AUTO_TEST_CASE(files_of_a_living_writer_and_of_strangers_are_not_swept) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  std::vector<std::string> during;
  const auto bank = fresh_bank();
  BOOST_REQUIRE(put(bank, key(1)).has_value());
  overwrite(folder / ".tmp-mine", "x");
  const auto saved = store.save(meta_of(key(1)), bank, [&] {
    BOOST_REQUIRE(CheckpointStore::open(folder.path()).has_value());
    during = folder.names();
    return false;
  });
  BOOST_TEST(saved.has_value());
  BOOST_TEST(during.size() == 2u);
  BOOST_TEST(std::filesystem::exists(folder / ".tmp-mine"));
}

BOOST_AUTO_TEST_CASE(a_file_that_may_not_grow_is_a_clean_error_and_the_older_checkpoint_stays) {
  const Folder folder;
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank(small_layout(20'000));
  BOOST_REQUIRE(save(store, bank, key(1)).has_value());
  BOOST_REQUIRE(put(bank, key(2)).has_value());
  for (const rlim_t limit : {0, 100, 4096, 20'000, 79'999}) {
    const auto pid = ::fork();
    BOOST_REQUIRE(pid >= 0);
    if (pid == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit allowed{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &allowed);
      const auto saved = store.save(meta_of(key(2)), bank);
      ::_exit(!saved && saved.error().code == Errc::exhausted ? 0 : 1);
    }
    const auto status = wait_status(pid);
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0), "limit " << limit << ", status " << status);
    BOOST_TEST(folder.names().size() == 3u);
  }
  std::vector<Refusal> refused;
  BOOST_TEST((newest_sound(folder.path(), refused).value()->meta().key == key(1)));
}

BOOST_AUTO_TEST_CASE(a_full_disk_and_a_read_only_one_are_clean_errors_and_the_older_checkpoint_stays) {
  const Folder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=400k,mode=700") != 0) {
    BOOST_TEST_MESSAGE("skipped: this user may not mount a small tmpfs");
    return;
  }
  struct Unmount {
    const Folder& folder;
    ~Unmount() { ::umount2(folder.path().c_str(), MNT_DETACH); }
  } unmount{folder};
  const auto store = CheckpointStore::open(folder.path()).value();
  const auto bank = fresh_bank(small_layout(50'000)); // 200 KB: one fits, two do not
  BOOST_REQUIRE(save(store, bank, key(1)).has_value());
  const auto full = save(store, bank, key(2));
  BOOST_REQUIRE(!full);
  BOOST_TEST((full.error().code == Errc::exhausted));
  BOOST_TEST(full.error().context.find("No space left on device") != std::string::npos);
  BOOST_TEST(folder.names().size() == 3u);
  // Room for the data but not for the manifest: every later write fails as cleanly.
  for (std::size_t left = 0; left < 40'000; left += 4096) {
    const auto filler = folder / "filler";
    overwrite(filler, std::string(190'000 - left, 'x'));
    const auto small = fresh_bank(small_layout(500));
    const auto saved = save(store, small, key(3));
    BOOST_TEST((saved || saved.error().code == Errc::exhausted));
    BOOST_TEST(folder.names().size() == (saved ? 7u : 4u));
    BOOST_REQUIRE(store.remove(key(3)).has_value());
    std::filesystem::remove(filler);
  }
  BOOST_REQUIRE_EQUAL(::mount("tmpfs", folder.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=400k"), 0);
  const auto sealed = save(store, bank, key(4));
  BOOST_REQUIRE(!sealed);
  BOOST_TEST((sealed.error().code == Errc::exhausted));
  BOOST_TEST(sealed.error().context.find("Read-only file system") != std::string::npos);
  std::vector<Refusal> refused;
  BOOST_TEST((newest_sound(folder.path(), refused).value()->meta().key == key(1)));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_is_a_clear_error) {
  const Folder folder;
  overwrite(folder / "file", "x");
  const auto refused = CheckpointStore::open(folder / "file/below");
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().context.find("file") != std::string::npos);
  BOOST_TEST(!CheckpointStore::open(folder / "file").has_value());
}
