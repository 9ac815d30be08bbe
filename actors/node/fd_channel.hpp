// The one way descriptors travel: an AF_UNIX seqpacket pair between a node and one worker, made before the
// worker is started. The node sends packets, each naming a generation and what its descriptors are; the
// worker receives them. The end of the channel also tells each side that the other process is gone. The
// sender never blocks (a worker that does not read for long loses packets and is drained by the next order);
// the receiver waits with a deadline.
#pragma once

#include "base/clock.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"
#include "troupe/ids.hpp"

#include <vector>

namespace troupe {

/// What a packet is about. `bank`: the worker's own slot memory. `generation`: first the segment, then one
/// bank for each entry of `slots`.
enum class FdPacketKind : std::uint32_t { bank = 1, generation = 2 };

/// In `slots`: memory filled from a checkpoint, nobody's own.
constexpr SlotId checkpoint_owner{~0U};

struct FdPacket {
  FdPacketKind kind = FdPacketKind::bank;
  Generation generation;
  std::vector<SlotId> slots; ///< owners of the banks, at most 60
  std::vector<UniqueFd> fds;
};

/// Both ends of a fresh channel; close-on-exec is set on the first only.
result<std::pair<UniqueFd, UniqueFd>> make_fd_channel();

/// Sends copies of `fds`; the caller keeps its own. Errc::peer_lost when the worker is gone.
result<void> send_fds(int channel, FdPacketKind kind, Generation generation, const std::vector<SlotId>& slots,
                      const std::vector<int>& fds);

/// What a worker says to its node when it fails: bytes that outlive it in the channel. At most 32 KiB; never blocks.
void send_last_words(int channel, const std::vector<std::uint8_t>& bytes);
/// Empty: it said none.
std::vector<std::uint8_t> receive_last_words(int channel);

/// Waits for the next packet. Errc::deadline, Errc::peer_lost when the node is gone, or Errc::aborted as soon as
/// `bell`, an eventfd (-1: none), has been rung and no packet is there; it stays rung.
result<FdPacket> receive_fds(int channel, Duration timeout, int bell = -1);

} // namespace troupe
