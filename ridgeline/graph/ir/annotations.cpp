#include "ridgeline/graph/ir/annotations.h"

#include <array>

namespace ridgeline {

std::span<const AttributeSpec> annotations() {
  static const std::array<AttributeSpec, 2> kAll = {
      AttributeSpec{kShard, std::string("data"), std::nullopt, "how the ranks divide the op's work"},
      AttributeSpec{kStage, std::int64_t{0}, std::nullopt, "the stage of a pipeline that runs the op"}};
  return kAll;
}

}  // namespace ridgeline
