// Which version is resumed, from whom, and how the batch is cut.
#include "actors/kernel/inventory.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(inventory)

using Lineage = std::vector<RecoveryKernel::Ancestor>;

RosterRow holder(std::uint32_t slot, std::vector<Holding> holdings, bool is_dead = false) {
  RosterRow r = row(slot, is_dead ? WorkerPhase::exited : WorkerPhase::drained, 1);
  r.dead = is_dead;
  r.holdings = std::move(holdings);
  return r;
}

ResumePoint find(std::vector<RosterRow> rows, Lineage lineage = {}, std::vector<FoundCheckpoint> checkpoints = {},
                 bool memory = true, std::uint64_t mismatch = 0) {
  Roster roster{1, 0, std::move(rows)};
  return find_resume_point({roster, checkpoints, lineage, memory, mismatch > 0, Step{mismatch}});
}

BOOST_AUTO_TEST_CASE(with_nothing_held_the_job_starts_as_built) {
  BOOST_TEST(find({holder(0, {})}).key == version(0, 0));
  BOOST_TEST(find({holder(0, {holding(0, 0)})}).sources.empty());
}

BOOST_AUTO_TEST_CASE(one_survivor_that_finished_the_step_is_enough) {
  const ResumePoint p = find({holder(0, {holding(6, 1)}), holder(1, {holding(6, 1), holding(7, 1)})});
  BOOST_TEST(p.key == version(7, 1));
  BOOST_REQUIRE(p.sources.size() == 1U);
  BOOST_TEST(p.sources[0].slot == SlotId{1});
}

// Traps 5 and 7.
BOOST_AUTO_TEST_CASE(memory_outlives_its_worker_and_living_sources_come_first) {
  const ResumePoint p = find({holder(0, {holding(7, 1)}, true), holder(1, {holding(7, 1)})}, {},
                             {{version(7, 1), 0, "seven", false}});
  BOOST_TEST(p.key == version(7, 1));
  BOOST_REQUIRE(p.sources.size() == 3U);
  BOOST_TEST(p.sources[0].slot == SlotId{1});
  BOOST_TEST(p.sources[1].slot == SlotId{0});
  BOOST_TEST(p.sources[2].path == "seven");
  BOOST_TEST(find({holder(0, {holding(8, 1)}, true), holder(1, {holding(7, 1)})}).key == version(8, 1));
}

// Trap 2.
BOOST_AUTO_TEST_CASE(what_is_newer_than_a_planned_resume_point_and_of_an_older_generation_is_void) {
  const Lineage lineage{{Generation{2}, version(10, 1)}};
  BOOST_TEST(find({holder(0, {holding(12, 1)}), holder(1, {holding(10, 1)})}, lineage).key == version(10, 1));
  BOOST_TEST(find({holder(0, {holding(12, 1)}), holder(1, {holding(11, 2)})}, lineage).key == version(11, 2));
  BOOST_TEST(find({holder(0, {holding(12, 1)})}, lineage, {{version(5, 1), 0, "five", false}}).key == version(5, 1));
  BOOST_TEST(find({}, lineage, {{version(12, 1), 0, "void", false}}).key == version(0, 0));
}

BOOST_AUTO_TEST_CASE(an_ancestor_that_a_later_lower_resume_point_implies_is_forgotten) {
  Lineage lineage;
  extend_lineage(lineage, Generation{1}, version(0, 0));
  extend_lineage(lineage, Generation{2}, version(10, 1));
  extend_lineage(lineage, Generation{3}, version(20, 2));
  BOOST_TEST(lineage.size() == 3U);
  extend_lineage(lineage, Generation{4}, version(10, 1));
  BOOST_TEST(lineage.size() == 2U);
  for (const PieceKey key : {version(11, 1), version(11, 2), version(11, 3)})
    BOOST_TEST(!is_valid(key, lineage));
  for (const PieceKey key : {version(10, 1), version(10, 3), version(11, 4)})
    BOOST_TEST(is_valid(key, lineage));
}

