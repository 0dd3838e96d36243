#include "ridgeline/device/cuda/comm/card_group.h"

#include <algorithm>
#include <optional>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda {
namespace {

nccl::DataType nccl_type(DType type) {
  switch (type) {
    case DType::f64: return nccl::DataType::f64;
    case DType::f32: return nccl::DataType::f32;
    case DType::bf16: return nccl::DataType::bf16;
    case DType::f16: return nccl::DataType::f16;
    default: RIDGELINE_CHECK(false, "ranks reduce floating types");
  }
}

nccl::Operation nccl_operation(comm::Reduction how) {
  RIDGELINE_CHECK(how == comm::Reduction::sum || how == comm::Reduction::mean, "ranks reduce by sum or mean");
  return how == comm::Reduction::sum ? nccl::Operation::sum : nccl::Operation::mean;
}

// A move of a list, with the place of its address among those of the call.
struct Placed {
  CardMove move;
  std::size_t place = 0;
};

const Placed* move_with(const std::vector<Placed>& moves, int peer) {
  const auto found = std::find_if(moves.begin(), moves.end(), [&](const Placed& p) { return p.move.peer == peer; });
  return found == moves.end() ? nullptr : &*found;
}

std::vector<Placed> placed(std::span<const CardMove> moves, Touch touch, std::vector<TouchedRange>& touches) {
  std::vector<Placed> list;
  for (const CardMove& move : moves) {
    if (move.bytes == 0) continue;
    RIDGELINE_CHECK(move_with(list, move.peer) == nullptr, "one move each way between two ranks");
    list.push_back({move, touches.size()});
    touches.push_back({device_address(move.address), move.bytes, touch});
  }
  return list;
}

}  // namespace

std::string trouble_of(comm::Communicator& ranks) {
  try {
    const std::optional<std::string> why = ranks.failure();
    return why ? "[ranks] " + *why : "";
  } catch (const Error& error) {
    return error.what();
  }
}

CardGroup::CardGroup(comm::Communicator& ranks, std::vector<int> members, HostFailure& failure,
                     std::unique_ptr<nccl::Communicator> nccl)
    : ranks_(ranks), members_(std::move(members)), failure_(failure), nccl_(std::move(nccl)) {
  rank_ = place_of(ranks.rank());
}

int CardGroup::place_of(int rank) const {
  const auto found = std::find(members_.begin(), members_.end(), rank);
  RIDGELINE_CHECK(found != members_.end(), "a rank of the group");
  return static_cast<int>(found - members_.begin());
}

std::string CardGroup::trouble() const {
  std::string why = trouble_of(ranks_);
  if (why.empty() && nccl_) why = nccl_->error();
  return why;
}

void CardGroup::give_up(const std::string& why) {
  if (nccl_) nccl_->abort(why);
}

std::function<void(StreamHandle)> CardGroup::by_nccl(const std::string& name,
                                                     std::function<void(nccl::Group&)> calls) const {
  return [this, name, calls = std::move(calls)](StreamHandle stream) {
    RIDGELINE_CHECK(nccl_ != nullptr, "a card's exchange has NCCL");
    nccl_->give(name, stream, [&](nccl::Group& group) { calls(group); });
  };
}

// After a failure nothing more is exchanged: the communicator is of no more use.
std::function<void(std::span<void* const>)> CardGroup::on_host(
    std::function<void(std::span<void* const>)> moves) const {
  return [this, moves = std::move(moves)](std::span<void* const> addresses) {
    if (failure_.there()) return;
    try {
      moves(addresses);
    } catch (...) {
      failure_.keep(std::current_exception());
    }
  };
}

