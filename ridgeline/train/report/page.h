// ridgeline/train/report/page.h
//
// The parts of a report's page that are the same for all: style, controls of the curves, script.
#pragma once

namespace ridgeline::train {

extern const char* const kPageStyle;
extern const char* const kPageCurves;
extern const char* const kPageScript;

}  // namespace ridgeline::train
