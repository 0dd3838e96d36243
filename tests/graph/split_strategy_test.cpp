#include "ridgeline/graph/pass/split_strategy.h"

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

using Ends = std::vector<std::size_t>;

template <class F>
std::string split_error(F&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string indices(std::vector<std::int64_t> list) {
  return split_error([&] { SplitStrategy::by_indices(list); });
}
std::string sizes(std::vector<double> list) {
  return split_error([&] { SplitStrategy::by_sizes(list); });
}

TEST(SplitStrategy, IndicesAreTheLastGradientsOfTheirBuckets) {
  const std::vector<std::size_t> bytes(160, 4);
  const Ends ends = bucket_ends(bytes, SplitStrategy::by_indices({20, 100, 159}));
  EXPECT_EQ(ends, (Ends{21, 101, 160}));
  EXPECT_EQ(segments_text(ends), "[0,20] [21,100] [101,159]");
}

TEST(SplitStrategy, IndicesMustAscendAndEndAtTheLastGradient) {
  EXPECT_NE(indices({}).find("idxList length is 0"), std::string::npos);
  EXPECT_NE(indices({20, 20}).find("idx in idxList is not ascending"), std::string::npos);
  EXPECT_NE(indices({-1}).find("idx val[-1]"), std::string::npos);
  EXPECT_NE(indices({0, 1, 2, 3, 4, 5, 6, 7, 8}).find("at most 8"), std::string::npos);
  EXPECT_EQ(indices({4294967295}), "");
  EXPECT_NE(indices({4294967296}).find("idx val[4294967296]"), std::string::npos);
  const std::vector<std::size_t> bytes(3, 4);
  EXPECT_NE(
      split_error([&] { bucket_ends(bytes, SplitStrategy::by_indices({1})); }).find("the last of 3 gradients is 2"),
      std::string::npos);
}

TEST(SplitStrategy, SharesOfTheBytesAreMetAsNearAsGradientsAllow) {
  EXPECT_EQ(bucket_ends(Ends{10, 10, 10, 70}, SplitStrategy::by_sizes({30, 70})), (Ends{3, 4}));
  EXPECT_EQ(bucket_ends(Ends{10, 10, 10, 70}, SplitStrategy::by_sizes({25, 75})), (Ends{3, 4}));
  EXPECT_EQ(bucket_ends(Ends{10, 10, 10, 70}, SplitStrategy::by_sizes({24, 76})), (Ends{2, 4}));
  EXPECT_EQ(bucket_ends(Ends{10, 90}, SplitStrategy::by_sizes({0, 100})), (Ends{2}));
}

TEST(SplitStrategy, SharesMustBeAHundredTogether) {
  EXPECT_NE(sizes({}).find("dataSizeList length is 0"), std::string::npos);
  EXPECT_NE(sizes({60, 30}).find("size percentage list sum is not 100%"), std::string::npos);
  EXPECT_NE(sizes({-10, 110}).find("negative"), std::string::npos);
  EXPECT_EQ(sizes({33.3, 66.7}), "");
}

TEST(SplitStrategy, ByDefaultTheLastFewGradientsAreASmallBucketOfTheirOwn) {
  Ends bytes(100, 1000);
  EXPECT_EQ(bucket_ends(bytes, {}), (Ends{97, 100}));
  EXPECT_EQ(bucket_ends(Ends{5}, {}), (Ends{1}));
  EXPECT_EQ(bucket_ends(Ends{}, {}), Ends{});
}

TEST(SplitStrategy, SharesCountBeforeIndicesWhereBothAreSet) {
  SplitStrategy both = SplitStrategy::by_sizes({50, 50});
  both.by_index = {0, 3};
  EXPECT_EQ(bucket_ends(Ends{1, 1, 1, 1}, both), (Ends{2, 4}));
}

}  // namespace
}  // namespace ridgeline
