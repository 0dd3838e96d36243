#include <cstdio>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/predictor.h"

namespace ridgeline::cli {

int predict_command(const Words& words) {
  Command app("the most probable classes of image files", "predict");
  train::Recipe recipe;
  std::vector<std::string> images;
  std::size_t top = 5;
  bool logits = false;
  app.option("images", images, "JPEG or PNG files").required();
  app.option("--model", recipe.model, "the model");
  app.option("--checkpoint_dir", recipe.checkpoint_dir, "use its newest checkpoint");
  app.option("--restore_path", recipe.restore_path, "use the weights of this safetensors file");
  app.option("--num_classes", recipe.num_classes, "with --restore_path; 0: the published model's");
  app.option("--image_size", recipe.image_size, "0: the checkpoint's or the model's own");
  app.option("--top", top, "classes shown");
  app.flag("--logits", logits, "show logits, in the order of the classes");
  if (!app.parse(words)) return 0;
  train::check(recipe);
  train::Predictor predictor(recipe);
  bool all_read = true;
  for (const std::string& image : images) {
    std::vector<train::ClassProbability> classes;
    try {
      classes = predictor.predict(image);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::failure) throw;
      std::fflush(stdout);  // so that the two keep their order where both go to one place
      std::fprintf(stderr, "ridgeline predict: %s\n", printable(error.what()).c_str());
      all_read = false;
      continue;
    }
    std::printf("%s\n", printable(image).c_str());
    if (logits) {
      std::vector<double> by_label(classes.size());
      for (const auto& c : classes) by_label[static_cast<std::size_t>(c.label)] = c.logit;
      for (double logit : by_label) std::printf(" %.4f", logit);
      std::printf("\n");
      continue;
    }
    for (std::size_t i = 0; i < std::min(top, classes.size()); ++i) {
      std::printf("  %6.2f %%  %lld %s\n", 100 * classes[i].probability, static_cast<long long>(classes[i].label),
                  printable(classes[i].name).c_str());
    }
  }
  return all_read ? 0 : 1;
}

}  // namespace ridgeline::cli
