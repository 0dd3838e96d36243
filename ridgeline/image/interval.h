// ridgeline/image/interval.h
//
// The range from which a parameter is drawn.
#pragma once

namespace ridgeline::image {

struct Interval {
  double low = 0, high = 0;
};

}  // namespace ridgeline::image
