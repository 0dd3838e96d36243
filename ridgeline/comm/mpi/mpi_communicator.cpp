#include "ridgeline/comm/mpi/mpi_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "ridgeline/comm/call.h"
#include "ridgeline/comm/mpi/mpi_messages.h"
#include "ridgeline/comm/pages.h"
#include "ridgeline/comm/reduce.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"

namespace ridgeline::comm {
namespace {

// Tags of a communicator, counted from its first.
enum MpiTag { kMeeting, kValues, kBetweenTwo, kTags };

// What every transport of OpenMPI has: UCX ends at 2^23.
constexpr int kTagBits = 23;

// What ranks send each other before they exchange anything.
struct Meeting {
  std::uint64_t channel = 0;
  Call call;

  friend bool operator==(const Meeting&, const Meeting&) = default;
};

// What a sender says about its message.
struct Announcement {
  std::uint64_t channel = 0;
  std::int64_t bytes = 0;
};

// Bytes that one rank combines at a time: two such shares and those of the others are in flight.
std::int64_t share_bytes(int size) { return std::clamp<std::int64_t>((4 << 20) / size & ~4095, 64 << 10, 1 << 20); }

// From here on a broadcast is a scatter and an all-gather: the root sends its values once, not once a rank.
constexpr std::int64_t kLargeBroadcast = 128 << 10;

// The first of three tags, hardly shared with another communicator of these ranks. Two with the same would notice it in
// their handshakes.
int first_tag(std::uint64_t channel) {
  return kTags * static_cast<int>(1 + channel % ((std::uint64_t{1} << kTagBits) / kTags - 2));
}

class MpiCommunicator final : public Communicator {
 public:
  // `name`: of the world or of a group within it, equal on its ranks.
  MpiCommunicator(MpiProcess& process, std::vector<int> members, int rank, std::string name, const MpiOptions& options)
      : Communicator(rank, static_cast<int>(members.size()), members),
        options_(options),
        name_(std::move(name)),
        channel_{.process = process,
                 .number = hash64(name_),
                 .members = std::move(members),
                 .tag = first_tag(hash64(name_)),
                 .timeout = options.execute_timeout} {}

  void abort(const std::string& why) override {
    channel_.process.fail(channel_.number, channel_.members, fmt::format("rank {} gave up: {}", own_name(), why));
  }

  std::optional<std::string> failure() override {
    if (auto reason = channel_.process.failure_of(channel_.number)) return reason;
    for (const int member : channel_.members) {
      if (member == own_name() || !channel_.process.peers().has_ended(member)) continue;
      channel_.process.fail(channel_.number, channel_.members, channel_.process.told_end(member));
      return channel_.process.failure_of(channel_.number);  // or what another rank has said before
    }
    return std::nullopt;
  }

  // Called when all ranks have made it.
  void meet() { begin({.kind = CallKind::group}); }

 protected:
  void do_all_reduce(void* values, std::int64_t count, DType type, Reduction how) override {
    begin({.kind = CallKind::all_reduce, .type = number(type), .how = number(how), .size = count});
    const auto element = static_cast<std::int64_t>(size_of(type));
    const std::int64_t piece = share_bytes(size()) / element;
    const std::int64_t chunk = piece * size();
    const std::int64_t chunks = (count + chunk - 1) / chunk;
    auto* all = static_cast<std::byte*>(values);
    std::array<MpiMessages, 2> shares{MpiMessages(channel_), MpiMessages(channel_)};
    MpiMessages results(channel_);
    stage_.resize(static_cast<std::size_t>(2 * share_bytes(size()) * size()));
    // Rank r combines the r-th share of each chunk: others send it theirs.
    const auto part = [&](std::int64_t k, int r) {
      const std::int64_t left = std::min(chunk, count - k * chunk), share = (left + size() - 1) / size();
      return Range{k * chunk + std::min(left, r * share), k * chunk + std::min(left, (r + 1) * share)};
    };
    const auto start_shares = [&](std::int64_t k) {
      for (int r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        shares[k & 1].receive(stage(r, k & 1), part(k, rank()).size() * element, r, kValues);
      }
      for (int i = 1; i < size(); ++i) {
        const int r = (rank() + i) % size();  // not all to one
        shares[k & 1].send(all + part(k, r).begin * element, part(k, r).size() * element, r, kValues);
      }
    };
    start_shares(0);
    for (std::int64_t k = 0; k < chunks; ++k) {
      if (k + 1 < chunks) start_shares(k + 1);
      shares[k & 1].wait();
      const Range own = part(k, rank());
      std::byte* mine = all + own.begin * element;
      combine(mine, k & 1, mine, own.size(), type, how);
      results.wait();
      for (int i = 1; i < size(); ++i) {
        const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
        const Range theirs = part(k, from);
        results.receive(all + theirs.begin * element, theirs.size() * element, from, kValues);
        results.send(mine, own.size() * element, to, kValues);
      }
    }
    results.wait();
  }

