#include "ridgeline/comm/communicator.h"

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <utility>

#include "ridgeline/comm/pages.h"
#include "ridgeline/comm/reduce.h"
#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

void check_size(std::int64_t size, const char* what) {
  if (size < 0) throw Error(fmt::format("[ranks] {} of {} elements", what, size), ErrorKind::usage);
}

void copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, static_cast<std::size_t>(bytes));
}

class SingleRank final : public Communicator {
 public:
  explicit SingleRank(int world_rank = 0) : Communicator(0, 1, {world_rank}) {}
  void abort(const std::string&) override {}

 protected:
  // Never called: the base class answers for one rank.
  void do_all_reduce(void*, std::int64_t, DType, Reduction) override {}
  void do_reduce_scatter(const void*, void*, std::int64_t, DType, Reduction) override {}
  void do_all_gather(const void*, void*, std::int64_t) override {}
  void do_broadcast(void*, std::int64_t, int) override {}
  void do_all_to_all(const void*, void*, std::int64_t) override {}
  void do_send(const void*, std::int64_t, int) override {}
  void do_receive(void*, std::int64_t, int) override {}
  void do_barrier() override {}
  std::shared_ptr<void> do_allocate(std::int64_t bytes) override { return own_pages(bytes); }
  std::unique_ptr<Communicator> do_group(const std::vector<int>&, int) override {
    return std::make_unique<SingleRank>(world_rank(0));
  }
};

}  // namespace

std::unique_ptr<Communicator> single_rank() { return std::make_unique<SingleRank>(); }

Communicator::Communicator(int rank, int size, std::vector<int> world_ranks, std::vector<std::string> names)
    : rank_(rank), size_(size), world_ranks_(std::move(world_ranks)), names_(std::move(names)) {
  for (int r = static_cast<int>(world_ranks_.size()); r < size; ++r) world_ranks_.push_back(r);
  for (std::size_t r = names_.size(); r < world_ranks_.size(); ++r)
    names_.push_back(fmt::format("rank {}", world_ranks_[r]));
}

int Communicator::world_rank(int rank) const {
  check_peer(rank, "the number of");
  return world_ranks_[static_cast<std::size_t>(rank)];
}

const std::string& Communicator::name(int rank) const {
  check_peer(rank, "the name of");
  return names_[static_cast<std::size_t>(rank)];
}

void Communicator::check_peer(int rank, const char* what) const {
  if (rank < 0 || rank >= size_)
    throw Error(fmt::format("[ranks] {} rank {} (allowed: 0 to {})", what, rank, size_ - 1), ErrorKind::usage);
}

void Communicator::count(std::int64_t bytes) {
  ++traffic_.calls;
  traffic_.bytes += bytes;
}

void Communicator::all_reduce(void* values, std::int64_t elements, DType type, Reduction how) {
  check_size(elements, "all_reduce");
  check_reduction(type, how);
  if (elements == 0 || size_ == 1) return;
  do_all_reduce(values, elements, type, how);
  count(2 * elements * static_cast<std::int64_t>(size_of(type)) * (size_ - 1) / size_);
}

void Communicator::reduce_scatter(const void* values, void* result, std::int64_t elements, DType type, Reduction how) {
  check_size(elements, "reduce_scatter");
  check_reduction(type, how);
  const auto bytes = elements * static_cast<std::int64_t>(size_of(type));
  if (size_ == 1) return copy(result, values, bytes);
  if (elements == 0) return;
  do_reduce_scatter(values, result, elements, type, how);
  count(bytes * (size_ - 1));
}

void Communicator::all_gather(const void* mine, void* all, std::int64_t bytes) {
  check_size(bytes, "all_gather");
  if (size_ == 1) return copy(all, mine, bytes);
  if (bytes == 0) return;
  do_all_gather(mine, all, bytes);
  count(bytes * (size_ - 1));
}

void Communicator::broadcast(void* data, std::int64_t bytes, int root) {
  check_size(bytes, "broadcast");
  check_peer(root, "broadcast from");
  if (bytes == 0 || size_ == 1) return;
  do_broadcast(data, bytes, root);
  count(rank_ == root ? bytes : 0);
}

void Communicator::all_to_all(const void* parts, void* received, std::int64_t bytes) {
  check_size(bytes, "all_to_all");
  if (size_ == 1) return copy(received, parts, bytes);
  if (bytes == 0) return;
  do_all_to_all(parts, received, bytes);
  count(bytes * (size_ - 1));
}

void Communicator::send(const void* data, std::int64_t bytes, int to) {
  check_size(bytes, "send");
  check_peer(to, "send to");
  if (to == rank_) throw Error("[ranks] a rank sends to itself", ErrorKind::usage);
  do_send(data, bytes, to);
  count(bytes);
}

void Communicator::receive(void* data, std::int64_t bytes, int from) {
  check_size(bytes, "receive");
  check_peer(from, "receive from");
  if (from == rank_) throw Error("[ranks] a rank receives from itself", ErrorKind::usage);
  do_receive(data, bytes, from);
  count(0);
}

void Communicator::barrier() {
  if (size_ == 1) return;
  do_barrier();
  count(0);
}

std::shared_ptr<void> Communicator::allocate(std::int64_t bytes) {
  check_size(bytes, "allocate");
  return do_allocate(bytes);
}

std::unique_ptr<Communicator> Communicator::group(const std::vector<int>& ranks) {
  std::set<int> seen;
  int place = -1;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    check_peer(ranks[i], "a group with");
    if (!seen.insert(ranks[i]).second)
      throw Error(fmt::format("[ranks] a group has rank {} twice", ranks[i]), ErrorKind::usage);
    if (ranks[i] == rank_) place = static_cast<int>(i);
  }
  if (place < 0)
    throw Error(fmt::format("[ranks] rank {} asks for a group that it is not in", rank_), ErrorKind::usage);
  if (ranks.size() == 1) return std::make_unique<SingleRank>(world_rank(rank_));
  return do_group(ranks, place);
}

}  // namespace ridgeline::comm
