// ridgeline/image/interval.h
//
// The range a parameter is drawn from.
#pragma once

namespace ridgeline::image {

struct Interval {
  double low = 0, high = 0;
};

}  // namespace ridgeline::image
