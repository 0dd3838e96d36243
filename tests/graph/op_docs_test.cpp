#include <gtest/gtest.h>

#include "ridgeline/graph/op/describe.h"
#include "tests/graph/generated_page.h"

namespace ridgeline {
namespace {

TEST(OpDocs, ThePageIsMadeFromTheDefinitions) { expect_page("ops.md", describe_ops()); }

}  // namespace
}  // namespace ridgeline
