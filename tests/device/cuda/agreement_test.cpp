// How ranks of cards come to the way by which they exchange.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "ridgeline/device/cuda/comm/agreement.h"
#include "ridgeline/device/cuda/library.h"
#include "ridgeline/device/cuda/make_device.h"
#include "tests/comm/ranks.h"
#include "tests/device/cuda/driver_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ::testing::HasSubstr;

CardRecord card_record(std::int32_t version, const std::string& card, CardsOver over = CardsOver::automatic,
                       const std::string& why = "") {
  CardRecord record{.over = over, .version = version};
  card.copy(record.card, sizeof record.card - 1);
  why.copy(record.why, sizeof record.why - 1);
  return record;
}

std::string reason(const std::vector<CardRecord>& records) {
  return reason_against_nccl(records, [](int r) { return fmt::format("rank {}", r); });
}

TEST(CardAgreement, NcclNeedsOneVersionAndACardForEachRank) {
  EXPECT_EQ(reason({card_record(22809, "a"), card_record(22809, "b"), card_record(22809, "c")}), "");
  EXPECT_EQ(reason({card_record(22809, "a"), card_record(22703, "b")}), "rank 0 has NCCL 2.28.9, rank 1 NCCL 2.27.3");
  EXPECT_EQ(reason({card_record(22809, "a"), card_record(22809, "b"), card_record(22809, "a")}),
            "rank 0 and rank 2 are on one card");
  EXPECT_EQ(
      reason({card_record(22809, "a"), card_record(0, "b", CardsOver::automatic, "[cuda] libnccl.so.2 is not there")}),
      "rank 1 has no NCCL: [cuda] libnccl.so.2 is not there");
}

TEST(CardAgreement, ARankThatWantsTheHostsWayKeepsAllOnIt) {
  EXPECT_EQ(reason({card_record(22809, "a"), card_record(0, "", CardsOver::host)}),
            "rank 1 has RIDGELINE_CARDS_OVER=host");
}

TEST(CardAgreement, TheRecordingDriverMakesTheMovesOfNcclWhereAllAskForIt) {
  const CardRecord asks = card_record(kRecordedVersion, "", CardsOver::nccl);
  EXPECT_EQ(reason({asks, asks}), "");
  EXPECT_EQ(reason({asks, card_record(kRecordedVersion, "")}), "rank 1 is on the recording driver");
  EXPECT_EQ(reason({card_record(22809, "a"), asks}), "rank 0 has NCCL 2.28.9, rank 1 the recording driver");
}

TEST(CardAgreement, TheWayIsNamedOrRefused) {
  EXPECT_EQ(cards_over_named("", kCardsOver), CardsOver::automatic);
  EXPECT_EQ(cards_over_named("auto", kCardsOver), CardsOver::automatic);
  EXPECT_EQ(cards_over_named("nccl", kCardsOver), CardsOver::nccl);
  EXPECT_EQ(cards_over_named("host", kCardsOver), CardsOver::host);
  EXPECT_EQ(error_of([] { cards_over_named("nvlink", kCardsOver); }),
            "[cuda] RIDGELINE_CARDS_OVER='nvlink' (allowed: auto, nccl, host)");
}

TEST(CardAgreement, TheEnvironmentChoosesTheWayOfADevice) {
  const auto ends_with = [](const char* way) {
    ::setenv("RIDGELINE_CUDA_DRIVER", "recording", 1);
    ::setenv(kCardsOver, way, 1);
    const std::string end = error_of([] { make_device({}, kAnyImages); });
    ::unsetenv(kCardsOver);
    ::unsetenv("RIDGELINE_CUDA_DRIVER");
    return end;
  };
  for (const char* way : {"", "auto", "nccl", "host"}) EXPECT_EQ(ends_with(way), "");
  EXPECT_EQ(ends_with("HOST"), "[cuda] RIDGELINE_CARDS_OVER='HOST' (allowed: auto, nccl, host)");
}

TEST(CardAgreement, AllRanksOrTwoOfThemTellEachOtherTheirRecordsAndTheId) {
  comm::expect_ranks(3, [](comm::Communicator& ranks) {
    const CardRecord own = card_record(100 + ranks.rank(), fmt::format("card {}", ranks.rank()));
    const auto expect = [&](const std::vector<int>& members) {
      const std::vector<CardRecord> records = tell_records(ranks, members, own);
      ASSERT_EQ(records.size(), members.size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        EXPECT_EQ(records[i].version, 100 + members[i]);
        EXPECT_EQ(records[i].card, fmt::format("card {}", members[i]));
      }
      nccl::UniqueId id{};
      if (ranks.rank() == members[0]) std::strcpy(id.bytes, "the first one's");
      tell_id(ranks, members, id);
      EXPECT_STREQ(id.bytes, "the first one's");
    };
    expect({0, 1, 2});
    if (ranks.rank() != 1) expect({0, 2});
    if (ranks.rank() != 0) expect({1, 2});
  });
}

TEST(NcclFunctions, AreAllInTheLibraryOfThisMachine) {
  const nccl::Functions* functions = nullptr;
  if (const std::string missing = error_of([] { Library::open(LibraryName::nccl); }); !missing.empty())
    GTEST_SKIP() << missing;
  ASSERT_EQ(error_of([&] { functions = &nccl::library(); }), "");
  EXPECT_GE(functions->version(), nccl::kLeastVersion);
  EXPECT_EQ(functions->reason(nccl::kSuccess), "no error");
  EXPECT_THAT(error_of([&] { functions->check(4, "ncclSend"); }), HasSubstr("[cuda] ncclSend: invalid argument"));
}

TEST(NcclFunctions, WhatALibraryLacksIsNamed) {
  EXPECT_EQ(error_of([] { nccl::Functions([](const char*) -> void* { return nullptr; }); }),
            "[cuda] NCCL has no function ncclGetVersion");
  const auto old = [](const char* name) -> void* {
    constexpr auto version = +[](int* v) { return *v = 21701, 0; };
    constexpr auto text = +[](int) { return "no error"; };
    return std::string_view(name) == "ncclGetVersion" ? reinterpret_cast<void*>(version)
                                                      : reinterpret_cast<void*>(text);
  };
  EXPECT_EQ(error_of([&] { nccl::Functions{old}; }), "[cuda] NCCL 2.17.1 is too old, 2.18.0 or later is needed");
}

}  // namespace
}  // namespace ridgeline::cuda::testing
