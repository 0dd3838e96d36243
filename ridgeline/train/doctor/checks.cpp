#include "ridgeline/train/doctor/checks.h"

#include <algorithm>
#include <chrono>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

constexpr Check kChecks[] = {
    {"files", "images that are broken, missing labels, classes that are unequal or start elsewhere", check_files},
    {"duplicates", "images of the validation part that are in the training part, too", check_duplicates},
    {"geometry", "how much training and validation enlarge and stretch an image", check_geometry},
    {"pixels", "whether what enters the network is normalised", check_pixels},
    {"labels", "labels that are shifted or exchanged, as weights that know the classes see it", check_labels},
    {"channels", "red and blue exchanged, likewise", check_channels},
    {"frozen", "parameters that are not trained", check_frozen},
    {"units", "channels that give zero for every image", check_units},
    {"head", "what goes into the loss: logits, not probabilities", check_head},
    {"gradients", "gradients that are zero, not finite, or vanish on their way", check_gradients},
    {"precision", "values that 16 bits cannot hold", check_precision},
    {"loss", "the first loss beside that of guessing", check_loss},
    {"rate", "whether one batch can be learned by heart at this learning rate", check_rate, true},
};

bool chosen(const Check& check, const std::vector<std::string>& only) {
  return only.empty() || std::find(only.begin(), only.end(), check.name) != only.end();
}

}  // namespace

std::span<const Check> checks() { return kChecks; }

Diagnosis examine(const Subject& subject, const DiagnosisOptions& options) {
  for (const std::string& name : options.only) {
    std::vector<std::string> names;
    for (const Check& check : kChecks) names.emplace_back(check.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error("[doctor] there is no check '" + name + "'" + did_you_mean(name, names), ErrorKind::usage);
  }
  Examination examination(subject);
  Diagnosis diagnosis;
  for (const Check& check : kChecks) {
    if (!chosen(check, options.only)) continue;
    CheckResult result{.check = std::string(check.name)};
    if (check.symptom && !options.symptoms && !diagnosis.sound()) {
      result.left_out = "a cause is found already";
      diagnosis.checks.push_back(std::move(result));
      continue;
    }
    options.say(std::string(check.name) + ": " + std::string(check.what));
    Findings findings(result, diagnosis);
    const auto begin = std::chrono::steady_clock::now();
    try {
      check.run(examination, findings);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      findings.wrong(std::string("it cannot be run: ") + error.what(), "mend this first");
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    diagnosis.checks.push_back(std::move(result));
  }
  return diagnosis;
}

}  // namespace ridgeline::train
