// ridgeline/device/cuda/comm/agreement.h
//
// Ranks agree on how they exchange, before they do: by what each can and wants, so that all come to the same.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/device/cuda/nccl/functions.h"

namespace ridgeline::cuda {

enum class CardsOver : std::int32_t {
  automatic,  // from card to card where all ranks can, else by way of the host
  nccl,       // from card to card; an Error where a rank cannot
  host
};
// "auto", "nccl" or "host"; an Error (kind usage) that names `where` for another text.
CardsOver cards_over_named(std::string_view text, std::string_view where);
inline constexpr char kCardsOver[] = "RIDGELINE_CARDS_OVER";

struct ExchangeOptions {
  CardsOver over = CardsOver::automatic;
  // Where NCCL comes from: an Error where it is not there.
  std::function<const nccl::Functions&()> nccl = nccl::library;
  std::size_t scratch_bytes = std::size_t{64} << 20;  // the most that exchanges take beside values
};

// What a rank says of itself: bytes, which are exchanged.
struct CardRecord {
  CardsOver over = CardsOver::automatic;
  std::int32_t version = 0;  // of NCCL; 0: it has none
  char card[40] = {};        // by which two ranks know that they are on one; "": on none that there is
  char why[208] = {};        // why it has no NCCL
};
// That of a rank on the recording driver, which has no NCCL and makes its moves where that is asked for.
inline constexpr std::int32_t kRecordedVersion = -1;

// The records of `members`, ranks of `ranks` in order: all of them, or the caller and another one. Each calls it.
std::vector<CardRecord> tell_records(comm::Communicator& ranks, std::span<const int> members, const CardRecord& own);
// What keeps these ranks from exchanging from card to card, "" where nothing does: the same on all.
std::string reason_against_nccl(std::span<const CardRecord> records, const std::function<std::string(int)>& name);
// What the first of them has, to all.
void tell_id(comm::Communicator& ranks, std::span<const int> members, nccl::UniqueId& id);

}  // namespace ridgeline::cuda
