#include "ridgeline/core/error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ridgeline/core/location.h"
#include "ridgeline/core/log.h"

namespace ridgeline {
namespace {

TEST(Error, CarriesItsKind) {
  EXPECT_EQ(Error("x").kind(), ErrorKind::failure);
  EXPECT_EQ(Error("x", ErrorKind::usage).kind(), ErrorKind::usage);
  EXPECT_STREQ(Error("x").what(), "x");
}

TEST(Check, NamesFileConditionAndMessage) {
  RIDGELINE_CHECK(1 + 1 == 2, "never seen");
  try {
    RIDGELINE_CHECK(1 + 1 == 3, "arithmetic is broken");
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("error_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("arithmetic is broken"), std::string::npos) << text;
  }
}

TEST(NearestName, FindsTheOneMeant) {
  const std::vector<std::string> flags{"batch_size", "data_dir", "lr", "log_dir", "iterations_per_loop"};
  EXPECT_EQ(nearest_name("baatch_size", flags), "batch_size");
  EXPECT_EQ(nearest_name("batchsize", flags), "batch_size");
  EXPECT_EQ(nearest_name("iteration_per_lop", flags), "iterations_per_loop");
  EXPECT_EQ(nearest_name("logdir", flags), "log_dir");
  EXPECT_EQ(did_you_mean("logdir", flags), ": did you mean 'log_dir'?");
  EXPECT_EQ(did_you_mean("entirely_else", flags), "");
  EXPECT_EQ(nearest_name("lr", flags), "lr");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("momentum", {"batch_size", "data_dir"}), "");
  EXPECT_EQ(nearest_name("anything", {}), "");
  EXPECT_EQ(nearest_name("abc", {"xyz"}), "");
}

TEST(NearestName, TakesTheFirstOfEqualOnes) { EXPECT_EQ(nearest_name("cat", {"car", "can"}), "car"); }

TEST(Location, PrintsFileAndLine) {
  const Location here = Location::of(std::source_location::current());
  EXPECT_TRUE(here.known());
  EXPECT_EQ(here.line, static_cast<std::uint32_t>(__LINE__ - 2));
  EXPECT_NE(here.to_string().find("error_test.cpp:"), std::string::npos);
  EXPECT_FALSE(Location{}.known());
  EXPECT_EQ((Location{"models/alexnet.cpp", 57, "alexnet"}).to_string(), "models/alexnet.cpp:57");
}

TEST(Log, WritesOnlyWhatIsEnabled) {
  ::testing::internal::CaptureStderr();
  Log log;
  log.enable("dispatch,memory");
  EXPECT_TRUE(log.enabled("dispatch"));
  EXPECT_TRUE(log.enabled("memory"));
  EXPECT_FALSE(log.enabled("passes"));
  log.trace("dispatch", "conv2d: library");
  log.trace("passes", "not shown");
  log.warning("shown {} as it is");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("[dispatch] conv2d: library"), std::string::npos) << text;
  EXPECT_NE(text.find("warning: shown {} as it is"), std::string::npos) << text;
  EXPECT_EQ(text.find("not shown"), std::string::npos) << text;
}

TEST(Log, RefusesUnknownComponentsByName) {
  Log log;
  try {
    log.enable("dispatch,dispach");
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "unknown log component 'dispach' (allowed: dispatch, placement, memory, passes, data)");
  }
}

}  // namespace
}  // namespace ridgeline
