// ridgeline/train/report/page.h
//
// What is the same in all reports' pages: style, controls of the curves, script.
#pragma once

namespace ridgeline::train {

extern const char* const kPageStyle;
extern const char* const kPageCurves;
extern const char* const kPageScript;

}  // namespace ridgeline::train
