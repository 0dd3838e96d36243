#include "ridgeline/data/ir/callback.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

DataCallback::DataCallback(std::int64_t step_size) : step_size_(step_size) {
  if (step_size < 1) throw Error(fmt::format("[callback] step_size is {}, it must be at least 1", step_size));
}

}  // namespace ridgeline::data
