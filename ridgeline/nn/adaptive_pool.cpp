// adaptive_avg_pool: the general case works one axis at a time, since the mean over a window of rows and columns is the
// mean over rows of means over columns.
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/nn/functional.h"

namespace ridgeline::nn {
namespace {

Value pool_axis(Value x, int axis, std::int64_t size, const Location& where) {
  GraphBuilder& builder = x.builder();
  const std::int64_t extent = x.shape()[axis];
  if (extent == size) return x;
  Value result;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t begin = i * extent / size;
    const std::int64_t end = ((i + 1) * extent + size - 1) / size;
    std::vector<std::int64_t> start(4, 0), low(4, 0), high(4, 0), window = x.shape().dims();
    start[static_cast<std::size_t>(axis)] = begin;
    window[static_cast<std::size_t>(axis)] = end - begin;
    low[static_cast<std::size_t>(axis)] = i;
    high[static_cast<std::size_t>(axis)] = size - 1 - i;
    Value cell = builder.apply_at(where, "strided_slice", {x},
                                  {{"start", start}, {"stride", std::vector<std::int64_t>(4, 1)}, {"size", window}});
    if (end - begin > 1) {
      cell = builder.apply_at(where, "reduce_mean", {cell},
                              {{"axes", std::vector<std::int64_t>{axis}}, {"keep_dims", true}});
    }
    cell = builder.apply_at(where, "pad", {cell}, {{"low", low}, {"high", high}});
    result = result.defined() ? builder.apply_at(where, "add", {result, cell}) : cell;
  }
  return result;
}

}  // namespace

Value adaptive_avg_pool(Value x, Extent size, const At& at) {
  const Location where = Location::of(at);
  if (x.type(at).shape.rank() != 4) {
    throw Error("[adaptive_avg_pool] x must be images [N,H,W,C], not " + x.type().to_string() + behind_message(where));
  }
  if (size.height < 1 || size.width < 1) {
    throw Error("[adaptive_avg_pool] the size is " + std::to_string(size.height) + " x " + std::to_string(size.width) +
                "; it must be 1 x 1 or more" + behind_message(where));
  }
  const std::int64_t height = x.shape()[1];
  const std::int64_t width = x.shape()[2];
  if (height == size.height && width == size.width) return x;
  if (height % size.height == 0 && width % size.width == 0) {
    const Extent window(height / size.height, width / size.width);
    return avg_pool(x, {.kernel = window, .stride = window}, true, at);
  }
  const GraphBuilder::Scope scope(x.builder(), "adaptive_avg_pool");
  if (height == 1 && width == 1) {
    return x.builder().apply_at(
        where, "broadcast_to", {x},
        {{"shape", std::vector<std::int64_t>{x.shape()[0], size.height, size.width, x.shape()[3]}}});
  }
  return pool_axis(pool_axis(x, 1, size.height, where), 2, size.width, where);
}

}  // namespace ridgeline::nn
