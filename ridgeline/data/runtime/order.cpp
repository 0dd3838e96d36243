#include "ridgeline/data/runtime/order.h"

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

constexpr std::size_t kRecentEpochs = 4;

}  // namespace

Order::Order(const std::vector<const Node*>& nodes, std::int64_t rows, std::uint64_t seed) : size_(rows) {
  for (const Node* node : nodes) {
    Step step{.kind = Step::Kind::skip, .rows = size_, .key = {}, .recent = {}};
    size_ = node_entry(node->op).size(*node, size_);
    if (node->op == "shuffle") {
      step.kind = Step::Kind::shuffle;
      const std::int64_t own = arg<std::int64_t>(node->args, "seed");
      step.key = philox_key(own < 0 ? seed : static_cast<std::uint64_t>(own), node->name);
    } else if (node->op == "repeat") {
      step.kind = Step::Kind::repeat;
      step.count = arg<std::int64_t>(node->args, "count");
    } else if (node->op == "skip") {
      step.count = arg<std::int64_t>(node->args, "count");
    } else if (node->op == "shard") {
      step.kind = Step::Kind::shard;
      step.count = arg<std::int64_t>(node->args, "count");
      step.index = arg<std::int64_t>(node->args, "index");
    } else {
      RIDGELINE_CHECK(node->op == "take", "not an order node: " + node->op);
      continue;  // take only shortens
    }
    steps_.push_back(std::move(step));
  }
}

SampleRef Order::at(std::uint64_t epoch, std::uint64_t position) const {
  RIDGELINE_CHECK(size_ == kForever || position < static_cast<std::uint64_t>(size_), "position outside the epoch");
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    switch (step->kind) {
      case Step::Kind::shuffle: position = shuffled(*step, epoch, position); break;
      case Step::Kind::skip: position += static_cast<std::uint64_t>(step->count); break;
      case Step::Kind::shard:
        position = position * static_cast<std::uint64_t>(step->count) + static_cast<std::uint64_t>(step->index);
        break;
      case Step::Kind::repeat: {
        // An endless repeat has one epoch above it; a repeat of endless rows never comes to its second pass.
        const std::uint64_t pass = step->rows == kForever ? 0 : position / static_cast<std::uint64_t>(step->rows);
        position -= pass * (step->rows == kForever ? 0 : static_cast<std::uint64_t>(step->rows));
        epoch = (step->count == kForever ? 0 : epoch * static_cast<std::uint64_t>(step->count)) + pass;
        break;
      }
    }
  }
  return {epoch, position};
}

std::uint64_t Order::shuffled(const Step& step, std::uint64_t epoch, std::uint64_t position) const {
  std::shared_ptr<const Permutation> permutation;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [e, p] : step.recent) {
      if (e == epoch) permutation = p;
    }
    if (!permutation) {
      permutation = std::make_shared<const Permutation>(static_cast<std::uint64_t>(step.rows), step.key, epoch);
      if (step.recent.size() == kRecentEpochs) step.recent.erase(step.recent.begin());
      step.recent.emplace_back(epoch, permutation);
    }
  }
  return permutation->at(position);
}

}  // namespace ridgeline::data
