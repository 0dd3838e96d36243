// The suite over shared memory, for every number of ranks. Over MPI: mpi_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/comm/collective_suite.h"
#include "tests/comm/ranks.h"

namespace ridgeline::comm {
namespace {

class SharedMemory : public ::testing::TestWithParam<int> {};

TEST_P(SharedMemory, DoesWhatPlainLoopsDo) { expect_ranks(GetParam(), check_collectives); }

INSTANTIATE_TEST_SUITE_P(Engines, SharedMemory, ::testing::Range(1, 9),
                         [](const auto& info) { return fmt::format("{}ranks", info.param); });

}  // namespace
}  // namespace ridgeline::comm
