// ridgeline/train/report/report.h
//
// A report: tables, and curves of runs, as one HTML page that opens from disk (no network, no other file), as Markdown
// or as CSV. Every number in it comes from the given runs.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/train/report/run_log.h"

namespace ridgeline::train {

struct ReportTable {
  std::string heading;
  std::string note;  // below the heading; may be empty
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns; numbers as text
};

// Another page, by its path from this one's folder.
struct ReportLink {
  std::string text, path;
};

struct Report {
  std::string title;
  std::vector<ReportTable> tables;
  std::vector<RunLog> runs;  // their curves are drawn
  std::vector<ReportLink> links = {};
};

// The runs side by side: accuracy, loss, speed and time of each compared with the first one's, the settings that
// differ, those that all share, and each log's lines before the first step.
Report compare_runs(std::vector<RunLog> runs);

std::string to_html(const Report& report);
std::string to_markdown(const Report& report);
// Only the tables, each below a line with its heading (RFC 4180).
std::string to_csv(const Report& report);

}  // namespace ridgeline::train
