#include "ridgeline/comm/shared/shared_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "ridgeline/comm/call.h"
#include "ridgeline/comm/reduce.h"
#include "ridgeline/comm/shared/buffers.h"
#include "ridgeline/comm/shared/segment.h"
#include "ridgeline/comm/shared/wait.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::comm {
namespace {

// A rank's staging area: two halves. A rank that arrives at the barrier after a chunk has read the half of the chunk
// before, so that half may be refilled; a collective begins with a barrier, after which both may be.
constexpr std::int64_t kStage = 256 << 10;
// About 20 us: how late ranks in step are.
constexpr int kLooks = 2000;

struct alignas(64) Box {
  SharedCount filled;     // chunks that the sender has put in
  SharedCount emptied;    // chunks that the receiver has taken out
  std::int64_t size = 0;  // of the whole message, as the sender says
};

// Each pair of sender and receiver has a box; the more boxes, the smaller they are.
std::int64_t box_content(int size) { return std::clamp<std::int64_t>((512 << 10) / size & ~4095, 4 << 10, 64 << 10); }

std::size_t boxes_offset(int size) { return static_cast<std::size_t>(size) * 2 * kStage; }
std::size_t box_bytes(int size) { return sizeof(Box) + static_cast<std::size_t>(box_content(size)); }
std::size_t segment_bytes(int size) {
  return boxes_offset(size) + static_cast<std::size_t>(size) * static_cast<std::size_t>(size) * box_bytes(size);
}

std::vector<int> process_numbers(const SharedHeader& header) {
  std::vector<int> numbers;
  for (std::uint32_t r = 0; r < header.size; ++r) numbers.push_back(header.ranks[r].process.load());
  return numbers;
}

std::vector<int> numbers_below(int size) {
  std::vector<int> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class SharedCommunicator final : public Communicator {
 public:
  // `world_ranks` of a group; empty: the world itself. `watch`: see SharedSegment.
  SharedCommunicator(const SharedOptions& o, std::uint64_t token, std::vector<int> world_ranks = {},
                     const std::function<void()>& watch = {})
      : Communicator(o.rank, o.size, std::move(world_ranks), o.names),
        options_(o),
        segment_(o.name, o.rank, o.size, segment_bytes(o.size), token, o.connect_timeout, watch),
        peers_(process_numbers(segment_.header())),
        limits_{.rank = o.rank,
                .names = names_of_ranks(),
                .timeout = o.execute_timeout,
                .looks = available_cores() >= o.size ? kLooks : 0,
                .all = numbers_below(o.size)} {}

  ~SharedCommunicator() override { own().left.store(1, std::memory_order_release); }

  void abort(const std::string& why) override {
    report_failure(segment_.header(), rank(), fmt::format("{} gave up: {}", name(rank()), why));
  }
  void lose(int lost, const std::string& why) override {
    report_failure(segment_.header(), lost < 0 ? size() : lost, why);
  }
  std::optional<std::string> failure() override {
    return first_failure(segment_.header(), limits_.all, peers_, limits_);
  }

 protected:
  void do_all_reduce(void* values, std::int64_t count, DType type, Reduction how) override {
    const auto element = static_cast<std::int64_t>(size_of(type));
    const SharedBuffers::Place place = buffers_.find(values, count * element, rank());
    begin({.kind = CallKind::all_reduce,
           .type = number(type),
           .how = number(how),
           .root = 0,
           .buffer = place.number,
           .offset = place.offset,
           .size = count});
    if (place.buffer != nullptr) {
      // Whole cache lines each, so that no two ranks write to one.
      const std::int64_t line = 64 / element;
      const Range own_part = part(rank(), ((count + size() - 1) / size() + line - 1) / line * line, count);
      reduce_parts(*place.buffer, size(), place.offset, own_part.begin, own_part.end, type, how);
      return arrive();
    }
    const std::int64_t piece = kStage / element / size();  // elements of a chunk that one rank combines
    auto* mine = static_cast<std::byte*>(values);
    int half = 0;
    for (std::int64_t at = 0; at < count; at += piece * size(), half ^= 1) {
      const std::int64_t left = std::min(count - at, piece * size());
      // Rank r combines elements [r * share, ...) of the chunk; what others combine is staged.
      const std::int64_t share = (left + size() - 1) / size();
      const Range own_part = part(rank(), share, left);
      std::byte* here = mine + at * element;
      copy_outside(stage(rank(), half), here, own_part, left, element);
      arrive();
      combine(own_part, half, here, here + own_part.begin * element, type, how);
      std::memcpy(stage(rank(), half) + own_part.begin * element, here + own_part.begin * element,
                  bytes_of(own_part, element));
      arrive();
      for (int r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        const Range theirs = part(r, share, left);
        std::memcpy(here + theirs.begin * element, stage(r, half) + theirs.begin * element, bytes_of(theirs, element));
      }
    }
  }

  void do_reduce_scatter(const void* values, void* result, std::int64_t count, DType type, Reduction how) override {
    const auto element = static_cast<std::int64_t>(size_of(type));
    const std::int64_t piece = kStage / element / size();
    const SharedBuffers::Place place = buffers_.find(values, count * size() * element, rank());
    begin({.kind = CallKind::reduce_scatter,
           .type = number(type),
           .how = number(how),
           .root = 0,
           .buffer = place.number,
           .offset = place.offset,
           .size = count});
    if (place.buffer != nullptr) {
      reduce_part(*place.buffer, size(), place.offset, rank() * count, (rank() + 1) * count, result, type, how);
      return arrive();  // what the others read stays until they have
    }
    const auto* mine = static_cast<const std::byte*>(values);
    int half = 0;
    for (std::int64_t at = 0; at < count; at += piece, half ^= 1) {
      const std::int64_t share = std::min(count - at, piece);
      for (int r = 0; r < size(); ++r) {
        if (r != rank())
          std::memcpy(stage(rank(), half) + r * share * element, mine + (r * count + at) * element,
                      static_cast<std::size_t>(share * element));
      }
      arrive();
      // `here` such that this rank's share of the chunk is at its position in `values`.
      const Range own_part{rank() * share, (rank() + 1) * share};
      const std::byte* here = mine + (rank() * count + at) * element - own_part.begin * element;
      combine(own_part, half, here, static_cast<std::byte*>(result) + at * element, type, how);
    }
  }

  void do_all_gather(const void* mine, void* all, std::int64_t bytes) override {
    auto* out = static_cast<std::byte*>(all);
    // If a rank's own operand lies within its result, those of others lie at other positions of theirs.
    const bool within = out + rank() * bytes == mine;
    const SharedBuffers::Place place =
        within ? buffers_.find(all, bytes * size(), rank()) : buffers_.find(mine, bytes, rank());
    begin({.kind = CallKind::all_gather, .buffer = place.number, .offset = place.offset, .size = bytes});
    if (place.buffer != nullptr) {
      if (!within) std::memmove(out + rank() * bytes, mine, static_cast<std::size_t>(bytes));
      for (int i = 1; i < size(); ++i) {
        const int r = (rank() + i) % size();
        copy_part(out + r * bytes, place.buffer->part(r) + place.offset + (within ? r * bytes : 0), bytes);
      }
      return arrive();
    }
    if (out + rank() * bytes != mine) std::memmove(out + rank() * bytes, mine, static_cast<std::size_t>(bytes));
    int half = 0;
    for (std::int64_t at = 0; at < bytes; at += kStage, half ^= 1) {
      const auto size_here = static_cast<std::size_t>(std::min(bytes - at, kStage));
      std::memcpy(stage(rank(), half), out + rank() * bytes + at, size_here);
      arrive();
      for (int r = 0; r < size(); ++r) {
        if (r != rank()) std::memcpy(out + r * bytes + at, stage(r, half), size_here);
      }
    }
  }

  void do_broadcast(void* data, std::int64_t bytes, int root) override {
    begin({.kind = CallKind::broadcast, .root = root, .size = bytes});
    auto* mine = static_cast<std::byte*>(data);
    int half = 0;
    for (std::int64_t at = 0; at < bytes; at += kStage, half ^= 1) {
      const auto size_here = static_cast<std::size_t>(std::min(bytes - at, kStage));
      if (rank() == root) std::memcpy(stage(root, half), mine + at, size_here);
      arrive();
      if (rank() != root) std::memcpy(mine + at, stage(root, half), size_here);
    }
  }

  void do_all_to_all(const void* parts, void* received, std::int64_t bytes) override {
    begin({.kind = CallKind::all_to_all, .size = bytes});
    const auto* mine = static_cast<const std::byte*>(parts);
    auto* out = static_cast<std::byte*>(received);
    const std::int64_t piece = kStage / size();
    int half = 0;
    for (std::int64_t at = 0; at < bytes; at += piece, half ^= 1) {
      const std::int64_t share = std::min(bytes - at, piece);
      const auto size_here = static_cast<std::size_t>(share);
      for (int r = 0; r < size(); ++r) std::memcpy(stage(rank(), half) + r * share, mine + r * bytes + at, size_here);
      arrive();
      for (int r = 0; r < size(); ++r) std::memcpy(out + r * bytes + at, stage(r, half) + rank() * share, size_here);
    }
  }

  void do_send(const void* data, std::int64_t bytes, int to) override {
    Box& box = box_of(rank(), to);
    const auto* mine = static_cast<const std::byte*>(data);
    std::uint32_t& sent = sent_[to];
    std::int64_t at = 0;
    do {  // a message without bytes is one chunk, too
      const std::int64_t size_here = std::min(bytes - at, box_content(size()));
      wait(box.emptied, sent, to);
      box.size = bytes;
      if (size_here > 0) std::memcpy(content(box), mine + at, static_cast<std::size_t>(size_here));
      ++sent;
      advance(box.filled);
      at += size_here;
    } while (at < bytes);
  }

  void do_receive(void* data, std::int64_t bytes, int from) override {
    Box& box = box_of(from, rank());
    auto* out = static_cast<std::byte*>(data);
    std::uint32_t& taken = taken_[from];
    std::int64_t at = 0;
    do {
      wait(box.filled, taken + 1, from);
      if (box.size != bytes) {
        const std::string why =
            fmt::format("{} receives {} bytes of {}, which sends {}", name(rank()), bytes, name(from), box.size);
        report_failure(segment_.header(), rank(), why);
        throw Error("[ranks] " + why);
      }
      const std::int64_t size_here = std::min(bytes - at, box_content(size()));
      if (size_here > 0) std::memcpy(out + at, content(box), static_cast<std::size_t>(size_here));
      ++taken;
      advance(box.emptied);
      at += size_here;
    } while (at < bytes);
  }

  void do_barrier() override { begin({.kind = CallKind::barrier, .size = 0}); }

  std::shared_ptr<void> do_allocate(std::int64_t bytes) override {
    begin({.kind = CallKind::allocate, .size = bytes});
    const std::uint64_t token = segment_.header().token;
    const auto buffer = std::make_shared<SharedBuffer>(
        fmt::format("ridgeline-{:016x}-{:016x}-b{}", token, std::hash<std::string>{}(options_.name), buffers_.count()),
        rank(), size(), bytes, token, options_.connect_timeout, watching(limits_.all));
    buffers_.add(buffer);
    return {buffer, buffer->part(rank())};
  }

  std::unique_ptr<Communicator> do_group(const std::vector<int>& ranks, int rank_in_group) override {
    // The name of a group: this one's, its ranks, and how many groups of these ranks there were before.
    const std::string list = fmt::format("{}", fmt::join(ranks, "."));
    SharedOptions o = options_;
    const std::uint64_t token = segment_.header().token;
    o.name = fmt::format("ridgeline-{:016x}-{:016x}-{}", token, std::hash<std::string>{}(options_.name + "/" + list),
                         groups_[list]++);
    o.rank = rank_in_group;
    o.size = static_cast<int>(ranks.size());
    std::vector<int> members;
    o.names.clear();
    for (const int r : ranks) {
      members.push_back(world_rank(r));
      o.names.push_back(name(r));
    }
    return std::make_unique<SharedCommunicator>(o, token, std::move(members), watching(ranks));
  }

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  template <class T>
  static std::uint32_t number(T value) {
    return static_cast<std::uint32_t>(value);
  }
  static std::size_t bytes_of(const Range& range, std::int64_t element) {
    return static_cast<std::size_t>((range.end - range.begin) * element);
  }
  static Range part(int rank, std::int64_t share, std::int64_t all) {
    return {std::min(all, rank * share), std::min(all, (rank + 1) * share)};
  }

  std::vector<std::string> names_of_ranks() const {
    std::vector<std::string> names;
    for (int r = 0; r < size(); ++r) names.push_back(name(r));
    return names;
  }

  SharedRank& own() { return segment_.header().ranks[rank()]; }
  std::byte* stage(int rank, int half) const {
    return segment_.data() + (static_cast<std::int64_t>(rank) * 2 + half) * kStage;
  }
  Box& box_of(int from, int to) const {
    const auto index = static_cast<std::size_t>(from) * static_cast<std::size_t>(size()) + static_cast<std::size_t>(to);
    return *reinterpret_cast<Box*>(segment_.data() + boxes_offset(size()) + index * box_bytes(size()));
  }
  static std::byte* content(Box& box) { return reinterpret_cast<std::byte*>(&box + 1); }

  void wait(SharedCount& count, std::uint32_t value, int of) {
    // Nobody needs to be woken for a loss that was reported elsewhere.
    if (segment_.header().failed.load(std::memory_order_relaxed) >= 0)
      check_ranks(segment_.header(), limits_.all, peers_, limits_);
    wait_for(segment_.header(), count, value, of, peers_, limits_);
  }

  // For communicators that are made together with `ranks`: the end of any of them is noticed.
  std::function<void()> watching(std::vector<int> ranks) {
    return [this, ranks = std::move(ranks)] { check_ranks(segment_.header(), ranks, peers_, limits_); };
  }

  // Arrives at the next barrier and waits for all.
  void arrive() {
    ++meetings_;
    advance(own().arrived);
    for (int r = 0; r < size(); ++r) {
      if (r != rank()) wait(segment_.header().ranks[r].arrived, meetings_, r);
    }
  }

  // All ranks are in the same call, and no rank reads the stages any more.
  void begin(const Call& call) {
    const std::size_t turn = calls_++ & 1;
    own().calls[turn] = call;
    arrive();
    for (int r = 0; r < size(); ++r) {
      const Call& theirs = segment_.header().ranks[r].calls[turn];
      if (theirs == call) continue;
      const std::string why =
          fmt::format("{} is in {}, {} in {}", name(rank()), described(call), name(r), described(theirs));
      report_failure(segment_.header(), rank(), why);
      throw Error("[ranks] " + why);
    }
  }

  static void copy_outside(std::byte* to, const std::byte* from, const Range& without, std::int64_t all,
                           std::int64_t element) {
    std::memcpy(to, from, static_cast<std::size_t>(without.begin * element));
    std::memcpy(to + without.end * element, from + without.end * element,
                static_cast<std::size_t>((all - without.end) * element));
  }

  // This rank's range of a chunk: its own values are at `own_chunk`, those of others in their stages.
  void combine(const Range& range, int half, const std::byte* own_chunk, void* result, DType type, Reduction how) {
    if (range.begin == range.end) return;
    const auto element = static_cast<std::int64_t>(size_of(type));
    std::array<const void*, kMostSharedRanks> sources;
    for (int r = 0; r < size(); ++r)
      sources[static_cast<std::size_t>(r)] = (r == rank() ? own_chunk : stage(r, half)) + range.begin * element;
    reduce_in_pairs({sources.data(), static_cast<std::size_t>(size())}, result, range.end - range.begin, type, how);
  }

  SharedOptions options_;
  SharedSegment segment_;
  PeerProcesses peers_;
  SharedBuffers buffers_;
  WaitLimits limits_;
  std::uint32_t meetings_ = 0;
  std::size_t calls_ = 0;
  std::map<int, std::uint32_t> sent_;   // chunks, by receiver
  std::map<int, std::uint32_t> taken_;  // chunks, by sender
  std::map<std::string, int> groups_;
};

}  // namespace

std::unique_ptr<Communicator> shared_communicator(const SharedOptions& o) {
  const auto wrong = [](const std::string& message) { throw Error("[ranks] " + message, ErrorKind::usage); };
  if (o.size < 1 || o.size > kMostSharedRanks)
    wrong(fmt::format("{} ranks over shared memory (allowed: 1 to {})", o.size, kMostSharedRanks));
  if (o.rank < 0 || o.rank >= o.size)
    wrong(fmt::format("rank {} of {} (allowed: 0 to {})", o.rank, o.size, o.size - 1));
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  if (o.name.empty() || o.name.size() > 200 || o.name.front() == '.' ||
      !std::all_of(o.name.begin(), o.name.end(), allowed))
    wrong(fmt::format("the name '{}' of shared memory (allowed: 1 to 200 letters, digits, '-', '_', '.')", o.name));
  if (o.size == 1) return single_rank();
  return std::make_unique<SharedCommunicator>(o, 0, std::vector<int>{}, o.watch);
}

}  // namespace ridgeline::comm