  void do_reduce_scatter(const void* values, void* result, std::int64_t count, DType type, Reduction how) override {
    begin({.kind = CallKind::reduce_scatter, .type = number(type), .how = number(how), .size = count});
    const auto element = static_cast<std::int64_t>(size_of(type));
    const std::int64_t piece = share_bytes(size()) / element;
    const auto* all = static_cast<const std::byte*>(values);
    std::array<MpiMessages, 2> shares{MpiMessages(channel_), MpiMessages(channel_)};
    stage_.resize(static_cast<std::size_t>(2 * share_bytes(size()) * size()));
    const auto start_shares = [&](std::int64_t at, std::int64_t half) {
      const std::int64_t bytes = std::min(piece, count - at) * element;
      for (int i = 1; i < size(); ++i) {
        const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
        shares[half].receive(stage(from, half), bytes, from, kValues);
        shares[half].send(all + (to * count + at) * element, bytes, to, kValues);
      }
    };
    start_shares(0, 0);
    std::int64_t half = 0;
    for (std::int64_t at = 0; at < count; at += piece, half ^= 1) {
      if (at + piece < count) start_shares(at + piece, half ^ 1);
      shares[half].wait();
      combine(all + (rank() * count + at) * element, half, static_cast<std::byte*>(result) + at * element,
              std::min(piece, count - at), type, how);
    }
  }

  void do_all_gather(const void* mine, void* all, std::int64_t bytes) override {
    begin({.kind = CallKind::all_gather, .size = bytes});
    auto* out = static_cast<std::byte*>(all);
    if (out + rank() * bytes != mine) std::memmove(out + rank() * bytes, mine, static_cast<std::size_t>(bytes));
    gather_parts(out, [&](int r) { return Range{r * bytes, (r + 1) * bytes}; });
  }

  void do_broadcast(void* data, std::int64_t bytes, int root) override {
    begin({.kind = CallKind::broadcast, .root = root, .size = bytes});
    auto* all = static_cast<std::byte*>(data);
    const bool large = bytes >= kLargeBroadcast && size() > 2;
    const std::int64_t share = large ? (bytes + size() - 1) / size() : bytes;
    const auto part = [&](int r) { return Range{std::min(bytes, r * share), std::min(bytes, (r + 1) * share)}; };
    MpiMessages messages(channel_);
    const auto sent = [&](int r) { return large ? part(r) : Range{0, bytes}; };
    if (rank() == root) {
      for (int i = 1; i < size(); ++i) {
        const int r = (root + i) % size();
        messages.send(all + sent(r).begin, sent(r).size(), r, kValues);
      }
    } else {
      messages.receive(all + sent(rank()).begin, sent(rank()).size(), root, kValues);
    }
    messages.wait();
    if (large) gather_parts(all, part);
  }

  void do_all_to_all(const void* parts, void* received, std::int64_t bytes) override {
    begin({.kind = CallKind::all_to_all, .size = bytes});
    const auto* mine = static_cast<const std::byte*>(parts);
    auto* out = static_cast<std::byte*>(received);
    MpiMessages messages(channel_);
    std::memcpy(out + rank() * bytes, mine + rank() * bytes, static_cast<std::size_t>(bytes));
    for (int i = 1; i < size(); ++i) {
      const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
      messages.receive(out + from * bytes, bytes, from, kValues);
      messages.send(mine + to * bytes, bytes, to, kValues);
    }
    messages.wait();
  }

  void do_send(const void* data, std::int64_t bytes, int to) override {
    check_failure();
    const Announcement announcement{.channel = channel_.number, .bytes = bytes};
    MpiMessages messages(channel_);
    messages.send(&announcement, sizeof announcement, to, kBetweenTwo);
    messages.send(data, bytes, to, kBetweenTwo);
    messages.wait();
  }

