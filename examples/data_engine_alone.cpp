// Uses the data engine without training code (links ridgeline_data).
//
//   example_data_engine_alone FOLDER [EPOCHS]
//
// Reads FOLDER/<class>/*.jpg, shuffles, crops, flips and batches; prints the batches and time statistics.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "ridgeline/data/data.h"

int main(int argc, char** argv) {
  namespace data = ridgeline::data;
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " FOLDER [EPOCHS]\n";
    return 2;
  }
  try {
    const data::Dataset dataset = data::ImageFolder(argv[1])
                                      .shuffle()
                                      .map(data::RandomResizedCrop(224), data::RandomHorizontalFlip())
                                      .batch(32)
                                      .with_seed(7);
    std::cout << dataset.num_samples() << " images of " << dataset.num_classes() << " classes, " << dataset.size()
              << " batches an epoch: " << data::to_string(dataset.columns()) << "\n";

    data::Iterator it(dataset, {.epochs = argc > 2 ? std::atol(argv[2]) : 1});
    while (const auto batch = it.next()) {
      if (!batch->last_of_epoch()) continue;
      std::cout << "epoch " << batch->epoch() << ": " << batch->index() + 1 << " batches, first label of the last one "
                << batch->label().data<std::int32_t>()[0] << "\n";
    }
    std::cout << it.stats().to_string();
    if (const std::string advice = it.stats().advice(); !advice.empty()) std::cout << advice << "\n";

    // Any single sample can be computed separately: here the first one of epoch 0.
    const data::Sample sample = data::replay(dataset, 0, 0);
    std::cout << "sample 0 of epoch 0 was " << sample.origin << "\n";
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
