#include "ridgeline/image/jpeg/header.h"

#include <algorithm>
#include <string_view>

namespace ridgeline::image {
namespace {

using Bytes = std::span<const std::uint8_t>;

int big_endian(Bytes bytes, std::size_t at) { return bytes[at] << 8 | bytes[at + 1]; }

bool starts_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin(),
                                                    [](char a, auto b) { return static_cast<std::uint8_t>(a) == b; });
}

constexpr int kMaxSide = 65500;  // libjpeg's JPEG_MAX_DIMENSION

// What the segments before the scan say, checked as strictly as libjpeg checks it or stricter.
class Parser {
 public:
  explicit Parser(Bytes bytes) : bytes_(bytes) {}

  std::optional<JpegHeader> parse() {
    using namespace std::string_view_literals;
    if (!starts_with(bytes_, "\xff\xd8"sv)) return {};
    std::size_t at = 2;
    while (at + 4 <= bytes_.size()) {
      if (bytes_[at] != 0xff) return {};
      const int marker = bytes_[at + 1];
      const auto length = static_cast<std::size_t>(big_endian(bytes_, at + 2));
      if (length < 2 || length > bytes_.size() - at - 2) return {};
      const Bytes segment = bytes_.subspan(at + 4, length - 2);
      at += 2 + length;
      bool good = true;
      switch (marker) {
        case 0xc0:
        case 0xc1: good = frame(segment); break;
        case 0xc4: good = huffman_tables(segment); break;
        case 0xdb: good = quantisation_tables(segment); break;
        case 0xdd:
          good = segment.size() == 2;
          if (good) header_.restart_interval = big_endian(segment, 0);
          break;
        case 0xda:
          header_.scan_begin = at;
          if (!scan(segment)) return {};
          return header_;
        case 0xe0: good = application_0(segment); break;
        case 0xee: good = application_14(segment); break;
        case 0xfe: break;                                        // a comment
        default: good = marker > 0xe0 && marker <= 0xef; break;  // other application data
      }
      if (!good) return {};
    }
    return {};
  }

 private:
  bool frame(Bytes s) {
    if (seen_frame_ || s.size() < 6 || s[0] != 8) return false;
    seen_frame_ = true;
    header_.height = big_endian(s, 1);
    header_.width = big_endian(s, 3);
    header_.components = s[5];
    if (header_.height < 1 || header_.width < 1 || header_.height > kMaxSide || header_.width > kMaxSide) return false;
    if (header_.components != 1 && header_.components != 3) return false;
    const auto n = static_cast<std::size_t>(header_.components);
    if (s.size() != 6 + 3 * n) return false;
    for (std::size_t c = 0; c < n; ++c) {
      id_[c] = s[6 + 3 * c];
      header_.component[c].h = s[7 + 3 * c] >> 4;
      header_.component[c].v = s[7 + 3 * c] & 15;
      quant_of_[c] = s[8 + 3 * c];
      for (std::size_t other = 0; other < c; ++other) {
        if (id_[other] == id_[c]) return false;
      }
      const int limit = c == 0 && n == 3 ? 2 : 1;
      const JpegComponent& component = header_.component[c];
      if (component.h < 1 || component.h > limit || component.v < 1 || component.v > limit) return false;
    }
    return true;
  }

  bool huffman_tables(Bytes s) {
    while (!s.empty()) {
      if (s.size() < 17) return false;
      const unsigned kind = s[0] >> 4, number = s[0] & 15;
      if (kind > 1 || number > 3) return false;
      HuffmanSpec spec;
      std::copy_n(s.begin() + 1, 16, spec.counts.begin());
      std::size_t total = 0;
      for (std::uint8_t count : spec.counts) total += count;
      if (total > 256 || s.size() < 17 + total) return false;
      std::copy_n(s.begin() + 17, total, spec.symbols.begin());
      (kind == 0 ? header_.dc : header_.ac)[number] = spec;
      (kind == 0 ? seen_dc_ : seen_ac_)[number] = true;
      s = s.subspan(17 + total);
    }
    return true;
  }

  bool quantisation_tables(Bytes s) {
    while (!s.empty()) {
      if (s.size() < 65 || s[0] > 3) return false;  // 8-bit entries only
      std::copy_n(s.begin() + 1, 64, quant_[s[0]].begin());
      seen_quant_[s[0]] = true;
      s = s.subspan(65);
    }
    return true;
  }

  bool application_0(Bytes s) {
    using namespace std::string_view_literals;
    if (s.size() < 14 || !starts_with(s, "JFIF\0"sv)) return true;
    seen_jfif_ = true;
    return s[5] == 1;  // libjpeg warns of other major versions
  }

  bool application_14(Bytes s) {
    if (s.size() < 12 || !starts_with(s, "Adobe")) return true;
    seen_adobe_ = true;
    return s[11] == 1;  // YCbCr; 0 may mean RGB, and others make libjpeg warn
  }

  bool scan(Bytes s) {
    const auto n = static_cast<std::size_t>(header_.components);
    if (!seen_frame_ || s.size() != 4 + 2 * n || s[0] != n) return false;
    for (std::size_t c = 0; c < n; ++c) {
      if (s[1 + 2 * c] != id_[c]) return false;
      const unsigned dc = s[2 + 2 * c] >> 4, ac = s[2 + 2 * c] & 15;
      if (dc > 3 || ac > 3 || !seen_dc_[dc] || !seen_ac_[ac]) return false;
      if (quant_of_[c] > 3 || !seen_quant_[quant_of_[c]]) return false;
      JpegComponent& component = header_.component[c];
      component.dc_table = static_cast<int>(dc);
      component.ac_table = static_cast<int>(ac);
      std::copy_n(quant_[quant_of_[c]].begin(), 64, component.quant.begin());
    }
    if (s[1 + 2 * n] != 0 || s[2 + 2 * n] != 63 || s[3 + 2 * n] != 0) return false;
    // How libjpeg knows YCbCr: by JFIF, by Adobe's marker, or by the numbers 1, 2, 3.
    return n == 1 || seen_jfif_ || seen_adobe_ || (id_[0] == 1 && id_[1] == 2 && id_[2] == 3);
  }

  Bytes bytes_;
  JpegHeader header_;
  bool seen_frame_ = false, seen_jfif_ = false, seen_adobe_ = false;
  std::array<int, 3> id_{};
  std::array<unsigned, 3> quant_of_{};
  std::array<std::array<std::uint8_t, 64>, 4> quant_{};
  std::array<bool, 4> seen_quant_{}, seen_dc_{}, seen_ac_{};
};

}  // namespace

std::optional<JpegHeader> parse_jpeg_header(std::span<const std::uint8_t> bytes) { return Parser(bytes).parse(); }

}  // namespace ridgeline::image
