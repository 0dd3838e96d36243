// `ridgeline report`: compares runs, as a page, as Markdown or as CSV.
#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/report/report.h"

namespace ridgeline::cli {
namespace {

struct ReportForm {
  const char* ending;
  std::string (*text)(const train::Report& report);
};
constexpr ReportForm kReportForms[] = {{".html", train::to_html}, {".md", train::to_markdown}, {".csv", train::to_csv}};

const ReportForm& report_form_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  std::string allowed;
  for (const ReportForm& form : kReportForms) {
    if (ending == form.ending) return form;
    allowed += (allowed.empty() ? "" : ", ") + std::string(form.ending);
  }
  throw Error(fmt::format("report: --out={} must end in one of {}", path, allowed), ErrorKind::usage);
}

}  // namespace

int report_command(const Words& words) {
  std::vector<std::string> directories;
  std::string out = "report.html", title;
  Command app("compare accuracy, loss, speed, settings and curves of runs, read from their --log_dir", "report");
  app.option("LOG_DIR", directories, "log folders of trainings; all are compared with the first").required();
  app.option("--out", out, "file to write: .html (a page without external files), .md or .csv");
  app.option("--title", title, "title of the report; empty: made from what is compared");
  if (!app.parse(words)) return 0;
  const ReportForm& form = report_form_of(out);
  train::Report report = train::compare_runs(train::read_run_logs(directories));
  if (!title.empty()) report.title = title;
  write_file_atomically(out, form.text(report));
  fmt::print("report   {}\n", out);
  return 0;
}

}  // namespace ridgeline::cli
