#include "ridgeline/train/metric/loss.h"

namespace ridgeline::train {

void Loss::update(const MetricBatch& batch) {
  sums_[0] += batch.output(sum_).at(0);
  sums_[1] += batch.output(nn::kRowsResult).at(0);
}

}  // namespace ridgeline::train
