// ridgeline/data/ir/base64.h
//
// Bytes in JSON (RFC 4648, with padding). Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::data {

std::string to_base64(std::string_view bytes);
// An Error for anything but padded base64.
std::string from_base64(std::string_view text);

}  // namespace ridgeline::data
