#include "actors/node/fd_channel.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe {

namespace {

constexpr std::uint32_t packet_magic = 0x54524650; // "TRFP"
constexpr std::size_t max_fds = 61;
constexpr std::size_t max_words = 32 << 10;

struct Header {
  std::uint32_t magic;
  std::uint32_t kind;
  std::uint64_t generation;
  std::uint32_t slot_count;
  std::uint32_t fd_count;
  std::uint32_t slots[max_fds];
};

union ControlBuffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * max_fds)];
};

} // namespace

result<std::pair<UniqueFd, UniqueFd>> make_fd_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno(Errc::exhausted, "make a descriptor channel", errno);
  UniqueFd ours{ends[0]};
  UniqueFd theirs{ends[1]};
  ::fcntl(theirs.get(), F_SETFD, 0);
  return std::pair{std::move(ours), std::move(theirs)};
}

result<void> send_fds(int channel, FdPacketKind kind, Generation generation, const std::vector<SlotId>& slots,
                      const std::vector<int>& fds) {
  if (fds.size() > max_fds || slots.size() > max_fds)
    return fail(Errc::invalid, "too many descriptors in one packet");
  Header header{};
  header.magic = packet_magic;
  header.kind = static_cast<std::uint32_t>(kind);
  header.generation = generation.value;
  header.slot_count = static_cast<std::uint32_t>(slots.size());
  header.fd_count = static_cast<std::uint32_t>(fds.size());
  for (std::size_t i = 0; i < slots.size(); ++i)
    header.slots[i] = slots[i].value;
  iovec data{&header, sizeof header};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    auto* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
  }
  if (::sendmsg(channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return fail_errno(Errc::peer_lost, "send descriptors to a worker", errno);
  return {};
}

void send_last_words(int channel, const std::vector<std::uint8_t>& bytes) {
  if (bytes.size() > max_words)
    return;
  [[maybe_unused]] const auto n = ::send(channel, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::vector<std::uint8_t> receive_last_words(int channel) {
  std::vector<std::uint8_t> bytes(max_words);
  const auto n = ::recv(channel, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

result<FdPacket> receive_fds(int channel, Duration timeout, int bell) {
  pollfd wait[] = {{channel, POLLIN, 0}, {bell, POLLIN, 0}};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  int ready = 0;
  do
    ready = ::poll(wait, 2, static_cast<int>(ms));
  while (ready < 0 && errno == EINTR);
  if (ready == 0)
    return fail(Errc::deadline, "no descriptors from the node");
  if (wait[0].revents == 0)
    return fail(Errc::aborted, "called off");
  Header header{};
  iovec data{&header, sizeof header};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const auto n = ::recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  if (n <= 0)
    return fail(Errc::peer_lost, "the node closed the descriptor channel");
  FdPacket packet;
  for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
      const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
        packet.fds.emplace_back(fd);
      }
    }
  if (n != sizeof header || header.magic != packet_magic || header.fd_count != packet.fds.size() ||
      header.slot_count > max_fds || (message.msg_flags & MSG_CTRUNC) != 0)
    return fail(Errc::corrupt, "malformed descriptor packet");
  packet.kind = static_cast<FdPacketKind>(header.kind);
  packet.generation = Generation{header.generation};
  for (std::uint32_t i = 0; i < header.slot_count; ++i)
    packet.slots.emplace_back(header.slots[i]);
  return packet;
}

} // namespace troupe
