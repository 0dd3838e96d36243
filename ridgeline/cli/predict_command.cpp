#include <array>
#include <cstdio>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/saved_model_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/format/text/csv_row.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/image/sniff.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/predictor.h"
#include "ridgeline/train/recipe/saved_model.h"

namespace ridgeline::cli {
namespace {

using Classes = std::vector<infer::ClassProbability>;  // the most probable first

struct Shown {
  std::size_t top = 5;
  bool logits = false;
};

std::string csv_field(const std::string& text) { return csv_cell(printable(text)); }

std::vector<double> logits_by_label(const Classes& classes) {
  std::vector<double> logits(classes.size());
  for (const auto& c : classes) logits[static_cast<std::size_t>(c.label)] = c.logit;
  return logits;
}

void print_text(const std::string& image, const Classes& classes, const Shown& shown) {
  std::printf("%s\n", printable(image).c_str());
  if (shown.logits) {
    for (const double logit : logits_by_label(classes)) std::printf(" %.4f", logit);
    std::printf("\n");
    return;
  }
  for (std::size_t i = 0; i < std::min(shown.top, classes.size()); ++i) {
    std::printf("  %6.2f %%  %lld %s\n", 100 * classes[i].probability, static_cast<long long>(classes[i].label),
                printable(classes[i].name).c_str());
  }
}

// A line a class, or with --logits one an image.
void print_csv(const std::string& image, const Classes& classes, const Shown& shown) {
  if (shown.logits) {
    std::printf("%s", csv_field(image).c_str());
    for (const double logit : logits_by_label(classes)) std::printf(",%.9g", logit);
    std::printf("\n");
    return;
  }
  for (std::size_t i = 0; i < std::min(shown.top, classes.size()); ++i) {
    std::printf("%s,%zu,%lld,%s,%.9g\n", csv_field(image).c_str(), i + 1, static_cast<long long>(classes[i].label),
                csv_field(classes[i].name).c_str(), classes[i].probability);
  }
}

// One object a line.
void print_json(const std::string& image, const Classes& classes, const Shown& shown) {
  JsonValue::Object object{{"image", printable(image)}};
  if (shown.logits) {
    JsonValue::Array logits;
    for (const double logit : logits_by_label(classes)) logits.emplace_back(logit);
    object.push_back({"logits", std::move(logits)});
  } else {
    JsonValue::Array list;
    for (std::size_t i = 0; i < std::min(shown.top, classes.size()); ++i) {
      JsonValue::Object one{{"label", classes[i].label}};
      if (!classes[i].name.empty()) one.push_back({"name", printable(classes[i].name)});
      one.push_back({"probability", classes[i].probability});
      list.emplace_back(std::move(one));
    }
    object.push_back({"classes", std::move(list)});
  }
  std::printf("%s\n", to_json_text(JsonValue(std::move(object))).c_str());
}

struct PredictionFormat {
  std::string_view name;
  void (*print)(const std::string& image, const Classes& classes, const Shown& shown);
  std::string_view header;  // before the first image, without --logits
};
constexpr std::array<PredictionFormat, 3> kPredictionFormats{
    {{"text", print_text, ""}, {"csv", print_csv, "image,rank,label,name,probability\n"}, {"json", print_json, ""}}};

// Files of models that other flags or commands read: they are not images.
void refuse_other_models(const std::string& path) {
  for (const std::string_view ending : {".safetensors", ".pt", ".pth", ".ckpt"}) {
    if (path.ends_with(ending))
      throw Error(path + " is not an image; to use it as weights: --weights=" + path, ErrorKind::usage);
  }
  if (!path.ends_with(".onnx")) return;
  throw Error(path +
                  ": predict does not read ONNX files, only model files *.rdgm (ridgeline export --out MODEL.rdgm) and "
                  "checkpoints " +
                  "(--checkpoint_dir, --weights)",
              ErrorKind::usage);
}

const PredictionFormat& prediction_format_named(const std::string& name) {
  for (const PredictionFormat& format : kPredictionFormats) {
    if (format.name == name) return format;
  }
  throw Error("unknown --format '" + name + "' (allowed: text, csv, json)", ErrorKind::usage);
}

}  // namespace

int predict_command(const Words& words) {
  Command app(
      "print the most probable classes of image files: ridgeline predict MODEL.rdgm IMAGE..., or with flags for the "
      "model",
      "predict");
  train::Recipe recipe;
  std::vector<std::string> images;
  Shown shown;
  std::string format_name = "text", reproducibility = "fast";
  app.option("IMAGE", images,
             image::decoded_format_names() + " files; the first may be a model file that `ridgeline export` wrote")
      .required();
  add_saved_model_flags(app, recipe);
  app.option("--top", shown.top, "number of classes to print");
  app.option("--format", format_name, "output format: text, csv or json (one object per image and line)");
  app.option("--reproducibility", reproducibility,
             "when results are bitwise the same: fast (same machine and number of threads), deterministic (any number "
             "of threads), portable (any machine)");
  app.flag("--logits", shown.logits,
           "print the logits of all classes, in the order of the classes, instead of probabilities");
  if (!app.parse(words)) return 0;
  if (shown.top == 0) throw Error("--top=0 shows nothing (allowed: 1 or more)", ErrorKind::usage);
  const PredictionFormat& format = prediction_format_named(format_name);
  const KernelPromise promise{.bits = reproducibility_named(reproducibility)};
  const bool from_file = infer::is_model_file(images.front());
  if (!from_file) refuse_other_models(images.front());
  if (!from_file && images.front().ends_with(".rdgm")) {
    throw Error(is_regular_file(images.front()) ? images.front() + " is not a model file (ridgeline export writes them)"
                                                : "no such file: " + images.front());
  }
  if (from_file) {
    for (const char* flag : {"--model", "--checkpoint_dir", "--checkpoint", "--weights", "--num_classes",
                             "--image_size", "--exif_orientation"}) {
      if (app.given(flag)) {
        throw Error(std::string(flag) + " has no effect with the model file " + images.front(), ErrorKind::usage);
      }
    }
  }
  const infer::Model model = from_file ? infer::read_model(images.front()) : train::saved_model(recipe);
  if (from_file) images.erase(images.begin());
  if (images.empty()) throw Error("no image given after the model file", ErrorKind::usage);
  infer::Predictor predictor(model, {.batch_size = 1, .session = {.promise = promise}});
  bool all_read = true;
  if (!shown.logits) std::printf("%s", format.header.data());
  for (const std::string& image : images) {
    try {
      format.print(image, predictor.predict_file(image), shown);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::failure) throw;
      std::fflush(stdout);  // so that the two keep their order where both go to one place
      std::fprintf(stderr, "ridgeline predict: %s\n", printable(error.what()).c_str());
      all_read = false;
    }
  }
  return all_read ? 0 : 1;
}

}  // namespace ridgeline::cli
