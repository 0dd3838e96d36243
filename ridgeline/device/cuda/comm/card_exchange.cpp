#include "ridgeline/device/cuda/comm/card_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/kernels/launches.h"

namespace ridgeline::cuda {
namespace {

// Shares begin at multiples of it, so that no access of a kernel or of NCCL is cut.
constexpr std::size_t kLine = 64;

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

std::string CardExchange::refusal(const CollectiveRequest& request, const CardExchangeOptions& options) {
  const Attributes& attributes = request.start.attributes;
  if (attributes.boolean("conditional")) return "exchanges under a condition";
  const CollectiveRule& rule = collective_rule(request.start);
  if (rule.combines && options.exact && !takes_rank_sums(request.pending.dtype, request.ranks.size()))
    return fmt::format("sums of {} over {} ranks", name_of(request.pending.dtype), request.ranks.size());
  return {};
}

std::vector<int> CardExchange::members(const CollectiveRequest& request) {
  std::vector<int> all(static_cast<std::size_t>(request.ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  if (!collective_rule(request.start).between_two) return all;
  const auto from = static_cast<int>(request.start.attributes.integer("from")),
             to = static_cast<int>(request.start.attributes.integer("to"));
  return {std::min(from, to), std::max(from, to)};
}

CardExchange::CardExchange(const CollectiveRequest& request, std::shared_ptr<const CardGroup> group,
                           const CardExchangeOptions& options)
    : rule_(collective_rule(request.start)),
      group_(std::move(group)),
      exact_(options.exact),
      type_(request.pending.dtype),
      element_(size_of(type_)),
      count_(request.pending_bytes / element_),
      bytes_(request.bytes[0]),
      root_(static_cast<int>(request.start.attributes.integer("root"))),
      from_(static_cast<int>(request.start.attributes.integer("from"))),
      to_(static_cast<int>(request.start.attributes.integer("to"))),
      how_(rule_.combines && request.start.attributes.string("reduction") == "mean" ? comm::Reduction::mean
                                                                                    : comm::Reduction::sum) {
  name_ = fmt::format("exchange {} by NCCL{}", rule_.name, sums_in_pairs() ? ", summed in pairs" : "");
  const std::size_t others = static_cast<std::size_t>(group_->size()) - 1, line = kLine / element_;
  most_share_ = std::max(line, options.scratch_bytes / others / element_ / line * line);
}

// The elements that a rank combines of so many, of one round.
std::size_t CardExchange::share_of(std::size_t elements) const {
  const auto ranks = static_cast<std::size_t>(group_->size());
  return std::min(most_share_, rounded_up((elements + ranks - 1) / ranks, kLine / element_));
}

std::size_t CardExchange::scratch_bytes() const {
  if (!sums_in_pairs()) return 0;
  const bool scattered = rule_.kind == CollectiveKind::reduce_scatter;
  const std::size_t share = scattered ? std::min(most_share_, rounded_up(count_, kLine / element_)) : share_of(count_);
  return share * element_ * (static_cast<std::size_t>(group_->size()) - 1);
}

void CardExchange::give(ExchangeSteps& steps, const void* operand, void* result, void* scratch) const {
  if (count_ == 0) return;
  const std::size_t bytes = count_ * element_;
  auto* const values = static_cast<char*>(result);
  const bool clears = rule_.kind == CollectiveKind::reduce && group_->rank() != root_;
  switch (rule_.kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
      if (exact_)
        all_reduce(steps, values, static_cast<char*>(scratch));
      else if (rule_.kind == CollectiveKind::reduce)
        steps.call(group_->reduce(name_, result, count_, type_, how_, root_));
      else
        steps.call(group_->all_reduce(name_, result, count_, type_, how_));
      if (clears) steps.clear(result, bytes);
      break;
    case CollectiveKind::reduce_scatter:
      if (exact_)
        reduce_scatter(steps, static_cast<const char*>(operand), values, static_cast<char*>(scratch));
      else
        steps.call(group_->reduce_scatter(name_, operand, result, count_, type_, how_));
      break;
    case CollectiveKind::broadcast: steps.call(group_->broadcast(name_, result, bytes, root_)); break;
    case CollectiveKind::all_gather: steps.call(group_->all_gather(name_, operand, result, bytes_)); break;
    case CollectiveKind::all_to_all: all_to_all(steps, static_cast<const char*>(operand), values); break;
    case CollectiveKind::transfer: transfer(steps, result); break;
  }
}

void CardExchange::combine(ExchangeSteps& steps, std::size_t elements, std::size_t stride, const char* own,
                           const char* others, char* result) const {
  if (elements == 0) return;
  const RankValues values{.type = type_,
                          .elements = static_cast<std::int64_t>(elements),
                          .stride = static_cast<std::int64_t>(stride),
                          .ranks = group_->size(),
                          .rank = group_->rank(),
                          .mean = how_ == comm::Reduction::mean};
  rank_sums([&](const KernelLaunch& launch) { steps.launch(launch); }, values, own, others, result);
}

// Rank r combines the r-th share of each round.
void CardExchange::all_reduce(ExchangeSteps& steps, char* values, char* scratch) const {
  const auto ranks = static_cast<std::size_t>(group_->size()), me = static_cast<std::size_t>(group_->rank());
  const bool to_all = rule_.kind == CollectiveKind::all_reduce;
  const bool gets_results = to_all || group_->rank() == root_;
  const std::size_t round = share_of(count_) * ranks;
  for (std::size_t at = 0; at < count_; at += round) {
    const std::size_t left = std::min(count_ - at, round), share = share_of(left);
    char* const here = values + at * element_;
    const auto part = [&](std::size_t r) { return Part{std::min(left, r * share), std::min(left, (r + 1) * share)}; };
    const Part own = part(me);
    std::vector<CardMove> values_out, values_in, results_out, results_in;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r == me) continue;
      const int peer = static_cast<int>(r);
      const std::size_t place = r < me ? r : r - 1;
      const CardMove theirs{peer, here + part(r).begin * element_, part(r).size() * element_};
      values_out.push_back(theirs);
      values_in.push_back({peer, scratch + place * share * element_, own.size() * element_});
      if (gets_results) results_in.push_back(theirs);
      if (to_all || peer == root_) results_out.push_back({peer, here + own.begin * element_, own.size() * element_});
    }
    steps.call(group_->moves(name_ + ": values", values_out, values_in));
    combine(steps, own.size(), share, here + own.begin * element_, scratch, here + own.begin * element_);
    steps.call(group_->moves(name_ + ": results", results_out, results_in));
  }
}

void CardExchange::reduce_scatter(ExchangeSteps& steps, const char* values, char* result, char* scratch) const {
  const auto ranks = static_cast<std::size_t>(group_->size()), me = static_cast<std::size_t>(group_->rank());
  const auto element_of = [&](std::size_t index) { return const_cast<char*>(values) + index * element_; };
  const std::size_t stride = std::min(most_share_, rounded_up(count_, kLine / element_));
  for (std::size_t at = 0; at < count_; at += stride) {
    const std::size_t left = std::min(count_ - at, stride);
    std::vector<CardMove> out, in;
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r == me) continue;
      const std::size_t place = r < me ? r : r - 1;
      out.push_back({static_cast<int>(r), element_of(r * count_ + at), left * element_});
      in.push_back({static_cast<int>(r), scratch + place * stride * element_, left * element_});
    }
    steps.call(group_->moves(name_ + ": values", out, in));
    combine(steps, left, stride, element_of(me * count_ + at), scratch, result + at * element_);
  }
}

void CardExchange::all_to_all(ExchangeSteps& steps, const char* parts, char* received) const {
  const auto ranks = static_cast<std::size_t>(group_->size()), me = static_cast<std::size_t>(group_->rank());
  const std::size_t bytes = bytes_ / ranks;
  std::vector<CardMove> out, in;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r == me) continue;
    out.push_back({static_cast<int>(r), const_cast<char*>(parts) + r * bytes, bytes});
    in.push_back({static_cast<int>(r), received + r * bytes, bytes});
  }
  steps.copy(received + me * bytes, parts + me * bytes, bytes);
  steps.call(group_->moves(name_, out, in));
}

void CardExchange::transfer(ExchangeSteps& steps, void* values) const {
  if (from_ == to_) return;
  const int from = group_->place_of(from_), to = group_->place_of(to_);
  const bool sends = group_->rank() == from;
  const CardMove move{sends ? to : from, values, count_ * element_};
  if (sends)
    steps.call(group_->moves(name_, std::span(&move, 1), {}));
  else
    steps.call(group_->moves(name_, {}, std::span(&move, 1)));
}

}  // namespace ridgeline::cuda
