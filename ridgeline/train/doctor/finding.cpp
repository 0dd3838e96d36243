#include "ridgeline/train/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ridgeline/core/printable.h"

namespace ridgeline::train {

std::string_view name_of(FindingLevel level) {
  constexpr std::string_view kNames[] = {"note", "suspect", "wrong"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string Diagnosis::first_wrong() const {
  for (const CheckResult& check : checks) {
    for (const Finding& finding : check.findings) {
      if (finding.level == FindingLevel::wrong) return check.check;
    }
  }
  return "";
}

bool Diagnosis::sound() const { return first_wrong().empty(); }

std::string Diagnosis::to_text() const {
  std::string text;
  int wrong = 0, suspect = 0;
  for (const CheckResult& check : checks) {
    if (!check.left_out.empty())
      text += fmt::format("{:<11} not looked at: {}\n", check.check, printable(check.left_out));
    if (check.left_out.empty() && check.findings.empty()) text += fmt::format("{:<11} nothing found\n", check.check);
    for (const Finding& finding : check.findings) {
      wrong += finding.level == FindingLevel::wrong;
      suspect += finding.level == FindingLevel::suspect;
      const std::string mark = finding.level == FindingLevel::note ? "" : fmt::format("{}: ", name_of(finding.level));
      text += fmt::format("{:<11} {}{}\n", check.check, mark, printable(finding.what));
      if (!finding.advice.empty()) text += fmt::format("{:<11}   try: {}\n", "", printable(finding.advice));
    }
  }
  if (wrong == 0) return text + fmt::format("nothing is wrong{}\n", suspect > 0 ? ", but see what is suspect" : "");
  return text + fmt::format("wrong: {}. The first one named is the likeliest cause\n", wrong);
}

std::string Diagnosis::to_json() const {
  using Json = nlohmann::ordered_json;
  Json out{
      {"sound", sound()}, {"first_wrong", first_wrong()}, {"checks", Json::array()}, {"parameters", Json::array()}};
  for (const CheckResult& check : checks) {
    Json findings = Json::array();
    for (const Finding& f : check.findings)
      findings.push_back({{"level", name_of(f.level)}, {"what", f.what}, {"advice", f.advice}});
    out["checks"].push_back({{"check", check.check},
                             {"left_out", check.left_out},
                             {"seconds", check.seconds},
                             {"findings", std::move(findings)}});
  }
  for (const ParameterRow& row : parameters)
    out["parameters"].push_back(
        {{"name", row.name}, {"weight", row.weight}, {"gradient", row.gradient}, {"step", row.step}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ridgeline::train