  void do_receive(void* data, std::int64_t bytes, int from) override {
    check_failure();
    Announcement announcement;
    MpiMessages messages(channel_);
    messages.receive(&announcement, sizeof announcement, from, kBetweenTwo);
    messages.wait();
    if (announcement.channel != channel_.number) fail(same_tags(from));
    if (announcement.bytes != bytes)
      fail(fmt::format("rank {} receives {} bytes of rank {}, which sends {}", own_name(), bytes, world_rank(from),
                       announcement.bytes));
    messages.receive(data, bytes, from, kBetweenTwo);
    messages.wait();
  }

  void do_barrier() override { begin({.kind = CallKind::barrier}); }

  std::shared_ptr<void> do_allocate(std::int64_t bytes) override {
    begin({.kind = CallKind::allocate, .size = bytes});
    return own_pages(bytes);
  }

  std::unique_ptr<Communicator> do_group(const std::vector<int>& ranks, int rank_in_group) override {
    const std::string list = fmt::format("{}", fmt::join(ranks, "."));
    std::vector<int> members;
    for (const int r : ranks) members.push_back(world_rank(r));
    auto group = std::make_unique<MpiCommunicator>(channel_.process, std::move(members), rank_in_group,
                                                   fmt::format("{}/{}#{}", name_, list, groups_[list]++), options_);
    group->meet();
    return group;
  }

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };

  template <class T>
  static std::uint32_t number(T value) {
    return static_cast<std::uint32_t>(value);
  }
  int own_name() const { return world_rank(rank()); }
  // What rank r sends to be combined.
  std::byte* stage(int r, std::int64_t half) { return stage_.data() + (half * size() + r) * share_bytes(size()); }
  std::string same_tags(int other) const {
    return fmt::format("rank {} and rank {} have another communicator with the tags of '{}'", own_name(),
                       world_rank(other), name_);
  }

  [[noreturn]] void fail(const std::string& why) {
    channel_.process.fail(channel_.number, channel_.members, why);
    throw Error("[ranks] " + why);
  }

  void check_failure() {
    if (const auto reason = channel_.process.failure_of(channel_.number)) throw Error("[ranks] " + *reason);
  }

  // All ranks are in the same call. Each sends to each, so that a missing rank is known by its number.
  void begin(const Call& call) {
    check_failure();
    const Meeting own{.channel = channel_.number, .call = call};
    std::vector<Meeting> theirs(static_cast<std::size_t>(size()));
    MpiMessages messages(channel_);
    for (int i = 1; i < size(); ++i) {
      const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
      messages.receive(&theirs[static_cast<std::size_t>(from)], sizeof own, from, kMeeting);
      messages.send(&own, sizeof own, to, kMeeting);
    }
    messages.wait();
    for (int r = 0; r < size(); ++r) {
      const Meeting& their = theirs[static_cast<std::size_t>(r)];
      if (r == rank() || their == own) continue;
      if (their.channel != own.channel) fail(same_tags(r));
      fail(fmt::format("rank {} is in {}, rank {} in {}", own_name(), described(call), world_rank(r),
                       described(their.call)));
    }
  }

  // Every rank has its share of `all`; everybody gets all of them.
  template <class Part>
  void gather_parts(std::byte* all, Part&& part) {
    MpiMessages messages(channel_);
    for (int i = 1; i < size(); ++i) {
      const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
      messages.receive(all + part(from).begin, part(from).size(), from, kValues);
      messages.send(all + part(rank()).begin, part(rank()).size(), to, kValues);
    }
    messages.wait();
  }

  // This rank's values and the staged ones of the others.
  void combine(const std::byte* mine, std::int64_t half, void* result, std::int64_t count, DType type, Reduction how) {
    if (count == 0) return;
    sources_.resize(static_cast<std::size_t>(size()));
    for (int r = 0; r < size(); ++r) sources_[static_cast<std::size_t>(r)] = r == rank() ? mine : stage(r, half);
    reduce_in_pairs(sources_, result, count, type, how);
  }

  MpiOptions options_;
  std::string name_;
  MpiChannel channel_;
  std::vector<std::byte> stage_;
  std::vector<const void*> sources_;
  std::map<std::string, int> groups_;
};

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(const MpiOptions& options) {
  MpiProcess& process = MpiProcess::get();
  if (process.size() == 1) return single_rank();
  std::vector<int> members;
  for (int r = 0; r < process.size(); ++r) members.push_back(r);
  return std::make_unique<MpiCommunicator>(process, std::move(members), process.rank(),
                                           fmt::format("world#{}", process.next_world()), options);
}

}  // namespace ridgeline::comm
