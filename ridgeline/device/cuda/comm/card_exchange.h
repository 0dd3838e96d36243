// ridgeline/device/cuda/comm/card_exchange.h
//
// One exchange between ranks from card to card, as steps in their order. Sums of which the bits are promised are moves,
// a kernel of ours and moves: each rank gets its share of everybody's values, combines them in the order of
// comm/reduce.h, and gives the result to the others. Other sums are NCCL's own.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/device/cuda/comm/card_group.h"
#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline::cuda {

// What takes the steps: a stream of the card.
class ExchangeSteps {
 public:
  virtual ~ExchangeSteps() = default;
  virtual void call(const LibraryCall& call) = 0;
  virtual void launch(const KernelLaunch& launch) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void clear(void* to, std::size_t bytes) = 0;
};

struct CardExchangeOptions {
  bool exact = true;                                  // sums have the bits that the CPU's ranks give them
  std::size_t scratch_bytes = std::size_t{64} << 20;  // the most that it takes: more values go in several rounds
};

class CardExchange {
 public:
  // What keeps an exchange from going from card to card; "" where nothing does.
  static std::string refusal(const CollectiveRequest& request, const CardExchangeOptions& options);
  // The ranks of an exchange that are in its group: all, or the two that it is between.
  static std::vector<int> members(const CollectiveRequest& request);

  // Of one that is not refused.
  CardExchange(const CollectiveRequest& request, std::shared_ptr<const CardGroup> group,
               const CardExchangeOptions& options);

  const std::string& name() const { return name_; }
  // Of memory of the card, at a multiple of 64; 0: it needs none.
  std::size_t scratch_bytes() const;
  // `operand`: of an exchange whose result has memory of its own (CollectiveRule::packed is false).
  void give(ExchangeSteps& steps, const void* operand, void* result, void* scratch) const;

 private:
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
  };

  bool sums_in_pairs() const { return exact_ && rule_.combines; }
  std::size_t share_of(std::size_t elements) const;
  void all_reduce(ExchangeSteps& steps, char* values, char* scratch) const;
  void reduce_scatter(ExchangeSteps& steps, const char* values, char* result, char* scratch) const;
  void all_to_all(ExchangeSteps& steps, const char* parts, char* received) const;
  void transfer(ExchangeSteps& steps, void* values) const;
  void combine(ExchangeSteps& steps, std::size_t elements, std::size_t stride, const char* own, const char* others,
               char* result) const;

  const CollectiveRule& rule_;
  std::shared_ptr<const CardGroup> group_;
  std::string name_;
  bool exact_;
  DType type_;
  std::size_t element_;
  std::size_t count_;  // elements of the result
  std::size_t bytes_;  // of the operand
  int root_, from_, to_;
  comm::Reduction how_;
  std::size_t most_share_;  // elements of a round that a rank combines
};

}  // namespace ridgeline::cuda
