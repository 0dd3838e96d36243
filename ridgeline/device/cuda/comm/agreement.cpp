#include "ridgeline/device/cuda/comm/agreement.h"

#include <fmt/format.h>

#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::cuda {
namespace {

std::string version_text(const CardRecord& record) {
  if (record.version == kRecordedVersion) return "the recording driver";
  return "NCCL " + nccl::Functions::text_of(record.version);
}

}  // namespace

CardsOver cards_over_named(std::string_view text, std::string_view where) {
  if (text.empty() || text == "auto") return CardsOver::automatic;
  if (text == "nccl") return CardsOver::nccl;
  if (text == "host") return CardsOver::host;
  throw Error(fmt::format("[cuda] {}='{}' (allowed: auto, nccl, host)", where, printable(text)), ErrorKind::usage);
}

std::vector<CardRecord> tell_records(comm::Communicator& ranks, std::span<const int> members, const CardRecord& own) {
  std::vector<CardRecord> records(members.size());
  if (static_cast<int>(members.size()) == ranks.size()) {
    ranks.all_gather(&own, records.data(), sizeof own);
    return records;
  }
  RIDGELINE_CHECK(members.size() == 2, "all ranks, or two");
  const bool first = ranks.rank() == members[0];
  records[first ? 0 : 1] = own;
  if (first) ranks.send(&own, sizeof own, members[1]);
  ranks.receive(&records[first ? 1 : 0], sizeof own, members[first ? 1 : 0]);
  if (!first) ranks.send(&own, sizeof own, members[0]);
  return records;
}

std::string reason_against_nccl(std::span<const CardRecord> records, const std::function<std::string(int)>& name) {
  const auto rank = [&](std::size_t r) { return name(static_cast<int>(r)); };
  for (std::size_t r = 0; r < records.size(); ++r) {
    if (records[r].over == CardsOver::host) return fmt::format("{} has {}=host", rank(r), kCardsOver);
    if (records[r].version == 0) return fmt::format("{} has no NCCL: {}", rank(r), records[r].why);
    if (records[r].version == kRecordedVersion && records[r].over != CardsOver::nccl)
      return fmt::format("{} is on the recording driver", rank(r));
  }
  for (std::size_t r = 1; r < records.size(); ++r) {
    if (records[r].version != records[0].version)
      return fmt::format("{} has {}, {} {}", rank(0), version_text(records[0]), rank(r), version_text(records[r]));
    for (std::size_t other = 0; other < r; ++other) {
      if (records[r].card[0] != '\0' && std::strcmp(records[r].card, records[other].card) == 0)
        return fmt::format("{} and {} are on one card", rank(other), rank(r));
    }
  }
  return {};
}

void tell_id(comm::Communicator& ranks, std::span<const int> members, nccl::UniqueId& id) {
  if (static_cast<int>(members.size()) == ranks.size()) return ranks.broadcast(&id, sizeof id, members[0]);
  if (ranks.rank() == members[0])
    ranks.send(&id, sizeof id, members[1]);
  else
    ranks.receive(&id, sizeof id, members[0]);
}

}  // namespace ridgeline::cuda