// Trap 1.
BOOST_AUTO_TEST_CASE(a_digest_mismatch_voids_everything_after_the_last_agreement_on_all_replicas) {
  const std::vector<RosterRow> rows{holder(0, {holding(40, 1, 4, true), holding(49, 1, 9), holding(50, 1, 10)}),
                                    holder(1, {holding(40, 1, 4, true), holding(49, 1, 9), holding(50, 1, 11)})};
  const ResumePoint p = find(rows, {}, {{version(45, 1), 0, "tainted", false}}, true, 50);
  BOOST_TEST(p.key == version(40, 1));
  BOOST_TEST(p.sources.size() == 2U);
  BOOST_TEST(p.note.find("50") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(holders_that_state_different_digests_are_believed_only_where_all_had_agreed) {
  BOOST_TEST(find({holder(0, {holding(8, 1, 80, true), holding(9, 1, 1)}), holder(1, {holding(9, 1, 2)})}).key ==
             version(8, 1));
  const ResumePoint p = find({holder(0, {holding(9, 1, 1, true)}), holder(1, {holding(9, 1, 2)})});
  BOOST_TEST(p.key == version(9, 1));
  BOOST_REQUIRE(p.sources.size() == 1U);
  BOOST_TEST(p.sources[0].slot == SlotId{0});
}

// Trap 6.
BOOST_AUTO_TEST_CASE(a_version_counts_only_when_every_piece_has_a_holder) {
  auto piece = [](std::uint32_t pieces, std::uint64_t step) {
    Holding h = holding(step, 1);
    h.pieces = pieces;
    return h;
  };
  BOOST_TEST(find({holder(0, {piece(1, 40), piece(1, 50)}), holder(1, {piece(2, 40), piece(2, 60)})}).key ==
             version(40, 1));
  const std::vector<FoundCheckpoint> all{{version(30, 1), 0, "all", false}};
  BOOST_TEST(find({holder(0, {piece(1, 40)}), holder(1, {piece(2, 60)})}, {}, all).key == version(30, 1));
}

BOOST_AUTO_TEST_CASE(without_memory_only_checkpoints_count) {
  const ResumePoint p = find({holder(0, {holding(50, 1)})}, {}, {{version(30, 1), 0, "thirty", false}}, false);
  BOOST_TEST(p.key == version(30, 1));
  BOOST_TEST(p.sources.size() == 1U);
}

BOOST_AUTO_TEST_CASE(blocks_cover_the_batch_and_are_as_even_as_possible_for_every_size) {
  for (std::uint32_t all = 1; all <= 40; ++all)
    for (std::uint32_t members = 1; members <= all; ++members) {
      const auto blocks = virtual_blocks(members, all);
      BOOST_TEST(blocks.size() == members);
      BOOST_TEST(std::accumulate(blocks.begin(), blocks.end(), 0U) == all);
      const auto [low, high] = std::minmax_element(blocks.begin(), blocks.end());
      BOOST_TEST(*high - *low <= 1U);
      BOOST_TEST(*low >= 1U);
    }
}

BOOST_AUTO_TEST_CASE(of_the_even_cuts_the_one_with_the_fewest_partial_sums_is_taken) {
  BOOST_TEST(virtual_blocks(4, 8) == (std::vector<std::uint32_t>{2, 2, 2, 2}));
  auto sums = [](const std::vector<std::uint32_t>& blocks) {
    std::uint32_t first = 0;
    std::uint32_t total = 0;
    for (std::uint32_t n : blocks) {
      total += partial_sums(first, n, 8);
      first += n;
    }
    return total;
  };
  BOOST_TEST(sums(virtual_blocks(3, 8)) == std::min({sums({3, 3, 2}), sums({3, 2, 3}), sums({2, 3, 3})}));
  BOOST_TEST(sums(virtual_blocks(5, 8)) <= sums({2, 2, 2, 1, 1}));
}

BOOST_AUTO_TEST_CASE(an_aligned_block_sends_one_partial_sum) {
  BOOST_TEST(partial_sums(0, 8, 8) == 1U);
  BOOST_TEST(partial_sums(4, 2, 8) == 1U);
  BOOST_TEST(partial_sums(1, 2, 8) == 2U);
  BOOST_TEST(partial_sums(0, 6, 6) == 1U); // the whole ragged tree
  BOOST_TEST(partial_sums(4, 2, 6) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test