LibraryCall CardGroup::moves(const std::string& name, std::span<const CardMove> sends,
                             std::span<const CardMove> receives) const {
  LibraryCall call{.name = name};
  const std::vector<Placed> out = placed(sends, Touch::reads, call.touches),
                            in = placed(receives, Touch::writes, call.touches);
  call.enqueue = by_nccl(name, [out, in](nccl::Group& group) {
    for (const Placed& p : out) {
      group.add("ncclSend", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
        return f.send(p.move.address, p.move.bytes, nccl::DataType::u8, p.move.peer, handle, stream);
      });
    }
    for (const Placed& p : in) {
      group.add("ncclRecv", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
        return f.receive(p.move.address, p.move.bytes, nccl::DataType::u8, p.move.peer, handle, stream);
      });
    }
  });
  // Two by two, by the lower rank of the two, then by the higher, on all ranks: no wait for one who waits.
  call.host = on_host([this, out, in](std::span<void* const> addresses) {
    const auto send = [&](int peer) {
      const Placed* const p = move_with(out, peer);
      if (p != nullptr)
        ranks_.send(addresses[p->place], static_cast<std::int64_t>(p->move.bytes),
                    members_[static_cast<std::size_t>(peer)]);
    };
    const auto receive = [&](int peer) {
      const Placed* const p = move_with(in, peer);
      if (p != nullptr)
        ranks_.receive(addresses[p->place], static_cast<std::int64_t>(p->move.bytes),
                       members_[static_cast<std::size_t>(peer)]);
    };
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_) continue;
      if (rank_ < peer) send(peer);
      receive(peer);
      if (rank_ > peer) send(peer);
    }
  });
  return call;
}

LibraryCall CardGroup::broadcast(const std::string& name, void* values, std::size_t bytes, int root) const {
  LibraryCall call{.name = name};
  call.touches = {{device_address(values), bytes, root == rank_ ? Touch::reads : Touch::writes}};
  call.enqueue = by_nccl(name, [=](nccl::Group& group) {
    group.add("ncclBroadcast", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
      return f.broadcast(values, values, bytes, nccl::DataType::u8, root, handle, stream);
    });
  });
  call.host = on_host([this, bytes, root](std::span<void* const> addresses) {
    ranks_.broadcast(addresses[0], static_cast<std::int64_t>(bytes), root);
  });
  return call;
}

LibraryCall CardGroup::all_gather(const std::string& name, const void* mine, void* all, std::size_t bytes) const {
  LibraryCall call{.name = name};
  call.touches = {{device_address(mine), bytes, Touch::reads},
                  {device_address(all), bytes * members_.size(), Touch::writes}};
  call.enqueue = by_nccl(name, [=](nccl::Group& group) {
    group.add("ncclAllGather", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
      return f.all_gather(mine, all, bytes, nccl::DataType::u8, handle, stream);
    });
  });
  call.host = on_host([this, bytes](std::span<void* const> addresses) {
    ranks_.all_gather(addresses[0], addresses[1], static_cast<std::int64_t>(bytes));
  });
  return call;
}

LibraryCall CardGroup::all_reduce(const std::string& name, void* values, std::size_t count, DType type,
                                  comm::Reduction how) const {
  LibraryCall call{.name = name};
  call.touches = {{device_address(values), count * size_of(type), Touch::updates}};
  call.enqueue = by_nccl(name, [=](nccl::Group& group) {
    group.add("ncclAllReduce", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
      return f.all_reduce(values, values, count, nccl_type(type), nccl_operation(how), handle, stream);
    });
  });
  call.host = on_host([this, count, type, how](std::span<void* const> addresses) {
    ranks_.all_reduce(addresses[0], static_cast<std::int64_t>(count), type, how);
  });
  return call;
}

LibraryCall CardGroup::reduce(const std::string& name, void* values, std::size_t count, DType type, comm::Reduction how,
                              int root) const {
  LibraryCall call = all_reduce(name, values, count, type, how);
  call.enqueue = by_nccl(name, [=](nccl::Group& group) {
    group.add("ncclReduce", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
      return f.reduce(values, values, count, nccl_type(type), nccl_operation(how), root, handle, stream);
    });
  });
  return call;
}

LibraryCall CardGroup::reduce_scatter(const std::string& name, const void* values, void* result, std::size_t count,
                                      DType type, comm::Reduction how) const {
  LibraryCall call{.name = name};
  call.touches = {{device_address(values), count * members_.size() * size_of(type), Touch::reads},
                  {device_address(result), count * size_of(type), Touch::writes}};
  call.enqueue = by_nccl(name, [=](nccl::Group& group) {
    group.add("ncclReduceScatter", [&](const nccl::Functions& f, nccl::Handle handle, nccl::Stream stream) {
      return f.reduce_scatter(values, result, count, nccl_type(type), nccl_operation(how), handle, stream);
    });
  });
  call.host = on_host([this, count, type, how](std::span<void* const> addresses) {
    ranks_.reduce_scatter(addresses[0], addresses[1], static_cast<std::int64_t>(count), type, how);
  });
  return call;
}

}  // namespace ridgeline::cuda
