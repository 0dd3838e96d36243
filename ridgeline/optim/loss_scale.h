// ridgeline/optim/loss_scale.h
//
// The factor of the loss before it is differentiated, so that small gradients do not vanish in f16, and how the factor
// changes with overflows. A plain value.
//
//   overflow: clean = 0, bad + 1; at the shrink_every-th in a row scale = max(scale * shrink, 1), bad = 0
//   else:     bad = 0, clean + 1; at the grow_every-th in a row scale = min(scale * grow, 3.4e38), clean = 0
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/graph/loop/builder.h"

namespace ridgeline::optim {

struct LossScale {
  double initial = 1;
  double grow = 1;
  std::int64_t grow_every = 0;  // steps; 0: never
  double shrink = 1;
  std::int64_t shrink_every = 1;
  bool skip_overflow = true;  // a step whose gradients are not finite changes nothing and does not count

  // MindSpore's FixedLossScaleManager.
  static LossScale fixed(double scale = 128, bool drop_overflow_update = true);
  // MindSpore's DynamicLossScaleManager.
  static LossScale dynamic(double init = 16777216, double factor = 2, std::int64_t window = 2000);
  // The TensorFlow adapter's ExponentialUpdateLossScaleManager.
  static LossScale exponential(double init, std::int64_t incr_every, std::int64_t decr_every = 2, double incr_ratio = 2,
                               double decr_ratio = 0.8);

  // Whether the scale never changes.
  bool is_fixed() const { return grow == 1 && shrink == 1; }
  // Errors (usage): "loss scale must be at least 1." and the like.
  void check() const;
  // The next (scale, clean, bad, in_a_row) from these four and overflow, 1 or 0; in_a_row counts overflows.
  loop::Expression rule() const;
};

// "128" (fixed), "dynamic", "dynamic,INIT,FACTOR,WINDOW", "exponential,INIT,INCR_EVERY[,DECR_EVERY[,INCR,DECR]]".
// Anything else is an Error (usage).
LossScale parse_loss_scale(const std::string& text);

// A run ends after more than this many overflows in a row.
inline constexpr int kMostOverflows = 1000;

}  // namespace ridgeline::optim
