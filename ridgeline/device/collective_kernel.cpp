#include "ridgeline/device/collective_kernel.h"

#include <cstring>

#include "ridgeline/graph/op/collective.h"

namespace ridgeline {
namespace {

class CollectiveKernel final : public Kernel {
 public:
  explicit CollectiveKernel(const CollectiveRequest& request)
      : rule_(collective_rule(request.start)),
        ranks_(request.ranks),
        type_(request.pending.dtype),
        count_(static_cast<std::int64_t>(request.pending_bytes / size_of(request.pending.dtype))),
        bytes_(static_cast<std::int64_t>(request.bytes[0])),
        root_(static_cast<int>(request.start.attributes.integer("root"))),
        from_(static_cast<int>(request.start.attributes.integer("from"))),
        to_(static_cast<int>(request.start.attributes.integer("to"))),
        how_(rule_.combines && request.start.attributes.string("reduction") == "mean" ? comm::Reduction::mean
                                                                                      : comm::Reduction::sum),
        condition_(request.start.attributes.boolean("conditional") ? static_cast<int>(request.operands.size()) - 1
                                                                   : -1) {
    name = "exchange " + std::string(rule_.name);
  }

  void run(const KernelArguments& a) override {
    if (condition_ >= 0 && !*static_cast<const bool*>(a.inputs[condition_])) return;
    void* result = a.outputs[0];
    switch (rule_.kind) {
      case CollectiveKind::all_reduce: ranks_.all_reduce(result, count_, type_, how_); break;
      case CollectiveKind::reduce:
        ranks_.all_reduce(result, count_, type_, how_);
        if (ranks_.rank() != root_) std::memset(result, 0, static_cast<std::size_t>(count_) * size_of(type_));
        break;
      case CollectiveKind::broadcast:
        ranks_.broadcast(result, count_ * static_cast<std::int64_t>(size_of(type_)), root_);
        break;
      case CollectiveKind::all_gather: ranks_.all_gather(a.inputs[0], result, bytes_); break;
      case CollectiveKind::all_to_all: ranks_.all_to_all(a.inputs[0], result, bytes_ / ranks_.size()); break;
      case CollectiveKind::transfer: transfer(result); break;
      case CollectiveKind::reduce_scatter: ranks_.reduce_scatter(a.inputs[0], result, count_, type_, how_); break;
    }
  }

 private:
  void transfer(void* values) {
    const std::int64_t bytes = count_ * static_cast<std::int64_t>(size_of(type_));
    if (from_ == to_) return;
    if (ranks_.rank() == from_) ranks_.send(values, bytes, to_);
    if (ranks_.rank() == to_) ranks_.receive(values, bytes, from_);
  }

  const CollectiveRule& rule_;
  comm::Communicator& ranks_;
  DType type_;
  std::int64_t count_;  // elements of the result
  std::int64_t bytes_;  // of operand 0
  int root_, from_, to_;
  comm::Reduction how_;
  int condition_;  // the operand; -1: none
};

}  // namespace

std::unique_ptr<Kernel> make_collective_kernel(const CollectiveRequest& request) {
  return std::make_unique<CollectiveKernel>(request);
}

}  // namespace ridgeline
